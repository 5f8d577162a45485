package conformance

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"isospin/internal/apidef/catalogue"
	"isospin/test/rig"
)

// topology is an external network of the administrator (ext, its subnet extsub), and of M a router (r) with a gateway there, a network (net)
// with a subnet (sub) joined to it, and a port (p).
func topology() []rig.Step {
	return []rig.Step{
		{As: "A", Do: "POST /networks", Body: `{"network": {"name": "ext", "router:external": true}}`, Want: "201", Save: "ext=network.id"},
		{As: "A", Do: "POST /subnets", Body: `{"subnet": {"name": "extsub", "network_id": "${ext}", "ip_version": 4, "cidr": "203.0.113.0/24", "enable_dhcp": false}}`, Want: "201", Save: "extsub=subnet.id"},
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id"},
		{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 4, "cidr": "10.0.0.0/24"}}`, Want: "201", Save: "sub=subnet.id"},
		{As: "M", Do: "POST /routers", Body: `{"router": {"external_gateway_info": {"network_id": "${ext}"}}}`, Want: "201", Save: "r=router.id"},
		{As: "M", Do: "PUT /routers/${r}/add_router_interface", Body: `{"subnet_id": "${sub}"}`, Want: "200"},
		{As: "M", Do: "POST /ports", Body: `{"port": {"name": "inside", "network_id": "${net}", "fixed_ips": [{"ip_address": "10.0.0.10"}]}}`, Want: "201", Save: "p=port.id mac=port.mac_address"},
	}
}

const absent = "00000000-0000-4000-8000-00000000dead"

// TestFloatingIPs: behaviour.md, section 14.
func TestFloatingIPs(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		v := rig.Vars{}
		c.Run(t, v, topology())
		fip := func(rest string) string { return `{"floatingip": {"floating_network_id": "${ext}"` + rest + `}}` }
		c.Run(t, v, []rig.Step{
			{As: "M", Do: "POST /floatingips", Body: fip(`, "description": "d"`), Want: "201", Save: "f=floatingip.id",
				Has: "floatingip.status = \"DOWN\"\nfloatingip.port_id = null\nfloatingip.fixed_ip_address = null\nfloatingip.router_id = null\nfloatingip.revision_number = 0\nfloatingip.description = \"d\"\n" +
					"floatingip.tags = []\nfloatingip.port_details = null\nfloatingip.port_forwardings = []\nfloatingip.project_id = \"" + rig.ProjectM + "\"\nfloatingip.tenant_id = \"" + rig.ProjectM + "\"\n" +
					"floatingip.created_at present\nfloatingip.updated_at present\nfloatingip.subnet_id absent\nfloatingip.floating_port_id absent\nfloatingip.qos_policy_id = null"},
			// The address is held by a port that only administrators see.
			{As: "A", Do: "GET /ports?device_owner=network:floatingip", Want: "200", Save: "fp=ports.0.id", Has: "ports.# = 1\nports.0.device_id = \"${f}\"\nports.0.project_id = \"\"\nports.0.status = \"N/A\"\nports.0.network_id = \"${ext}\""},
			{As: "M", Do: "GET /ports?device_owner=network:floatingip", Want: "200", Has: "ports.# = 0"},
			{As: "A", Do: "DELETE /ports/${fp}", Want: "409 ServicePortInUse"},
			// Association.
			{As: "M", Do: "PUT /floatingips/${f}", Body: `{"floatingip": {"port_id": "${p}"}}`, Want: "200",
				Has: "floatingip.port_id = \"${p}\"\nfloatingip.fixed_ip_address = \"10.0.0.10\"\nfloatingip.router_id = \"${r}\"\nfloatingip.status = \"DOWN\"\nfloatingip.revision_number = 1\n" +
					"floatingip.port_details = {\"name\": \"inside\", \"network_id\": \"${net}\", \"mac_address\": \"${mac}\", \"admin_state_up\": true, \"status\": \"DOWN\", \"device_id\": \"\", \"device_owner\": \"\"}"},
			{As: "M", Do: "PUT /floatingips/${f}", Body: `{"floatingip": {"port_id": "${p}"}}`, Want: "200", Has: "floatingip.revision_number = 1"},
			{As: "M", Do: "PUT /floatingips/${f}", Body: `{"floatingip": {"description": "x"}}`, Want: "200", Has: "floatingip.port_id = \"${p}\"\nfloatingip.description = \"x\"\nfloatingip.revision_number = 2"},
			{As: "M", Do: "POST /floatingips", Body: fip(`, "port_id": "${p}"`), Want: "409 FloatingIPPortAlreadyAssociated"},
			{As: "M", Do: "PUT /floatingips/${f}", Body: `{"floatingip": {}}`, Want: "200", Has: "floatingip.port_id = null\nfloatingip.router_id = null\nfloatingip.fixed_ip_address = null\nfloatingip.port_details = null"},
			{As: "M", Do: "PUT /floatingips/${f}", Body: `{"floatingip": {"fixed_ip_address": "10.0.0.10"}}`, Want: "400 BadRequest"},
			{As: "M", Do: "PUT /floatingips/${f}", Body: `{"floatingip": {"port_id": "${p}", "fixed_ip_address": "10.0.0.11"}}`, Want: "400 BadRequest"},
			{As: "M", Do: "PUT /floatingips/${f}", Body: `{"floatingip": {"port_id": "${p}", "fixed_ip_address": "2001:db8::1"}}`, Want: "400 BadRequest"},
			{As: "M", Do: "PUT /floatingips/${f}", Body: `{"floatingip": {"port_id": "${p}", "fixed_ip_address": "10.0.0.10"}}`, Want: "200", Has: "floatingip.router_id = \"${r}\""},
			{As: "M", Do: "PUT /floatingips/${f}", Body: `{"floatingip": {"port_id": null}}`, Want: "200", Has: "floatingip.port_id = null"},
			{As: "M", Do: "PUT /floatingips/${f}", Body: `{"floatingip": {"port_id": "` + absent + `"}}`, Want: "404 PortNotFound"},
			{As: "M", Do: "PUT /floatingips/${f}", Body: `{"floatingip": {"floating_network_id": "${ext}"}}`, Want: "400 HTTPBadRequest"},
			{As: "M", Do: "PUT /floatingips/${f}", Body: `{"floatingip": {"status": "ACTIVE"}}`, Want: "400 HTTPBadRequest"},
			{As: "M", Do: "PUT /floatingips/${f}", Body: `{"floatingip": {"port_id": "x"}}`, Want: "400"},
			// Create with a port, and the ways in which it cannot be.
			{As: "M", Do: "POST /floatingips", Body: fip(`, "port_id": "${p}"`), Want: "201", Save: "g=floatingip.id", Has: "floatingip.router_id = \"${r}\"\nfloatingip.fixed_ip_address = \"10.0.0.10\""},
			{As: "M", Do: "PUT /floatingips/${f}", Body: `{"floatingip": {"port_id": "${p}"}}`, Want: "409 FloatingIPPortAlreadyAssociated"},
			{As: "M", Do: "POST /floatingips", Body: `{"floatingip": {}}`, Want: "400 HTTPBadRequest"},
			{As: "M", Do: "POST /floatingips", Body: `{"floatingip": {"floating_network_id": "${net}"}}`, Want: "400 BadRequest"},
			{As: "M", Do: "POST /floatingips", Body: `{"floatingip": {"floating_network_id": "` + absent + `"}}`, Want: "404 NetworkNotFound"},
			{As: "M", Do: "POST /floatingips", Body: fip(`, "fixed_ip_address": "10.0.0.10"`), Want: "400 BadRequest"},
			{As: "M", Do: "POST /floatingips", Body: fip(`, "floating_ip_address": "203.0.113.77"`), Want: "403 PolicyNotAuthorized"},
			{As: "M", Do: "POST /floatingips", Body: fip(`, "floating_ip_address": null, "port_id": null, "subnet_id": null`), Want: "201", Save: "x=floatingip.id"},
			{As: "M", Do: "DELETE /floatingips/${x}", Want: "204"},
			{As: "M", Do: "POST /floatingips", Body: fip(`, "status": "ACTIVE"`), Want: "400 HTTPBadRequest"},
			{As: "M", Do: "POST /floatingips", Body: `{"floatingips": [{"floating_network_id": "${ext}"}]}`, Want: "400"},
			{As: "A", Do: "POST /floatingips", Body: fip(`, "floating_ip_address": "203.0.113.77", "project_id": "` + rig.ProjectM + `"`), Want: "201", Save: "h=floatingip.id", Has: "floatingip.floating_ip_address = \"203.0.113.77\""},
			{As: "A", Do: "POST /floatingips", Body: fip(`, "floating_ip_address": "203.0.113.77"`), Want: "409 IpAddressAlreadyAllocated"},
			{As: "A", Do: "POST /floatingips", Body: fip(`, "floating_ip_address": "198.51.100.1"`), Want: "400 InvalidIpForNetwork"},
			{As: "A", Do: "POST /floatingips", Body: fip(`, "floating_ip_address": "198.51.100.1", "subnet_id": "${extsub}"`), Want: "400 InvalidIpForSubnet"},
			{As: "M", Do: "POST /floatingips", Body: fip(`, "subnet_id": "${extsub}"`), Want: "201", Save: "x=floatingip.id"},
			{As: "M", Do: "DELETE /floatingips/${x}", Want: "204"},
			{As: "M", Do: "POST /floatingips", Body: fip(`, "subnet_id": "` + absent + `"`), Want: "404 SubnetNotFound"},
			// Lists.
			{As: "M", Do: "GET /floatingips", Want: "200", Has: "floatingips.# = 3"},
			{As: "M", Do: "GET /floatingips?port_id=${p}", Want: "200", Has: "floatingips.# = 1\nfloatingips.0.id = \"${g}\""},
			{As: "M", Do: "GET /floatingips?router_id=${r}&fixed_ip_address=10.0.0.10&status=DOWN&floating_network_id=${ext}", Want: "200", Has: "floatingips.# = 1"},
			{As: "M", Do: "GET /floatingips?floating_ip_address=203.0.113.77", Want: "200", Has: "floatingips.# = 1\nfloatingips.0.id = \"${h}\""},
			{As: "M", Do: "GET /floatingips?description=x", Want: "200", Has: "floatingips.# = 1"},
			{As: "M", Do: "GET /floatingips?port_details=x", Want: "400"},
			{As: "M", Do: "GET /floatingips?sort_key=floating_ip_address&sort_dir=desc&fields=floating_ip_address", Want: "200", Has: "floatingips.# = 3\nfloatingips.0.id absent"},
			{As: "O", Do: "GET /floatingips", Want: "200", Has: "floatingips.# = 0"},
			{As: "O", Do: "GET /floatingips/${f}", Want: "404 FloatingIPNotFound"},
			{As: "O", Do: "PUT /floatingips/${f}", Body: `{"floatingip": {}}`, Want: "404 FloatingIPNotFound"},
			{As: "O", Do: "DELETE /floatingips/${f}", Want: "404 FloatingIPNotFound"},
			{As: "O", Do: "POST /floatingips", Body: fip(`, "port_id": "${p}"`), Want: "404 PortNotFound"},
			{As: "R", Do: "GET /floatingips/${f}", Want: "200"},
			{As: "R", Do: "POST /floatingips", Body: fip(``), Want: "403 PolicyNotAuthorized"},
			{As: "R", Do: "DELETE /floatingips/${f}", Want: "403 PolicyNotAuthorized"},
			// Tags.
			{As: "M", Do: "PUT /floatingips/${f}/tags/red", Want: "201"},
			{As: "M", Do: "GET /floatingips?tags=red", Want: "200", Has: "floatingips.# = 1\nfloatingips.0.tags = [\"red\"]"},
			// Quota.
			{As: "A", Do: "GET /quotas/" + rig.ProjectM + "/details", Want: "200", Has: "quota.floatingip.used = 3"},
			{As: "A", Do: "PUT /quotas/" + rig.ProjectM, Body: `{"quota": {"floatingip": 3}}`, Want: "200"},
			{As: "M", Do: "POST /floatingips", Body: fip(``), Want: "409 OverQuota"},
			// The port goes, and the floating IP leads nowhere.
			{As: "M", Do: "DELETE /ports/${p}", Want: "204"},
			{As: "M", Do: "GET /floatingips/${g}", Want: "200", Has: "floatingip.port_id = null\nfloatingip.router_id = null\nfloatingip.fixed_ip_address = null\nfloatingip.port_details = null\nfloatingip.revision_number = 1"},
			{As: "M", Do: "DELETE /floatingips/${g}", Want: "204"},
			{As: "M", Do: "GET /floatingips/${g}", Want: "404 FloatingIPNotFound"},
			{As: "A", Do: "GET /ports?device_owner=network:floatingip", Want: "200", Has: "ports.# = 2"},
			// What leads nowhere goes with the network.
			{As: "A", Do: "DELETE /networks/${ext}", Want: "409 NetworkInUse"},
			{As: "M", Do: "GET /floatingips/${f}", Want: "200"},
			{As: "M", Do: "PUT /routers/${r}", Body: `{"router": {"external_gateway_info": null}}`, Want: "200"},
			{As: "A", Do: "DELETE /networks/${ext}", Want: "204"},
			{As: "M", Do: "GET /floatingips", Want: "200", Has: "floatingips.# = 0"},
			{As: "A", Do: "GET /quotas/" + rig.ProjectM + "/details", Want: "200", Has: "quota.floatingip.used = 0"},
		})
	})
}

// TestFloatingIPRouters: which router translates, and what holds its gateway and its interfaces.
func TestFloatingIPRouters(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		v := rig.Vars{}
		c.Run(t, v, topology())
		c.Run(t, v, []rig.Step{
			{As: "M", Do: "POST /floatingips", Body: `{"floatingip": {"floating_network_id": "${ext}", "port_id": "${p}"}}`, Want: "201", Save: "f=floatingip.id"},
			{As: "M", Do: "PUT /routers/${r}", Body: `{"router": {"external_gateway_info": null}}`, Want: "409 RouterExternalGatewayInUseByFloatingIp"},
			{As: "M", Do: "PUT /routers/${r}", Body: `{"router": {"external_gateway_info": {}}}`, Want: "409 RouterExternalGatewayInUseByFloatingIp"},
			{As: "M", Do: "PUT /routers/${r}/remove_router_interface", Body: `{"subnet_id": "${sub}"}`, Want: "409 RouterInterfaceInUseByFloatingIP"},
			{As: "M", Do: "GET /routers/${r}", Want: "200", Has: "router.external_gateway_info.network_id = \"${ext}\""},
			{As: "A", Do: "POST /networks", Body: `{"network": {"router:external": true}}`, Want: "201", Save: "ext2=network.id"},
			{As: "A", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${ext2}", "ip_version": 4, "cidr": "198.51.100.0/24"}}`, Want: "201"},
			{As: "M", Do: "PUT /routers/${r}", Body: `{"router": {"external_gateway_info": {"network_id": "${ext2}"}}}`, Want: "409 RouterExternalGatewayInUseByFloatingIp"},
			{As: "M", Do: "POST /floatingips", Body: `{"floatingip": {"floating_network_id": "${ext2}", "port_id": "${p}"}}`, Want: "404 ExternalGatewayForFloatingIPNotFound"},
			{As: "A", Do: "GET /ports?network_id=${ext2}", Want: "200", Has: "ports.# = 0"},
			// A second router on the same subnet leads to the second network; its interface is not the subnet's gateway.
			{As: "M", Do: "POST /routers", Body: `{"router": {"external_gateway_info": {"network_id": "${ext2}"}}}`, Want: "201", Save: "r2=router.id"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "fixed_ips": [{"ip_address": "10.0.0.2"}]}}`, Want: "201", Save: "i2=port.id"},
			{As: "M", Do: "PUT /routers/${r2}/add_router_interface", Body: `{"port_id": "${i2}"}`, Want: "200"},
			{As: "M", Do: "POST /floatingips", Body: `{"floatingip": {"floating_network_id": "${ext2}", "port_id": "${p}"}}`, Want: "201", Save: "g=floatingip.id", Has: "floatingip.router_id = \"${r2}\""},
			// A third one that leads to the first network too: the subnet's gateway counts.
			{As: "M", Do: "POST /routers", Body: `{"router": {"external_gateway_info": {"network_id": "${ext}"}}}`, Want: "201", Save: "r3=router.id"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "fixed_ips": [{"ip_address": "10.0.0.3"}]}}`, Want: "201", Save: "i3=port.id"},
			{As: "M", Do: "PUT /routers/${r3}/add_router_interface", Body: `{"port_id": "${i3}"}`, Want: "200"},
			{As: "M", Do: "PUT /floatingips/${f}", Body: `{"floatingip": {"port_id": null}}`, Want: "200"},
			{As: "M", Do: "PUT /floatingips/${f}", Body: `{"floatingip": {"port_id": "${p}"}}`, Want: "200", Has: "floatingip.router_id = \"${r}\""},
			{As: "M", Do: "PUT /routers/${r3}/remove_router_interface", Body: `{"port_id": "${i3}"}`, Want: "200"},
			{As: "M", Do: "DELETE /routers/${r3}", Want: "204"},
			// Several addresses, other owners.
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "fixed_ips": [{"ip_address": "10.0.0.20"}, {"ip_address": "10.0.0.21"}]}}`, Want: "201", Save: "two=port.id"},
			{As: "M", Do: "POST /floatingips", Body: `{"floatingip": {"floating_network_id": "${ext}", "port_id": "${two}"}}`, Want: "400 BadRequest"},
			{As: "M", Do: "POST /floatingips", Body: `{"floatingip": {"floating_network_id": "${ext}", "port_id": "${two}", "fixed_ip_address": "10.0.0.21"}}`, Want: "201", Save: "h=floatingip.id", Has: "floatingip.fixed_ip_address = \"10.0.0.21\""},
			{As: "M", Do: "PUT /floatingips/${h}", Body: `{"floatingip": {"description": "keeps its address"}}`, Want: "200", Has: "floatingip.fixed_ip_address = \"10.0.0.21\""},
			{As: "M", Do: "POST /floatingips", Body: `{"floatingip": {"floating_network_id": "${ext}", "port_id": "${two}", "fixed_ip_address": "10.0.0.20"}}`, Want: "201", Save: "k=floatingip.id"},
			// An address that the port loses takes its floating IP off, and only that.
			{As: "M", Do: "PUT /ports/${two}", Body: `{"port": {"fixed_ips": [{"ip_address": "10.0.0.20"}, {"ip_address": "10.0.0.22"}]}}`, Want: "200"},
			{As: "M", Do: "GET /floatingips/${h}", Want: "200", Has: "floatingip.port_id = null\nfloatingip.router_id = null"},
			{As: "M", Do: "GET /floatingips/${k}", Want: "200", Has: "floatingip.port_id = \"${two}\""},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "fixed_ips": []}}`, Want: "201", Save: "none=port.id"},
			{As: "M", Do: "PUT /floatingips/${h}", Body: `{"floatingip": {"port_id": "${none}"}}`, Want: "400 BadRequest"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "device_owner": "network:dhcp"}}`, Want: "201", Save: "dhcp=port.id"},
			{As: "M", Do: "PUT /floatingips/${h}", Body: `{"floatingip": {"port_id": "${dhcp}"}}`, Want: "400 BadRequest"},
			// Other projects: only administrators join what does not belong together.
			{As: "A", Do: "POST /floatingips", Body: `{"floatingip": {"floating_network_id": "${ext}", "project_id": "` + rig.ProjectO + `"}}`, Want: "201", Save: "o=floatingip.id"},
			{As: "O", Do: "PUT /floatingips/${o}", Body: `{"floatingip": {"port_id": "${two}"}}`, Want: "404 PortNotFound"},
			{As: "A", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "project_id": "` + rig.ProjectO + `"}}`, Want: "201", Save: "theirs=port.id"},
			{As: "M", Do: "PUT /floatingips/${h}", Body: `{"floatingip": {"port_id": "${theirs}"}}`, Want: "400 BadRequest"},
			{As: "O", Do: "PUT /floatingips/${o}", Body: `{"floatingip": {"port_id": "${theirs}"}}`, Want: "200", Has: "floatingip.router_id = \"${r}\""},
			{As: "A", Do: "PUT /floatingips/${h}", Body: `{"floatingip": {"port_id": "${theirs}"}}`, Want: "409 FloatingIPPortAlreadyAssociated"},
			{As: "M", Do: "PUT /routers/${r}/remove_router_interface", Body: `{"subnet_id": "${sub}"}`, Want: "409 RouterInterfaceInUseByFloatingIP"},
		})
	})
}

