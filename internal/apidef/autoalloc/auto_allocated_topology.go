package autoalloc

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// AutoAllocatedTopology is the extension auto-allocated-topology; facts from neutron-lib api/definitions/auto_allocated_topology.py.
func AutoAllocatedTopology() apidef.Extension {
	return apidef.Extension{
		Alias: "auto-allocated-topology", Name: "Automatic topology",
		Doc:      "Gives a project a network, a subnet and a router at its first request.",
		Updated:  time.Date(2016, 1, 1, 0, 0, 0, 0, time.UTC),
		Requires: []string{"external-net", "router", "subnet_allocation"},
		Resources: []apidef.Resource{
			autoAllocatedTopologies(),
		},
		Extends: map[string][]apidef.Attribute{
			"networks": {
				{Name: "is_default", Doc: "Whether automatic topologies lead out through this network.", Type: types.Bool(), Post: apidef.Optional, Put: apidef.Optional, Default: false, Filter: true, PolicyKey: true, Guarded: true},
			},
		},
	}
}

func autoAllocatedTopologies() apidef.Resource {
	return apidef.Resource{
		Name: "auto_allocated_topology", Collection: "auto_allocated_topologies", Path: "auto-allocated-topology",
		Doc:    "A network, a subnet and a router that a project gets at its first request.",
		NoBulk: true, NoList: true, NoCreate: true, NoUpdate: true,
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID()},
			{Name: "tenant_id", Doc: "The project that owns the object, by its older name; project_id always has the same value.", Type: types.String(255)},
		},
	}
}
