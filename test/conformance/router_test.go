package conformance

import (
	"strings"
	"testing"

	"isospin/test/rig"
)

// outside are an external network with a subnet, two networks inside with subnets, and a router.
func outside() []rig.Step {
	return []rig.Step{
		{As: "A", Do: "POST /networks", Body: `{"network": {"router:external": true}}`, Want: "201", Save: "ext=network.id"},
		{As: "A", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${ext}", "ip_version": 4, "cidr": "203.0.113.0/24", "enable_dhcp": false}}`, Want: "201", Save: "extsub=subnet.id"},
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id"},
		{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 4, "cidr": "10.0.0.0/24"}}`, Want: "201", Save: "sub=subnet.id"},
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net2=network.id"},
		{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net2}", "ip_version": 4, "cidr": "10.0.1.0/24"}}`, Want: "201", Save: "sub2=subnet.id"},
		{As: "M", Do: "POST /routers", Body: `{"router": {"name": "r"}}`, Want: "201", Save: "r=router.id"},
	}
}

// body makes the body of a PUT of a router, and act that of an action.
func routerBody(members string) string { return `{"router": {` + members + `}}` }

// TestRouters: behaviour.md, section 13.
func TestRouters(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		v := rig.Vars{}
		c.Run(t, v, outside())
		c.Run(t, v, []rig.Step{
			{As: "M", Do: "GET /routers/${r}", Want: "200", Has: "router.name = \"r\"\nrouter.status = \"ACTIVE\"\nrouter.admin_state_up = true\nrouter.external_gateway_info = null\nrouter.external_gateways = []\nrouter.routes = []\nrouter.revision_number = 1\nrouter.ha absent\nrouter.distributed absent\nrouter.gw_port_id absent\nrouter.tags = []\nrouter.flavor_id = null\nrouter.availability_zones = []\nrouter.availability_zone_hints = []\nrouter.enable_snat = true\nrouter.description = \"\""},
			{As: "A", Do: "GET /routers/${r}", Want: "200", Has: "router.ha = false\nrouter.distributed = false"},
			{As: "O", Do: "GET /routers/${r}", Want: "404 RouterNotFound"},
			{As: "O", Do: "DELETE /routers/${r}", Want: "404 RouterNotFound"},
			{As: "O", Do: "PUT /routers/${r}/add_router_interface", Body: `{"subnet_id": "${sub}"}`, Want: "404 RouterNotFound"},
			{As: "R", Do: "PUT /routers/${r}/add_router_interface", Body: `{"subnet_id": "${sub}"}`, Want: "403 PolicyNotAuthorized"},
			{As: "R", Do: "POST /routers", Body: `{"router": {}}`, Want: "403 PolicyNotAuthorized"},
			{As: "M", Do: "POST /routers", Body: `{"router": {"ha": true}}`, Want: "403 PolicyNotAuthorized"},
			{As: "M", Do: "POST /routers", Body: `{"router": {"distributed": false}}`, Want: "403 PolicyNotAuthorized"},
			{As: "M", Do: "POST /routers", Body: `{"routers": [{}, {}]}`, Want: "400"},
			{As: "M", Do: "POST /routers", Body: `{"router": {"routes": []}}`, Want: "400"},
			{As: "M", Do: "POST /routers", Body: `{"router": {"external_gateway_info": {"external_fixed_ips": []}}}`, Want: "400"},
			{As: "M", Do: "POST /routers", Body: `{"router": {"external_gateway_info": {"network_id": "${net}"}}}`, Want: "400 BadRequest"},
			{As: "M", Do: "POST /routers", Body: `{"router": {"external_gateway_info": {"network_id": "00000000-0000-4000-8000-00000000dead"}}}`, Want: "404 NetworkNotFound"},
			{As: "M", Do: "POST /routers", Body: `{"router": {"external_gateway_info": {"network_id": "${ext}", "enable_snat": false}}}`, Want: "403 PolicyNotAuthorized"},
			{As: "M", Do: "POST /routers", Body: `{"router": {"availability_zone_hints": ["nowhere"]}}`, Want: "404 AvailabilityZoneNotFound"},
			{As: "M", Do: "POST /routers", Body: `{"router": {"flavor_id": "00000000-0000-4000-8000-00000000dead"}}`, Want: "404 FlavorNotFound"},
			{As: "A", Do: "GET /quotas/" + rig.ProjectM + "/details", Want: "200", Has: "quota.router.used = 1"},
			// Update.
			{As: "M", Do: "PUT /routers/${r}", Body: routerBody(`"name": "r2", "description": "d"`), Want: "200", Has: "router.name = \"r2\"\nrouter.revision_number = 2\nrouter.description = \"d\""},
			{As: "M", Do: "PUT /routers/${r}", Body: routerBody(``), Want: "200", Has: "router.revision_number = 2"},
			{As: "M", Do: "PUT /routers/${r}", Body: routerBody(`"ha": true`), Want: "403 PolicyNotAuthorized"},
			{As: "A", Do: "PUT /routers/${r}", Body: routerBody(`"distributed": true`), Want: "400 BadRequest"},
			{As: "A", Do: "PUT /routers/${r}", Body: routerBody(`"distributed": true, "admin_state_up": false`), Want: "400 BadRequest"},
			{As: "A", Do: "PUT /routers/${r}", Body: routerBody(`"ha": null, "distributed": null`), Want: "200", Has: "router.ha = false\nrouter.revision_number = 2"},
			{As: "M", Do: "GET /routers?name=r2&admin_state_up=true", Want: "200", Has: "routers.# = 1"},
			{As: "M", Do: "GET /routers?status=ACTIVE", Want: "400"},
			{As: "M", Do: "GET /routers?fields=name&fields=status", Want: "200", Has: "routers.0.name = \"r2\"\nrouters.0.id absent"},
			{As: "M", Do: "PUT /routers/${r}/fly", Body: `{}`, Want: "404"},
			{As: "M", Do: "DELETE /routers/${r}", Want: "204"},
			{As: "M", Do: "GET /routers/${r}", Want: "404 RouterNotFound"},
			{As: "A", Do: "GET /quotas/" + rig.ProjectM + "/details", Want: "200", Has: "quota.router.used = 0"},
		})
	})
}

