package conformance

import (
	"testing"

	"isospin/isospintest"
	"isospin/test/rig"
)

const (
	slaac     = `"ip_version": 6, "ipv6_ra_mode": "slaac", "ipv6_address_mode": "slaac"`
	stateless = `"ip_version": 6, "ipv6_ra_mode": "dhcpv6-stateless", "ipv6_address_mode": "dhcpv6-stateless"`
)

func subnetOf(attributes string) string {
	return `{"subnet": {"network_id": "${net}", ` + attributes + `}}`
}

func portOf(attributes string) string { return `{"port": {"network_id": "${net}"` + attributes + `}}` }

// TestImplicitAddresses: an address of a subnet where hosts make their own is there whatever fixed_ips says, for all but the
// inner ports of routers (neutron/db/ipam_pluggable_backend.py).
func TestImplicitAddresses(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		mac := `, "mac_address": "fa:16:3e:00:00:0a"`
		own := `"2001:db8::f816:3eff:fe00:a"`
		c.Run(t, rig.Vars{}, []rig.Step{
			{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id"},
			{As: "M", Do: "POST /subnets", Body: subnetOf(`"ip_version": 4, "cidr": "10.0.0.0/24"`), Want: "201", Save: "four=subnet.id"},
			{As: "M", Do: "POST /subnets", Body: subnetOf(slaac + `, "cidr": "2001:db8::/64"`), Want: "201", Save: "auto=subnet.id"},
			{As: "M", Do: "POST /subnets", Body: subnetOf(stateless + `, "cidr": "2001:db8:1::/64"`), Want: "201", Save: "less=subnet.id"},
			{As: "M", Do: "POST /subnets", Body: subnetOf(`"ip_version": 6, "cidr": "2001:db8:2::/64", "ipv6_address_mode": "dhcpv6-stateful", "ipv6_ra_mode": "dhcpv6-stateful"`), Want: "201", Save: "full=subnet.id"},
			{As: "M", Do: "POST /ports", Body: portOf(mac + `, "fixed_ips": [{"ip_address": "10.0.0.9"}]`), Want: "201", Save: "p=port.id",
				Has: "port.fixed_ips.# = 3\nport.fixed_ips.0.ip_address = \"10.0.0.9\""},
			{As: "M", Do: "GET /ports?fixed_ips=ip_address=2001:db8::f816:3eff:fe00:a", Want: "200", Has: "ports.# = 1"},
			{As: "M", Do: "GET /ports?fixed_ips=ip_address=2001:db8:1::f816:3eff:fe00:a&fixed_ips=subnet_id=${less}", Want: "200", Has: "ports.# = 1"},
			{As: "M", Do: "PUT /ports/${p}", Body: `{"port": {"fixed_ips": []}}`, Want: "200", Has: "port.fixed_ips.# = 2"},
			{As: "M", Do: "PUT /ports/${p}", Body: `{"port": {"fixed_ips": [{"subnet_id": "${auto}"}]}}`, Want: "200", Has: "port.fixed_ips.# = 2\nport.revision_number = 2"},
			{As: "M", Do: "PUT /ports/${p}", Body: `{"port": {"fixed_ips": [{"subnet_id": "${full}"}, {"subnet_id": "${full}"}, {"subnet_id": "${four}"}]}}`, Want: "200", Has: "port.fixed_ips.# = 5"},
			{As: "A", Do: "PUT /ports/${p}", Body: `{"port": {"mac_address": "fa:16:3e:00:00:0b", "fixed_ips": [{"ip_address": "10.0.0.8"}, {"subnet_id": "${auto}", "ip_address": ` + own + `}]}}`, Want: "200",
				Has: "port.fixed_ips.# = 3"},
			{As: "M", Do: "GET /ports?fixed_ips=ip_address=2001:db8::f816:3eff:fe00:b", Want: "200", Has: "ports.# = 1"},
			{As: "M", Do: "GET /ports?fixed_ips=ip_address=2001:db8::f816:3eff:fe00:a", Want: "200", Has: "ports.# = 0"},
			{As: "M", Do: "POST /ports", Body: portOf(mac + `, "fixed_ips": []`), Want: "201", Has: "port.fixed_ips.# = 2"},
			{As: "M", Do: "POST /ports", Body: portOf(`, "device_owner": "network:router_interface", "fixed_ips": [{"subnet_id": "${auto}", "ip_address": "2001:db8::1"}]`), Want: "201", Save: "r=port.id", Has: "port.fixed_ips.# = 1"},
			{As: "M", Do: "POST /subnets", Body: subnetOf(slaac + `, "cidr": "2001:db8:3::/64"`), Want: "201", Save: "late=subnet.id"},
			{As: "M", Do: "GET /ports/${p}", Want: "200", Has: "port.fixed_ips.# = 4\nport.fixed_ips.3.subnet_id = \"${late}\""},
			{As: "M", Do: "GET /ports/${r}", Want: "200", Has: "port.fixed_ips.# = 1"},
			{As: "M", Do: "DELETE /subnets/${late}", Want: "204"},
			{As: "M", Do: "GET /ports/${p}", Want: "200", Has: "port.fixed_ips.# = 3"},
			{As: "M", Do: "DELETE /subnets/${auto}", Want: "409 SubnetInUse"},
			{As: "M", Do: "DELETE /subnets/${four}", Want: "409 SubnetInUse"},
		})
	})
}

