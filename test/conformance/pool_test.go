package conformance

import (
	"testing"

	"isospin/test/rig"
)

// TestSubnetPools: behaviour.md, section 9, and neutron/ipam/subnet_alloc.py.
func TestSubnetPools(t *testing.T) {
	c := quick(t)
	v := rig.Vars{}
	pool := func(rest string) string { return `{"subnetpool": {"name": "p", ` + rest + `}}` }
	sub := func(net, rest string) string { return `{"subnet": {"network_id": "${` + net + `}", ` + rest + `}}` }
	c.Run(t, v, []rig.Step{
		{As: "M", Do: "POST /subnetpools", Body: pool(`"prefixes": ["10.11.0.0/16", "10.10.0.0/16"]`), Want: "201", Save: "pool=subnetpool.id",
			Has: "subnetpool.prefixes = [\"10.10.0.0/15\"]\nsubnetpool.min_prefixlen = \"8\"\nsubnetpool.max_prefixlen = \"32\"\nsubnetpool.default_prefixlen = \"8\"\nsubnetpool.ip_version = 4\nsubnetpool.shared = false\nsubnetpool.is_default = false\nsubnetpool.address_scope_id = null\nsubnetpool.default_quota = null\nsubnetpool.revision_number = 0"},
		{As: "M", Do: "POST /subnetpools", Body: pool(`"prefixes": []`), Want: "400"},
		{As: "M", Do: "POST /subnetpools", Body: pool(`"prefixes": ["10.0.0.0/8", "2001:db8::/32"]`), Want: "400 PrefixVersionMismatch"},
		{As: "M", Do: "POST /subnetpools", Body: pool(`"prefixes": ["10.0.0.0/8"], "min_prefixlen": 0`), Want: "400 UnsupportedMinSubnetPoolPrefix"},
		{As: "M", Do: "POST /subnetpools", Body: pool(`"prefixes": ["10.0.0.0/8"], "min_prefixlen": 7`), Want: "400 UnsupportedMinSubnetPoolPrefix"},
		{As: "M", Do: "POST /subnetpools", Body: pool(`"prefixes": ["10.0.0.0/8"], "min_prefixlen": "25", "max_prefixlen": 24`), Want: "400 IllegalSubnetPoolPrefixBounds"},
		{As: "M", Do: "POST /subnetpools", Body: pool(`"prefixes": ["10.0.0.0/8"], "max_prefixlen": 33`), Want: "400 IllegalSubnetPoolPrefixBounds"},
		{As: "M", Do: "POST /subnetpools", Body: pool(`"prefixes": ["10.0.0.0/8"], "min_prefixlen": 20, "default_prefixlen": 19`), Want: "400 IllegalSubnetPoolPrefixBounds"},
		{As: "M", Do: "POST /subnetpools", Body: pool(`"prefixes": ["10.0.0.0/8"], "max_prefixlen": 20, "default_prefixlen": 21`), Want: "400 IllegalSubnetPoolPrefixBounds"},
		{As: "M", Do: "POST /subnetpools", Body: pool(`"prefixes": ["10.0.0.0/8"], "is_default": true`), Want: "403 PolicyNotAuthorized"},
		{As: "M", Do: "POST /subnetpools", Body: pool(`"prefixes": ["10.0.0.0/8"], "shared": true`), Want: "403 PolicyNotAuthorized"},
		{As: "M", Do: "POST /subnetpools", Body: `{"subnetpools": [{"name": "a", "prefixes": ["10.0.0.0/8"]}]}`, Want: "400"},
		{As: "O", Do: "GET /subnetpools/${pool}", Want: "404 SubnetPoolNotFound"},
		{As: "R", Do: "PUT /subnetpools/${pool}", Body: `{"subnetpool": {"name": "x"}}`, Want: "403 PolicyNotAuthorized"},
		{As: "M", Do: "PUT /subnetpools/${pool}", Body: `{"subnetpool": {"prefixes": ["10.10.0.0/16"]}}`, Want: "400 IllegalSubnetPoolPrefixUpdate"},
		{As: "M", Do: "PUT /subnetpools/${pool}", Body: `{"subnetpool": {"min_prefixlen": 24, "default_prefixlen": 26, "max_prefixlen": 28}}`, Want: "200",
			Has: "subnetpool.default_prefixlen = \"26\"\nsubnetpool.revision_number = 1"},
		{As: "M", Do: "PUT /subnetpools/${pool}", Body: `{"subnetpool": {"default_prefixlen": "26"}}`, Want: "200", Has: "subnetpool.revision_number = 1"},
		{As: "M", Do: "GET /subnetpools?min_prefixlen=24", Want: "200", Has: "subnetpools.# = 1"},
		{As: "M", Do: "GET /subnetpools?ip_version=6", Want: "200", Has: "subnetpools.# = 0"},
		{As: "M", Do: "GET /subnetpools?shared=true", Want: "200", Has: "subnetpools.# = 0"},
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id", Has: "network.ipv4_address_scope = null\nnetwork.ipv6_address_scope = null"},
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "two=network.id"},
		{As: "M", Do: "POST /subnets", Body: sub("net", `"ip_version": 4`), Want: "400 BadRequest"},
		{As: "M", Do: "POST /subnets", Body: sub("net", `"ip_version": 4, "use_default_subnetpool": true`), Want: "400 BadRequest"},
		{As: "M", Do: "POST /subnets", Body: sub("net", `"ip_version": 4, "use_default_subnetpool": true, "subnetpool_id": "${pool}"`), Want: "400 BadRequest"},
		{As: "M", Do: "POST /subnets", Body: sub("net", `"ip_version": 4, "cidr": "10.10.0.0/26", "prefixlen": 26, "subnetpool_id": "${pool}"`), Want: "400 BadRequest"},
		{As: "M", Do: "POST /subnets", Body: sub("net", `"ip_version": 6, "subnetpool_id": "${pool}"`), Want: "400 BadRequest"},
		{As: "M", Do: "POST /subnets", Body: sub("net", `"ip_version": 4, "subnetpool_id": "${pool}", "prefixlen": 23`), Want: "400 MinPrefixSubnetAllocationError"},
		{As: "M", Do: "POST /subnets", Body: sub("net", `"ip_version": 4, "subnetpool_id": "${pool}", "prefixlen": 29`), Want: "400 MaxPrefixSubnetAllocationError"},
		{As: "M", Do: "POST /subnets", Body: sub("net", `"ip_version": 4, "subnetpool_id": "${pool}", "prefixlen": 99999999999`), Want: "400"},
		{As: "M", Do: "POST /subnets", Body: sub("net", `"ip_version": 4, "subnetpool_id": "${pool}"`), Want: "201", Save: "sub=subnet.id",
			Has: "subnet.cidr = \"10.10.0.0/26\"\nsubnet.subnetpool_id = \"${pool}\"\nsubnet.gateway_ip = \"10.10.0.1\"\nsubnet.prefixlen absent\nsubnet.use_default_subnetpool absent"},
		{As: "M", Do: "POST /subnets", Body: sub("net", `"ip_version": 4, "subnetpool_id": "${pool}", "prefixlen": 24`), Want: "201", Has: "subnet.cidr = \"10.10.1.0/24\""},
		{As: "M", Do: "POST /subnets", Body: sub("net", `"ip_version": 4, "subnetpool_id": "${pool}", "cidr": "10.10.0.64/26"`), Want: "201"},
		{As: "M", Do: "POST /subnets", Body: sub("two", `"ip_version": 4, "subnetpool_id": "${pool}", "cidr": "10.10.0.64/26"`), Want: "409 SubnetAllocationError"},
		{As: "M", Do: "POST /subnets", Body: sub("two", `"ip_version": 4, "subnetpool_id": "${pool}", "cidr": "10.10.0.0/24"`), Want: "409 SubnetAllocationError"},
		{As: "M", Do: "POST /subnets", Body: sub("two", `"ip_version": 4, "subnetpool_id": "${pool}", "cidr": "10.12.0.0/24"`), Want: "409 SubnetAllocationError"},
		{As: "M", Do: "POST /subnets", Body: sub("net", `"ip_version": 4, "cidr": "192.168.0.0/24"`), Want: "400 NetworkSubnetPoolAffinityError"},
		{As: "O", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "other=network.id"},
		{As: "O", Do: "POST /subnets", Body: sub("other", `"ip_version": 4, "subnetpool_id": "${pool}"`), Want: "404 SubnetPoolNotFound"},
		{As: "M", Do: "GET /subnets?subnetpool_id=${pool}", Want: "200", Has: "subnets.# = 3"},
		{As: "M", Do: "DELETE /subnetpools/${pool}", Want: "400 SubnetPoolDeleteError"},
		{As: "M", Do: "DELETE /subnets/${sub}", Want: "204"},
		{As: "M", Do: "POST /subnets", Body: sub("two", `"ip_version": 4, "subnetpool_id": "${pool}"`), Want: "201", Has: "subnet.cidr = \"10.10.0.0/26\""},
		// A full pool, and the quota of a project.
		{As: "M", Do: "POST /subnetpools", Body: pool(`"prefixes": ["10.20.0.0/24"], "default_prefixlen": 25, "default_quota": 192`), Want: "201", Save: "small=subnetpool.id"},
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "three=network.id"},
		{As: "M", Do: "POST /subnets", Body: sub("three", `"ip_version": 4, "subnetpool_id": "${small}"`), Want: "201", Has: "subnet.cidr = \"10.20.0.0/25\""},
		{As: "M", Do: "POST /subnets", Body: sub("three", `"ip_version": 4, "subnetpool_id": "${small}"`), Want: "409 SubnetPoolQuotaExceeded"},
		{As: "M", Do: "PUT /subnetpools/${small}", Body: `{"subnetpool": {"default_quota": 256}}`, Want: "200"},
		{As: "M", Do: "POST /subnets", Body: sub("three", `"ip_version": 4, "subnetpool_id": "${small}"`), Want: "201", Has: "subnet.cidr = \"10.20.0.128/25\""},
		{As: "M", Do: "PUT /subnetpools/${small}", Body: `{"subnetpool": {"default_quota": 2560}}`, Want: "200"},
		{As: "M", Do: "POST /subnets", Body: sub("three", `"ip_version": 4, "subnetpool_id": "${small}"`), Want: "409 SubnetAllocationError"},
		{As: "M", Do: "PUT /subnetpools/${small}", Body: `{"subnetpool": {"prefixes": ["10.20.0.0/24", "10.20.1.0/25"]}}`, Want: "200", Has: "subnetpool.prefixes = [\"10.20.0.0/24\", \"10.20.1.0/25\"]"},
		{As: "M", Do: "POST /subnets", Body: sub("three", `"ip_version": 4, "subnetpool_id": "${small}"`), Want: "201", Has: "subnet.cidr = \"10.20.1.0/25\""},
		// A network that goes gives all back.
		{As: "M", Do: "DELETE /networks/${three}", Want: "204"},
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "three=network.id"},
		{As: "M", Do: "POST /subnets", Body: sub("three", `"ip_version": 4, "subnetpool_id": "${small}", "prefixlen": 24`), Want: "201", Has: "subnet.cidr = \"10.20.0.0/24\""},
		// IPv6.
		{As: "M", Do: "POST /subnetpools", Body: pool(`"prefixes": ["2001:db8::/48"]`), Want: "201", Save: "six=subnetpool.id", Has: "subnetpool.min_prefixlen = \"64\"\nsubnetpool.max_prefixlen = \"128\"\nsubnetpool.ip_version = 6"},
		{As: "M", Do: "POST /subnets", Body: sub("net", `"ip_version": 6, "subnetpool_id": "${six}"`), Want: "201",
			Has: "subnet.cidr = \"2001:db8::/64\"\nsubnet.gateway_ip = \"2001:db8::1\"\nsubnet.allocation_pools = [{\"start\": \"2001:db8::2\", \"end\": \"2001:db8::ffff:ffff:ffff:ffff\"}]"},
	})
}