// TestRouterInterfaces: subnets and ports join a router and leave it.
func TestRouterInterfaces(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		v := rig.Vars{}
		c.Run(t, v, outside())
		add := func(body, want string, more ...string) rig.Step {
			s := rig.Step{As: "M", Do: "PUT /routers/${r}/add_router_interface", Body: body, Want: want}
			for _, m := range more {
				if strings.Contains(m, " = ") {
					s.Has = m
				} else {
					s.Save = m
				}
			}
			return s
		}
		c.Run(t, v, []rig.Step{
			add(`{}`, "400 BadRequest"),
			add(`{"subnet_id": "${sub}", "port_id": "${sub}"}`, "400 BadRequest"),
			add(`{"subnet_id": "nope"}`, "400"),
			add(`{"subnet_id": "00000000-0000-4000-8000-00000000dead"}`, "404 SubnetNotFound"),
			add(`{"port_id": "00000000-0000-4000-8000-00000000dead"}`, "404 PortNotFound"),
			add(`{"subnet_id": "${sub}"}`, "200", "port=port_id", "id = \"${r}\"\nsubnet_id = \"${sub}\"\nsubnet_ids = [\"${sub}\"]\nnetwork_id = \"${net}\"\nproject_id = \""+rig.ProjectM+"\"\ntenant_id = \""+rig.ProjectM+"\""),
			add(`{"subnet_id": "${sub}"}`, "400 BadRequest"),
			{As: "M", Do: "GET /ports/${port}", Want: "200", Has: "port.device_owner = \"network:router_interface\"\nport.device_id = \"${r}\"\nport.fixed_ips.0.ip_address = \"10.0.0.1\"\nport.security_groups = []\nport.port_security_enabled = false"},
			{As: "M", Do: "GET /routers/${r}", Want: "200", Has: "router.revision_number = 2"},
			{As: "M", Do: "DELETE /ports/${port}", Want: "409 ServicePortInUse"},
			{As: "M", Do: "PUT /ports/${port}", Body: `{"port": {"device_id": ""}}`, Want: "409 PortInUse"},
			{As: "M", Do: "PUT /ports/${port}", Body: `{"port": {"device_owner": "compute:nova"}}`, Want: "409 PortInUse"},
			{As: "M", Do: "PUT /ports/${port}", Body: `{"port": {"fixed_ips": [{"ip_address": "10.0.0.9"}]}}`, Want: "400 BadRequest"},
			{As: "M", Do: "PUT /ports/${port}", Body: `{"port": {"name": "gw"}}`, Want: "200"},
			{As: "M", Do: "DELETE /subnets/${sub}", Want: "409 SubnetInUse"},
			{As: "M", Do: "PUT /subnets/${sub}", Body: `{"subnet": {"gateway_ip": null}}`, Want: "409 GatewayIpInUse"},
			{As: "M", Do: "DELETE /networks/${net}", Want: "409 NetworkInUse"},
			{As: "M", Do: "DELETE /routers/${r}", Want: "409 RouterInUse"},
			// Subnets that cannot join.
			{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "other=network.id"},
			{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${other}", "ip_version": 4, "cidr": "10.0.0.128/25"}}`, Want: "201", Save: "overlap=subnet.id"},
			{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${other}", "ip_version": 4, "cidr": "10.9.0.0/24", "gateway_ip": null}}`, Want: "201", Save: "nogw=subnet.id"},
			{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${other}", "ip_version": 6, "cidr": "2001:db8:9::/64", "ipv6_address_mode": "slaac"}}`, Want: "201", Save: "foreignra=subnet.id"},
			add(`{"subnet_id": "${overlap}"}`, "400 BadRequest"),
			add(`{"subnet_id": "${nogw}"}`, "400 BadRequest"),
			add(`{"subnet_id": "${foreignra}"}`, "400 BadRequest"),
			// A port.
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net2}", "fixed_ips": [{"ip_address": "10.0.1.77"}]}}`, Want: "201", Save: "own=port.id"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net2}", "fixed_ips": []}}`, Want: "201", Save: "bare=port.id"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net2}", "device_id": "x"}}`, Want: "201", Save: "used=port.id"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "fixed_ips": [{"ip_address": "10.0.0.77"}]}}`, Want: "201", Save: "again=port.id"},
			add(`{"port_id": "${bare}"}`, "400 BadRequest"),
			add(`{"port_id": "${used}"}`, "409 PortInUse"),
			add(`{"port_id": "${again}"}`, "400 BadRequest"),
			add(`{"port_id": "${own}"}`, "200", "port_id = \"${own}\"\nsubnet_id = \"${sub2}\""),
			{As: "M", Do: "GET /ports/${own}", Want: "200", Has: "port.device_owner = \"network:router_interface\"\nport.device_id = \"${r}\""},
			// Leaving.
			{As: "M", Do: "PUT /routers/${r}/remove_router_interface", Body: `{}`, Want: "400 BadRequest"},
			{As: "M", Do: "PUT /routers/${r}/remove_router_interface", Body: `{"port_id": "${used}"}`, Want: "404 RouterInterfaceNotFound"},
			{As: "M", Do: "PUT /routers/${r}/remove_router_interface", Body: `{"subnet_id": "${overlap}"}`, Want: "404 RouterInterfaceNotFoundForSubnet"},
			{As: "M", Do: "PUT /routers/${r}/remove_router_interface", Body: `{"port_id": "${own}", "subnet_id": "${sub}"}`, Want: "400 SubnetMismatchForPort"},
			{As: "M", Do: "PUT /routers/${r}/remove_router_interface", Body: `{"port_id": "${own}", "subnet_id": "${sub2}"}`, Want: "200", Has: "port_id = \"${own}\"\nsubnet_id = \"${sub2}\"\nsubnet_ids = [\"${sub2}\"]"},
			{As: "M", Do: "GET /ports/${own}", Want: "404 PortNotFound"},
			{As: "M", Do: "PUT /routers/${r}/remove_router_interface", Body: `{"subnet_id": "${sub}"}`, Want: "200", Has: "port_id = \"${port}\""},
			{As: "M", Do: "PUT /routers/${r}/remove_router_interface", Body: `{"subnet_id": "${sub}"}`, Want: "404 RouterInterfaceNotFoundForSubnet"},
			{As: "M", Do: "DELETE /routers/${r}", Want: "204"},
		})
	})
}

// TestRouterInterfaces6: the IPv6 subnets of a network share a port of their router.
func TestRouterInterfaces6(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		v := rig.Vars{}
		c.Run(t, v, outside())
		c.Run(t, v, []rig.Step{
			{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 6, "cidr": "2001:db8:1::/64", "ipv6_ra_mode": "slaac", "ipv6_address_mode": "slaac"}}`, Want: "201", Save: "six=subnet.id"},
			{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 6, "cidr": "2001:db8:2::/64", "gateway_ip": "2001:db8:2::1"}}`, Want: "201", Save: "six2=subnet.id"},
			{As: "M", Do: "PUT /routers/${r}/add_router_interface", Body: `{"subnet_id": "${sub}"}`, Want: "200", Save: "p4=port_id"},
			{As: "M", Do: "PUT /routers/${r}/add_router_interface", Body: `{"subnet_id": "${six}"}`, Want: "200", Save: "p6=port_id"},
			{As: "M", Do: "PUT /routers/${r}/add_router_interface", Body: `{"subnet_id": "${six2}"}`, Want: "200", Has: "port_id = \"${p6}\"\nsubnet_ids = [\"${six2}\"]"},
			{As: "M", Do: "GET /ports?device_id=${r}", Want: "200", Has: "ports.# = 2"},
			{As: "M", Do: "GET /ports/${p6}", Want: "200", Has: "port.fixed_ips.# = 2"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "fixed_ips": [{"subnet_id": "${six2}"}]}}`, Want: "201", Save: "own=port.id"},
			{As: "M", Do: "PUT /routers/${r}/add_router_interface", Body: `{"port_id": "${own}"}`, Want: "400 BadRequest"},
			{As: "M", Do: "PUT /routers/${r}/remove_router_interface", Body: `{"subnet_id": "${six}"}`, Want: "200", Has: "port_id = \"${p6}\"\nsubnet_ids = [\"${six}\"]"},
			{As: "M", Do: "GET /ports/${p6}", Want: "200", Has: "port.fixed_ips.# = 1"},
			{As: "M", Do: "PUT /routers/${r}/remove_router_interface", Body: `{"subnet_id": "${six2}"}`, Want: "200"},
			{As: "M", Do: "GET /ports/${p6}", Want: "404 PortNotFound"},
		})
	})
}

