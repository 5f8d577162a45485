#!/bin/bash
# setup.sh demo|test|bench|vm: installs what is missing on a bare Debian 12 with Go, as root; does nothing, and asks
# nobody, when all is there. Nothing that it installs is started: tests start what they need by themselves.
set -euo pipefail
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8

# The lab: hosts with their own Open vSwitch, guests with a real DHCP client, tools to look at packets.
demo=(openvswitch-switch busybox-static isc-dhcp-client iproute2 iputils-ping tcpdump ethtool procps curl ca-certificates git python3 python3-openstackclient)
# Tests add the databases, Keystone (on MariaDB, served by waitress), the clients that people use, and the tools that read
# the kernel's state back.
test=("${demo[@]}" dnsmasq-base mariadb-server postgresql nftables conntrack socat
	keystone python3-waitress python3-pymysql python3-neutronclient python3-tempest)
# Measuring adds nothing yet: the peer installs itself (tools/peer.sh).
bench=("${demo[@]}")

# The virtual machine with the full kernel (test/vm; the kernel comes with tools/vm-kernel.sh).
vm=("${test[@]}" qemu-system-x86 kmod)

case "${1:-}" in
demo) wanted=("${demo[@]}") ;;
test) wanted=("${test[@]}") ;;
bench) wanted=("${bench[@]}") ;;
vm) wanted=("${vm[@]}") ;;
*)
	echo "usage: $0 demo|test|bench|vm" >&2
	exit 2
	;;
esac

missing=()
for package in "${wanted[@]}"; do
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" != 0 ]; then
	echo "$0: not root, and these packages are missing: ${missing[*]}" >&2
	exit 1
fi

# policy-rc.d forbids packages to start their daemons; one that is there already is the machine's own.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
	trap 'rm -f "$policy"' EXIT
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod 755 "$policy"
fi
export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1
echo "installing: ${missing[*]}"
apt-get update -q
apt-get install -y -q --no-install-recommends -o Dpkg::Use-Pty=0 "${missing[@]}" </dev/null