// TestSubnetPoolDefaults: the default pools, prefix operations and onboarding.
func TestSubnetPoolDefaults(t *testing.T) {
	c := quick(t)
	sub := func(net, rest string) string { return `{"subnet": {"network_id": "${` + net + `}", ` + rest + `}}` }
	c.Run(t, rig.Vars{}, []rig.Step{
		{As: "A", Do: "POST /subnetpools", Body: `{"subnetpool": {"name": "d", "prefixes": ["10.0.0.0/16"], "default_prefixlen": 24, "is_default": true, "shared": true}}`, Want: "201", Save: "pool=subnetpool.id", Has: "subnetpool.shared = true\nsubnetpool.is_default = true"},
		{As: "A", Do: "POST /subnetpools", Body: `{"subnetpool": {"name": "e", "prefixes": ["10.1.0.0/16"], "is_default": true}}`, Want: "400 InvalidInput"},
		{As: "A", Do: "POST /subnetpools", Body: `{"subnetpool": {"name": "six", "prefixes": ["2001:db8::/56"], "is_default": true}}`, Want: "201", Save: "hidden=subnetpool.id"},
		{As: "M", Do: "GET /subnetpools", Want: "200", Has: "subnetpools.# = 1\nsubnetpools.0.shared = true"},
		{As: "M", Do: "GET /subnetpools?shared=true", Want: "200", Has: "subnetpools.# = 1"},
		{As: "M", Do: "PUT /subnetpools/${pool}", Body: `{"subnetpool": {"name": "x"}}`, Want: "403 PolicyNotAuthorized"},
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id"},
		{As: "M", Do: "POST /subnets", Body: sub("net", `"ip_version": 4, "use_default_subnetpool": true`), Want: "201", Has: "subnet.cidr = \"10.0.0.0/24\"\nsubnet.subnetpool_id = \"${pool}\""},
		{As: "M", Do: "POST /subnets", Body: sub("net", `"ip_version": 4, "prefixlen": 25`), Want: "201", Has: "subnet.cidr = \"10.0.1.0/25\""},
		{As: "M", Do: "POST /subnets", Body: sub("net", `"ip_version": 6, "use_default_subnetpool": true`), Want: "400 BadRequest"},
		{As: "A", Do: "PUT /subnetpools/${pool}/add_prefixes", Body: `{"prefixes": ["10.1.0.0/16"]}`, Want: "200", Has: "prefixes = [\"10.0.0.0/15\"]"},
		{As: "A", Do: "PUT /subnetpools/${pool}/add_prefixes", Body: `{"prefixes": ["2001:db8::/64"]}`, Want: "400 PrefixVersionMismatch"},
		{As: "A", Do: "PUT /subnetpools/${pool}/add_prefixes", Body: `{}`, Want: "400"},
		{As: "A", Do: "PUT /subnetpools/${pool}/add_prefixes", Body: ``, Want: "400"},
		{As: "A", Do: "PUT /subnetpools/${pool}/remove_prefixes", Body: `{"prefixes": ["10.0.1.0/24"]}`, Want: "400 IllegalSubnetPoolUpdate"},
		{As: "A", Do: "PUT /subnetpools/${pool}/remove_prefixes", Body: `{"prefixes": ["10.1.0.0/16", "10.0.128.0/17"]}`, Want: "200", Has: "prefixes = [\"10.0.0.0/17\"]"},
		{As: "M", Do: "PUT /subnetpools/${pool}/add_prefixes", Body: `{"prefixes": ["10.1.0.0/16"]}`, Want: "403 PolicyNotAuthorized"},
		{As: "O", Do: "PUT /subnetpools/${hidden}/add_prefixes", Body: `{"prefixes": ["10.1.0.0/16"]}`, Want: "404 SubnetPoolNotFound"},
		{As: "M", Do: "POST /subnets", Body: sub("net", `"ip_version": 4, "subnetpool_id": "${pool}", "cidr": "10.1.1.0/24"`), Want: "409 SubnetAllocationError"},
		// Onboarding.
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "old=network.id"},
		{As: "M", Do: "POST /subnets", Body: sub("old", `"ip_version": 4, "cidr": "172.16.0.0/24"`), Want: "201", Save: "sub=subnet.id"},
		{As: "M", Do: "POST /subnetpools", Body: `{"subnetpool": {"name": "o", "prefixes": ["172.16.1.0/24"], "default_prefixlen": 24}}`, Want: "201", Save: "to=subnetpool.id"},
		{As: "M", Do: "PUT /subnetpools/${to}/onboard_network_subnets", Body: `{"network_id": "${old}"}`, Want: "200"},
		{As: "M", Do: "GET /subnetpools/${to}", Want: "200", Has: "subnetpool.prefixes = [\"172.16.0.0/23\"]"},
		{As: "M", Do: "GET /subnets/${sub}", Want: "200", Has: "subnet.subnetpool_id = \"${to}\""},
		{As: "M", Do: "PUT /subnetpools/${to}/onboard_network_subnets", Body: `{"network_id": "${old}"}`, Want: "400 IllegalSubnetPoolUpdate"},
		{As: "M", Do: "PUT /subnetpools/${to}/onboard_network_subnets", Body: `{"network_id": "5b9c5d1e-0d83-4d0c-a1ff-7d8b4a8f7d00"}`, Want: "404 NetworkNotFound"},
		{As: "M", Do: "POST /subnets", Body: sub("old", `"ip_version": 4, "subnetpool_id": "${to}"`), Want: "201", Has: "subnet.cidr = \"172.16.1.0/24\""},
		{As: "M", Do: "POST /subnets", Body: sub("old", `"ip_version": 4, "subnetpool_id": "${to}"`), Want: "409 SubnetAllocationError"},
		{As: "M", Do: "DELETE /subnets/${sub}", Want: "204"},
		{As: "M", Do: "POST /subnets", Body: sub("old", `"ip_version": 4, "subnetpool_id": "${to}"`), Want: "201", Has: "subnet.cidr = \"172.16.0.0/24\""},
	})
}

