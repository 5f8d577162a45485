package assemble_test

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"testing"

	"isospin/internal/change"
	routerdoc "isospin/internal/document/router"
	"isospin/internal/model"
	"isospin/internal/store"
	"isospin/internal/wire"
	"isospin/test/rig"
)

// routerHost is a host with an L3 agent beside its others.
type routerHost struct{ name, zone, mode string }

// join lets hosts come.
func (c cloud) join(hosts ...routerHost) {
	c.TB.Helper()
	for i, h := range hosts {
		facts := &wire.Facts{TunnelIp: fmt.Sprintf("10.9.%d.%d", len(h.name), i+1), TunnelTypes: []string{"vxlan"}, Agents: []*wire.AgentFacts{
			{AgentType: model.AgentOVS, Binary: "neutron-openvswitch-agent", Topic: "N/A", Configurations: []byte(`{}`), StartedAt: 1},
			{AgentType: model.AgentL3, Binary: "neutron-l3-agent", Topic: "l3_agent", AvailabilityZone: h.zone, Configurations: []byte(`{"agent_mode": "` + h.mode + `"}`), StartedAt: 1},
		}}
		if err := c.core.Agents.Connected(context.Background(), h.name, facts); err != nil {
			c.TB.Fatal(err)
		}
	}
}

// exact checks columns, counts and what hangs in the air.
func (c cloud) exact() {
	c.TB.Helper()
	rig.Exact(c.TB, c.core.Store)
}

