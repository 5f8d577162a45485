#!/bin/bash
# peer.sh up DIR PORT | down DIR: Debian's Neutron on 127.0.0.1:PORT, to measure against: ML2 with two API workers, its own
# MariaDB and RabbitMQ, no Keystone (auth_strategy noauth: callers say who they are). All of it lives in DIR and
# runs as this script's children do: `down` ends them by their process ids and touches no other instance.
set -euo pipefail
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive RUNLEVEL=1
what=${1:-} dir=${2:-}
[ -n "$dir" ] || { echo "usage: $0 up DIR PORT | down DIR" >&2; exit 2; }
dir=$(realpath "$dir")

background() { # NAME COMMAND...
	local name=$1
	shift
	setsid "$@" >"$dir/$name.log" 2>&1 </dev/null &
	echo $! >"$dir/$name.pid"
}
wait_for() { # NAME COMMAND...: until the command succeeds, while the daemon lives, for two minutes
	local name=$1 end=$((SECONDS + 120))
	shift
	until "$@" >/dev/null 2>&1; do
		if ! kill -0 "$(cat "$dir/$name.pid")" 2>/dev/null || [ $SECONDS -ge $end ]; then
			echo "$name does not come up:" >&2
			tail -n 20 "$dir/$name.log" >&2
			exit 1
		fi
		read -r -t 0.2 <> <(:) || true
	done
}
sql() { mariadb --socket="$dir/mysql.sock" -u root "$@"; }
rabbit() { # sets $as: how to run a RabbitMQ tool as this instance's
	as=(env HOME="$dir/rabbit" RABBITMQ_NODENAME=peer@localhost RABBITMQ_NODE_PORT=$((port + 1)) RABBITMQ_DIST_PORT=$((port + 2))
		ERL_EPMD_PORT=$((port + 3)) RABBITMQ_NODE_IP_ADDRESS=127.0.0.1 RABBITMQ_MNESIA_BASE="$dir/rabbit" RABBITMQ_LOG_BASE="$dir/rabbit"
		RABBITMQ_ENABLED_PLUGINS_FILE="$dir/rabbit/plugins" RABBITMQ_CONF_ENV_FILE=/dev/null RABBITMQ_CONFIG_FILE="$dir/rabbit/none")
}
end() { # NAME: ends a daemon and its session
	local pid
	pid=$(cat "$dir/$1.pid" 2>/dev/null) || return 0
	kill -TERM -- "-$pid" 2>/dev/null || kill "$pid" 2>/dev/null || true
	local until=$((SECONDS + 20))
	while kill -0 -- "-$pid" 2>/dev/null; do
		[ $SECONDS -lt $until ] || { kill -KILL -- "-$pid" 2>/dev/null || true; break; }
		read -r -t 0.2 <> <(:) || true
	done
	rm -f "$dir/$1.pid"
}

packages() {
	local wanted=(mariadb-server rabbitmq-server neutron-common python3-pymysql) missing=() p
	for p in "${wanted[@]}"; do
		[ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null || true)" = installed ] || missing+=("$p")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	local policy=/usr/sbin/policy-rc.d
	if [ ! -e $policy ]; then
		printf '#!/bin/sh\nexit 101\n' >$policy
		chmod 755 $policy
		trap 'rm -f /usr/sbin/policy-rc.d' EXIT
	fi
	apt-get update -q >&2
	apt-get install -y -q --no-install-recommends -o Dpkg::Use-Pty=0 "${missing[@]}" </dev/null >&2
}

configure() {
	cat >"$dir/neutron.conf" <<-EOT
		[DEFAULT]
		core_plugin = ml2
		service_plugins = router,qos,trunk,segments,network_ip_availability,tag,flavors,auto_allocate,revisions,timestamp
		auth_strategy = noauth
		api_workers = 2
		rpc_workers = 1
		rpc_state_report_workers = 0
		bind_host = 127.0.0.1
		bind_port = $port
		transport_url = rabbit://guest:guest@127.0.0.1:$((port + 1))/
		state_path = $dir/neutron
		notify_nova_on_port_status_changes = false
		notify_nova_on_port_data_changes = false
		[oslo_concurrency]
		lock_path = $dir/neutron
		[database]
		connection = mysql+pymysql://root@localhost/neutron?unix_socket=$dir/mysql.sock
		max_pool_size = 20
		[quotas]
		quota_network = -1
		quota_subnet = -1
		quota_port = -1
		quota_floatingip = -1
		quota_router = -1
		quota_security_group_rule = -1
		quota_security_group = -1
	EOT
	cat >"$dir/ml2.ini" <<-EOT
		[ml2]
		type_drivers = local,flat,vlan,gre,vxlan,geneve
		tenant_network_types = vxlan
		mechanism_drivers = openvswitch,l2population
		extension_drivers = port_security,qos
		[ml2_type_vxlan]
		vni_ranges = 1:100000
		[securitygroup]
		firewall_driver = openvswitch
	EOT
}

case "$what" in
up)
	port=${3:?a port}
	packages
	chmod 755 "$dir"
	mkdir -p "$dir/neutron" "$dir/rabbit"
	echo "$port" >"$dir/port"
	mariadb-install-db --no-defaults --datadir="$dir/mysql" --auth-root-authentication-method=normal --skip-test-db --user=root >"$dir/install.log" 2>&1
	background mariadb mariadbd --no-defaults --user=root --datadir="$dir/mysql" --socket="$dir/mysql.sock" --skip-networking --pid-file="$dir/mysql.pid"
	wait_for mariadb sql -e 'SELECT 1'
	sql -e 'CREATE DATABASE neutron CHARACTER SET utf8mb3'
	rabbit
	background rabbitmq "${as[@]}" /usr/lib/rabbitmq/bin/rabbitmq-server
	wait_for rabbitmq "${as[@]}" /usr/lib/rabbitmq/bin/rabbitmqctl await_startup
	configure
	neutron-db-manage --config-file "$dir/neutron.conf" --config-file "$dir/ml2.ini" upgrade heads >"$dir/schema.log" 2>&1
	background neutron neutron-server --config-file "$dir/neutron.conf" --config-file "$dir/ml2.ini"
	wait_for neutron curl -sf -H 'X-Project-Id: p' -H 'X-User-Id: p' -H 'X-Roles: admin' "http://127.0.0.1:$port/v2.0/networks"
	;;
down)
	port=$(cat "$dir/port" 2>/dev/null || echo 0)
	end neutron
	if [ -e "$dir/rabbitmq.pid" ]; then
		end rabbitmq
		rabbit
		"${as[@]}" epmd -kill >/dev/null 2>&1 || true
	fi
	end mariadb
	;;
*)
	echo "usage: $0 up DIR PORT | down DIR" >&2
	exit 2
	;;
esac
