package subnetpool

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// SubnetAllocation is the extension subnet_allocation; facts from neutron-lib api/definitions/subnetpool.py.
func SubnetAllocation() apidef.Extension {
	return apidef.Extension{
		Alias: "subnet_allocation", Name: "Subnet pools",
		Doc:     "Cuts subnets from pools of addresses.",
		Updated: time.Date(2015, 3, 30, 10, 0, 0, 0, time.UTC),
		Resources: []apidef.Resource{
			subnetpools(),
		},
	}
}

func subnetpools() apidef.Resource {
	return apidef.Resource{
		Name: "subnetpool", Collection: "subnetpools", Path: "subnetpools",
		Doc:      "A set of ranges that subnets are cut from.",
		Standard: true, Taggable: true, Quota: true, NoBulk: true,
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Filter: true, Sort: true},
			{Name: "name", Doc: "A name for people; it need not be unique.", Type: types.NotEmptyName(255), Post: apidef.Required, Put: apidef.Optional, Filter: true, Sort: true},
			{Name: "tenant_id", Doc: "The project that owns the object, by its older name; project_id always has the same value.", Type: types.String(255), Post: apidef.Optional, Default: apidef.Unspecified, Filter: true, Sort: true, PolicyKey: true},
			{Name: "prefixes", Doc: "The ranges that subnets are cut from.", Type: types.CIDRList(), Post: apidef.Required, Put: apidef.Optional},
			{Name: "default_quota", Doc: "How much of the pool one project may have.", Type: types.NonNegative(), Post: apidef.Optional, Put: apidef.Optional, Default: apidef.Unspecified, Filter: true, Sort: true},
			{Name: "ip_version", Doc: "The version of IP of the prefixes.", Type: types.ReadOnly(apidef.Schema{"type": "integer"}), Filter: true, Sort: true},
			{Name: "default_prefixlen", Doc: "The prefix length that subnets get unless told otherwise.", Type: types.NonNegative(), Post: apidef.Optional, Put: apidef.Optional, Default: apidef.Unspecified, Filter: true, Sort: true},
			{Name: "min_prefixlen", Doc: "The shortest prefix that may be asked for.", Type: types.NonNegative(), Post: apidef.Optional, Put: apidef.Optional, Default: apidef.Unspecified, Filter: true, Sort: true},
			{Name: "max_prefixlen", Doc: "The longest prefix that may be asked for.", Type: types.NonNegative(), Post: apidef.Optional, Put: apidef.Optional, Default: apidef.Unspecified, Filter: true, Sort: true},
			{Name: "is_default", Doc: "Whether it is the pool used unless told otherwise.", Type: types.Bool(), Post: apidef.Optional, Put: apidef.Optional, Default: false, Filter: true, Sort: true, PolicyKey: true, Guarded: true},
			{Name: "shared", Doc: "Whether the object is open to the project of the caller besides its own.", Type: types.Bool(), Post: apidef.Optional, Default: false, Filter: true, Sort: true, PolicyKey: true, Guarded: true, Computed: true},
		},
	}
}