// site are an external and an inner network with subnets.
func site() []rig.Step {
	return []rig.Step{
		{As: "A", Do: "POST /networks", Body: `{"network": {"router:external": true}}`, Want: "201", Save: "ext=network.id"},
		{As: "A", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${ext}", "ip_version": 4, "cidr": "203.0.113.0/24", "enable_dhcp": false}}`, Want: "201", Save: "extsub=subnet.id"},
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id"},
		{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 4, "cidr": "10.0.0.0/24"}}`, Want: "201", Save: "sub=subnet.id"},
		{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 6, "cidr": "2001:db8:1::/64", "gateway_ip": "2001:db8:1::1"}}`, Want: "201", Save: "six=subnet.id"},
		{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 6, "cidr": "2001:db8:2::/64", "gateway_ip": "2001:db8:2::1"}}`, Want: "201", Save: "six2=subnet.id"},
	}
}

// TestRouterPlacing: routers get hosts when there is something to do, by zones and loads, and by hand.
func TestRouterPlacing(t *testing.T) {
	c := empty(t, nil)
	v := rig.Vars{}
	c.Run(t, v, site())
	c.Run(t, v, []rig.Step{
		{As: "M", Do: "POST /routers", Body: `{"router": {"external_gateway_info": {"network_id": "${ext}"}}}`, Want: "201", Save: "r=router.id", Has: "router.availability_zones = []"},
		{As: "A", Do: "GET /routers/${r}/l3-agents", Want: "200", Has: "agents = []"},
		{As: "M", Do: "GET /routers/${r}/l3-agents", Want: "403 PolicyNotAuthorized"},
	})
	c.join(routerHost{"h1", "east", "legacy"}, routerHost{"h2", "west", "legacy"}, routerHost{"h33", "west", "dvr"})
	c.sweepRouters()
	ids := c.agents("?agent_type=L3%20agent")
	v["h1"], v["h2"], v["h33"] = ids["h1"], ids["h2"], ids["h33"]
	v["ovs"] = c.agents("?agent_type=Open%20vSwitch%20agent")["h1"]
	c.Run(t, v, []rig.Step{
		{As: "M", Do: "GET /routers/${r}", Want: "200", Has: "router.availability_zones = [\"east\"]\nrouter.revision_number = 1"},
		{As: "A", Do: "GET /routers/${r}/l3-agents", Want: "200", Has: "agents.# = 1\nagents.0.id = \"${h1}\"\nagents.0.ha_state = null\nagents.0.alive = true"},
		{As: "A", Do: "GET /agents/${h1}/l3-routers", Want: "200", Has: "routers.# = 1\nrouters.0.id = \"${r}\""},
		{As: "A", Do: "GET /agents/${h2}/l3-routers", Want: "200", Has: "routers = []"},
		{As: "A", Do: "GET /agents/${ovs}/l3-routers", Want: "200", Has: "routers = []"},
		{As: "A", Do: "GET /ports?device_id=${r}", Want: "200", Has: "ports.0.binding:host_id = \"h1\""},
		{As: "M", Do: "GET /availability_zones?resource=router", Want: "200", Has: "availability_zones.# = 2"},
		// The next is given to who has fewer; a named zone binds.
		{As: "M", Do: "POST /routers", Body: `{"router": {"external_gateway_info": {"network_id": "${ext}"}}}`, Want: "201", Save: "r2=router.id", Has: "router.availability_zones = [\"west\"]"},
		{As: "M", Do: "POST /routers", Body: `{"router": {"availability_zone_hints": ["west"]}}`, Want: "201", Save: "r3=router.id", Has: "router.availability_zones = []"},
		{As: "M", Do: "PUT /routers/${r3}/add_router_interface", Body: `{"subnet_id": "${sub}"}`, Want: "200", Save: "port=port_id"},
		{As: "A", Do: "GET /ports/${port}", Want: "200", Has: "port.binding:host_id = \"h2\""},
		{As: "A", Do: "GET /agents/${h2}/l3-routers", Want: "200", Has: "routers.# = 2"},
		// By hand.
		{As: "A", Do: "POST /agents/${h2}/l3-routers", Body: `{}`, Want: "400 HTTPBadRequest"},
		{As: "A", Do: "POST /agents/${h2}/l3-routers", Body: `{"router_id": "00000000-0000-4000-8000-00000000dead"}`, Want: "404 RouterNotFound"},
		{As: "A", Do: "POST /agents/00000000-0000-4000-8000-00000000dead/l3-routers", Body: `{"router_id": "${r}"}`, Want: "404 AgentNotFound"},
		{As: "A", Do: "POST /agents/${ovs}/l3-routers", Body: `{"router_id": "${r}"}`, Want: "404 InvalidL3Agent"},
		{As: "A", Do: "POST /agents/${h33}/l3-routers", Body: `{"router_id": "${r}"}`, Want: "409 DVRL3CannotAssignToDvrAgent"},
		{As: "A", Do: "DELETE /agents/${h33}/l3-routers/${r}", Want: "409 DVRL3CannotRemoveFromDvrAgent"},
		{As: "A", Do: "POST /agents/${h2}/l3-routers", Body: `{"router_id": "${r}"}`, Want: "409 RouterHostedByL3Agent"},
		{As: "A", Do: "POST /agents/${h1}/l3-routers", Body: `{"router_id": "${r}"}`, Want: "201"},
		{As: "M", Do: "POST /agents/${h1}/l3-routers", Body: `{"router_id": "${r}"}`, Want: "403 PolicyNotAuthorized"},
		{As: "M", Do: "DELETE /agents/${h1}/l3-routers/${r}", Want: "403 PolicyNotAuthorized"},
		{As: "A", Do: "DELETE /agents/${h1}/l3-routers/${r}", Want: "204"},
		{As: "A", Do: "DELETE /agents/${h1}/l3-routers/${r}", Want: "204"},
		{As: "A", Do: "GET /ports?device_id=${r}", Want: "200", Has: "ports.0.binding:host_id = \"\"\nports.0.binding:vif_type = \"unbound\""},
		{As: "A", Do: "POST /agents/${h2}/l3-routers", Body: `{"router_id": "${r}"}`, Want: "201"},
		{As: "A", Do: "GET /ports?device_id=${r}", Want: "200", Has: "ports.0.binding:host_id = \"h2\""},
		{As: "A", Do: "PUT /agents/${h1}", Body: `{"agent": {"admin_state_up": false}}`, Want: "200"},
		{As: "A", Do: "POST /agents/${h1}/l3-routers", Body: `{"router_id": "${r3}"}`, Want: "404 InvalidL3Agent"},
		{As: "M", Do: "DELETE /routers/${r}", Want: "204"},
		{As: "A", Do: "GET /agents/${h2}/l3-routers", Want: "200", Has: "routers.# = 2"},
		{As: "A", Do: "GET /routers/${r}/l3-agents", Want: "404 RouterNotFound"},
		// An agent that is removed leaves its routers to others.
		{As: "A", Do: "PUT /agents/${h1}", Body: `{"agent": {"admin_state_up": true}}`, Want: "200"},
		{As: "A", Do: "DELETE /agents/${h2}", Want: "204"},
		{As: "A", Do: "GET /routers/${r2}/l3-agents", Want: "200", Has: "agents = []"},
	})
	c.sweepRouters()
	c.Run(t, v, []rig.Step{
		{As: "A", Do: "GET /routers/${r2}/l3-agents", Want: "200", Has: "agents.# = 1\nagents.0.id = \"${h1}\""},
		{As: "A", Do: "GET /routers/${r3}/l3-agents", Want: "200", Has: "agents = []"}, // nobody in its zone
	})
	c.exact()
}

// sweepRouters is the server's regular look at routers.
func (c cloud) sweepRouters() {
	c.TB.Helper()
	if err := c.core.Routers.Sweep(context.Background()); err != nil {
		c.TB.Fatal(err)
	}
}

// TestRoutersHA: a highly available router has a port on each of its hosts, on a network that is nobody's.
func TestRoutersHA(t *testing.T) {
	c := empty(t, map[string]string{"DEFAULT/max_l3_agents_per_router": "2", "DEFAULT/router_scheduler_driver": "neutron.scheduler.l3_agent_scheduler.AZLeastRoutersScheduler"})
	v := rig.Vars{}
	c.Run(t, v, site())
	c.join(routerHost{"h1", "east", "legacy"}, routerHost{"h2", "east", "legacy"}, routerHost{"h3", "west", "legacy"})
	ids := c.agents("?agent_type=L3%20agent")
	v["h1"], v["h2"], v["h3"] = ids["h1"], ids["h2"], ids["h3"]
	own := `{"router": {"ha": true, "project_id": "` + rig.ProjectM + `"}}`
	name := "HA network project " + rig.ProjectM
	c.Run(t, v, []rig.Step{
		{As: "A", Do: "POST /routers", Body: own, Want: "201", Save: "r=router.id", Has: "router.ha = true\nrouter.status = \"ACTIVE\"\nrouter.availability_zones = [\"east\", \"west\"]"},
		{As: "A", Do: "GET /networks?name=" + url.QueryEscape(name), Want: "200", Save: "ha=networks.0.id", Has: "networks.# = 1\nnetworks.0.project_id = \"\"\nnetworks.0.subnets.# = 1\nnetworks.0.ha absent"},
		{As: "M", Do: "GET /networks?name=" + url.QueryEscape(name), Want: "200", Has: "networks = []"},
		{As: "A", Do: "GET /ports?device_id=${r}", Want: "200", Has: "ports.# = 2\nports.0.device_owner = \"network:router_ha_interface\"\nports.0.network_id = \"${ha}\"\nports.0.project_id = \"\"", Save: "haport=ports.0.id"},
		{As: "A", Do: "DELETE /ports/${haport}", Want: "409 ServicePortInUse"},
		{As: "A", Do: "GET /routers/${r}/l3-agents", Want: "200", Has: "agents.# = 2\nagents.0.ha_state = \"standby\""},
		{As: "M", Do: "PUT /routers/${r}/add_router_interface", Body: `{"subnet_id": "${sub}"}`, Want: "200", Save: "port=port_id"},
		{As: "A", Do: "GET /ports/${port}", Want: "200", Has: "port.device_owner = \"network:ha_router_replicated_interface\"\nport.binding:host_id = \"h1\""},
	})
	// A host says that it is active: the ports are there.
	state := func(host, word string) {
		t.Helper()
		err := c.core.Store.Write(context.Background(), func(tx store.WriteTx) error {
			r, err := c.core.Routers.Lock(context.Background(), tx, v["r"])
			if err != nil {
				return err
			}
			return c.core.Routers.SetState(context.Background(), tx, &r, host, word)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	state("h3", "active")
	c.Run(t, v, []rig.Step{{As: "A", Do: "GET /ports/${port}", Want: "200", Has: "port.binding:host_id = \"h3\""}})
	state("h1", "active")
	c.Run(t, v, []rig.Step{
		{As: "A", Do: "GET /ports/${port}", Want: "200", Has: "port.binding:host_id = \"h1\""},
		{As: "A", Do: "GET /routers/${r}/l3-agents", Want: "200", Has: "agents.0.ha_state = \"active\"\nagents.1.ha_state = \"standby\""},
		// Preferences, by hand.
		{As: "A", Do: "PUT /agents/${h3}/l3-routers/${r}", Body: `{"ha_chassis_priority": 7}`, Want: "200"},
		{As: "A", Do: "PUT /agents/${h1}/l3-routers/${r}", Body: `{"router": {"ha_chassis_priority": 7}}`, Want: "409 HAChassisPriorityAlreadyAssigned"},
		{As: "A", Do: "PUT /agents/${h1}/l3-routers/${r}", Body: `{"ha_chassis_priority": -1}`, Want: "400 InvalidHAChassisPriority"},
		{As: "A", Do: "PUT /agents/${h1}/l3-routers/${r}", Body: `{"ha_chassis_priority": "x"}`, Want: "400 InvalidHAChassisPriority"},
		{As: "A", Do: "PUT /agents/${h1}/l3-routers/${r}", Body: `{}`, Want: "400"},
		{As: "M", Do: "PUT /agents/${h1}/l3-routers/${r}", Body: `{"ha_chassis_priority": 3}`, Want: "403 PolicyNotAuthorized"},
		{As: "A", Do: "PUT /agents/${h2}/l3-routers/${r}", Body: `{"ha_chassis_priority": 3}`, Want: "409 RouterNotHostedByL3Agent"},
		{As: "A", Do: "GET /routers/${r}/l3-agents", Want: "200", Has: "agents.0.ha_chassis_priority = 7"},
		// A third by hand; one goes with its port.
		{As: "A", Do: "POST /agents/${h2}/l3-routers", Body: `{"router_id": "${r}"}`, Want: "201"},
		{As: "A", Do: "GET /ports?device_owner=network:router_ha_interface", Want: "200", Has: "ports.# = 3"},
		{As: "A", Do: "DELETE /agents/${h1}/l3-routers/${r}", Want: "204"},
		{As: "A", Do: "GET /ports?device_owner=network:router_ha_interface", Want: "200", Has: "ports.# = 2"},
		{As: "A", Do: "GET /ports/${port}", Want: "200", Has: "port.binding:host_id = \"h3\""},
		// A second router speaks over the same network.
		{As: "A", Do: "POST /routers", Body: own, Want: "201", Save: "r2=router.id"},
		{As: "A", Do: "GET /networks?name=" + url.QueryEscape(name), Want: "200", Has: "networks.# = 1"},
		{As: "A", Do: "DELETE /networks/${ha}", Want: "409 NetworkInUse"},
		{As: "A", Do: "DELETE /routers/${r2}", Want: "204"},
		// No longer highly available: only while down.
		{As: "A", Do: "PUT /routers/${r}", Body: `{"router": {"ha": false}}`, Want: "400 BadRequest"},
		{As: "A", Do: "PUT /routers/${r}", Body: `{"router": {"ha": false, "admin_state_up": false}}`, Want: "200", Has: "router.ha = false"},
		{As: "A", Do: "GET /networks?name=" + url.QueryEscape(name), Want: "200", Has: "networks = []"},
		{As: "A", Do: "GET /ports?device_id=${r}", Want: "200", Has: "ports.# = 1\nports.0.device_owner = \"network:router_interface\""},
		{As: "A", Do: "GET /routers/${r}/l3-agents", Want: "200", Has: "agents.# = 1\nagents.0.ha_state = null"},
		{As: "A", Do: "PUT /routers/${r}", Body: `{"router": {"ha": true}}`, Want: "200", Has: "router.ha = true"},
		{As: "A", Do: "GET /ports/${port}", Want: "200", Has: "port.device_owner = \"network:ha_router_replicated_interface\""},
		{As: "A", Do: "GET /routers/${r}/l3-agents", Want: "200", Has: "agents.# = 2"},
		{As: "M", Do: "PUT /routers/${r}/remove_router_interface", Body: `{"subnet_id": "${sub}"}`, Want: "200"},
		{As: "M", Do: "DELETE /routers/${r}", Want: "204"},
		{As: "A", Do: "GET /networks?name=" + url.QueryEscape(name), Want: "200", Has: "networks = []"},
		{As: "A", Do: "GET /ports?device_id=${r}", Want: "200", Has: "ports = []"},
	})
	c.exact()
}

// TestRoutersDVR: a distributed router's interfaces are everywhere, and one port a subnet leads to its gateway's host.
func TestRoutersDVR(t *testing.T) {
	c := empty(t, nil)
	v := rig.Vars{}
	c.Run(t, v, site())
	c.join(routerHost{"h1", "", "legacy"}, routerHost{"h2", "", "dvr_snat"}, routerHost{"h3", "", "dvr"})
	ids := c.agents("?agent_type=L3%20agent")
	v["h1"], v["h2"] = ids["h1"], ids["h2"]
	snats := "/ports?device_id=${r}&device_owner=network:router_centralized_snat"
	c.Run(t, v, []rig.Step{
		{As: "A", Do: "POST /routers", Body: `{"router": {"distributed": true, "project_id": "` + rig.ProjectM + `"}}`, Want: "201", Save: "r=router.id", Has: "router.distributed = true"},
		{As: "M", Do: "PUT /routers/${r}/add_router_interface", Body: `{"subnet_id": "${sub}"}`, Want: "200", Save: "port=port_id"},
		{As: "A", Do: "GET /ports/${port}", Want: "200", Has: "port.device_owner = \"network:router_interface_distributed\"\nport.binding:host_id = \"\""},
		{As: "A", Do: "GET " + snats, Want: "200", Has: "ports = []"},
		{As: "A", Do: "GET /routers/${r}/l3-agents", Want: "200", Has: "agents.# = 1\nagents.0.id = \"${h2}\""},
		{As: "A", Do: "POST /agents/${h1}/l3-routers", Body: `{"router_id": "${r}"}`, Want: "409 RouterL3AgentMismatch"},
		{As: "M", Do: "PUT /routers/${r}", Body: `{"router": {"external_gateway_info": {"network_id": "${ext}"}}}`, Want: "200"},
		{As: "A", Do: "GET " + snats, Want: "200", Has: "ports.# = 1\nports.0.fixed_ips.0.subnet_id = \"${sub}\"\nports.0.binding:host_id = \"h2\"\nports.0.project_id = \"\"", Save: "snat=ports.0.id"},
		{As: "A", Do: "DELETE /ports/${snat}", Want: "409 ServicePortInUse"},
		{As: "M", Do: "PUT /routers/${r}/add_router_interface", Body: `{"subnet_id": "${six}"}`, Want: "200"},
		{As: "A", Do: "GET " + snats, Want: "200", Has: "ports.# = 2"},
		{As: "M", Do: "PUT /routers/${r}/add_router_interface", Body: `{"subnet_id": "${six2}"}`, Want: "200"},
		{As: "A", Do: "GET " + snats, Want: "200", Has: "ports.# = 2"},
		{As: "A", Do: "GET " + snats + "&fixed_ips=subnet_id=${six2}", Want: "200", Has: "ports.# = 1\nports.0.fixed_ips.# = 2"},
		{As: "M", Do: "PUT /routers/${r}/remove_router_interface", Body: `{"subnet_id": "${six}"}`, Want: "200"},
		{As: "A", Do: "GET " + snats + "&fixed_ips=subnet_id=${six2}", Want: "200", Has: "ports.# = 1\nports.0.fixed_ips.# = 1"},
		{As: "M", Do: "PUT /routers/${r}/remove_router_interface", Body: `{"subnet_id": "${six2}"}`, Want: "200"},
		{As: "A", Do: "GET " + snats, Want: "200", Has: "ports.# = 1"},
		// Not distributed any more, and back.
		{As: "A", Do: "PUT /routers/${r}", Body: `{"router": {"admin_state_up": false}}`, Want: "200"},
		{As: "A", Do: "PUT /routers/${r}", Body: `{"router": {"distributed": false}}`, Want: "200", Has: "router.distributed = false"},
		{As: "A", Do: "GET " + snats, Want: "200", Has: "ports = []"},
		{As: "A", Do: "GET /ports/${port}", Want: "200", Has: "port.device_owner = \"network:router_interface\"\nport.binding:host_id = \"h1\""},
		{As: "A", Do: "PUT /routers/${r}", Body: `{"router": {"distributed": true, "ha": true}}`, Want: "200", Has: "router.distributed = true\nrouter.ha = true"},
		{As: "A", Do: "GET " + snats, Want: "200", Has: "ports.# = 1"},
		{As: "A", Do: "GET /ports/${port}", Want: "200", Has: "port.device_owner = \"network:router_interface_distributed\"\nport.binding:host_id = \"\""},
		{As: "M", Do: "PUT /routers/${r}", Body: `{"router": {"external_gateway_info": null}}`, Want: "200"},
		{As: "A", Do: "GET " + snats, Want: "200", Has: "ports = []"},
		{As: "M", Do: "PUT /routers/${r}/remove_router_interface", Body: `{"port_id": "${port}"}`, Want: "200"},
		{As: "M", Do: "DELETE /routers/${r}", Want: "204"},
		{As: "A", Do: "GET /ports?device_id=${r}", Want: "200", Has: "ports = []"},
	})
	c.exact()
}

// TestNetworkHA: alias network_ha, a network that a project makes for its highly available routers; and the preference of agents.
func TestNetworkHA(t *testing.T) {
	c := empty(t, nil)
	v := rig.Vars{}
	c.join(routerHost{"h1", "", "legacy"}, routerHost{"h2", "", "legacy"})
	ids := c.agents("?agent_type=L3%20agent")
	v["h1"], v["h2"] = ids["h1"], ids["h2"]
	own := `{"router": {"ha": true, "project_id": "` + rig.ProjectM + `"}}`
	c.Run(t, v, []rig.Step{
		{As: "A", Do: "PUT /agents/${h2}", Body: `{"agent": {"ha_chassis_priority": 9}}`, Want: "200"},
		{As: "M", Do: "POST /networks", Body: `{"network": {"ha": true}}`, Want: "201", Save: "ha=network.id", Has: "network.ha absent"},
		{As: "M", Do: "POST /networks", Body: `{"network": {"ha": true}}`, Want: "409 DuplicatedHANetwork"},
		{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${ha}", "ip_version": 4, "cidr": "169.254.0.0/24", "enable_dhcp": false}}`, Want: "201"},
		{As: "A", Do: "POST /routers", Body: own, Want: "201", Save: "r=router.id"},
		{As: "A", Do: "GET /ports?network_id=${ha}", Want: "200", Has: "ports.# = 2\nports.0.device_owner = \"network:router_ha_interface\""},
		{As: "A", Do: "GET /routers/${r}/l3-agents", Want: "200", Has: "agents.0.id = \"${h2}\"\nagents.0.ha_chassis_priority = 9"},
		{As: "A", Do: "DELETE /routers/${r}", Want: "204"},
		{As: "M", Do: "GET /networks/${ha}", Want: "200"},
		{As: "M", Do: "DELETE /networks/${ha}", Want: "204"},
		{As: "A", Do: "POST /routers", Body: own, Want: "201"},
		{As: "A", Do: "GET /networks", Want: "200", Has: "networks.# = 1\nnetworks.0.project_id = \"\""},
	})
	c.exact()
}

