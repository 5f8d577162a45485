package conformance

import (
	"fmt"
	"strings"
	"testing"

	"isospin/test/rig"
)

// TestSubnets: behaviour.md, section 9.
func TestSubnets(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		v := rig.Vars{}
		c.Run(t, v, []rig.Step{{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id"}})
		with := func(rest string) string { return `{"subnet": {"network_id": "${net}", ` + rest + `}}` }
		c.Run(t, v, []rig.Step{
			{As: "M", Do: "POST /subnets", Body: with(`"ip_version": 4, "cidr": "10.0.0.7/24"`), Want: "201", Save: "sub=subnet.id",
				Has: "subnet.cidr = \"10.0.0.0/24\"\nsubnet.gateway_ip = \"10.0.0.1\"\nsubnet.allocation_pools = [{\"start\": \"10.0.0.2\", \"end\": \"10.0.0.254\"}]\nsubnet.enable_dhcp = true\nsubnet.dns_nameservers = []\nsubnet.host_routes = []\nsubnet.ipv6_ra_mode = null\nsubnet.ipv6_address_mode = null\nsubnet.subnetpool_id = null\nsubnet.name = \"\"\nsubnet.ip_version = 4\nsubnet.prefixlen absent"},
			{As: "M", Do: "POST /subnets", Body: with(`"ip_version": "4", "cidr": "10.0.0.128/25"`), Want: "400 InvalidInput"},
			{As: "M", Do: "POST /subnets", Body: with(`"ip_version": "4", "cidr": "10.1.0.0/24", "gateway_ip": null`), Want: "201", Has: "subnet.gateway_ip = null\nsubnet.allocation_pools.0.start = \"10.1.0.1\""},
			{As: "M", Do: "POST /subnets", Body: with(`"ip_version": 4, "cidr": "10.2.0.0/24", "gateway_ip": "10.2.0.100"`), Want: "201", Has: "subnet.allocation_pools = [{\"start\": \"10.2.0.1\", \"end\": \"10.2.0.99\"}, {\"start\": \"10.2.0.101\", \"end\": \"10.2.0.254\"}]"},
			{As: "M", Do: "POST /subnets", Body: with(`"ip_version": 4, "cidr": "10.3.0.0/24", "gateway_ip": "172.16.0.1"`), Want: "201", Has: "subnet.allocation_pools.0.start = \"10.3.0.1\""},
			{As: "M", Do: "POST /subnets", Body: with(`"ip_version": 4, "cidr": "10.4.0.0/24", "allocation_pools": [{"start": "10.4.0.1", "end": "10.4.0.9"}]`), Want: "409 GatewayConflictWithAllocationPools"},
			{As: "M", Do: "POST /subnets", Body: with(`"ip_version": 4, "cidr": "10.4.0.0/24", "allocation_pools": [{"start": "10.4.0.5", "end": "10.4.0.9"}, {"start": "10.4.0.9", "end": "10.4.0.12"}]`), Want: "409 OverlappingAllocationPools"},
			{As: "M", Do: "POST /subnets", Body: with(`"ip_version": 4, "cidr": "10.4.0.0/24", "allocation_pools": [{"start": "10.4.1.5", "end": "10.4.1.9"}]`), Want: "400 OutOfBoundsAllocationPool"},
			{As: "M", Do: "POST /subnets", Body: with(`"ip_version": 4, "cidr": "10.4.0.0/24", "allocation_pools": [{"start": "10.4.0.9", "end": "10.4.0.5"}]`), Want: "400 InvalidAllocationPool"},
			{As: "M", Do: "POST /subnets", Body: with(`"ip_version": 4, "cidr": "10.4.0.0/24", "allocation_pools": []`), Want: "201", Has: "subnet.allocation_pools = []"},
			{As: "M", Do: "POST /subnets", Body: with(`"ip_version": 4, "cidr": "10.5.0.0/31"`), Want: "400 InvalidInput"},
			{As: "M", Do: "POST /subnets", Body: with(`"ip_version": 4, "cidr": "10.5.0.0/32"`), Want: "400 InvalidInput"},
			{As: "M", Do: "POST /subnets", Body: with(`"ip_version": 4, "cidr": "0.0.0.0/0"`), Want: "400 InvalidInput"},
			{As: "M", Do: "POST /subnets", Body: with(`"ip_version": 4, "cidr": "224.0.0.0/24"`), Want: "400 InvalidInput"},
			{As: "M", Do: "POST /subnets", Body: with(`"ip_version": 4, "cidr": "10.5.0.0/31", "enable_dhcp": false`), Want: "201", Has: "subnet.gateway_ip = null"},
			{As: "M", Do: "POST /subnets", Body: with(`"ip_version": 4, "cidr": "10.5.0.2/32", "enable_dhcp": false`), Want: "201", Has: "subnet.gateway_ip = null"},
			{As: "M", Do: "POST /subnets", Body: with(`"ip_version": 6, "cidr": "2001:db8::/64"`), Want: "201", Has: "subnet.gateway_ip = \"2001:db8::\"\nsubnet.allocation_pools = [{\"start\": \"2001:db8::1\", \"end\": \"2001:db8::ffff:ffff:ffff:ffff\"}]"},
			{As: "M", Do: "POST /subnets", Body: with(`"ip_version": 6, "cidr": "2001:db8:1::/64", "ipv6_ra_mode": "slaac", "ipv6_address_mode": "slaac"`), Want: "201", Has: "subnet.ipv6_address_mode = \"slaac\""},
			{As: "M", Do: "POST /subnets", Body: with(`"ip_version": 6, "cidr": "2001:db8:2::/64", "ipv6_ra_mode": "slaac", "ipv6_address_mode": "dhcpv6-stateful"`), Want: "400 InvalidInput"},
			{As: "M", Do: "POST /subnets", Body: with(`"ip_version": 6, "cidr": "2001:db8:2::/65", "ipv6_ra_mode": "slaac", "ipv6_address_mode": "slaac"`), Want: "400 InvalidInput"},
			{As: "M", Do: "POST /subnets", Body: with(`"ip_version": 6, "cidr": "2001:db8:2::/64", "enable_dhcp": false, "ipv6_address_mode": "slaac"`), Want: "400 InvalidInput"},
			{As: "M", Do: "POST /subnets", Body: with(`"ip_version": 4, "cidr": "10.6.0.0/24", "ipv6_address_mode": "slaac"`), Want: "400 InvalidInput"},
			{As: "M", Do: "POST /subnets", Body: with(`"ip_version": 6, "cidr": "10.6.0.0/24"`), Want: "400 InvalidInput"},
			{As: "M", Do: "POST /subnets", Body: with(`"ip_version": 5, "cidr": "10.6.0.0/24"`), Want: "400"},
			{As: "M", Do: "POST /subnets", Body: with(`"cidr": "10.6.0.0/24"`), Want: "400 HTTPBadRequest"},
			{As: "M", Do: "POST /subnets", Body: `{"subnet": {"ip_version": 4, "cidr": "10.6.0.0/24"}}`, Want: "400 HTTPBadRequest"},
			{As: "M", Do: "POST /subnets", Body: with(`"ip_version": 4, "cidr": null`), Want: "400"},
			{As: "M", Do: "POST /subnets", Body: with(`"ip_version": 4`), Want: "400"},
			{As: "M", Do: "POST /subnets", Body: with(`"ip_version": 4, "cidr": "10.6.0.0/33"`), Want: "400"},
			{As: "M", Do: "POST /subnets", Body: with(`"ip_version": 4, "cidr": "10.6.0.0"`), Want: "400"},
			{As: "M", Do: "POST /subnets", Body: with(`"ip_version": 4, "cidr": "nope"`), Want: "400"},
			{As: "M", Do: "POST /subnets", Body: with(`"ip_version": 4, "cidr": "10.6.0.0/24", "subnetpool_id": "5b9c5d1e-0d83-4d0c-a1ff-7d8b4a8f7d00"`), Want: "404 SubnetPoolNotFound"},
			{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "5b9c5d1e-0d83-4d0c-a1ff-7d8b4a8f7d00", "ip_version": 4, "cidr": "10.6.0.0/24"}}`, Want: "404 NetworkNotFound"},
			{As: "M", Do: "POST /subnets", Body: with(`"ip_version": 4, "cidr": "10.6.0.0/24", "dns_nameservers": ["1.1.1.1", "1.1.1.2", "1.1.1.3", "1.1.1.4", "1.1.1.5", "1.1.1.6"]`), Want: "400 DNSNameServersExhausted"},
			{As: "M", Do: "POST /subnets", Body: with(`"ip_version": 4, "cidr": "10.6.0.0/24", "dns_nameservers": ["1.1.1.1", "1.1.1.1"]`), Want: "400"},
			{As: "M", Do: "POST /subnets", Body: with(`"ip_version": 4, "cidr": "10.6.0.0/24", "host_routes": [` + routes(21) + `]`), Want: "400 HostRoutesExhausted"},
			{As: "M", Do: "POST /subnets", Body: with(`"ip_version": 4, "cidr": "10.6.0.0/24", "host_routes": [` + routes(20) + `]`), Want: "201", Has: "subnet.host_routes.# = 20"},
			{As: "M", Do: "PUT /subnets/${sub}", Body: `{"subnet": {"cidr": "10.0.0.0/24"}}`, Want: "400 HTTPBadRequest"},
			{As: "M", Do: "PUT /subnets/${sub}", Body: `{"subnet": {"network_id": "${net}"}}`, Want: "400 HTTPBadRequest"},
			{As: "M", Do: "PUT /subnets/${sub}", Body: `{"subnet": {"ip_version": 4}}`, Want: "400 HTTPBadRequest"},
			{As: "M", Do: "PUT /subnets/${sub}", Body: `{"subnet": {"dns_nameservers": ["9.9.9.9", "1.1.1.1"]}}`, Want: "200", Has: "subnet.dns_nameservers = [\"9.9.9.9\", \"1.1.1.1\"]\nsubnet.revision_number = 1"},
			{As: "M", Do: "PUT /subnets/${sub}", Body: `{"subnet": {"gateway_ip": "10.0.0.7"}}`, Want: "409 GatewayConflictWithAllocationPools"},
			{As: "M", Do: "PUT /subnets/${sub}", Body: `{"subnet": {"gateway_ip": null}}`, Want: "200", Has: "subnet.gateway_ip = null"},
			{As: "M", Do: "PUT /subnets/${sub}", Body: `{"subnet": {"allocation_pools": [{"start": "10.0.0.5", "end": "10.0.0.6"}]}}`, Want: "200", Has: "subnet.allocation_pools.# = 1"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "fixed_ips": [{"subnet_id": "${sub}"}, {"subnet_id": "${sub}"}]}}`, Want: "201", Save: "port=port.id"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "fixed_ips": [{"subnet_id": "${sub}"}]}}`, Want: "409 IpAddressGenerationFailure"},
			{As: "M", Do: "PUT /subnets/${sub}", Body: `{"subnet": {"allocation_pools": [{"start": "10.0.0.5", "end": "10.0.0.7"}]}}`, Want: "200"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "fixed_ips": [{"subnet_id": "${sub}"}]}}`, Want: "201", Has: "port.fixed_ips.0.ip_address = \"10.0.0.7\""},
		})
	})
}