// TestFloatingIPDistributed: what a distributed router does not reach.
func TestFloatingIPDistributed(t *testing.T) {
	c := quick(t)
	v := rig.Vars{}
	c.Run(t, v, topology()[:4])
	c.Run(t, v, []rig.Step{
		{As: "A", Do: "POST /routers", Body: `{"router": {"distributed": true, "project_id": "` + rig.ProjectM + `", "external_gateway_info": {"network_id": "${ext}"}}}`, Want: "201", Save: "r=router.id"},
		{As: "M", Do: "PUT /routers/${r}/add_router_interface", Body: `{"subnet_id": "${sub}"}`, Want: "200"},
		{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "binding:vnic_type": "direct"}}`, Want: "201", Save: "direct=port.id"},
		{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "fixed_ips": [{"ip_address": "10.0.0.10"}]}}`, Want: "201", Save: "p=port.id"},
		{As: "M", Do: "POST /floatingips", Body: `{"floatingip": {"floating_network_id": "${ext}", "port_id": "${direct}"}}`, Want: "400 BadRequest"},
		{As: "M", Do: "POST /floatingips", Body: `{"floatingip": {"floating_network_id": "${ext}"}}`, Want: "201", Save: "f=floatingip.id"},
		{As: "M", Do: "POST /floatingips/${f}/port_forwardings", Body: `{"port_forwarding": {"internal_port_id": "${p}", "internal_ip_address": "10.0.0.10", "protocol": "tcp", "external_port": 80, "internal_port": 80}}`, Want: "201", Save: "w=port_forwarding.id"},
		{As: "M", Do: "POST /floatingips", Body: `{"floatingip": {"floating_network_id": "${ext}", "port_id": "${p}"}}`, Want: "400 PortHasPortForwarding"},
		{As: "M", Do: "DELETE /floatingips/${f}/port_forwardings/${w}", Want: "204"},
		{As: "M", Do: "POST /floatingips", Body: `{"floatingip": {"floating_network_id": "${ext}", "port_id": "${p}"}}`, Want: "201", Has: "floatingip.router_id = \"${r}\""},
	})
}

