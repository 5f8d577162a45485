package conformance

import (
	"testing"

	"isospin/test/rig"
)

// TestRouterGateway: behaviour.md, section 13.
func TestRouterGateway(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		v := rig.Vars{}
		c.Run(t, v, outside())
		c.Run(t, v, []rig.Step{
			{As: "M", Do: "PUT /routers/${r}", Body: routerBody(`"external_gateway_info": {}`), Want: "200", Has: "router.external_gateway_info = null"},
			{As: "M", Do: "PUT /routers/${r}", Body: routerBody(`"external_gateway_info": {"network_id": "${net}"}`), Want: "400 BadRequest"},
			{As: "M", Do: "PUT /routers/${r}", Body: routerBody(`"external_gateway_info": {"network_id": "${ext}", "external_fixed_ips": [{"ip_address": "203.0.113.7"}]}`), Want: "403 PolicyNotAuthorized"},
			{As: "M", Do: "PUT /routers/${r}", Body: routerBody(`"external_gateway_info": {"network_id": "${ext}", "enable_snat": true}`), Want: "403 PolicyNotAuthorized"},
			{As: "A", Do: "PUT /routers/${r}", Body: routerBody(`"external_gateway_info": {"network_id": "${ext}", "external_fixed_ips": [{"ip_address": "203.0.113.1"}]}`), Want: "400 BadRequest"},
			{As: "A", Do: "PUT /routers/${r}", Body: routerBody(`"external_gateway_info": {"network_id": "${ext}", "external_fixed_ips": [{"ip_address": "198.51.100.1"}]}`), Want: "400 InvalidIpForNetwork"},
			{As: "M", Do: "PUT /routers/${r}", Body: routerBody(`"external_gateway_info": {"network_id": "${ext}"}`), Want: "200",
				Has: "router.external_gateway_info.network_id = \"${ext}\"\nrouter.external_gateway_info.enable_snat = true\nrouter.external_gateway_info.external_fixed_ips.# = 1\nrouter.external_gateway_info.external_fixed_ips.0.subnet_id = \"${extsub}\"\nrouter.external_gateway_info.qos_policy_id absent\nrouter.external_gateways.# = 1\nrouter.revision_number = 2"},
			{As: "M", Do: "PUT /routers/${r}", Body: routerBody(`"external_gateway_info": {"network_id": "${ext}"}`), Want: "200", Has: "router.revision_number = 2"},
			{As: "A", Do: "GET /ports?device_id=${r}", Want: "200", Has: "ports.# = 1\nports.0.device_owner = \"network:router_gateway\"\nports.0.project_id = \"\"\nports.0.security_groups = []", Save: "gw=ports.0.id"},
			{As: "M", Do: "GET /ports/${gw}", Want: "404 PortNotFound"},
			{As: "A", Do: "DELETE /ports/${gw}", Want: "409 ServicePortInUse"},
			{As: "A", Do: "PUT /networks/${ext}", Body: `{"network": {"router:external": false}}`, Want: "409 ExternalNetworkInUse"},
			{As: "A", Do: "DELETE /networks/${ext}", Want: "409 NetworkInUse"},
			{As: "A", Do: "DELETE /subnets/${extsub}", Want: "409 SubnetInUse"},
			// An administrator's gateway.
			{As: "A", Do: "PUT /routers/${r}", Body: routerBody(`"external_gateway_info": {"network_id": "${ext}", "enable_snat": false, "external_fixed_ips": [{"subnet_id": "${extsub}", "ip_address": "203.0.113.99"}]}`), Want: "200",
				Has: "router.external_gateway_info.enable_snat = false\nrouter.enable_snat = false\nrouter.external_gateway_info.external_fixed_ips.0.ip_address = \"203.0.113.99\""},
			{As: "A", Do: "GET /routers?enable_snat=false", Want: "200", Has: "routers.# = 1"},
			{As: "A", Do: "GET /ports/${gw}", Want: "200", Has: "port.fixed_ips.0.ip_address = \"203.0.113.99\""},
			// What the port is changed to is the gateway's.
			{As: "A", Do: "PUT /ports/${gw}", Body: `{"port": {"fixed_ips": [{"ip_address": "203.0.113.98"}]}}`, Want: "200"},
			{As: "M", Do: "GET /routers/${r}", Want: "200", Has: "router.external_gateway_info.external_fixed_ips.0.ip_address = \"203.0.113.98\""},
			// A new subnet outside: one address of each IP version.
			{As: "A", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${ext}", "ip_version": 4, "cidr": "198.51.100.0/24"}}`, Want: "201"},
			{As: "M", Do: "GET /routers/${r}", Want: "200", Has: "router.external_gateway_info.external_fixed_ips.# = 1"},
			{As: "A", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${ext}", "ip_version": 6, "cidr": "2001:db8:e::/64"}}`, Want: "201", Save: "ext6=subnet.id"},
			{As: "M", Do: "GET /routers/${r}", Want: "200", Has: "router.external_gateway_info.external_fixed_ips.# = 2\nrouter.external_gateway_info.external_fixed_ips.1.subnet_id = \"${ext6}\""},
			// Inside and outside do not overlap.
			{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "bad=network.id"},
			{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${bad}", "ip_version": 4, "cidr": "198.51.100.0/25"}}`, Want: "201", Save: "badsub=subnet.id"},
			{As: "M", Do: "PUT /routers/${r}/add_router_interface", Body: `{"subnet_id": "${badsub}"}`, Want: "400 BadRequest"},
			{As: "M", Do: "PUT /routers/${r}", Body: routerBody(`"external_gateway_info": null`), Want: "200", Has: "router.external_gateway_info = null\nrouter.external_gateways = []\nrouter.enable_snat = true"},
			{As: "A", Do: "GET /ports?device_id=${r}", Want: "200", Has: "ports.# = 0"},
			{As: "M", Do: "PUT /routers/${r}/add_router_interface", Body: `{"subnet_id": "${badsub}"}`, Want: "200"},
			{As: "M", Do: "PUT /routers/${r}", Body: routerBody(`"external_gateway_info": {"network_id": "${ext}"}`), Want: "400 BadRequest"},
			{As: "M", Do: "PUT /routers/${r}/remove_router_interface", Body: `{"subnet_id": "${badsub}"}`, Want: "200"},
			// A router is made with its gateway, moves it and goes with it.
			{As: "A", Do: "POST /networks", Body: `{"network": {"router:external": true}}`, Want: "201", Save: "ext2=network.id"},
			{As: "M", Do: "POST /routers", Body: routerBody(`"external_gateway_info": {"network_id": "${ext2}"}`), Want: "201", Save: "r2=router.id", Has: "router.external_gateway_info.external_fixed_ips = []"},
			{As: "M", Do: "PUT /routers/${r2}", Body: routerBody(`"external_gateway_info": {"network_id": "${ext}"}`), Want: "200", Has: "router.external_gateway_info.network_id = \"${ext}\""},
			{As: "A", Do: "DELETE /networks/${ext2}", Want: "204"},
			{As: "M", Do: "DELETE /routers/${r2}", Want: "204"},
			{As: "A", Do: "GET /ports?device_id=${r2}", Want: "200", Has: "ports.# = 0"},
			{As: "A", Do: "PUT /networks/${ext}", Body: `{"network": {"router:external": false}}`, Want: "200"},
		})
	})
}

// TestRouterGatewayQoS: a gateway's addresses have a QoS policy that the caller may use.
func TestRouterGatewayQoS(t *testing.T) {
	v := rig.Vars{}
	c := quick(t)
	c.Run(t, v, outside())
	c.Run(t, v, []rig.Step{
		{As: "A", Do: "POST /qos/policies", Body: `{"policy": {"name": "p"}}`, Want: "201", Save: "qos=policy.id"},
		{As: "M", Do: "PUT /routers/${r}", Body: routerBody(`"external_gateway_info": {"network_id": "${ext}", "qos_policy_id": "${qos}"}`), Want: "404 QosPolicyNotFound"},
		{As: "A", Do: "PUT /qos/policies/${qos}", Body: `{"policy": {"shared": true}}`, Want: "200"},
		{As: "M", Do: "PUT /routers/${r}", Body: routerBody(`"external_gateway_info": {"network_id": "${ext}", "qos_policy_id": "${qos}"}`), Want: "200", Has: "router.external_gateway_info.qos_policy_id = \"${qos}\""},
		{As: "M", Do: "PUT /routers/${r}", Body: routerBody(`"external_gateway_info": {"network_id": "${ext}"}`), Want: "200", Has: "router.external_gateway_info.qos_policy_id = \"${qos}\""},
		{As: "A", Do: "DELETE /qos/policies/${qos}", Want: "409 QosPolicyInUse"},
		{As: "M", Do: "PUT /routers/${r}", Body: routerBody(`"external_gateway_info": {"network_id": "${ext}", "qos_policy_id": null}`), Want: "200", Has: "router.external_gateway_info.qos_policy_id absent"},
		{As: "A", Do: "DELETE /qos/policies/${qos}", Want: "204"},
	})
}

// TestRouterGateways: alias external-gateway-multihoming.
func TestRouterGateways(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		v := rig.Vars{}
		c.Run(t, v, outside())
		gws := func(list string) string { return `{"router": {"external_gateways": [` + list + `]}}` }
		c.Run(t, v, []rig.Step{
			{As: "A", Do: "POST /networks", Body: `{"network": {"router:external": true}}`, Want: "201", Save: "ext2=network.id"},
			{As: "A", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${ext2}", "ip_version": 4, "cidr": "198.51.100.0/24"}}`, Want: "201", Save: "ext2sub=subnet.id"},
			{As: "M", Do: "PUT /routers/${r}", Body: routerBody(`"external_gateways": []`), Want: "400"},
			{As: "M", Do: "PUT /routers/${r}/add_external_gateways", Body: `{}`, Want: "400"},
			{As: "M", Do: "PUT /routers/${r}/add_external_gateways", Want: "400"},
			{As: "M", Do: "PUT /routers/${r}/add_external_gateways", Body: gws(`{}`), Want: "400"},
			{As: "M", Do: "PUT /routers/${r}/add_external_gateways", Body: gws(`{"network_id": "${ext}", "enable_snat": true}`), Want: "403 PolicyNotAuthorized"},
			{As: "R", Do: "PUT /routers/${r}/add_external_gateways", Body: gws(`{"network_id": "${ext}"}`), Want: "403 PolicyNotAuthorized"},
			{As: "M", Do: "PUT /routers/${r}/add_external_gateways", Body: gws(`{"network_id": "${ext}"}, {"network_id": "${net}"}`), Want: "400 BadRequest"},
			{As: "M", Do: "GET /routers/${r}", Want: "200", Has: "router.external_gateways = []"},
			{As: "M", Do: "PUT /routers/${r}/add_external_gateways", Body: gws(`{"network_id": "${ext}"}, {"network_id": "${ext2}"}`), Want: "200",
				Has: "router.external_gateways.# = 2\nrouter.external_gateway_info.network_id = \"${ext}\"\nrouter.external_gateways.1.network_id = \"${ext2}\"\nrouter.ha absent"},
			{As: "M", Do: "PUT /routers/${r}/add_external_gateways", Body: gws(`{"network_id": "${ext}"}`), Want: "200", Has: "router.external_gateways.# = 3"},
			{As: "A", Do: "GET /ports?device_id=${r}&device_owner=network:router_gateway", Want: "200", Has: "ports.# = 3"},
			{As: "A", Do: "PUT /routers/${r}/update_external_gateways", Body: gws(`{"network_id": "${ext2}", "external_fixed_ips": [{"subnet_id": "${ext2sub}", "ip_address": "198.51.100.77"}]}`), Want: "404 UnableToMatchGateways"},
			{As: "A", Do: "PUT /routers/${r}/update_external_gateways", Body: gws(`{"network_id": "${ext2}", "external_fixed_ips": [{"subnet_id": "${ext2sub}"}], "enable_snat": false}`), Want: "200", Has: "router.external_gateways.1.enable_snat = false\nrouter.external_gateway_info.enable_snat = true"},
			{As: "M", Do: "PUT /routers/${r}/remove_external_gateways", Body: gws(`{"network_id": "${net}"}`), Want: "404 UnableToMatchGateways"},
			// The first goes: the next one is external_gateway_info.
			{As: "M", Do: "PUT /routers/${r}/remove_external_gateways", Body: gws(`{"network_id": "${ext}"}`), Want: "200", Has: "router.external_gateways.# = 2\nrouter.external_gateway_info.network_id = \"${ext2}\"\nrouter.enable_snat = false"},
			{As: "M", Do: "PUT /routers/${r}", Body: routerBody(`"external_gateway_info": null`), Want: "200", Has: "router.external_gateways.# = 1\nrouter.external_gateway_info.network_id = \"${ext}\""},
			{As: "M", Do: "DELETE /routers/${r}", Want: "204"},
			{As: "A", Do: "GET /ports?device_id=${r}", Want: "200", Has: "ports.# = 0"},
		})
	})
}

