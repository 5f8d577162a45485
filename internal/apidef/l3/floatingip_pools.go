package l3

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// FloatingipPools is the extension floatingip-pools; facts from neutron-lib api/definitions/floatingip_pools.py.
func FloatingipPools() apidef.Extension {
	return apidef.Extension{
		Alias: "floatingip-pools", Name: "Pools of floating addresses",
		Doc:      "Lists the subnets that floating addresses are taken from.",
		Updated:  time.Date(2018, 3, 21, 10, 0, 0, 0, time.UTC),
		Requires: []string{"router"},
		Resources: []apidef.Resource{
			floatingipPools(),
		},
	}
}

func floatingipPools() apidef.Resource {
	return apidef.Resource{
		Name: "floatingip_pool", Collection: "floatingip_pools", Path: "floatingip-pools",
		Doc:    "A subnet that floating addresses are taken from.",
		NoBulk: true, NoShow: true, NoCreate: true, NoUpdate: true, NoDelete: true,
		Attributes: []apidef.Attribute{
			{Name: "project_id", Doc: "The project that owns the object.", Type: types.String(255)},
			{Name: "cidr", Doc: "The range of addresses of the pool.", Type: types.CIDROrNull()},
			{Name: "network_id", Doc: "The external network of the pool.", Type: types.UUID()},
			{Name: "subnet_id", Doc: "The subnet of the pool.", Type: types.UUID()},
			{Name: "subnet_name", Doc: "The name of the subnet of the pool.", Type: types.String(255)},
		},
	}
}
