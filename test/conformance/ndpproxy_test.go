package conformance

import (
	"testing"

	"isospin/test/rig"
)

// scoped is an external network (ext) and M's network (net) with IPv6 subnets of one address scope.
func scoped() []rig.Step {
	return []rig.Step{
		{As: "A", Do: "POST /address-scopes", Body: `{"address_scope": {"name": "s", "ip_version": 6, "shared": true}}`, Want: "201", Save: "scope=address_scope.id"},
		{As: "A", Do: "POST /subnetpools", Body: `{"subnetpool": {"name": "p", "prefixes": ["2001:db8::/48"], "address_scope_id": "${scope}", "shared": true, "default_prefixlen": 64}}`, Want: "201", Save: "pool=subnetpool.id"},
		{As: "A", Do: "POST /networks", Body: `{"network": {"name": "ext", "router:external": true}}`, Want: "201", Save: "ext=network.id"},
		{As: "A", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${ext}", "ip_version": 6, "subnetpool_id": "${pool}"}}`, Want: "201", Save: "ext6=subnet.id"},
		{As: "A", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${ext}", "ip_version": 4, "cidr": "203.0.113.0/24"}}`, Want: "201", Save: "ext4=subnet.id"},
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id"},
		{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 6, "subnetpool_id": "${pool}"}}`, Want: "201", Save: "sub=subnet.id"},
		{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}"}}`, Want: "201", Save: "p=port.id ip=port.fixed_ips.0.ip_address"},
	}
}

