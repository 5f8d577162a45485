#!/bin/bash
# demo.sh: Isospin's main job on this machine, with real packets. A server, hosts with an Open vSwitch each, and the
# openstack client that people use: networks of several kinds, guests with leases of a real DHCP client, pings and a
# transfer between hosts, an agent that is killed under traffic. It tells what it does, fails when a step does not do
# what it tells, and leaves nothing behind, also after Ctrl-C. `make demo` installs and builds what it needs.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH=$PWD/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8
export no_proxy="${no_proxy:+$no_proxy,}127.0.0.1,localhost" NO_PROXY="${NO_PROXY:+$NO_PROXY,}127.0.0.1,localhost"
unset "${!OS_@}" # The caller's own cloud is not meant.

begun=$EPOCHREALTIME
bold='' dim='' plain=''
if [ -t 1 ]; then bold=$'\e[1m' dim=$'\e[2m' plain=$'\e[0m'; fi
if [ "$(id -u)" != 0 ]; then
	echo "the demo makes network namespaces and needs root" >&2
	exit 1
fi

# --- whatever happens, nothing stays
#
# The demo itself runs in a session of its own, below a shell that does nothing but wait for it and clean up. Interrupts are
# that shell's: bash 5.2 may run a trap in the middle of a command substitution, and then takes the trap for its text.

