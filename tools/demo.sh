#!/bin/bash
# demo.sh: Isospin's main job on this machine, with real packets: two hosts, a network that spans them, guests
# with addresses from DHCP, packet filters, an agent that is restarted under traffic, and the outside. It tells
# what it does, ends with an error when a step does not do what it tells, and leaves nothing behind.
set -euo pipefail
cd "$(dirname "$0")/.."
isospin=$PWD/bin/isospin
dir=$(mktemp -d)
export ISOSPIN_LAB=$dir/lab
finish() {
	local status=$?
	[ $status = 0 ] || "$isospin" lab logs 2>/dev/null | tail -n 40 >&2 || true
	"$isospin" lab down >/dev/null 2>&1 || true
	rm -rf "$dir"
	[ $status = 0 ] || echo "the demo failed" >&2
}
trap finish EXIT
trap 'exit 130' INT TERM

step() { printf '\n\033[1m%s\033[0m\n' "$*"; }
run() { # what a person would type
	printf '  $ %s\n' "$*" | sed "s#$isospin#isospin#"
	"$@" 2>&1 | sed 's/^/    /'
}
lab() { "$isospin" lab "$@"; }
api() { # METHOD PATH [BODY]: the answer
	local method=$1 path=$2
	shift 2
	curl -sS --fail-with-body -X "$method" "$url$path" -H 'Content-Type: application/json' \
		-H 'X-Project-Id: 0123456789abcdef0123456789abcdef' -H 'X-User-Id: demo' -H 'X-Roles: admin,member,reader' ${1:+-d "$1"}
}
pick() { python3 -c 'import functools,json,sys; print(functools.reduce(lambda v, k: v[int(k) if isinstance(v, list) else k], sys.argv[1:], json.load(sys.stdin)))' "$@"; }
fails() { if "$@" >/dev/null 2>&1; then return 1; fi; }
lost() { sed -n 's/.*, \([0-9.]*\)% packet loss.*/\1/p'; }
eventually() { # COMMAND...: within ten seconds
	local end=$((SECONDS + 10))
	until "$@" >/dev/null 2>&1; do [ $SECONDS -lt $end ] || return 1; done
}

step "Two hosts, each with its own Open vSwitch and agent, a server, and an outside"
run "$isospin" lab up --hosts 2 --auth noauth
url=http://$(lab status --json | pick api)

step "A network, a subnet with DHCP, and a guest on each host"
network=$(api POST /v2.0/networks '{"network": {"name": "blue"}}' | pick network id)
api POST /v2.0/subnets '{"subnet": {"network_id": "'"$network"'", "ip_version": 4, "cidr": "10.1.0.0/24"}}' >/dev/null
echo "  network blue $network, 10.1.0.0/24"
lab boot --host h1 --network blue anna >"$dir/anna"
lab boot --host h2 --network blue bert >"$dir/bert"
bert=$(pick ips 0 <"$dir/bert") port=$(pick port_id <"$dir/bert")
echo "  anna has $(pick ips 0 <"$dir/anna") on h1, bert has $bert on h2: leases of a real DHCP client"
run "$isospin" lab graph

step "Packets from one to the other cross the hosts in VXLAN"
"$isospin" lab exec h2 -- timeout 20 tcpdump -n -l -c 2 -i any udp port 4789 >"$dir/wire" 2>/dev/null &
wire=$!
run "$isospin" lab exec anna -- ping -c 3 -i 0.3 "$bert"
wait $wire || { echo "no VXLAN was seen on h2" >&2; exit 1; }
echo "  on the wire of h2:"
sed 's/^/    /' "$dir/wire"

step "A security group without a rule for ICMP lets nothing in"
group=$(api POST /v2.0/security-groups '{"security_group": {"name": "closed"}}' | pick security_group id)
api PUT "/v2.0/ports/$port" '{"port": {"security_groups": ["'"$group"'"]}}' >/dev/null
eventually fails "$isospin" lab exec anna -- ping -c 1 -W 1 "$bert"
echo "  bert is in group closed now: anna's ping is not answered"
api POST /v2.0/security-group-rules '{"security_group_rule": {"security_group_id": "'"$group"'", "direction": "ingress", "ethertype": "IPv4", "protocol": "icmp", "remote_ip_prefix": "10.1.0.0/24"}}' >/dev/null
begun=$EPOCHREALTIME
eventually "$isospin" lab exec anna -- ping -c 1 -W 1 "$bert"
awk -v a="$begun" -v b="$EPOCHREALTIME" 'BEGIN {printf "  a rule that allows ICMP: answered %.0f ms later\n", (b - a) * 1000}'

step "The agent of h1 is restarted under traffic: it finds all as it should be and touches nothing"
"$isospin" lab exec anna -- ping -c 60 -i 0.1 "$bert" >"$dir/ping" &
ping=$!
run "$isospin" lab agent restart h1
wait $ping
loss=$(lost <"$dir/ping")
echo "  60 pings meanwhile, $loss % lost"
[ "$loss" = 0 ]

step "A guest on the provider network public speaks to the outside"
public=$(api POST /v2.0/networks '{"network": {"name": "outside", "provider:network_type": "flat", "provider:physical_network": "public"}}' | pick network id)
api POST /v2.0/subnets '{"subnet": {"network_id": "'"$public"'", "ip_version": 4, "cidr": "203.0.113.0/24", "gateway_ip": "203.0.113.1", "allocation_pools": [{"start": "203.0.113.100", "end": "203.0.113.200"}]}}' >/dev/null
lab boot --host h1 --network outside carl >"$dir/carl"
echo "  carl has $(pick ips 0 <"$dir/carl")"
run "$isospin" lab exec carl -- ping -c 2 -i 0.3 203.0.113.1

step "All is taken down again"
run "$isospin" lab delete anna bert carl
run "$isospin" lab down
