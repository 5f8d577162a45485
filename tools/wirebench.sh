#!/bin/bash
# wirebench.sh isospin|neutron [FLAGS OF wirebench]: measures from binding to first ping on this machine, with a host of its own: a network namespace
# with an Open vSwitch on the userspace datapath, the cloud's server, and its agent. isospin: bin/isospin up. neutron: Debian's Neutron
# (tools/peer.sh) with neutron-openvswitch-agent. One at a time, as root; it leaves nothing behind.
set -euo pipefail
cd "$(dirname "$0")/.."
what=${1:?isospin or neutron}
shift
if [ "${WIREBENCH_NS:-}" = "" ]; then
	ns=wirebench-$$
	ip netns add "$ns"
	trap 'ip netns delete "$ns"' EXIT
	ip -n "$ns" link set lo up
	WIREBENCH_NS=$ns ip netns exec "$ns" "$0" "$what" "$@"
	exit
fi

dir=$(mktemp -d /tmp/wb-XXXXXX) # short: sockets have no long names
chmod 755 "$dir"
pids=()
finish() {
	local pid
	# The last one started first; each is waited for, and killed if it does not end.
	for ((i = ${#pids[@]} - 1; i >= 0; i--)); do
		pid=${pids[i]}
		kill "$pid" 2>/dev/null || continue
		timeout 20 tail --pid="$pid" -f /dev/null || kill -KILL "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	[ "$what" != neutron ] || ./tools/peer.sh down "$dir/peer" || true
	rm -rf "$dir"
}
trap finish EXIT
start() { # NAME COMMAND...
	local name=$1
	shift
	"$@" >"$dir/$name.log" 2>&1 </dev/null &
	pids+=($!)
}
until_done() { # COMMAND...: until it succeeds, for a minute
	local end=$((SECONDS + 60))
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || { echo "not within a minute: $*" >&2; tail -n 15 "$dir"/*.log >&2; exit 1; }
		read -r -t 0.1 <> <(:) || true
	done
}

export OVS_RUNDIR=$dir/ovs OVS_LOGDIR=$dir/ovs OVS_DBDIR=$dir/ovs
mkdir "$OVS_RUNDIR"
ovsdb-tool create "$OVS_RUNDIR/conf.db" /usr/share/openvswitch/vswitch.ovsschema
# The same for both: a socket for Isospin, a port for Neutron's agent.
start ovsdb-server ovsdb-server "$OVS_RUNDIR/conf.db" "--remote=punix:$OVS_RUNDIR/db.sock" --remote=ptcp:6640:127.0.0.1 "--unixctl=$OVS_RUNDIR/db.ctl"
until_done test -S "$OVS_RUNDIR/db.sock"
vsctl() { ovs-vsctl --db="unix:$OVS_RUNDIR/db.sock" "$@"; }
vsctl --no-wait init
vsctl --no-wait set Open_vSwitch . external_ids:system-id=wirebench external_ids:hostname=h1
start ovs-vswitchd ovs-vswitchd "unix:$OVS_RUNDIR/db.sock" "--unixctl=$OVS_RUNDIR/switch.ctl"
until_done test -S "$OVS_RUNDIR/switch.ctl"
# Where tunnels would end; no other host is there.
ip address add 10.99.0.1/24 dev lo

port=29696
case "$what" in
isospin)
	cat >"$dir/isospin.conf" <<-EOT
		[DEFAULT]
		host = h1
		[ovs]
		local_ip = 10.99.0.1
		ovsdb_connection = unix:$OVS_RUNDIR/db.sock
		datapath_type = netdev
		[isospin]
		ovs_run_dir = $OVS_RUNDIR
		session_listen = 127.0.0.1:0
	EOT
	start isospin bin/isospin up --state-dir "$dir/state" --api "127.0.0.1:$port" --auth noauth --agent required --config-file "$dir/isospin.conf"
	;;
neutron)
	mkdir "$dir/peer"
	./tools/peer.sh up "$dir/peer" "$port"
	cat >"$dir/agent.ini" <<-EOT
		[DEFAULT]
		host = h1
		[ovs]
		local_ip = 10.99.0.1
		datapath_type = netdev
		ovsdb_connection = tcp:127.0.0.1:6640
		of_listen_port = 26633
		[agent]
		tunnel_types = vxlan
		l2_population = true
		arp_responder = true
		root_helper =
		use_helper_for_ns_read = false
		[securitygroup]
		firewall_driver = openvswitch
	EOT
	for context in privsep privsep_dhcp_release privsep_ovs_vsctl privsep_namespace privsep_conntrack privsep_link; do
		printf '[%s]\nhelper_command = privsep-helper --config-file %s\n' "$context" "$dir/agent.ini" >>"$dir/agent.ini"
	done
	start agent neutron-openvswitch-agent --config-file "$dir/peer/neutron.conf" --config-file "$dir/agent.ini"
	;;
*)
	echo "usage: $0 isospin|neutron [FLAGS]" >&2
	exit 2
	;;
esac
until_done curl -sf -H 'X-Project-Id: p' -H 'X-User-Id: p' -H 'X-Roles: admin' "http://127.0.0.1:$port/v2.0/networks"
go build -o "$dir/wirebench" ./tools/wirebench
if ! "$dir/wirebench" -url "http://127.0.0.1:$port" -host h1 -db "unix:$OVS_RUNDIR/db.sock" "$@"; then
	tail -n 30 "$dir/$([ "$what" = neutron ] && echo agent || echo isospin).log" >&2
	exit 1
fi
