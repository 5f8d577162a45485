package conformance

import (
	"testing"

	"isospin/test/rig"
)

// TestPortForwardings: services/portforwarding/pf_plugin.py; behaviour.md, section 14.
func TestPortForwardings(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		v := rig.Vars{}
		c.Run(t, v, topology())
		pf := func(rest string) string {
			return `{"port_forwarding": {"internal_port_id": "${p}", "internal_ip_address": "10.0.0.10"` + rest + `}}`
		}
		c.Run(t, v, []rig.Step{
			{As: "M", Do: "POST /floatingips", Body: `{"floatingip": {"floating_network_id": "${ext}"}}`, Want: "201", Save: "f=floatingip.id"},
			{As: "M", Do: "GET /floatingips/${f}/port_forwardings", Want: "200", Has: "port_forwardings = []"},
			{As: "M", Do: "POST /floatingips/${f}/port_forwardings", Body: pf(`, "protocol": "tcp", "external_port": 8080, "internal_port": 80, "description": "web"`), Want: "201", Save: "w=port_forwarding.id",
				Has: "port_forwarding.protocol = \"tcp\"\nport_forwarding.external_port = 8080\nport_forwarding.external_port_range = \"8080:8080\"\nport_forwarding.internal_port = 80\nport_forwarding.internal_port_range = \"80:80\"\n" +
					"port_forwarding.internal_port_id = \"${p}\"\nport_forwarding.internal_ip_address = \"10.0.0.10\"\nport_forwarding.description = \"web\"\nport_forwarding.floatingip_id absent\nport_forwarding.project_id absent\nport_forwarding.tenant_id absent"},
			{As: "M", Do: "GET /floatingips/${f}", Want: "200", Has: "floatingip.router_id = \"${r}\"\nfloatingip.port_id = null\nfloatingip.revision_number = 1\n" +
				"floatingip.port_forwardings = [{\"id\": \"${w}\", \"protocol\": \"tcp\", \"internal_ip_address\": \"10.0.0.10\", \"internal_port\": 80, \"internal_port_id\": \"${p}\", \"external_port\": 8080}]"},
			{As: "M", Do: "GET /ports/${p}", Want: "200", Has: "port.revision_number = 2"},
			{As: "M", Do: "GET /floatingips/${f}/port_forwardings/${w}", Want: "200", Has: "port_forwarding.external_port = 8080"},
			// What clashes.
			{As: "M", Do: "POST /floatingips/${f}/port_forwardings", Body: pf(`, "protocol": "tcp", "external_port": 8080, "internal_port": 81`), Want: "400 BadRequest"},
			{As: "M", Do: "POST /floatingips/${f}/port_forwardings", Body: pf(`, "protocol": "tcp", "external_port": 8081, "internal_port": 80`), Want: "400 BadRequest"},
			{As: "M", Do: "POST /floatingips/${f}/port_forwardings", Body: pf(`, "protocol": "tcp", "external_port_range": "8070:8090", "internal_port_range": "170:190"`), Want: "400 BadRequest"},
			{As: "M", Do: "POST /floatingips/${f}/port_forwardings", Body: pf(`, "protocol": "udp", "external_port": 8080, "internal_port": 80`), Want: "201", Save: "u=port_forwarding.id"},
			// What cannot be.
			{As: "M", Do: "POST /floatingips/${f}/port_forwardings", Body: pf(`, "protocol": "tcp", "internal_port": 81`), Want: "400 BadRequest"},
			{As: "M", Do: "POST /floatingips/${f}/port_forwardings", Body: pf(`, "protocol": "tcp", "external_port": 81`), Want: "400 BadRequest"},
			{As: "M", Do: "POST /floatingips/${f}/port_forwardings", Body: pf(`, "protocol": "tcp", "external_port": 0, "internal_port": 81`), Want: "400"},
			{As: "M", Do: "POST /floatingips/${f}/port_forwardings", Body: pf(`, "protocol": "tcp", "external_port": 65536, "internal_port": 81`), Want: "400"},
			{As: "M", Do: "POST /floatingips/${f}/port_forwardings", Body: pf(`, "protocol": "tcp", "external_port": "x", "internal_port": 81`), Want: "400"},
			{As: "M", Do: "POST /floatingips/${f}/port_forwardings", Body: pf(`, "protocol": "gre", "external_port": 1, "internal_port": 81`), Want: "400"},
			{As: "M", Do: "POST /floatingips/${f}/port_forwardings", Body: pf(`, "protocol": null, "external_port": 1, "internal_port": 81`), Want: "400"},
			{As: "M", Do: "POST /floatingips/${f}/port_forwardings", Body: pf(`, "external_port": 1, "internal_port": 81`), Want: "400"},
			{As: "M", Do: "POST /floatingips/${f}/port_forwardings", Body: pf(`, "protocol": "tcp", "external_port": 1, "external_port_range": "1:2", "internal_port": 81`), Want: "400 BadRequest"},
			{As: "M", Do: "POST /floatingips/${f}/port_forwardings", Body: pf(`, "protocol": "tcp", "external_port": 1, "internal_port_range": "81:82"`), Want: "400 BadRequest"},
			{As: "M", Do: "POST /floatingips/${f}/port_forwardings", Body: pf(`, "protocol": "tcp", "external_port_range": "9:5", "internal_port": 81`), Want: "400"},
			{As: "M", Do: "POST /floatingips/${f}/port_forwardings", Body: `{"port_forwarding": {"internal_port_id": "${p}", "internal_ip_address": "10.0.0.99", "protocol": "tcp", "external_port": 1, "internal_port": 81}}`, Want: "400 BadRequest"},
			{As: "M", Do: "POST /floatingips/${f}/port_forwardings", Body: `{"port_forwarding": {"internal_port_id": "` + absent + `", "internal_ip_address": "10.0.0.99", "protocol": "tcp", "external_port": 1, "internal_port": 81}}`, Want: "404 PortNotFound"},
			{As: "M", Do: "POST /floatingips/" + absent + "/port_forwardings", Body: pf(`, "protocol": "tcp", "external_port": 1, "internal_port": 81`), Want: "404 FloatingIPNotFound"},
			{As: "M", Do: "GET /floatingips/" + absent + "/port_forwardings", Want: "404 FloatingIPNotFound"},
			// Ranges.
			{As: "M", Do: "POST /floatingips/${f}/port_forwardings", Body: pf(`, "protocol": "TCP", "external_port_range": "9000:9009", "internal_port_range": "1000:1009"`), Want: "201", Save: "n=port_forwarding.id",
				Has: "port_forwarding.protocol = \"tcp\"\nport_forwarding.external_port = null\nport_forwarding.internal_port = null\nport_forwarding.external_port_range = \"9000:9009\""},
			{As: "M", Do: "POST /floatingips/${f}/port_forwardings", Body: pf(`, "protocol": "tcp", "external_port_range": "9100:9109", "internal_port": 22`), Want: "201", Save: "m=port_forwarding.id", Has: "port_forwarding.internal_port = 22"},
			{As: "M", Do: "POST /floatingips/${f}/port_forwardings", Body: pf(`, "protocol": "tcp", "external_port": 9005, "internal_port": 23`), Want: "400 BadRequest"},
			{As: "M", Do: "POST /floatingips/${f}/port_forwardings", Body: pf(`, "protocol": "tcp", "external_port": 1, "internal_port": 1005`), Want: "400 BadRequest"},
			// A range changes beside another range.
			{As: "M", Do: "PUT /floatingips/${f}/port_forwardings/${m}", Body: `{"port_forwarding": {"external_port_range": "9100:9119"}}`, Want: "200", Has: "port_forwarding.external_port_range = \"9100:9119\"\nport_forwarding.internal_port = 22"},
			{As: "M", Do: "PUT /floatingips/${f}/port_forwardings/${m}", Body: `{"port_forwarding": {"external_port_range": "9009:9019"}}`, Want: "400 BadRequest"},
			{As: "M", Do: "PUT /floatingips/${f}/port_forwardings/${n}", Body: `{"port_forwarding": {"external_port_range": "9000:9001"}}`, Want: "400 BadRequest"},
			{As: "M", Do: "PUT /floatingips/${f}/port_forwardings/${n}", Body: `{"port_forwarding": {"external_port_range": "9000:9001", "internal_port_range": "1000:1001"}}`, Want: "200"},
			{As: "M", Do: "PUT /floatingips/${f}/port_forwardings/${n}", Body: `{"port_forwarding": {"external_port": 9000, "internal_port": 1000}}`, Want: "200", Has: "port_forwarding.external_port = 9000\nport_forwarding.internal_port_range = \"1000:1000\""},
			// Filters, order, pages.
			{As: "M", Do: "GET /floatingips/${f}/port_forwardings?external_port=8080", Want: "200", Has: "port_forwardings.# = 2"},
			{As: "M", Do: "GET /floatingips/${f}/port_forwardings?external_port_range=8080&protocol=udp", Want: "200", Has: "port_forwardings.# = 1\nport_forwardings.0.id = \"${u}\""},
			{As: "M", Do: "GET /floatingips/${f}/port_forwardings?external_port_range=9100:9119", Want: "200", Has: "port_forwardings.# = 1"},
			{As: "M", Do: "GET /floatingips/${f}/port_forwardings?internal_port_id=${p}&description=web", Want: "200", Has: "port_forwardings.# = 1"},
			{As: "M", Do: "GET /floatingips/${f}/port_forwardings?internal_port=80", Want: "400"},
			{As: "M", Do: "GET /floatingips/${f}/port_forwardings?internal_ip_address=10.0.0.10", Want: "400"},
			{As: "M", Do: "GET /floatingips/${f}/port_forwardings?sort_key=external_port&sort_dir=desc&limit=2&fields=id", Want: "200", Has: "port_forwardings.# = 2\nport_forwardings.0.id = \"${n}\"\nport_forwardings_links present"},
			// Changes.
			{As: "M", Do: "PUT /floatingips/${f}/port_forwardings/${u}", Body: `{"port_forwarding": {"protocol": "tcp"}}`, Want: "400 BadRequest"},
			{As: "M", Do: "PUT /floatingips/${f}/port_forwardings/${u}", Body: `{"port_forwarding": {"description": "dns", "external_port": 53}}`, Want: "200", Has: "port_forwarding.external_port = 53\nport_forwarding.external_port_range = \"53:53\"\nport_forwarding.description = \"dns\""},
			{As: "M", Do: "PUT /floatingips/${f}/port_forwardings/${u}", Body: `{"port_forwarding": {}}`, Want: "200"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "fixed_ips": [{"ip_address": "10.0.0.11"}, {"ip_address": "10.0.0.12"}]}}`, Want: "201", Save: "p2=port.id"},
			{As: "M", Do: "PUT /floatingips/${f}/port_forwardings/${u}", Body: `{"port_forwarding": {"internal_port_id": "${p2}", "internal_ip_address": "10.0.0.10"}}`, Want: "400 BadRequest"},
			{As: "M", Do: "PUT /floatingips/${f}/port_forwardings/${u}", Body: `{"port_forwarding": {"internal_port_id": "${p2}"}}`, Want: "200", Has: "port_forwarding.internal_ip_address = \"10.0.0.11\""},
			{As: "M", Do: "PUT /floatingips/${f}/port_forwardings/${u}", Body: `{"port_forwarding": {"internal_ip_address": "10.0.0.12"}}`, Want: "200", Has: "port_forwarding.internal_ip_address = \"10.0.0.12\""},
			// Between floating IPs and forwardings.
			{As: "M", Do: "PUT /floatingips/${f}", Body: `{"floatingip": {"port_id": "${p2}", "fixed_ip_address": "10.0.0.12"}}`, Want: "409 FipInUseByPortForwarding"},
			{As: "M", Do: "PUT /floatingips/${f}", Body: `{"floatingip": {"description": "x"}}`, Want: "200", Has: "floatingip.router_id = \"${r}\""},
			{As: "M", Do: "PUT /floatingips/${f}", Body: `{"floatingip": {"port_id": null}}`, Want: "200", Has: "floatingip.router_id = \"${r}\""},
			{As: "M", Do: "DELETE /floatingips/${f}", Want: "409 FipInUseByPortForwarding"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}"}}`, Want: "201", Save: "p3=port.id ip3=port.fixed_ips.0.ip_address"},
			{As: "M", Do: "POST /floatingips", Body: `{"floatingip": {"floating_network_id": "${ext}", "port_id": "${p3}"}}`, Want: "201", Save: "g=floatingip.id"},
			{As: "M", Do: "POST /floatingips/${f}/port_forwardings", Body: `{"port_forwarding": {"internal_port_id": "${p3}", "internal_ip_address": "${ip3}", "protocol": "tcp", "external_port": 1, "internal_port": 81}}`, Want: "409 PortHasBindingFloatingIP"},
			{As: "M", Do: "POST /floatingips/${g}/port_forwardings", Body: pf(`, "protocol": "tcp", "external_port": 1, "internal_port": 81`), Want: "409 FloatingIPPortAlreadyAssociated"},
			{As: "M", Do: "DELETE /floatingips/${g}", Want: "204"},
			// A forwarding is found only below its floating IP, and by whom that belongs to.
			{As: "M", Do: "POST /floatingips", Body: `{"floatingip": {"floating_network_id": "${ext}"}}`, Want: "201", Save: "g=floatingip.id"},
			{As: "M", Do: "GET /floatingips/${g}/port_forwardings/${w}", Want: "404 PortForwardingNotFound"},
			{As: "M", Do: "PUT /floatingips/${g}/port_forwardings/${w}", Body: `{"port_forwarding": {"description": "x"}}`, Want: "404 PortForwardingNotFound"},
			{As: "M", Do: "DELETE /floatingips/${g}/port_forwardings/${w}", Want: "404 PortForwardingNotFound"},
			{As: "M", Do: "GET /floatingips/${f}/port_forwardings/" + absent, Want: "404 PortForwardingNotFound"},
			{As: "O", Do: "GET /floatingips/${f}/port_forwardings", Want: "404 FloatingIPNotFound"},
			{As: "O", Do: "GET /floatingips/${f}/port_forwardings/${w}", Want: "404 FloatingIPNotFound"},
			{As: "O", Do: "POST /floatingips/${f}/port_forwardings", Body: pf(`, "protocol": "tcp", "external_port": 1, "internal_port": 81`), Want: "404 FloatingIPNotFound"},
			{As: "O", Do: "DELETE /floatingips/${f}/port_forwardings/${w}", Want: "404 FloatingIPNotFound"},
			{As: "R", Do: "GET /floatingips/${f}/port_forwardings/${w}", Want: "200"},
			{As: "R", Do: "POST /floatingips/${f}/port_forwardings", Body: pf(`, "protocol": "tcp", "external_port": 1, "internal_port": 81`), Want: "403 PolicyNotAuthorized"},
			{As: "R", Do: "DELETE /floatingips/${f}/port_forwardings/${w}", Want: "403 PolicyNotAuthorized"},
			{As: "A", Do: "GET /floatingips/${f}/port_forwardings", Want: "200", Has: "port_forwardings.# = 4"},
			// Bulk.
			{As: "M", Do: "POST /floatingips/${g}/port_forwardings", Body: `{"port_forwardings": [{"internal_port_id": "${p2}", "internal_ip_address": "10.0.0.11", "protocol": "tcp", "external_port": 1, "internal_port": 1}, {"internal_port_id": "${p2}", "internal_ip_address": "10.0.0.11", "protocol": "tcp", "external_port": 2, "internal_port": 2}]}`, Want: "201", Has: "port_forwardings.# = 2"},
			{As: "M", Do: "POST /floatingips/${g}/port_forwardings", Body: `{"port_forwardings": [{"internal_port_id": "${p2}", "internal_ip_address": "10.0.0.11", "protocol": "tcp", "external_port": 3, "internal_port": 3}, {"internal_port_id": "${p2}", "internal_ip_address": "10.0.0.11", "protocol": "tcp", "external_port": 3, "internal_port": 4}]}`, Want: "400 BadRequest"},
			{As: "M", Do: "GET /floatingips/${g}/port_forwardings", Want: "200", Has: "port_forwardings.# = 2"},
			// The router stays while it is needed.
			{As: "M", Do: "PUT /routers/${r}/remove_router_interface", Body: `{"subnet_id": "${sub}"}`, Want: "409 RouterInterfaceInUseByFloatingIP"},
			{As: "M", Do: "PUT /routers/${r}", Body: `{"router": {"external_gateway_info": null}}`, Want: "409 RouterExternalGatewayInUseByFloatingIp"},
			// Ports take their forwardings with them; with the last one the floating IP leaves its router.
			{As: "M", Do: "PUT /ports/${p2}", Body: `{"port": {"fixed_ips": [{"ip_address": "10.0.0.12"}]}}`, Want: "200"},
			{As: "M", Do: "GET /floatingips/${g}", Want: "200", Has: "floatingip.port_forwardings = []\nfloatingip.router_id = null"},
			{As: "M", Do: "GET /floatingips/${f}/port_forwardings/${u}", Want: "200"},
			{As: "M", Do: "DELETE /ports/${p2}", Want: "204"},
			{As: "M", Do: "GET /floatingips/${f}/port_forwardings/${u}", Want: "404 PortForwardingNotFound"},
			{As: "M", Do: "GET /floatingips/${f}", Want: "200", Has: "floatingip.router_id = \"${r}\"\nfloatingip.port_forwardings.# = 3"},
			{As: "M", Do: "DELETE /floatingips/${f}/port_forwardings/${w}", Want: "204"},
			{As: "M", Do: "DELETE /floatingips/${f}/port_forwardings/${m}", Want: "204"},
			{As: "M", Do: "DELETE /floatingips/${f}/port_forwardings/${n}", Want: "204"},
			{As: "M", Do: "GET /floatingips/${f}", Want: "200", Has: "floatingip.router_id = null\nfloatingip.port_forwardings = []"},
			{As: "M", Do: "PUT /routers/${r}/remove_router_interface", Body: `{"subnet_id": "${sub}"}`, Want: "200"},
			{As: "M", Do: "POST /floatingips/${f}/port_forwardings", Body: pf(`, "protocol": "tcp", "external_port": 1, "internal_port": 81`), Want: "400 BadRequest"},
			{As: "M", Do: "DELETE /floatingips/${f}", Want: "204"},
		})
	})
}