// TestRouterDocument: a router's hosts, and they alone, are told what it is.
func TestRouterDocument(t *testing.T) {
	c := empty(t, nil)
	v := rig.Vars{}
	c.Run(t, v, site())
	c.join(routerHost{"h1", "", "legacy"})
	c.Run(t, v, []rig.Step{
		{As: "M", Do: "POST /routers", Body: `{"router": {"external_gateway_info": {"network_id": "${ext}"}}}`, Want: "201", Save: "r=router.id"},
		{As: "M", Do: "POST /routers", Body: `{"router": {}}`, Want: "201", Save: "idle=router.id"},
		{As: "M", Do: "PUT /routers/${r}/add_router_interface", Body: `{"subnet_id": "${sub}"}`, Want: "200", Save: "port=port_id"},
		{As: "M", Do: "PUT /routers/${r}", Body: `{"router": {"routes": [{"destination": "10.5.0.0/16", "nexthop": "10.0.0.9"}]}}`, Want: "200"},
	})
	kind, ctx := routerdoc.New(c.core.Routers.Routers, c.core.Ports), context.Background()
	err := c.core.Store.Read(ctx, func(tx store.Tx) error {
		sets := []change.Set{change.NewSet(wire.FamilyHost, "h1"), change.NewSet(wire.FamilyHost, "h2")}
		members, err := kind.Members(ctx, tx, sets)
		if err != nil {
			return err
		}
		if len(members[sets[0]]) != 1 || members[sets[0]][0] != v["r"] || len(members[sets[1]]) != 0 {
			t.Errorf("members: %v", members)
		}
		docs, err := kind.Render(ctx, tx, []string{v["r"], v["idle"], "none"})
		if err != nil {
			return err
		}
		r, ok := docs[v["r"]]
		if !ok || len(docs) != 1 {
			t.Fatalf("documents: %v", docs)
		}
		doc := r.Body.(*wire.Router) //nolint:errcheck // a test may panic
		if len(r.Sets) != 1 || r.Sets[0] != sets[0] || len(r.Refs) != 2 || !slices.Contains(r.Refs, change.NewSet(wire.FamilyNetwork, v["net"])) {
			t.Errorf("sets %v, refs %v", r.Sets, r.Refs)
		}
		if len(doc.Ports) != 2 || len(doc.Gateways) != 1 || !doc.Gateways[0].EnableSnat || len(doc.Routes) != 1 || len(doc.Hosts) != 1 || doc.Hosts[0].Host != "h1" {
			t.Errorf("document: %v", doc)
		}
		for _, p := range doc.Ports {
			if p.Id == v["port"] && (p.DeviceOwner != model.OwnerRouterInterface || len(p.FixedIps) != 1 || p.FixedIps[0].IpAddress != "10.0.0.1") {
				t.Errorf("interface: %v", p)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestRouterFlavours: a flavour's provider says what its routers are.
func TestRouterFlavours(t *testing.T) {
	c := empty(t, nil)
	v := rig.Vars{}
	c.Run(t, v, []rig.Step{
		{As: "A", Do: "POST /flavors", Body: `{"flavor": {"name": "f", "service_type": "L3_ROUTER_NAT"}}`, Want: "201", Save: "f=flavor.id"},
		{As: "A", Do: "POST /routers", Body: `{"router": {"flavor_id": "${f}"}}`, Want: "404 FlavorServiceProfileBindingNotFound"},
		{As: "A", Do: "POST /service_profiles", Body: `{"service_profile": {"driver": "neutron.services.l3_router.service_providers.dvr.DvrDriver"}}`, Want: "201", Save: "p=service_profile.id"},
		{As: "A", Do: "POST /flavors/${f}/service_profiles", Body: `{"service_profile": {"id": "${p}"}}`, Want: "201"},
		{As: "A", Do: "POST /routers", Body: `{"router": {"flavor_id": "${f}", "ha": true}}`, Want: "400 InvalidInput"},
		{As: "A", Do: "POST /routers", Body: `{"router": {"flavor_id": "${f}"}}`, Want: "201", Save: "r=router.id", Has: "router.distributed = true\nrouter.ha = false\nrouter.flavor_id = \"${f}\""},
		{As: "A", Do: "PUT /routers/${r}", Body: `{"router": {"flavor_id": null}}`, Want: "400"},
		{As: "A", Do: "DELETE /flavors/${f}", Want: "409 FlavorInUse"},
		{As: "A", Do: "DELETE /routers/${r}", Want: "204"},
	})
	c.exact()
}
