#!/bin/bash
# bench.sh isospin|neutron|soak [FLAGS OF apibench]: measures an API on this machine and leaves nothing behind.
# isospin: bin/isospin with its embedded database on disk. neutron: Debian's Neutron with MariaDB and RabbitMQ
# (tools/peer.sh). soak: isospin again and again until $SOAK (10m) has passed; its memory must stop growing and
# its database must check.
set -euo pipefail
cd "$(dirname "$0")/.."
what=${1:?isospin, neutron or soak}
shift
flags=("$@")
[ ${#flags[@]} -gt 0 ] || flags=(-networks 20 -ports 1000 -c 4)

dir=$(mktemp -d)
server=
finish() {
	[ -z "$server" ] || kill "$server" 2>/dev/null || true
	[ -z "$server" ] || wait "$server" 2>/dev/null || true
	[ "$what" != neutron ] || ./tools/peer.sh down "$dir"
	rm -rf "$dir"
}
trap finish EXIT
go build -o "$dir/apibench" ./tools/apibench

free_port() { # a port that nobody listens on now
	local port
	for port in $(shuf -i 20000-29999 -n 50); do
		(exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
	done
	return 1
}
resident() { # MB that the server occupies
	awk '/^VmRSS/ {print int($2 / 1024)}' "/proc/$server/status"
}
start_isospin() {
	port=$(free_port)
	printf '[quotas]\nquota_network = -1\nquota_subnet = -1\nquota_port = -1\nquota_security_group = -1\nquota_security_group_rule = -1\nquota_router = -1\nquota_floatingip = -1\n[isospin]\nsession_listen = 127.0.0.1:0\n' >"$dir/isospin.conf"
	local begun=$EPOCHREALTIME
	bin/isospin up --state-dir "$dir/state" --api "127.0.0.1:$port" --auth noauth --agent off --config-file "$dir/isospin.conf" \
		>"$dir/out" 2>"$dir/log" </dev/null &
	server=$!
	until curl -s -o "$dir/versions" "http://127.0.0.1:$port/"; do
		kill -0 "$server" 2>/dev/null || { tail -n 20 "$dir/log" >&2; exit 1; }
	done
	awk -v a="$begun" -v b="$EPOCHREALTIME" 'BEGIN {printf "{\"phase\":\"start\",\"wall_s\":%.3f}\n", b - a}'
	echo "{\"phase\":\"idle\",\"resident_mb\":$(resident)}"
}

case "$what" in
isospin)
	start_isospin
	"$dir/apibench" -url "http://127.0.0.1:$port" "${flags[@]}"
	echo "{\"phase\":\"end\",\"resident_mb\":$(resident)}"
	;;
neutron)
	port=$(free_port)
	./tools/peer.sh up "$dir" "$port"
	"$dir/apibench" -url "http://127.0.0.1:$port" "${flags[@]}"
	;;
soak)
	start_isospin
	limit=${SOAK:-10m}
	case "$limit" in *h) seconds=$((${limit%h} * 3600)) ;; *m) seconds=$((${limit%m} * 60)) ;; *) seconds=${limit%s} ;; esac
	SECONDS=0 round=0 first=0
	while [ "$SECONDS" -lt "$seconds" ] || [ "$round" -lt 3 ]; do
		"$dir/apibench" -url "http://127.0.0.1:$port" "${flags[@]}" >"$dir/figures"
		round=$((round + 1))
		now=$(resident)
		[ "$round" != 2 ] || first=$now # the first round fills caches
		echo "{\"phase\":\"round-$round\",\"elapsed_s\":$SECONDS,\"resident_mb\":$now,\"port_create_per_s\":$(sed -n 's/.*"port-create".*"ops_per_s":\([0-9.]*\).*/\1/p' "$dir/figures")}"
	done
	if [ "$now" -gt $((first + first / 2 + 20)) ]; then
		echo "resident memory grew from $first MB to $now MB" >&2
		exit 1
	fi
	kill "$server"
	wait "$server" || true
	server=
	bin/isospin db check --config-file "$dir/isospin.conf" --state-dir "$dir/state"
	;;
*)
	echo "usage: $0 isospin|neutron|soak" >&2
	exit 2
	;;
esac
