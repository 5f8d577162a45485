package subnetpool

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// AddressScope is the extension address-scope; facts from neutron-lib api/definitions/address_scope.py.
func AddressScope() apidef.Extension {
	return apidef.Extension{
		Alias: "address-scope", Name: "Address scopes",
		Doc:     "Spaces in which addresses do not overlap.",
		Updated: time.Date(2015, 7, 26, 10, 0, 0, 0, time.UTC),
		Resources: []apidef.Resource{
			addressScopes(),
		},
		Extends: map[string][]apidef.Attribute{
			"networks": {
				{Name: "ipv4_address_scope", Doc: "The address scope of the IPv4 subnets.", Type: types.ReadOnly(apidef.Schema{"type": []any{"string", "null"}}), Computed: true},
				{Name: "ipv6_address_scope", Doc: "The address scope of the IPv6 subnets.", Type: types.ReadOnly(apidef.Schema{"type": []any{"string", "null"}}), Computed: true},
			},
			"subnetpools": {
				{Name: "address_scope_id", Doc: "The address scope of the pool.", Type: types.UUIDOrNull(), Post: apidef.Optional, Put: apidef.Optional, Default: apidef.Unspecified, Filter: true, Sort: true},
			},
		},
	}
}

func addressScopes() apidef.Resource {
	return apidef.Resource{
		Name: "address_scope", Collection: "address_scopes", Path: "address-scopes",
		Doc: "A space in which addresses do not overlap and are routed without translation.",
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Filter: true, Sort: true},
			{Name: "name", Doc: "A name for people; it need not be unique.", Type: types.Name(255), Post: apidef.Optional, Put: apidef.Optional, Default: "", Filter: true, Sort: true},
			{Name: "tenant_id", Doc: "The project that owns the object, by its older name; project_id always has the same value.", Type: types.String(255), Post: apidef.Optional, Default: apidef.Unspecified, Filter: true, Sort: true, PolicyKey: true},
			{Name: "ip_version", Doc: "The version of IP of the scope, 4 or 6.", Type: types.IntValues(4, 6), Post: apidef.Required, Filter: true, Sort: true},
			{Name: "shared", Doc: "Whether the object is open to the project of the caller besides its own.", Type: types.Bool(), Post: apidef.Optional, Put: apidef.Optional, Default: false, Filter: true, Sort: true, PolicyKey: true, Guarded: true, Computed: true},
		},
	}
}