if [ -z "${DEMO_DIR_MADE:-}" ]; then
	demo='' caught=''
	interrupted() { # STATUS
		caught=$1
		[ -z "$demo" ] || kill -TERM -- "-$demo" 2>/dev/null || kill -TERM "$demo" 2>/dev/null || true
	}
	trap '' INT TERM HUP # Not between a folder that is made and its name that is kept.
	if [ -n "${DEMO_DIR:-}" ]; then # a folder to work in, which is made and removed
		mkdir "$DEMO_DIR"
		dir=$DEMO_DIR
	else
		dir=$(mktemp -d /tmp/isospin-demo.XXXXXX)
	fi
	export DEMO_DIR_MADE=$dir ISOSPIN_LAB=$dir/lab
	echo 'the start' >"$dir/step"
	trap 'interrupted 129' HUP
	trap 'interrupted 130' INT
	trap 'interrupted 143' TERM
	setsid env --default-signal=INT,QUIT,HUP,TERM ./tools/demo.sh &
	demo=$!
	[ -z "$caught" ] || interrupted "$caught"
	status=0
	while :; do # A signal ends a wait before its time.
		wait "$demo" && status=0 || status=$?
		kill -0 "$demo" 2>/dev/null || break
	done
	trap '' INT TERM HUP
	kill -TERM -- "-$demo" 2>/dev/null || true # what the demo left running of its own
	if [ -n "$caught" ]; then
		status=$caught
		printf '\n%s\n' "interrupted; taking everything down" >&2
	elif [ "$status" != 0 ]; then
		echo "the demo failed at: $(cat "$dir/step")" >&2
		tail -n 15 "$ISOSPIN_LAB"/server/server.log "$ISOSPIN_LAB"/hosts/*/agent.log >&2 2>/dev/null || true
	fi
	isospin lab down >/dev/null 2>&1 || [ ! -e "$ISOSPIN_LAB" ] || isospin lab down >&2 || true
	rm -rf "$dir"
	exit "$status"
fi
dir=$DEMO_DIR_MADE

# --- how it is told

steps=0
step() {
	echo "$*" >"$dir/step"
	steps=$((steps + 1))
	printf '\n%s%d. %s%s\n' "$bold" "$steps" "$*" "$plain"
}
typed() { printf '   $ %s%s%s\n' "$bold" "$*" "$plain"; }
say() { printf '     %s\n' "$*"; }
shown() { sed 's/^/     /'; }
run() {
	typed "$@"
	"$@" 2>&1 | shown
}
fail() {
	echo "$*" >&2
	exit 1
}

# --- the openstack client: one process for all commands, since a process of it takes a second to start

openstack_start() {
	coproc CLIENT { PYTHONUNBUFFERED=1 exec openstack 2>&1; }
	exec {ask}>&"${CLIENT[1]}" {answers}<&"${CLIENT[0]}"
}
answer='' # of the last command, a line for each column that was asked for
openstack() { # COMMAND... [-- COLUMN...]: the columns become lines of $answer
	local words=() columns=() line
	while [ $# -gt 0 ]; do
		if [ "$1" = -- ]; then
			shift
			for line in "$@"; do columns+=(-c "$line"); done
			break
		fi
		words+=("$1")
		shift
	done
	typed openstack "${words[@]}"
	[ ${#columns[@]} = 0 ] || words+=(-f value "${columns[@]}")
	printf '%s\n!echo end-of-answer\n' "${words[*]}" >&"$ask"
	answer=''
	while IFS= read -r -t 30 -u "$answers" line; do
		[ "$line" != end-of-answer ] || break
		answer+=$line$'\n'
	done
	[ "$line" = end-of-answer ] || fail "the openstack client does not answer: $answer"
	answer=${answer%$'\n'}
	if grep -qiE '^error|exception|usage: ' <<<"$answer"; then fail "the openstack client says: $answer"; fi
}

# --- guests

declare -A host ip
boot() { # NETWORK NAME HOST...: guests, all at the same time
	local network=$1 name file jobs=() job
	shift
	local pairs=("$@")
	while [ $# -gt 0 ]; do
		typed isospin lab boot --host "$2" --network "$network" "$1"
		isospin lab boot --host "$2" --network "$network" "$1" >"$dir/$1.json" &
		jobs+=($!)
		host[$1]=$2
		shift 2
	done
	for job in "${jobs[@]}"; do wait "$job"; done
	set -- "${pairs[@]}"
	while [ $# -gt 0 ]; do
		name=$1 file=$ISOSPIN_LAB/guests/$1/dhcp.lease
		ip[$name]=$(sed -n 's/^ip=//p' "$file")
		grep -q "\"${ip[$name]}\"" "$dir/$name.json" || fail "the lease of $name is not its port's address"
		say "$name on $2 has a lease: ${ip[$name]}/$(sed -n 's/^mask=//p' "$file"), router $(sed -n 's/^router=//p' "$file"), MTU $(sed -n 's/^mtu=//p' "$file")"
		shift 2
	done
}
await() { # FILE PATTERN
	local end=$((SECONDS + 10))
	until grep -q "$2" "$1" 2>/dev/null; do
		[ $SECONDS -lt $end ] || fail "nothing like \"$2\" in $(cat "$1")"
		sleep 0.02
	done
}
declare -A rtt speed
mac='([0-9a-f]{2}:){5}[0-9a-f]{2}'
tidy="s/^[0-9:.]+ //; s/, length [0-9]+: / /g; s/$mac > $mac, *//g; s/(ethertype |802.1Q |\\(0x[0-9a-f]{4}\\)[:,]? ?)//g; s/, flags *\\[I\\] \\(0x08\\)//"
ping_between() { # FROM TO
	local end=$((SECONDS + 10))
	# The first packet of a new tunnel is lost in Open vSwitch's userspace datapath, while it asks for the other host's MAC.
	until isospin lab exec "$1" -- ping -c 1 -W 0.3 "${ip[$2]}" >/dev/null; do
		[ $SECONDS -lt $end ] || fail "$1 does not reach $2 at ${ip[$2]}"
	done
	typed isospin lab exec "$1" -- ping -c 5 -i 0.2 "${ip[$2]}"
	isospin lab exec "$1" -- ping -c 5 -i 0.2 "${ip[$2]}" >"$dir/ping" || fail "$1 does not reach $2: $(cat "$dir/ping")"
	grep -q ' 0% packet loss' "$dir/ping" || fail "packets were lost: $(cat "$dir/ping")"
	rtt[$1-$2]=$(sed -n 's#^rtt .* = \([0-9.]*\)/.*#\1#p' "$dir/ping")
	say "$(grep transmitted "$dir/ping" | sed 's/, time.*//'); round trip ${rtt[$1-$2]} ms at best"
}
watched() { # WIRE DEVICE FILTER FROM TO: pings, and what tcpdump sees of it on a cable of TO's host
	local wire=$1 device=$2 filter=$3 dump
	isospin lab pcap "${host[$5]}" -- -e -c 2 -i "$device" "$filter" >"$dir/wire" 2>"$dir/wire.err" &
	dump=$!
	await "$dir/wire.err" 'listening on'
	ping_between "$4" "$5"
	wait "$dump" || fail "nothing was seen on the $wire"
	say "seen on ${host[$5]}'s $wire:"
	head -n 2 "$dir/wire" | sed -E "$tidy" | cut -c 1-94 | sed "s/^/       $dim/; s/\$/$plain/"
}
# Pings inside tunnels, by the place of the inner packet's protocol number.
vxlan='udp port 4789 and udp[39] == 1' gre='ip proto 47 and ip[51] == 1'
transfer() { # FROM TO: FROM fetches a file that TO serves, over TCP
	local end=$((SECONDS + 10)) bytes sum
	isospin lab exec "$2" -- busybox httpd -f -p 80 -h "$dir/www" &
	disown
	typed isospin lab exec "$1" -- curl "http://${ip[$2]}/file"
	until bytes=$(isospin lab exec "$1" -- curl -sS --noproxy '*' --max-time 30 -o "$dir/got" -w '%{speed_download}' "http://${ip[$2]}/file" 2>"$dir/curl"); do
		[ $SECONDS -lt $end ] || fail "no transfer: $(cat "$dir/curl")"
		sleep 0.02
	done
	sum=$(sha256sum <"$dir/got")
	[ "$sum" = "$(sha256sum <"$dir/www/file")" ] || fail "$1 got another file than $2 sent"
	speed[$1-$2]=$((${bytes%.*} * 8 / 1000000))
	say "$(stat -c %s "$dir/got") bytes over TCP, ${speed[$1-$2]} Mbit/s, SHA-256 ${sum:0:16}... as sent"
}

# --- the drawing at the end