// TestRouterForeign: subnets of others join only where the network is shared with the project by name; routers of others cannot be named
// by ports.
func TestRouterForeign(t *testing.T) {
	v := rig.Vars{}
	c := quick(t)
	c.Run(t, v, outside())
	c.Run(t, v, []rig.Step{
		{As: "A", Do: "POST /networks", Body: `{"network": {"shared": true}}`, Want: "201", Save: "pub=network.id"},
		{As: "A", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${pub}", "ip_version": 4, "cidr": "10.7.0.0/24"}}`, Want: "201", Save: "pubsub=subnet.id"},
		{As: "M", Do: "PUT /routers/${r}/add_router_interface", Body: `{"subnet_id": "${pubsub}"}`, Want: "400 BadRequest"},
		{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${pub}"}}`, Want: "201", Save: "in=port.id"},
		{As: "M", Do: "PUT /routers/${r}/add_router_interface", Body: `{"port_id": "${in}"}`, Want: "200"},
		{As: "A", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "named=network.id"},
		{As: "A", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${named}", "ip_version": 4, "cidr": "10.8.0.0/24"}}`, Want: "201", Save: "namedsub=subnet.id"},
		{As: "M", Do: "PUT /routers/${r}/add_router_interface", Body: `{"subnet_id": "${namedsub}"}`, Want: "404 SubnetNotFound"},
		{As: "A", Do: "POST /rbac-policies", Body: `{"rbac_policy": {"object_type": "network", "object_id": "${named}", "action": "access_as_shared", "target_tenant": "` + rig.ProjectM + `"}}`, Want: "201"},
		{As: "M", Do: "PUT /routers/${r}/add_router_interface", Body: `{"subnet_id": "${namedsub}"}`, Want: "200"},
		{As: "O", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "onet=network.id"},
		{As: "O", Do: "POST /ports", Body: `{"port": {"network_id": "${onet}", "device_owner": "network:router_interface", "device_id": "${r}"}}`, Want: "409 DeviceIDNotOwnedByTenant"},
		{As: "O", Do: "POST /ports", Body: `{"port": {"network_id": "${onet}"}}`, Want: "201", Save: "oport=port.id"},
		{As: "O", Do: "PUT /ports/${oport}", Body: `{"port": {"device_owner": "network:router_interface", "device_id": "${r}"}}`, Want: "409 DeviceIDNotOwnedByTenant"},
		{As: "A", Do: "PUT /routers/${r}/add_router_interface", Body: `{"port_id": "${oport}"}`, Want: "400"},
	})
}