// TestServiceTypes: a subnet of service types is for ports of exactly these owners, who get addresses of it first.
func TestServiceTypes(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		c.Run(t, rig.Vars{}, []rig.Step{
			{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id"},
			{As: "M", Do: "POST /subnets", Body: subnetOf(`"ip_version": 4, "cidr": "10.1.0.0/29", "allocation_pools": [{"start": "10.1.0.2", "end": "10.1.0.2"}], "service_types": ["compute:nova"]`), Want: "201", Save: "typed=subnet.id",
				Has: "subnet.service_types = [\"compute:nova\"]"},
			{As: "M", Do: "POST /ports", Body: portOf(``), Want: "409 IpAddressGenerationFailureNoMatchingSubnet"},
			{As: "M", Do: "POST /ports", Body: portOf(`, "device_owner": "compute:other"`), Want: "409 IpAddressGenerationFailureNoMatchingSubnet"},
			{As: "M", Do: "POST /ports", Body: portOf(`, "device_owner": "network:dhcp", "fixed_ips": [{"ip_address": "10.1.0.5"}]`), Want: "201"},
			{As: "M", Do: "POST /subnets", Body: subnetOf(`"ip_version": 4, "cidr": "10.2.0.0/24"`), Want: "201", Save: "free=subnet.id"},
			{As: "M", Do: "POST /ports", Body: portOf(``), Want: "201", Has: "port.fixed_ips.# = 1\nport.fixed_ips.0.subnet_id = \"${free}\""},
			{As: "M", Do: "POST /ports", Body: portOf(`, "fixed_ips": [{"subnet_id": "${typed}"}]`), Want: "400"},
			{As: "M", Do: "POST /ports", Body: portOf(`, "device_owner": "compute:nova"`), Want: "201", Has: "port.fixed_ips.0.subnet_id = \"${typed}\""},
			{As: "M", Do: "POST /ports", Body: portOf(`, "device_owner": "compute:nova"`), Want: "201", Has: "port.fixed_ips.0.subnet_id = \"${free}\""},
			{As: "M", Do: "PUT /subnets/${free}", Body: `{"subnet": {"service_types": ["network:dhcp", "nope"]}}`, Want: "400"},
			{As: "M", Do: "PUT /subnets/${free}", Body: `{"subnet": {"service_types": ["network:dhcp"]}}`, Want: "200"},
			{As: "M", Do: "POST /ports", Body: portOf(``), Want: "409 IpAddressGenerationFailureNoMatchingSubnet"},
			{As: "M", Do: "PUT /subnets/${free}", Body: `{"subnet": {"service_types": null}}`, Want: "200", Has: "subnet.service_types = []"},
			{As: "M", Do: "POST /ports", Body: portOf(``), Want: "201"},
		})
	})
}