func routes(n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf(`{"destination": "192.168.%d.0/24", "nexthop": "10.6.0.1"}`, i))
	}
	return strings.Join(out, ", ")
}

// TestAutoAddresses: addresses that hosts make themselves follow their subnet, sections 9 and 10.
func TestAutoAddresses(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		c.Run(t, rig.Vars{}, []rig.Step{
			{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "mac_address": "fa:16:3e:00:00:01"}}`, Want: "201", Save: "port=port.id", Has: "port.fixed_ips = []"},
			{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 6, "cidr": "2001:db8::/64", "ipv6_ra_mode": "slaac", "ipv6_address_mode": "slaac"}}`, Want: "201", Save: "auto=subnet.id"},
			{As: "M", Do: "GET /ports/${port}", Want: "200", Has: "port.fixed_ips = [{\"subnet_id\": \"${auto}\", \"ip_address\": \"2001:db8::f816:3eff:fe00:1\"}]\nport.revision_number = 2"},
			{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 4, "cidr": "10.0.0.0/24"}}`, Want: "201", Save: "four=subnet.id"},
			{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 6, "cidr": "2001:db8:1::/64"}}`, Want: "201", Save: "six=subnet.id"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}"}}`, Want: "201", Has: "port.fixed_ips.# = 3"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "fixed_ips": [{"ip_address": "2001:db8::5"}]}}`, Want: "400 AllocationOnAutoAddressSubnet"},
			{As: "A", Do: "PUT /ports/${port}", Body: `{"port": {"mac_address": "fa:16:3e:00:00:02"}}`, Want: "200", Has: "port.fixed_ips.0.ip_address = \"2001:db8::f816:3eff:fe00:2\""},
			{As: "M", Do: "DELETE /subnets/${auto}", Want: "204"},
			{As: "M", Do: "GET /ports/${port}", Want: "200", Has: "port.fixed_ips = []"},
		})
	})
}
