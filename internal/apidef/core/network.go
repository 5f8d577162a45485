package core

import (
	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// network states facts of neutron-lib api/definitions/network.py.
func network() apidef.Resource {
	return apidef.Resource{
		Name: "network", Collection: "networks", Path: "networks",
		Doc:      "An isolated network that ports are plugged into.",
		Standard: true, Taggable: true, Quota: true,
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Filter: true, Sort: true},
			{Name: "name", Doc: "A name for people; it need not be unique.", Type: types.Name(255), Post: apidef.Optional, Put: apidef.Optional, Default: "", Filter: true, Sort: true},
			{Name: "tenant_id", Doc: "The project that owns the object, by its older name; project_id always has the same value.", Type: types.String(255), Post: apidef.Optional, Default: apidef.Unspecified, Filter: true, Sort: true, PolicyKey: true},
			{Name: "admin_state_up", Doc: "Whether the administrator wants the object to work.", Type: types.Bool(), Post: apidef.Optional, Put: apidef.Optional, Default: true, Filter: true, Sort: true},
			{Name: "status", Doc: "ACTIVE as soon as the network exists.", Type: types.ReadOnly(apidef.Schema{"type": "string"}), Filter: true, Sort: true},
			{Name: "shared", Doc: "Whether the network is open to the project of the caller besides its own.", Type: types.Bool(), Post: apidef.Optional, Put: apidef.Optional, Default: false, Filter: true, PolicyKey: true, Guarded: true, Computed: true},
			{Name: "subnets", Doc: "The identifiers of the subnets of the network that the caller may see.", Type: types.ReadOnly(apidef.Schema{"type": "array", "items": apidef.Schema{"type": "string", "format": "uuid"}}), Computed: true},
		},
	}
}