// TestPrefixDelegation: subnets whose prefix a provider delegates stand on a prefix that is nobody's until then.
func TestPrefixDelegation(t *testing.T) {
	pd := `"subnetpool_id": "prefix_delegation"`
	everywhere(t, func(t *testing.T, c rig.Caller) {
		c.Run(t, rig.Vars{}, []rig.Step{
			{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id"},
			{As: "M", Do: "POST /subnets", Body: subnetOf(`"ip_version": 4, ` + pd), Want: "400 BadRequest"},
			{As: "M", Do: "POST /subnets", Body: subnetOf(`"ip_version": 6, ` + pd), Want: "400 BadRequest"},
			{As: "M", Do: "POST /subnets", Body: subnetOf(`"ip_version": 6, "ipv6_ra_mode": "slaac", ` + pd), Want: "400 BadRequest"},
			{As: "M", Do: "POST /subnets", Body: subnetOf(slaac + `, "use_default_subnetpool": true, ` + pd), Want: "400 BadRequest"},
			{As: "M", Do: "POST /subnets", Body: subnetOf(slaac + `, "allocation_pools": [{"start": "::2", "end": "::9"}], ` + pd), Want: "400 BadRequest"},
			{As: "M", Do: "POST /subnets", Body: subnetOf(slaac + `, ` + pd), Want: "201", Save: "a=subnet.id",
				Has: "subnet.subnetpool_id = \"prefix_delegation\"\nsubnet.cidr = \"::/64\"\nsubnet.gateway_ip = \"::\""},
			{As: "M", Do: "POST /subnets", Body: subnetOf(stateless + `, ` + pd), Want: "201", Save: "b=subnet.id"},
			{As: "M", Do: "GET /subnets?subnetpool_id=prefix_delegation", Want: "200", Has: "subnets.# = 2"},
			{As: "M", Do: "POST /subnets", Body: subnetOf(`"ip_version": 6, "cidr": "2001:db8::/64"`), Want: "400 NetworkSubnetPoolAffinityError"},
			{As: "M", Do: "POST /subnets", Body: subnetOf(slaac + `, "cidr": "2001:db8::/64", ` + pd), Want: "400 NetworkSubnetPoolAffinityError"},
			{As: "M", Do: "POST /subnets", Body: subnetOf(`"ip_version": 4, "cidr": "10.0.0.0/24"`), Want: "201"},
			{As: "M", Do: "POST /ports", Body: portOf(`, "mac_address": "fa:16:3e:00:00:01"`), Want: "201", Save: "p=port.id", Has: "port.fixed_ips.# = 3\nport.fixed_ips.1.ip_address = \"::f816:3eff:fe00:1\""},
			{As: "M", Do: "PUT /ports/${p}", Body: `{"port": {"fixed_ips": [{"subnet_id": "${a}"}]}}`, Want: "200", Has: "port.fixed_ips.# = 1\nport.fixed_ips.0.subnet_id = \"${a}\""},
			{As: "M", Do: "DELETE /subnets/${b}", Want: "204"},
			{As: "M", Do: "DELETE /ports/${p}", Want: "204"},
			{As: "M", Do: "DELETE /networks/${net}", Want: "204"},
			{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id"},
			{As: "M", Do: "POST /subnets", Body: subnetOf(`"ip_version": 6, "cidr": "2001:db8::/64", ` + pd), Want: "201", Has: "subnet.subnetpool_id = null\nsubnet.cidr = \"2001:db8::/64\""},
			{As: "M", Do: "POST /subnets", Body: subnetOf(slaac + `, ` + pd), Want: "400 NetworkSubnetPoolAffinityError"},
		})
	})
	s := isospintest.Start(t, isospintest.Options{Config: map[string]string{"DEFAULT/ipv6_pd_enabled": "true"}})
	rig.Caller{TB: t, URL: s.URL}.Run(t, rig.Vars{}, []rig.Step{
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id"},
		{As: "M", Do: "POST /subnets", Body: subnetOf(slaac + `, "use_default_subnetpool": true`), Want: "201", Has: "subnet.subnetpool_id = \"prefix_delegation\""},
		{As: "M", Do: "POST /subnets", Body: subnetOf(`"ip_version": 4, "use_default_subnetpool": true`), Want: "400"},
	})
}

// TestSubnetsOfExternalNetworks: a subnet tells whether its network leads outside, for the caller.
func TestSubnetsOfExternalNetworks(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		c.Run(t, rig.Vars{}, []rig.Step{
			{As: "A", Do: "POST /networks", Body: `{"network": {"router:external": true}}`, Want: "201", Save: "net=network.id"},
			{As: "A", Do: "POST /subnets", Body: subnetOf(`"ip_version": 4, "cidr": "192.0.2.0/24"`), Want: "201", Save: "out=subnet.id", Has: "subnet.router:external = true"},
			{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id"},
			{As: "M", Do: "POST /subnets", Body: subnetOf(`"ip_version": 4, "cidr": "10.0.0.0/24"`), Want: "201", Save: "in=subnet.id", Has: "subnet.router:external = false"},
			{As: "M", Do: "POST /rbac-policies", Body: `{"rbac_policy": {"object_type": "network", "object_id": "${net}", "action": "access_as_external", "target_tenant": "` + rig.ProjectO + `"}}`, Want: "201"},
			{As: "M", Do: "GET /subnets/${in}", Want: "200", Has: "subnet.router:external = false"},
			{As: "A", Do: "GET /subnets/${in}", Want: "200", Has: "subnet.router:external = true"},
			{As: "A", Do: "GET /subnets?router:external=true", Want: "200", Has: "subnets.# = 2"},
			{As: "A", Do: "GET /subnets?router:external=false", Want: "200", Has: "subnets.# = 0"},
			{As: "M", Do: "GET /subnets?router:external=no", Want: "200", Has: "subnets.# = 1\nsubnets.0.id = \"${in}\""},
			{As: "M", Do: "GET /subnets?router:external=maybe", Want: "400"},
			{As: "M", Do: "PUT /subnets/${in}", Body: `{"subnet": {"router:external": true}}`, Want: "400"},
			{As: "M", Do: "GET /subnets/${in}?fields=router:external", Want: "200", Has: "subnet = {\"router:external\": false}"},
		})
	})
}
