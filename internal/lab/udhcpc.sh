# Applies a lease of busybox' DHCP client. With classless routes (option 121) the router option is not
# looked at, as RFC 3442 says.
set -eu
PATH=/bin:/sbin:/usr/bin:/usr/sbin
busybox=$(readlink /proc/$$/exe)
ip() { "$busybox" ip "$@"; }

deconfig() {
	ip -4 addr flush dev "$interface"
	ip link set dev "$interface" up
}

# busybox knows no "onlink": a gateway outside the link's networks gets a route of its own first.
route() {
	if [ "$2" = 0.0.0.0 ]; then
		ip route replace "$1" dev "$interface"
	else
		ip route replace "$1" via "$2" dev "$interface" 2>/dev/null || {
			ip route replace "$2/32" dev "$interface"
			ip route replace "$1" via "$2" dev "$interface"
		}
	fi
}

bound() {
	[ -z "${mtu:-}" ] || ip link set dev "$interface" mtu "$mtu"
	if [ "$1" = bound ]; then
		ip -4 addr flush dev "$interface"
	fi
	ip addr replace "$ip/$mask" ${broadcast:+broadcast "$broadcast"} dev "$interface" 2>/dev/null ||
		ip addr add "$ip/$mask" dev "$interface" 2>/dev/null || true
	if [ -n "${staticroutes:-}" ]; then
		set -- $staticroutes
		while [ $# -ge 2 ]; do
			route "$1" "$2"
			shift 2
		done
	else
		for gateway in ${router:-}; do
			route default "$gateway"
			break
		done
	fi
	{
		[ -z "${search:-${domain:-}}" ] || echo "search ${search:-$domain}"
		for server in ${dns:-}; do echo "nameserver $server"; done
	} >/etc/resolv.conf
	env >"$LEASE.new"
	"$busybox" mv "$LEASE.new" "$LEASE"
}

case $1 in
deconfig) deconfig ;;
bound | renew) bound "$1" ;;
esac