// TestForwardingRouters: all forwardings of a floating IP go through one router.
func TestForwardingRouters(t *testing.T) {
	c := quick(t)
	v := rig.Vars{}
	c.Run(t, v, topology())
	c.Run(t, v, []rig.Step{
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net2=network.id"},
		{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net2}", "ip_version": 4, "cidr": "10.2.0.0/24"}}`, Want: "201", Save: "sub2=subnet.id"},
		{As: "M", Do: "POST /routers", Body: `{"router": {"external_gateway_info": {"network_id": "${ext}"}}}`, Want: "201", Save: "r2=router.id"},
		{As: "M", Do: "PUT /routers/${r2}/add_router_interface", Body: `{"subnet_id": "${sub2}"}`, Want: "200"},
		{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net2}", "fixed_ips": [{"ip_address": "10.2.0.10"}]}}`, Want: "201", Save: "q=port.id"},
		{As: "M", Do: "POST /floatingips", Body: `{"floatingip": {"floating_network_id": "${ext}"}}`, Want: "201", Save: "f=floatingip.id"},
		{As: "M", Do: "POST /floatingips/${f}/port_forwardings", Body: `{"port_forwarding": {"internal_port_id": "${p}", "internal_ip_address": "10.0.0.10", "protocol": "tcp", "external_port": 1, "internal_port": 1}}`, Want: "201", Save: "w=port_forwarding.id"},
		{As: "M", Do: "POST /floatingips/${f}/port_forwardings", Body: `{"port_forwarding": {"internal_port_id": "${q}", "internal_ip_address": "10.2.0.10", "protocol": "tcp", "external_port": 2, "internal_port": 1}}`, Want: "400 BadRequest"},
		{As: "M", Do: "PUT /floatingips/${f}/port_forwardings/${w}", Body: `{"port_forwarding": {"internal_port_id": "${q}"}}`, Want: "400 BadRequest"},
		{As: "M", Do: "DELETE /floatingips/${f}/port_forwardings/${w}", Want: "204"},
		{As: "M", Do: "POST /floatingips/${f}/port_forwardings", Body: `{"port_forwarding": {"internal_port_id": "${q}", "internal_ip_address": "10.2.0.10", "protocol": "tcp", "external_port": 2, "internal_port": 1}}`, Want: "201"},
		{As: "M", Do: "GET /floatingips/${f}", Want: "200", Has: "floatingip.router_id = \"${r2}\""},
	})
}