// TestAddressScopes: scopes, and which pools go together on a network.
func TestAddressScopes(t *testing.T) {
	c := quick(t)
	sub := func(net, rest string) string { return `{"subnet": {"network_id": "${` + net + `}", ` + rest + `}}` }
	c.Run(t, rig.Vars{}, []rig.Step{
		{As: "M", Do: "POST /address-scopes", Body: `{"address_scope": {"name": "s", "ip_version": 4}}`, Want: "201", Save: "scope=address_scope.id",
			Has: "address_scope.shared = false\naddress_scope.ip_version = 4\naddress_scope.revision_number absent"},
		{As: "M", Do: "POST /address-scopes", Body: `{"address_scope": {"name": "s"}}`, Want: "400"},
		{As: "M", Do: "POST /address-scopes", Body: `{"address_scope": {"name": "s", "ip_version": 5}}`, Want: "400"},
		{As: "M", Do: "POST /address-scopes", Body: `{"address_scope": {"name": "s", "ip_version": 4, "shared": true}}`, Want: "403 PolicyNotAuthorized"},
		{As: "M", Do: "POST /address-scopes", Body: `{"address_scopes": [{"ip_version": 4}, {"ip_version": 6}]}`, Want: "201", Has: "address_scopes.# = 2"},
		{As: "O", Do: "GET /address-scopes/${scope}", Want: "404 AddressScopeNotFound"},
		{As: "M", Do: "PUT /address-scopes/${scope}", Body: `{"address_scope": {"name": "t"}}`, Want: "200", Has: "address_scope.name = \"t\""},
		{As: "M", Do: "PUT /address-scopes/${scope}", Body: `{"address_scope": {"ip_version": 6}}`, Want: "400"},
		{As: "A", Do: "POST /address-scopes", Body: `{"address_scope": {"name": "all", "ip_version": 4, "shared": true}}`, Want: "201", Save: "all=address_scope.id", Has: "address_scope.shared = true"},
		{As: "A", Do: "PUT /address-scopes/${all}", Body: `{"address_scope": {"shared": false}}`, Want: "400 AddressScopeUpdateError"},
		{As: "M", Do: "GET /address-scopes/${all}", Want: "200", Has: "address_scope.shared = true"},
		{As: "M", Do: "POST /subnetpools", Body: `{"subnetpool": {"name": "a", "prefixes": ["10.0.0.0/16"], "default_prefixlen": 24, "address_scope_id": "${scope}"}}`, Want: "201", Save: "a=subnetpool.id", Has: "subnetpool.address_scope_id = \"${scope}\""},
		{As: "M", Do: "POST /subnetpools", Body: `{"subnetpool": {"name": "b", "prefixes": ["10.0.0.0/24"], "address_scope_id": "${scope}"}}`, Want: "409 AddressScopePrefixConflict"},
		{As: "M", Do: "POST /subnetpools", Body: `{"subnetpool": {"name": "b", "prefixes": ["10.1.0.0/16"], "default_prefixlen": 24, "address_scope_id": "${scope}"}}`, Want: "201", Save: "b=subnetpool.id"},
		{As: "M", Do: "PUT /subnetpools/${b}", Body: `{"subnetpool": {"prefixes": ["10.0.0.0/15"]}}`, Want: "409 AddressScopePrefixConflict"},
		{As: "M", Do: "PUT /subnetpools/${b}/add_prefixes", Body: `{"prefixes": ["10.0.0.0/24"]}`, Want: "409 AddressScopePrefixConflict"},
		{As: "M", Do: "POST /subnetpools", Body: `{"subnetpool": {"name": "c", "prefixes": ["2001:db8::/48"], "address_scope_id": "${scope}"}}`, Want: "400 IllegalSubnetPoolIpVersionAssociationToAddressScope"},
		{As: "M", Do: "POST /subnetpools", Body: `{"subnetpool": {"name": "c", "prefixes": ["10.9.0.0/16"], "address_scope_id": "${all}"}}`, Want: "201", Save: "inall=subnetpool.id", Has: "subnetpool.address_scope_id = \"${all}\""},
		{As: "A", Do: "DELETE /address-scopes/${all}", Want: "409 AddressScopeInUse"},
		{As: "M", Do: "DELETE /subnetpools/${inall}", Want: "204"},
		{As: "M", Do: "POST /subnetpools", Body: `{"subnetpool": {"name": "c", "prefixes": ["10.9.0.0/16"], "address_scope_id": "5b9c5d1e-0d83-4d0c-a1ff-7d8b4a8f7d00"}}`, Want: "404 AddressScopeNotFound"},
		{As: "M", Do: "POST /subnetpools", Body: `{"subnetpool": {"name": "n", "prefixes": ["10.9.0.0/16"], "default_prefixlen": 24}}`, Want: "201", Save: "none=subnetpool.id"},
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id"},
		{As: "M", Do: "POST /subnets", Body: sub("net", `"ip_version": 4, "subnetpool_id": "${a}"`), Want: "201"},
		{As: "M", Do: "POST /subnets", Body: sub("net", `"ip_version": 4, "subnetpool_id": "${b}"`), Want: "201"},
		{As: "M", Do: "POST /subnets", Body: sub("net", `"ip_version": 4, "subnetpool_id": "${none}"`), Want: "400 NetworkAddressScopeAffinityError"},
		{As: "M", Do: "POST /subnets", Body: sub("net", `"ip_version": 4, "cidr": "192.168.0.0/24"`), Want: "400 NetworkAddressScopeAffinityError"},
		{As: "M", Do: "POST /subnets", Body: sub("net", `"ip_version": 6, "cidr": "2001:db8::/64"`), Want: "201"},
		{As: "M", Do: "GET /networks/${net}", Want: "200", Has: "network.ipv4_address_scope = \"${scope}\"\nnetwork.ipv6_address_scope = null"},
		{As: "M", Do: "PUT /subnetpools/${b}", Body: `{"subnetpool": {"address_scope_id": null}}`, Want: "400 NetworkAddressScopeAffinityError"},
		{As: "M", Do: "PUT /subnetpools/${none}", Body: `{"subnetpool": {"address_scope_id": "${scope}"}}`, Want: "200"},
		{As: "M", Do: "PUT /subnetpools/${none}", Body: `{"subnetpool": {"address_scope_id": null}}`, Want: "200", Has: "subnetpool.address_scope_id = null"},
		{As: "M", Do: "DELETE /address-scopes/${scope}", Want: "409 AddressScopeInUse"},
		{As: "M", Do: "DELETE /subnetpools/${none}", Want: "204"},
		{As: "A", Do: "DELETE /address-scopes/${all}", Want: "204"},
	})
}
