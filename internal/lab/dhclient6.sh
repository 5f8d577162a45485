# Applies a lease of ISC's DHCPv6 client.
set -eu
PATH=/bin:/sbin:/usr/bin:/usr/sbin
busybox=$(readlink /proc/$$/exe)
ip() { "$busybox" ip "$@"; }

case $reason in
PREINIT6) ip link set dev "$interface" up ;;
BOUND6 | RENEW6 | REBIND6 | REBOOT)
	if [ -n "${old_ip6_address:-}" ] && [ "${old_ip6_address:-}" != "${new_ip6_address:-}" ]; then
		ip -6 addr del "$old_ip6_address/${old_ip6_prefixlen:-128}" dev "$interface" 2>/dev/null || true
	fi
	ip -6 addr add "$new_ip6_address/${new_ip6_prefixlen:-128}" dev "$interface" 2>/dev/null || true
	if [ -n "${new_dhcp6_name_servers:-}" ]; then
		for server in $new_dhcp6_name_servers; do
			"$busybox" grep -qx "nameserver $server" /etc/resolv.conf || echo "nameserver $server" >>/etc/resolv.conf
		done
	fi
	env >"$LEASE.new"
	"$busybox" mv "$LEASE.new" "$LEASE"
	;;
EXPIRE6 | FAIL6 | RELEASE6 | STOP6)
	[ -z "${old_ip6_address:-}" ] ||
		ip -6 addr del "$old_ip6_address/${old_ip6_prefixlen:-128}" dev "$interface" 2>/dev/null || true
	;;
esac