drawn() { # NETWORK KIND FROM TO: a network as a line between two guests
	local cable="==[ $1: $2 ]"
	while [ ${#cable} -lt 30 ]; do cable+='='; done
	printf '   %5s %-10s -- %s %s %s -- %-10s %-5s %8s ms %6s Mbit/s\n' "$3" "${ip[$3]}" "${host[$3]}" "$cable" "${host[$4]}" "${ip[$4]}" "$4" "${rtt[$3-$4]}" "${speed[$3-$4]}"
}

# --- the demo

printf '%sIsospin: OpenStack Networking on this machine, with real packets%s\n' "$bold" "$plain"

step "A server and hosts. Each host has its own cables, Open vSwitch and agent; h3 stands where physnet1 does not reach"
run isospin lab up --hosts 3 --without h3:physnet1
export OS_CLIENT_CONFIG_FILE=$ISOSPIN_LAB/server/clouds.yaml OS_CLOUD=isospin
openstack_start
openstack network agent list
cut -c 1-122 <<<"$answer" | cut -d '|' -f 3-4,6-7 | grep -v '^+' | shown
mkdir "$dir/www"
head -c 16M /dev/urandom >"$dir/www/file"

step "A VXLAN network. Its guests are on two hosts, and their packets cross in tunnels"
openstack network create blue -- id provider:network_type provider:segmentation_id
readarray -t blue <<<"$answer"
say "network ${blue[0]}, ${blue[1]} ${blue[2]}"
openstack subnet create --network blue --subnet-range 10.1.0.0/24 blue4 -- cidr
boot blue anna h1 bert h2
watched "tunnel network" eth0 "$vxlan" anna bert
transfer anna bert

step "A provider network: VLAN 101 of physical network physnet1, at the hosts' own switch ports"
openstack network create --provider-network-type vlan --provider-physical-network physnet1 --provider-segment 101 green -- id
say "network $answer"
openstack subnet create --network green --subnet-range 10.2.0.0/24 green4 -- cidr
boot green carl h1 dora h2
watched "cable to physnet1" eth1 'vlan 101 and icmp' carl dora
transfer carl dora

step "A GRE network"
openstack network create --provider-network-type gre red -- id provider:network_type provider:segmentation_id
readarray -t red <<<"$answer"
say "network ${red[0]}, ${red[1]} key ${red[2]}"
openstack subnet create --network red --subnet-range 10.3.0.0/24 red4 -- cidr
boot red emil h1 faye h2
watched "tunnel network" eth0 "$gre" emil faye
transfer emil faye

step "One network of two segments: VLAN 102 where physnet1 reaches, VXLAN where it does not"
cat >"$dir/wide.py" <<'PYTHON'
import openstack  # the client has no option for segments, the SDK has
cloud = openstack.connect()
vlan = {"provider:network_type": "vlan", "provider:physical_network": "physnet1", "provider:segmentation_id": 102}
cloud.network.create_network(name="wide", segments=[vlan, {"provider:network_type": "vxlan"}])
PYTHON
typed python3 wide.py
shown <"$dir/wide.py"
/usr/bin/python3 "$dir/wide.py"
openstack network show wide -- segments
sed -E "s/^\[|\]$//g; s/\}, /}\n/g; s/'provider:/'/g" <<<"$answer" | shown
openstack subnet create --network wide --subnet-range 10.4.0.0/24 wide4 -- cidr
boot wide gina h1 hugo h2 iris h3
watched "cable to physnet1" eth1 'vlan 102 and icmp' gina hugo
transfer gina hugo
watched "tunnel network" eth0 "$vxlan" gina iris
transfer gina iris

step "The agent of h1 is killed (kill -9) and started again under traffic"
typed isospin lab exec anna -- ping -i 0.02 "${ip[bert]}"
isospin lab exec anna -- ping -i 0.02 "${ip[bert]}" >"$dir/ping" &
pinging=$!
more() { # PINGS: waits until so many more were answered
	local seen
	seen=$(sed -n 's/.*icmp_seq=\([0-9]*\).*/\1/p' "$dir/ping" | tail -n 1)
	await "$dir/ping" "icmp_seq=$((${seen:-0} + $1)) "
}
more 10
run isospin lab agent kill h1
more 50
run isospin lab agent start h1
more 50
kill -INT "$pinging"
wait "$pinging" || true
say "$(grep transmitted "$dir/ping" | sed 's/, time.*//')"
grep -q ' 0% packet loss' "$dir/ping" || fail "packets were lost while the agent was away"

step "What there is now: the lab, and the networks in it with round-trip times and what TCP made of them"
isospin lab graph
drawn blue "${blue[1]} ${blue[2]}" anna bert
drawn green 'vlan 101' carl dora
drawn red "${red[1]} ${red[2]}" emil faye
drawn wide 'vlan 102' gina hugo
drawn wide 'vxlan' gina iris

step "All is taken down again"
run isospin lab down
awk -v a="$begun" -v b="$EPOCHREALTIME" -v bold="$bold" -v plain="$plain" 'BEGIN { printf "\n%sAll of it worked; it took %.0f seconds.%s\n", bold, b - a, plain }'
