package core

import (
	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// subnet states facts of neutron-lib api/definitions/subnet.py.
func subnet() apidef.Resource {
	return apidef.Resource{
		Name: "subnet", Collection: "subnets", Path: "subnets",
		Doc:      "A range of IP addresses on a network.",
		Standard: true, Taggable: true, Quota: true,
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Filter: true, Sort: true},
			{Name: "name", Doc: "A name for people; it need not be unique.", Type: types.Name(255), Post: apidef.Optional, Put: apidef.Optional, Default: "", Filter: true, Sort: true},
			{Name: "tenant_id", Doc: "The project that owns the object, by its older name; project_id always has the same value.", Type: types.String(255), Post: apidef.Optional, Default: apidef.Unspecified, Filter: true, Sort: true, PolicyKey: true},
			{Name: "network_id", Doc: "The network that the subnet belongs to.", Type: types.UUID(), Post: apidef.Required, Filter: true, Sort: true, PolicyKey: true},
			{Name: "ip_version", Doc: "The version of IP, 4 or 6.", Type: types.IntValues(4, 6), Post: apidef.Required, Filter: true, Sort: true},
			{Name: "subnetpool_id", Doc: "The pool that the range of addresses is taken from.", Type: types.SubnetPoolOrNull(), Post: apidef.Optional, Default: apidef.Unspecified, Filter: true, Sort: true},
			{Name: "prefixlen", Doc: "The prefix length that is asked of the subnet pool.", Type: types.NonNegative(), Post: apidef.Optional, Default: apidef.Unspecified, Hidden: true},
			{Name: "enable_dhcp", Doc: "Whether DHCP serves the subnet.", Type: types.Bool(), Post: apidef.Optional, Put: apidef.Optional, Default: true, Filter: true, Sort: true},
			{Name: "ipv6_ra_mode", Doc: "What router advertisements say about addresses.", Type: types.Values("dhcpv6-stateful", "dhcpv6-stateless", "slaac"), Post: apidef.Optional, Default: apidef.Unspecified, Filter: true, Sort: true},
			{Name: "ipv6_address_mode", Doc: "How guests get their IPv6 addresses.", Type: types.Values("dhcpv6-stateful", "dhcpv6-stateless", "slaac"), Post: apidef.Optional, Default: apidef.Unspecified, Filter: true, Sort: true},
			{Name: "gateway_ip", Doc: "The address of the router; null: there is none.", Type: types.IPAddressOrNull(), Post: apidef.Optional, Put: apidef.Optional, Default: apidef.Unspecified, Filter: true, Sort: true},
			{Name: "cidr", Doc: "The range of addresses.", Type: types.CIDROrNull(), Post: apidef.Optional, Default: apidef.Unspecified, Filter: true, Sort: true},
			{Name: "allocation_pools", Doc: "The parts of the range from which ports get addresses.", Type: types.AllocationPools(), Post: apidef.Optional, Put: apidef.Optional, Default: apidef.Unspecified},
			{Name: "host_routes", Doc: "The routes that DHCP tells guests.", Type: types.HostRoutes(), Post: apidef.Optional, Put: apidef.Optional, Default: apidef.Unspecified},
			{Name: "dns_nameservers", Doc: "The name servers that DHCP tells guests.", Type: types.Nameservers(), Post: apidef.Optional, Put: apidef.Optional, Default: apidef.Unspecified},
			{Name: "shared", Doc: "Whether the network of the subnet is shared; a filter alone.", Type: types.Bool(), FilterOnly: true, Filter: true, PolicyKey: true, Guarded: true},
		},
	}
}
