package trunk

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// Trunk is the extension trunk; facts from neutron-lib api/definitions/trunk.py.
func Trunk() apidef.Extension {
	return apidef.Extension{
		Alias: "trunk", Name: "Trunks",
		Doc:      "Ports that carry several networks.",
		Updated:  time.Date(2016, 1, 1, 10, 0, 0, 0, time.UTC),
		Requires: []string{"binding"},
		Optional: []string{"provider"},
		Resources: []apidef.Resource{
			trunks(),
		},
	}
}

func trunks() apidef.Resource {
	return apidef.Resource{
		Name: "trunk", Collection: "trunks", Path: "trunks",
		Doc:      "A port that carries several networks, told apart by tags.",
		Standard: true, Taggable: true, Quota: true, NoBulk: true,
		Actions: []apidef.Action{
			{Name: "add_subports", Method: "PUT", Doc: "Puts ports into the trunk.", Input: types.Object(types.Key{Name: "sub_ports", Type: types.SubPorts(), Required: true})},
			{Name: "get_subports", Method: "GET", Doc: "Lists the ports of the trunk."},
			{Name: "remove_subports", Method: "PUT", Doc: "Takes ports out of the trunk.", Input: types.Object(types.Key{Name: "sub_ports", Type: types.SubPorts(), Required: true})},
		},
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Filter: true, Sort: true},
			{Name: "name", Doc: "A name for people; it need not be unique.", Type: types.Name(255), Post: apidef.Optional, Put: apidef.Optional, Default: "", Filter: true, Sort: true},
			{Name: "tenant_id", Doc: "The project that owns the object, by its older name; project_id always has the same value.", Type: types.String(255), Post: apidef.Optional, Default: apidef.Unspecified, Filter: true, Sort: true, PolicyKey: true},
			{Name: "admin_state_up", Doc: "Whether the administrator wants the object to work.", Type: types.Bool(), Post: apidef.Optional, Put: apidef.Optional, Default: true, Filter: true, Sort: true},
			{Name: "port_id", Doc: "The port that carries the trunk.", Type: types.UUID(), Post: apidef.Required, Filter: true, Sort: true, PolicyKey: true},
			{Name: "status", Doc: "ACTIVE, BUILD, DEGRADED, DOWN or ERROR.", Type: types.ReadOnly(apidef.Schema{"type": "string"}), Filter: true, Sort: true},
			{Name: "sub_ports", Doc: "The ports inside the trunk with their tags.", Type: types.SubPorts(), Post: apidef.Optional, Default: []any{}, Guarded: true, Computed: true},
		},
	}
}