// TestFloatingIPNetworks: what an external network must be, and what a floating IP costs it.
func TestFloatingIPNetworks(t *testing.T) {
	o := rig.ProjectO
	c := quick(t)
	c.Run(t, rig.Vars{}, []rig.Step{
		{As: "A", Do: "POST /networks", Body: `{"network": {"router:external": true}}`, Want: "201", Save: "six=network.id"},
		{As: "M", Do: "POST /floatingips", Body: `{"floatingip": {"floating_network_id": "${six}"}}`, Want: "400 BadRequest"},
		{As: "A", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${six}", "ip_version": 6, "cidr": "2001:db8::/64"}}`, Want: "201", Save: "s6=subnet.id"},
		{As: "M", Do: "POST /floatingips", Body: `{"floatingip": {"floating_network_id": "${six}"}}`, Want: "400 BadRequest"},
		{As: "A", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${six}", "ip_version": 4, "cidr": "203.0.113.0/30"}}`, Want: "201", Save: "s4=subnet.id"},
		{As: "M", Do: "POST /floatingips", Body: `{"floatingip": {"floating_network_id": "${six}", "subnet_id": "${s6}"}}`, Want: "400 ExternalIpAddressExhausted"},
		{As: "M", Do: "POST /floatingips", Body: `{"floatingip": {"floating_network_id": "${six}"}}`, Want: "201", Save: "f=floatingip.id", Has: "floatingip.floating_ip_address = \"203.0.113.2\""},
		{As: "M", Do: "POST /floatingips", Body: `{"floatingip": {"floating_network_id": "${six}"}}`, Want: "409 IpAddressGenerationFailure"},
		{As: "A", Do: "DELETE /subnets/${s4}", Want: "409 SubnetInUse"},
		{As: "M", Do: "DELETE /floatingips/${f}", Want: "204"},
		{As: "M", Do: "POST /floatingips", Body: `{"floatingip": {"floating_network_id": "${six}"}}`, Want: "201", Save: "f=floatingip.id"},
		// A network that is external for one project.
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id"},
		{As: "M", Do: "POST /subnets", Body: `{"subnet": {"name": "mine", "network_id": "${net}", "ip_version": 4, "cidr": "10.9.0.0/24"}}`, Want: "201", Save: "sub=subnet.id"},
		{As: "M", Do: "POST /rbac-policies", Body: `{"rbac_policy": {"object_type": "network", "object_id": "${net}", "action": "access_as_external", "target_tenant": "` + o + `"}}`, Want: "201"},
		{As: "O", Do: "POST /floatingips", Body: `{"floatingip": {"floating_network_id": "${net}"}}`, Want: "201"},
		{As: "S", Do: "POST /floatingips", Body: `{"floatingip": {"floating_network_id": "${net}"}}`, Want: "403"},
		// Pools.
		{As: "O", Do: "GET /floatingip-pools", Want: "200", Has: "floatingip_pools.# = 2"},
		{As: "M", Do: "GET /floatingip_pools", Want: "200", Has: "floatingip_pools.# = 2"},
		{As: "A", Do: "GET /floatingip-pools", Want: "200", Has: "floatingip_pools.# = 2"},
		{As: "R", Do: "GET /floatingip-pools?fields=cidr&fields=subnet_name", Want: "200", Has: "floatingip_pools.# = 2\nfloatingip_pools.0.network_id absent"},
		{As: "M", Do: "POST /floatingip-pools", Body: `{"floatingip_pool": {}}`, Want: "400"},
		{As: "M", Do: "GET /floatingip-pools?cidr=10.9.0.0/24", Want: "400"},
	})
	// What is external for one project is no other's pool.
	a := c.As("e0000000000000000000000000000000", "reader").Do("GET", "/floatingip-pools", nil)
	if got := a.Object()["floatingip_pools"]; a.Status != 200 || strings.Contains(string(a.Body), "10.9.0.0/24") || len(got.([]any)) != 1 { //nolint:errcheck // a test may panic
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

// TestFloatingIPPolicies: QoS policies of floating IPs.
func TestFloatingIPPolicies(t *testing.T) {
	c := quick(t)
	v := rig.Vars{}
	c.Run(t, v, topology())
	c.Run(t, v, []rig.Step{
		{As: "A", Do: "POST /qos/policies", Body: `{"policy": {"name": "hidden"}}`, Want: "201", Save: "hidden=policy.id"},
		{As: "A", Do: "POST /qos/policies", Body: `{"policy": {"name": "q", "shared": true}}`, Want: "201", Save: "q=policy.id"},
		{As: "M", Do: "POST /floatingips", Body: `{"floatingip": {"floating_network_id": "${ext}", "qos_policy_id": "${hidden}"}}`, Want: "404 QosPolicyNotFound"},
		{As: "M", Do: "POST /floatingips", Body: `{"floatingip": {"floating_network_id": "${ext}", "qos_policy_id": "${q}"}}`, Want: "201", Save: "f=floatingip.id", Has: "floatingip.qos_policy_id = \"${q}\""},
		{As: "M", Do: "PUT /floatingips/${f}", Body: `{"floatingip": {"port_id": "${p}"}}`, Want: "200", Has: "floatingip.qos_policy_id = \"${q}\""},
		{As: "A", Do: "DELETE /qos/policies/${q}", Want: "409 QosPolicyInUse"},
		{As: "M", Do: "PUT /floatingips/${f}", Body: `{"floatingip": {"qos_policy_id": "${hidden}"}}`, Want: "404 QosPolicyNotFound"},
		{As: "M", Do: "PUT /floatingips/${f}", Body: `{"floatingip": {"qos_policy_id": null}}`, Want: "200", Has: "floatingip.qos_policy_id = null\nfloatingip.port_id = \"${p}\""},
		{As: "A", Do: "DELETE /qos/policies/${q}", Want: "204"},
	})
}

// TestFloatingIPCost: a list makes the same number of statements at any length, a create does however many there are.
func TestFloatingIPCost(t *testing.T) {
	c := roomy(t)
	v := rig.Vars{}
	c.Run(t, v, topology())
	m := c.Who("M")
	var list, create int
	for round, n := range []int{2, 30} {
		for i := range n {
			p := m.Make("/ports", "port", map[string]any{"network_id": v["net"]})
			f := m.Make("/floatingips", "floatingip", map[string]any{"floating_network_id": v["ext"], "port_id": p["id"]})
			if i%2 == 0 {
				m.Do("PUT", fmt.Sprintf("/floatingips/%v", f["id"]), `{"floatingip": {"port_id": null}}`)
				a := m.Do("POST", fmt.Sprintf("/floatingips/%v/port_forwardings", f["id"]), map[string]any{"port_forwarding": map[string]any{"protocol": "tcp",
					"external_port": 80, "internal_port": 80, "internal_port_id": p["id"], "internal_ip_address": p["fixed_ips"].([]any)[0].(map[string]any)["ip_address"]}}) //nolint:errcheck // a test may panic
				if a.Status != 201 {
					t.Fatal(string(a.Body))
				}
			}
		}
		got := statements(t, m.Do("GET", "/floatingips", nil))
		made := statements(t, m.Do("POST", "/floatingips", map[string]any{"floatingip": map[string]any{"floating_network_id": v["ext"]}}))
		if round > 0 && (got > list || made > create) || got > 8 {
			t.Errorf("a list makes %d statements, a create %d; with few %d and %d", got, made, list, create)
		}
		list, create = got, made
	}
	t.Logf("list %d, create %d", list, create)
	if a := m.Do("GET", "/floatingips?fields=id", nil); a.Status != 200 || strings.Contains(string(a.Body), "port_details") {
		t.Errorf("%s", a.Body)
	}
}

// TestFloatingIPNames: the DNS names of floating IPs (neutron/db/dns_db.py), where the extension is served.
func TestFloatingIPNames(t *testing.T) {
	c := quick(t)
	v := rig.Vars{}
	c.Run(t, v, topology())
	if !slices.Contains(catalogue.Served(), "dns-integration") {
		c.Run(t, v, []rig.Step{{As: "M", Do: "POST /floatingips", Body: `{"floatingip": {"floating_network_id": "${ext}", "dns_name": "www"}}`, Want: "400 HTTPBadRequest"}})
		return
	}
	c.Run(t, v, []rig.Step{
		{As: "M", Do: "POST /floatingips", Body: `{"floatingip": {"floating_network_id": "${ext}"}}`, Want: "201", Has: "floatingip.dns_name = \"\"\nfloatingip.dns_domain = \"\""},
		{As: "M", Do: "POST /floatingips", Body: `{"floatingip": {"floating_network_id": "${ext}", "dns_name": "www"}}`, Want: "400 BadRequest"},
		{As: "M", Do: "POST /floatingips", Body: `{"floatingip": {"floating_network_id": "${ext}", "dns_domain": "example.org."}}`, Want: "400 BadRequest"},
		{As: "M", Do: "POST /floatingips", Body: `{"floatingip": {"floating_network_id": "${ext}", "dns_name": "www", "dns_domain": "example.org"}}`, Want: "400"},
		{As: "M", Do: "POST /floatingips", Body: `{"floatingip": {"floating_network_id": "${ext}", "dns_name": "WWW", "dns_domain": "example.org."}}`, Want: "201", Save: "n=floatingip.id", Has: "floatingip.dns_name = \"www\"\nfloatingip.dns_domain = \"example.org.\""},
		{As: "M", Do: "PUT /floatingips/${n}", Body: `{"floatingip": {"dns_name": "x"}}`, Want: "400 HTTPBadRequest"},
	})
}