// TestRouterRoutes: routes are replaced by a PUT, and added and removed one by one.
func TestRouterRoutes(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		v := rig.Vars{}
		c.Run(t, v, outside())
		route := func(to, by string) string { return `{"destination": "` + to + `", "nexthop": "` + by + `"}` }
		set := func(list string) string { return routerBody(`"routes": [` + list + `]`) }
		c.Run(t, v, []rig.Step{
			{As: "M", Do: "PUT /routers/${r}", Body: set(route("10.5.0.0/16", "10.0.0.9")), Want: "400 InvalidRoutes"},
			{As: "M", Do: "PUT /routers/${r}/add_router_interface", Body: `{"subnet_id": "${sub}"}`, Want: "200"},
			{As: "M", Do: "PUT /routers/${r}", Body: set(route("10.5.0.0/16", "10.0.0.9")), Want: "200", Has: "router.routes = [{\"destination\": \"10.5.0.0/16\", \"nexthop\": \"10.0.0.9\"}]\nrouter.revision_number = 3"},
			{As: "M", Do: "PUT /routers/${r}", Body: set(route("10.5.0.0/16", "10.0.0.1")), Want: "400 InvalidRoutes"},
			{As: "M", Do: "PUT /routers/${r}", Body: set(route("10.5.0.1/16", "10.0.0.9")), Want: "400"},
			{As: "M", Do: "PUT /routers/${r}", Body: set(route("10.5.0.0/16", "10.0.0.9") + "," + route("10.5.0.0/16", "10.0.0.9")), Want: "400"},
			{As: "M", Do: "PUT /routers/${r}", Body: set(route("2001:db8::/64", "10.0.0.9")), Want: "400 InvalidRoutes"},
			{As: "M", Do: "PUT /routers/${r}", Body: set(route("10.5.0.0/16", "nope")), Want: "400"},
			{As: "M", Do: "PUT /routers/${r}", Body: routerBody(`"routes": "x"`), Want: "400"},
			{As: "M", Do: "PUT /routers/${r}/remove_router_interface", Body: `{"subnet_id": "${sub}"}`, Want: "409 RouterInterfaceInUseByRoute"},
			{As: "M", Do: "PUT /routers/${r}/add_extraroutes", Body: `{}`, Want: "400"},
			{As: "M", Do: "PUT /routers/${r}/add_extraroutes", Want: "400"},
			{As: "M", Do: "PUT /routers/${r}/add_extraroutes", Body: routerBody(``), Want: "400"},
			{As: "R", Do: "PUT /routers/${r}/add_extraroutes", Body: set(route("10.6.0.0/16", "10.0.0.9")), Want: "403 PolicyNotAuthorized"},
			{As: "M", Do: "PUT /routers/${r}/add_extraroutes", Body: set(route("10.6.0.0/16", "10.0.0.9") + "," + route("10.5.0.0/16", "10.0.0.9")), Want: "200", Has: "router.routes.# = 2\nrouter.ha absent\nrouter.id = \"${r}\""},
			{As: "M", Do: "PUT /routers/${r}/add_extraroutes", Body: set(route("10.6.0.0/16", "10.0.0.10")), Want: "200", Has: "router.routes.# = 3"},
			{As: "M", Do: "PUT /routers/${r}/add_extraroutes", Body: set(route("10.6.0.0/16", "10.99.0.10")), Want: "400 InvalidRoutes"},
			{As: "M", Do: "PUT /routers/${r}/remove_extraroutes", Body: set(route("10.77.0.0/16", "10.0.0.9") + "," + route("10.6.0.0/16", "10.0.0.9")), Want: "200", Has: "router.routes.# = 2"},
			// The project's own bound, and the configured one.
			{As: "A", Do: "PUT /quotas/" + rig.ProjectM, Body: `{"quota": {"router_route": 2}}`, Want: "200", Has: "quota.router_route = 2"},
			{As: "M", Do: "PUT /routers/${r}/add_extraroutes", Body: set(route("10.7.0.0/16", "10.0.0.9")), Want: "409 OverQuota"},
			{As: "A", Do: "DELETE /quotas/" + rig.ProjectM, Want: "204"},
			{As: "A", Do: "GET /quotas/" + rig.ProjectM, Want: "200", Has: "quota.router_route = 30\nquota.router = 10"},
			{As: "M", Do: "PUT /routers/${r}", Body: routerBody(`"routes": null`), Want: "200", Has: "router.routes = []"},
			// A way out that routes go by stays.
			{As: "A", Do: "PUT /routers/${r}", Body: routerBody(`"external_gateway_info": {"network_id": "${ext}"}`), Want: "200"},
			{As: "M", Do: "PUT /routers/${r}", Body: set(route("10.5.0.0/16", "203.0.113.200")), Want: "200"},
			{As: "M", Do: "PUT /routers/${r}", Body: routerBody(`"external_gateway_info": null`), Want: "400 InvalidRoutes"},
			{As: "M", Do: "PUT /routers/${r}", Body: routerBody(`"external_gateway_info": null, "routes": []`), Want: "200", Has: "router.routes = []\nrouter.external_gateway_info = null"},
		})
	})
}
