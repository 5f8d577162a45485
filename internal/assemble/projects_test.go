package assemble_test

import (
	"context"
	"log/slog"
	"maps"
	"net/http/httptest"
	"testing"

	"isospin/internal/assemble"
	"isospin/internal/auth"
	"isospin/internal/config"
	"isospin/internal/model"
	"isospin/internal/wire"
	"isospin/test/rig"
)

// cloud is the API over a database in memory, with hosts that have come but none of a server's own work: a test does it.
type cloud struct {
	rig.Caller
	core *assemble.Core
}

func start(t *testing.T, zones map[string]string) cloud {
	t.Helper()
	c := empty(t, map[string]string{"DEFAULT/dhcp_agents_per_network": "1"})
	for host, zone := range zones {
		facts := &wire.Facts{TunnelIp: "10.9.9." + host[1:], TunnelTypes: []string{"vxlan"}, Agents: []*wire.AgentFacts{
			{AgentType: model.AgentOVS, Binary: "neutron-openvswitch-agent", Topic: "N/A", Configurations: []byte(`{}`), StartedAt: 1},
			{AgentType: model.AgentDHCP, Binary: "neutron-dhcp-agent", Topic: "dhcp_agent", AvailabilityZone: zone, Configurations: []byte(`{}`), StartedAt: 1},
		}}
		if err := c.core.Agents.Connected(context.Background(), host, facts); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// empty is a cloud without hosts, with options as they are given.
func empty(t *testing.T, options map[string]string) cloud {
	t.Helper()
	ctx := context.Background()
	flags := map[string]string{"isospin/memory": "true", "isospin/state_dir": t.TempDir(), "DEFAULT/auth_strategy": "noauth"}
	maps.Copy(flags, options)
	c, _, err := config.Load[config.Server](config.Sources{Flags: flags, Host: "test"})
	if err != nil {
		t.Fatal(err)
	}
	env := assemble.NewEnv(slog.New(slog.DiscardHandler))
	st, err := assemble.OpenStore(ctx, c, env, true)
	if err != nil {
		t.Fatal(err)
	}
	core, err := assemble.NewCore(c, env, st, env.IDs.UUID())
	if err != nil {
		t.Fatal(err)
	}
	if err := core.Prepare(ctx); err != nil {
		t.Fatal(err)
	}
	rules, err := assemble.NewPolicy(c, env)
	if err != nil {
		t.Fatal(err)
	}
	api, err := core.API(c, env, auth.NoAuth{}, rules.Engine)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(api)
	t.Cleanup(func() {
		server.Close()
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return cloud{Caller: rig.Caller{TB: t, URL: server.URL}.Who("A"), core: core}
}

// serve does the work that is owed for a network.
func (c cloud) serve(id string) {
	c.TB.Helper()
	if err := c.core.DHCP.Serve(context.Background(), id); err != nil {
		c.TB.Fatal(err)
	}
}

// sweep is the server's regular look at networks.
func (c cloud) sweep() {
	c.TB.Helper()
	if err := c.core.DHCP.Sweep(context.Background()); err != nil {
		c.TB.Fatal(err)
	}
}

func (c cloud) agents(query string) map[string]string {
	c.TB.Helper()
	out := map[string]string{}
	for _, a := range c.List("/agents"+query, "agents") {
		host, ok := a["host"].(string)
		id, ok2 := a["id"].(string)
		if !ok || !ok2 {
			c.TB.Fatalf("an agent: %v", a)
		}
		out[host] = id
	}
	return out
}

// TestAvailabilityZones: behaviour.md, section 15.
func TestAvailabilityZones(t *testing.T) {
	c := start(t, map[string]string{"h1": "east", "h2": "west", "h3": "west"})
	ids := c.agents("?agent_type=DHCP%20agent")
	v := rig.Vars{"h1": ids["h1"], "h2": ids["h2"]}
	c.Run(t, v, []rig.Step{
		{As: "M", Do: "GET /availability_zones", Want: "200", Has: "availability_zones.# = 2\navailability_zones.0 = {\"name\": \"east\", \"resource\": \"network\", \"state\": \"available\"}\navailability_zones.1.name = \"west\""},
		{As: "M", Do: "GET /availability_zones?name=west", Want: "200", Has: "availability_zones.# = 1"},
		{As: "M", Do: "GET /availability_zones?resource=router", Want: "200", Has: "availability_zones.# = 0"},
		{As: "M", Do: "GET /availability_zones?state=unavailable", Want: "200", Has: "availability_zones.# = 0"},
		{As: "M", Do: "GET /availability_zones?unicorn=1", Want: "400"},
		{As: "M", Do: "GET /availability_zones?fields=name", Want: "200", Has: "availability_zones.0 = {\"name\": \"east\"}"},
		{As: "M", Do: "GET /availability_zones/east", Want: "404"},
		{As: "A", Do: "POST /availability_zones", Body: `{"availability_zone": {}}`, Want: "400"},
		{As: "A", Do: "PUT /availability_zones/east", Body: `{"availability_zone": {}}`, Want: "400"},
		{As: "A", Do: "DELETE /availability_zones/east", Want: "400"},
		{As: "A", Do: "PUT /agents/${h1}", Body: `{"agent": {"admin_state_up": false}}`, Want: "200", Has: "agent.availability_zone = \"east\""},
		{As: "M", Do: "GET /availability_zones?state=unavailable", Want: "200", Has: "availability_zones.# = 1\navailability_zones.0.name = \"east\""},
		{As: "A", Do: "PUT /agents/${h1}", Body: `{"agent": {"admin_state_up": true}}`, Want: "200"},
		{As: "A", Do: "GET /agents?availability_zone=west&agent_type=DHCP%20agent", Want: "200", Has: "agents.# = 2"},
		{As: "M", Do: "POST /networks", Body: `{"network": {"availability_zone_hints": ["north"]}}`, Want: "404 AvailabilityZoneNotFound"},
		{As: "M", Do: "POST /networks", Body: `{"network": {"availability_zone_hints": "east"}}`, Want: "400"},
		{As: "M", Do: "POST /networks", Body: `{"network": {"availability_zone_hints": ["east"]}}`, Want: "201", Save: "net=network.id", Has: "network.availability_zone_hints = [\"east\"]\nnetwork.availability_zones = []"},
		{As: "M", Do: "PUT /networks/${net}", Body: `{"network": {"availability_zone_hints": ["west"]}}`, Want: "400"},
		{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 4, "cidr": "10.0.0.0/24"}}`, Want: "201"},
	})
	c.serve(v["net"])
	c.Run(t, v, []rig.Step{
		{As: "M", Do: "GET /networks/${net}", Want: "200", Has: `network.availability_zones = ["east"]`},
		{As: "M", Do: "GET /networks", Want: "200", Has: `networks.0.availability_zones = ["east"]`},
		{As: "A", Do: "GET /networks/${net}/dhcp-agents", Want: "200", Has: "agents.# = 1\nagents.0.host = \"h1\"\nagents.0.alive = true"},
	})
}

// TestDHCPScheduler: behaviour.md, section 15.
func TestDHCPScheduler(t *testing.T) {
	c := start(t, map[string]string{"h1": "nova", "h2": "nova"})
	ids, ovs := c.agents("?agent_type=DHCP%20agent"), c.agents("?agent_type=Open%20vSwitch%20agent")
	v := rig.Vars{"h1": ids["h1"], "h2": ids["h2"], "ovs": ovs["h1"]}
	c.Run(t, v, []rig.Step{
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id"},
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "bare=network.id"},
		{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 4, "cidr": "10.0.0.0/24"}}`, Want: "201"},
	})
	c.serve(v["net"])
	c.Run(t, v, []rig.Step{
		{As: "A", Do: "GET /agents/${h1}/dhcp-networks", Want: "200", Has: "networks.# = 1\nnetworks.0.id = \"${net}\"\nnetworks.0.shared = false\nnetworks.0.subnets.# = 1"},
		{As: "A", Do: "GET /agents/${h2}/dhcp-networks", Want: "200", Has: "networks.# = 0"},
		{As: "A", Do: "POST /agents/${h1}/dhcp-networks", Body: `{"network_id": "${net}"}`, Want: "409 NetworkHostedByDHCPAgent"},
		{As: "A", Do: "POST /agents/${ovs}/dhcp-networks", Body: `{"network_id": "${net}"}`, Want: "404 InvalidDHCPAgent"},
		{As: "A", Do: "POST /agents/nope/dhcp-networks", Body: `{"network_id": "${net}"}`, Want: "404 AgentNotFound"},
		{As: "A", Do: "POST /agents/${h2}/dhcp-networks", Body: `{"network_id": "nope"}`, Want: "404 NetworkNotFound"},
		{As: "A", Do: "POST /agents/${h2}/dhcp-networks", Body: `{}`, Want: "400"},
		{As: "A", Do: "POST /agents/${h2}/dhcp-networks", Body: `{"network_id": 1}`, Want: "400"},
		{As: "A", Do: "POST /agents/${h2}/dhcp-networks", Want: "400"},
		{As: "M", Do: "POST /agents/${h2}/dhcp-networks", Body: `{"network_id": "${net}"}`, Want: "403"},
		{As: "M", Do: "GET /agents/${h1}/dhcp-networks", Want: "403"},
		{As: "M", Do: "GET /networks/${net}/dhcp-agents", Want: "403"},
		{As: "A", Do: "GET /networks/nope/dhcp-agents", Want: "404 NetworkNotFound"},
		{As: "A", Do: "PUT /agents/${h1}/dhcp-networks", Body: `{}`, Want: "405"},
		{As: "A", Do: "POST /networks/${net}/dhcp-agents", Body: `{}`, Want: "405"},
		{As: "A", Do: "POST /agents/${h2}/dhcp-networks", Body: `{"network_id": "${net}"}`, Want: "201"},
		{As: "A", Do: "POST /agents/${h2}/dhcp-networks", Body: `{"network_id": "${bare}"}`, Want: "201"},
		{As: "A", Do: "GET /agents/${h2}/dhcp-networks", Want: "200", Has: "networks.# = 2"},
	})
	c.serve(v["net"])
	c.Run(t, v, []rig.Step{
		{As: "A", Do: "GET /networks/${net}/dhcp-agents", Want: "200", Has: "agents.# = 2"},
		{As: "A", Do: "GET /ports?network_id=${net}&device_owner=network:dhcp", Want: "200", Has: "ports.# = 2"},
		{As: "A", Do: "DELETE /agents/${h1}/dhcp-networks/${net}", Want: "204"},
		{As: "A", Do: "DELETE /agents/${h1}/dhcp-networks/${net}", Want: "409 NetworkNotHostedByDhcpAgent"},
		{As: "A", Do: "GET /ports?network_id=${net}&device_owner=network:dhcp", Want: "200", Has: "ports.# = 1\nports.0.binding:host_id = \"h2\""},
		{As: "A", Do: "DELETE /agents/${h2}/dhcp-networks/${net}", Want: "204"},
	})
	// What was taken away does not come back by itself, until it is given again.
	c.sweep()
	c.serve(v["net"])
	c.Run(t, v, []rig.Step{
		{As: "A", Do: "GET /networks/${net}/dhcp-agents", Want: "200", Has: "agents.# = 0"},
		{As: "A", Do: "POST /agents/${h1}/dhcp-networks", Body: `{"network_id": "${net}"}`, Want: "201"},
		{As: "A", Do: "PUT /agents/${h2}", Body: `{"agent": {"admin_state_up": false}}`, Want: "200"},
		{As: "A", Do: "POST /agents/${h2}/dhcp-networks", Body: `{"network_id": "${net}"}`, Want: "404 InvalidDHCPAgent"},
	})
	c.serve(v["net"])
	c.Run(t, v, []rig.Step{
		{As: "A", Do: "GET /ports?network_id=${net}&device_owner=network:dhcp", Want: "200", Has: "ports.# = 1\nports.0.binding:host_id = \"h1\""},
		{As: "A", Do: "GET /quotas/" + rig.ProjectM + "/details", Want: "200", Has: "quota.port.used = 1"},
		{As: "M", Do: "DELETE /networks/${net}", Want: "204"},
		{As: "A", Do: "GET /agents/${h1}/dhcp-networks", Want: "200", Has: "networks.# = 0"},
		{As: "A", Do: "GET /quotas/" + rig.ProjectM + "/details", Want: "200", Has: "quota.port.used = 0\nquota.network.used = 1"},
	})
}

// TestIPAvailability: behaviour.md, section 15.
func TestIPAvailability(t *testing.T) {
	c := start(t, nil)
	c.Run(t, rig.Vars{}, []rig.Step{
		{As: "M", Do: "POST /networks", Body: `{"network": {"name": "n"}}`, Want: "201", Save: "net=network.id"},
		{As: "M", Do: "POST /networks", Body: `{"network": {"name": "bare"}}`, Want: "201", Save: "bare=network.id"},
		{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 4, "cidr": "10.0.0.0/24", "name": "s"}}`, Want: "201", Save: "sub=subnet.id"},
		{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 6, "cidr": "2001:db8::/64", "gateway_ip": null}}`, Want: "201"},
		{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "fixed_ips": [{"subnet_id": "${sub}"}, {"subnet_id": "${sub}"}]}}`, Want: "201"},
		{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "fixed_ips": [{"ip_address": "10.0.0.1"}]}}`, Want: "201"},
		{As: "A", Do: "GET /network-ip-availabilities/${net}", Want: "200", Has: "network_ip_availability.network_name = \"n\"\nnetwork_ip_availability.used_ips = 3\nnetwork_ip_availability.tenant_id = \"" + rig.ProjectM + "\"\nnetwork_ip_availability.project_id = \"" + rig.ProjectM + "\"\nnetwork_ip_availability.subnet_ip_availability.# = 2"},
		{As: "A", Do: "GET /network-ip-availabilities?ip_version=4", Want: "200", Has: "network_ip_availabilities.# = 1\nnetwork_ip_availabilities.0.total_ips = 253\nnetwork_ip_availabilities.0.used_ips = 3\n" +
			"network_ip_availabilities.0.subnet_ip_availability.0 = {\"subnet_id\": \"${sub}\", \"subnet_name\": \"s\", \"cidr\": \"10.0.0.0/24\", \"ip_version\": 4, \"total_ips\": 253, \"used_ips\": 3,\"ip_availability_details\": {\"total_ips_in_subnet\": 254, \"total_ips_in_allocation_pool\": 253, \"used_ips_in_subnet\": 3, \"used_ips_in_allocation_pool\": 2}}"},
		{As: "A", Do: "GET /network-ip-availabilities?ip_version=6", Want: "200", Has: "network_ip_availabilities.# = 1\nnetwork_ip_availabilities.0.subnet_ip_availability.# = 1\nnetwork_ip_availabilities.0.used_ips = 0\nnetwork_ip_availabilities.0.ip_availability_details.total_ips_in_subnet = 18446744073709551616"},
		{As: "A", Do: "GET /network-ip-availabilities", Want: "200", Has: "network_ip_availabilities.# = 2"},
		{As: "A", Do: "GET /network-ip-availabilities?network_name=bare", Want: "200", Has: "network_ip_availabilities.# = 1\nnetwork_ip_availabilities.0.total_ips = 0"},
		{As: "A", Do: "GET /network-ip-availabilities?network_id=${net}&fields=used_ips", Want: "200", Has: `network_ip_availabilities = [{"used_ips": 3}]`},
		{As: "A", Do: "GET /network-ip-availabilities?tenant_id=nobody", Want: "200", Has: "network_ip_availabilities.# = 0"},
		{As: "A", Do: "GET /network-ip-availabilities?limit=1&sort_key=network_id&sort_dir=desc", Want: "200", Has: "network_ip_availabilities.# = 1\nnetwork_ip_availabilities_links.# = 2"},
		{As: "A", Do: "GET /network-ip-availabilities?limit=1&marker=nope", Want: "404"},
		{As: "A", Do: "GET /network-ip-availabilities?unicorn=1", Want: "400"},
		{As: "A", Do: "GET /network-ip-availabilities/nope", Want: "404 NetworkNotFound"},
		{As: "M", Do: "GET /network-ip-availabilities/${net}", Want: "404 NetworkNotFound"},
		{As: "M", Do: "GET /network-ip-availabilities", Want: "200", Has: "network_ip_availabilities.# = 0"},
		{As: "A", Do: "DELETE /network-ip-availabilities/${net}", Want: "400"},
		{As: "A", Do: "PUT /network-ip-availabilities/${net}", Body: `{}`, Want: "400"},
		{As: "A", Do: "POST /network-ip-availabilities", Body: `{}`, Want: "400"},
	})
}