// TestNDPProxySwitch: enable_ndp_proxy of routers (services/ndp_proxy/plugin.py).
func TestNDPProxySwitch(t *testing.T) {
	c := quick(t)
	v := rig.Vars{}
	c.Run(t, v, scoped())
	c.Run(t, v, []rig.Step{
		{As: "M", Do: "POST /routers", Body: `{"router": {"enable_ndp_proxy": true}}`, Want: "409 RouterGatewayNotValid"},
		{As: "M", Do: "POST /routers", Body: `{"router": {"enable_ndp_proxy": false}}`, Want: "201", Save: "r=router.id", Has: "router.enable_ndp_proxy = false"},
		{As: "M", Do: "PUT /routers/${r}", Body: `{"router": {"enable_ndp_proxy": true}}`, Want: "409 RouterGatewayNotValid"},
		{As: "M", Do: "PUT /routers/${r}", Body: `{"router": {"external_gateway_info": {"network_id": "${ext}"}}}`, Want: "200", Has: "router.enable_ndp_proxy = false"},
		{As: "M", Do: "PUT /routers/${r}", Body: `{"router": {"enable_ndp_proxy": true}}`, Want: "200", Has: "router.enable_ndp_proxy = true"},
		{As: "M", Do: "PUT /routers/${r}", Body: `{"router": {"name": "x"}}`, Want: "200", Has: "router.enable_ndp_proxy = true"},
		{As: "A", Do: "PUT /routers/${r}", Body: `{"router": {"external_gateway_info": {"network_id": "${ext}", "external_fixed_ips": [{"subnet_id": "${ext4}"}]}}}`, Want: "409 RouterIPv6GatewayInUse"},
		{As: "A", Do: "PUT /routers/${r}", Body: `{"router": {"external_gateway_info": {"network_id": "${ext}", "external_fixed_ips": [{"subnet_id": "${ext6}"}]}}}`, Want: "200", Has: "router.enable_ndp_proxy = true"},
		{As: "M", Do: "PUT /routers/${r}", Body: `{"router": {"external_gateway_info": null, "enable_ndp_proxy": true}}`, Want: "409 RouterGatewayNotValid"},
		{As: "M", Do: "PUT /routers/${r}", Body: `{"router": {"external_gateway_info": null}}`, Want: "200", Has: "router.enable_ndp_proxy = false"},
		{As: "M", Do: "POST /routers", Body: `{"router": {"external_gateway_info": {"network_id": "${ext}"}, "enable_ndp_proxy": true}}`, Want: "201", Save: "r2=router.id", Has: "router.enable_ndp_proxy = true"},
		{As: "M", Do: "GET /routers?enable_ndp_proxy=true", Want: "200", Has: "routers.# = 1\nrouters.0.id = \"${r2}\""},
		{As: "M", Do: "PUT /routers/${r2}", Body: `{"router": {"enable_ndp_proxy": false}}`, Want: "200", Has: "router.enable_ndp_proxy = false"},
		{As: "M", Do: "PUT /routers/${r2}", Body: `{"router": {"name": "y"}}`, Want: "200", Has: "router.enable_ndp_proxy = false"},
		// A network without an address scope.
		{As: "A", Do: "POST /networks", Body: `{"network": {"router:external": true}}`, Want: "201", Save: "plain=network.id"},
		{As: "A", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${plain}", "ip_version": 6, "cidr": "2001:db8:ffff::/64"}}`, Want: "201"},
		{As: "M", Do: "POST /routers", Body: `{"router": {"external_gateway_info": {"network_id": "${plain}"}, "enable_ndp_proxy": true}}`, Want: "409 RouterGatewayNotValid"},
	})
}

// TestNDPProxies: services/ndp_proxy/plugin.py.
func TestNDPProxies(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		v := rig.Vars{}
		c.Run(t, v, scoped())
		proxy := func(rest string) string { return `{"ndp_proxy": {"router_id": "${r}", "port_id": "${p}"` + rest + `}}` }
		c.Run(t, v, []rig.Step{
			{As: "M", Do: "POST /routers", Body: `{"router": {"external_gateway_info": {"network_id": "${ext}"}}}`, Want: "201", Save: "r=router.id"},
			{As: "M", Do: "POST /ndp-proxies", Body: proxy(``), Want: "409 PortUnreachableRouter"},
			{As: "M", Do: "PUT /routers/${r}/add_router_interface", Body: `{"subnet_id": "${sub}"}`, Want: "200"},
			{As: "M", Do: "POST /ndp-proxies", Body: proxy(``), Want: "409 RouterNDPProxyNotEnable"},
			{As: "M", Do: "PUT /routers/${r}", Body: `{"router": {"enable_ndp_proxy": true}}`, Want: "200"},
			{As: "M", Do: "POST /ndp-proxies", Body: proxy(`, "name": "n", "description": "d"`), Want: "201", Save: "x=ndp_proxy.id",
				Has: "ndp_proxy.ip_address = \"${ip}\"\nndp_proxy.name = \"n\"\nndp_proxy.description = \"d\"\nndp_proxy.router_id = \"${r}\"\nndp_proxy.port_id = \"${p}\"\nndp_proxy.project_id = \"" + rig.ProjectM + "\"\nndp_proxy.revision_number = 0\nndp_proxy.created_at present"},
			{As: "M", Do: "POST /ndp-proxies", Body: proxy(`, "ip_address": "${ip}"`), Want: "409 NeutronDbObjectDuplicateEntry"},
			{As: "M", Do: "POST /ndp-proxies", Body: proxy(`, "ip_address": "2001:db8::1234"`), Want: "400 InvalidAddress"},
			{As: "M", Do: "POST /ndp-proxies", Body: proxy(`, "ip_address": "10.0.0.1"`), Want: "400 InvalidAddress"},
			{As: "M", Do: "POST /ndp-proxies", Body: `{"ndp_proxy": {"router_id": "${r}"}}`, Want: "400"},
			{As: "M", Do: "POST /ndp-proxies", Body: `{"ndp_proxy": {"router_id": "${r}", "port_id": "` + absent + `"}}`, Want: "404 PortNotFound"},
			{As: "M", Do: "POST /ndp-proxies", Body: `{"ndp_proxy": {"router_id": "` + absent + `", "port_id": "${p}"}}`, Want: "409 PortUnreachableRouter"},
			{As: "O", Do: "POST /ndp-proxies", Body: proxy(``), Want: "404 PortNotFound"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "fixed_ips": []}}`, Want: "201", Save: "none=port.id"},
			{As: "M", Do: "POST /ndp-proxies", Body: `{"ndp_proxy": {"router_id": "${r}", "port_id": "${none}"}}`, Want: "400 BadRequest"},
			// A network of no scope behind the same router.
			{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net2=network.id"},
			{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net2}", "ip_version": 6, "cidr": "2001:db8:1::/64"}}`, Want: "201", Save: "sub2=subnet.id"},
			{As: "M", Do: "PUT /routers/${r}/add_router_interface", Body: `{"subnet_id": "${sub2}"}`, Want: "200"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net2}"}}`, Want: "201", Save: "p2=port.id"},
			{As: "M", Do: "POST /ndp-proxies", Body: `{"ndp_proxy": {"router_id": "${r}", "port_id": "${p2}"}}`, Want: "409 AddressScopeConflict"},
			{As: "M", Do: "PUT /routers/${r}/remove_router_interface", Body: `{"subnet_id": "${sub2}"}`, Want: "200"},
			// What is written, and by whom.
			{As: "M", Do: "PUT /ndp-proxies/${x}", Body: `{"ndp_proxy": {"name": "m"}}`, Want: "200", Has: "ndp_proxy.name = \"m\"\nndp_proxy.revision_number = 1"},
			{As: "M", Do: "PUT /ndp-proxies/${x}", Body: `{"ndp_proxy": {}}`, Want: "200", Has: "ndp_proxy.revision_number = 1"},
			{As: "M", Do: "PUT /ndp-proxies/${x}", Body: `{"ndp_proxy": {"port_id": "${p2}"}}`, Want: "400 HTTPBadRequest"},
			{As: "M", Do: "GET /ndp-proxies?name=m", Want: "200", Has: "ndp_proxies.# = 1"},
			{As: "M", Do: "GET /ndp-proxies?sort_key=ip_address&sort_dir=asc", Want: "200", Has: "ndp_proxies.# = 1"},
			{As: "M", Do: "GET /ndp-proxies?router_id=${r}", Want: "400"},
			{As: "O", Do: "GET /ndp-proxies", Want: "200", Has: "ndp_proxies.# = 0"},
			{As: "O", Do: "GET /ndp-proxies/${x}", Want: "404 NDPProxyNotFound"},
			{As: "O", Do: "DELETE /ndp-proxies/${x}", Want: "404 NDPProxyNotFound"},
			{As: "R", Do: "GET /ndp-proxies/${x}", Want: "200"},
			{As: "R", Do: "DELETE /ndp-proxies/${x}", Want: "403 PolicyNotAuthorized"},
			// What holds what.
			{As: "M", Do: "PUT /routers/${r}/remove_router_interface", Body: `{"subnet_id": "${sub}"}`, Want: "409 RouterInterfaceInUseByNDPProxy"},
			{As: "M", Do: "PUT /routers/${r}", Body: `{"router": {"external_gateway_info": null}}`, Want: "409 RouterGatewayInUseByNDPProxy"},
			{As: "M", Do: "DELETE /ndp-proxies/${x}", Want: "204"},
			{As: "M", Do: "POST /ndp-proxies", Body: proxy(``), Want: "201", Save: "x=ndp_proxy.id"},
			{As: "M", Do: "DELETE /ports/${p}", Want: "204"},
			{As: "M", Do: "GET /ndp-proxies/${x}", Want: "404 NDPProxyNotFound"},
			{As: "M", Do: "PUT /routers/${r}/remove_router_interface", Body: `{"subnet_id": "${sub}"}`, Want: "200"},
		})
	})
}
