package vpnaas

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// VPNEndpointGroups is the extension vpn-endpoint-groups; facts from neutron-lib api/definitions/vpn_endpoint_groups.py.
func VPNEndpointGroups() apidef.Extension {
	return apidef.Extension{
		Alias: "vpn-endpoint-groups", Name: "Endpoint groups",
		Doc:      "Groups the endpoints of VPN connections.",
		Updated:  time.Date(2015, 8, 4, 10, 0, 0, 0, time.UTC),
		Requires: []string{"vpnaas"},
		Resources: []apidef.Resource{
			endpointGroups(),
		},
	}
}

func endpointGroups() apidef.Resource {
	return apidef.Resource{
		Name: "endpoint_group", Collection: "endpoint_groups", Path: "endpoint-groups", Prefix: "/vpn",
		Doc:   "A set of endpoints of a VPN connection.",
		Quota: true, NoBulk: true,
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID()},
			{Name: "name", Doc: "A name for people; it need not be unique.", Type: types.Name(255), Post: apidef.Optional, Put: apidef.Optional, Default: ""},
			{Name: "tenant_id", Doc: "The project that owns the object, by its older name; project_id always has the same value.", Type: types.String(255), Post: apidef.Optional, Default: apidef.Unspecified, PolicyKey: true},
			{Name: "description", Doc: "A text for people.", Type: types.String(255), Post: apidef.Optional, Put: apidef.Optional, Default: ""},
			{Name: "endpoints", Doc: "The endpoints, all of the type of the group.", Type: types.ListIfScalar(types.ListOf(types.Any())), Post: apidef.Optional, Default: []any{}},
			{Name: "type", Doc: "What the endpoints are: cidr, network, router, subnet or vlan.", Type: types.Values("cidr", "network", "router", "subnet", "vlan"), Post: apidef.Required},
		},
	}
}
