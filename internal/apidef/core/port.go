package core

import (
	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// port states facts of neutron-lib api/definitions/port.py.
func port() apidef.Resource {
	return apidef.Resource{
		Name: "port", Collection: "ports", Path: "ports",
		Doc:      "A place on a network for one interface of a guest, a router or a service.",
		Standard: true, Taggable: true, Quota: true,
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Filter: true, Sort: true},
			{Name: "name", Doc: "A name for people; it need not be unique.", Type: types.Name(255), Post: apidef.Optional, Put: apidef.Optional, Default: "", Filter: true, Sort: true},
			{Name: "network_id", Doc: "The network that the port is on.", Type: types.UUID(), Post: apidef.Required, Filter: true, Sort: true, PolicyKey: true},
			{Name: "tenant_id", Doc: "The project that owns the object, by its older name; project_id always has the same value.", Type: types.String(255), Post: apidef.Optional, Default: apidef.Unspecified, Filter: true, Sort: true, PolicyKey: true},
			{Name: "mac_address", Doc: "The hardware address; null in an update asks for a new one.", Type: types.MACOrNull(), Post: apidef.Optional, Put: apidef.Optional, Default: apidef.Unspecified, Filter: true, Sort: true, Guarded: true},
			{Name: "admin_state_up", Doc: "Whether the administrator wants the object to work.", Type: types.Bool(), Post: apidef.Optional, Put: apidef.Optional, Default: true, Filter: true, Sort: true},
			{Name: "status", Doc: "ACTIVE when everything that the port needs is in place; BUILD, DOWN, ERROR or N/A else.", Type: types.ReadOnly(apidef.Schema{"type": "string"}), Filter: true, Sort: true},
			{Name: "device_id", Doc: "What the port is plugged into: a server, a router, ...", Type: types.String(255), Post: apidef.Optional, Put: apidef.Optional, Default: "", Filter: true, Sort: true, Guarded: true},
			{Name: "device_owner", Doc: "The kind of thing that the port is plugged into, such as compute:nova.", Type: types.String(255), Post: apidef.Optional, Put: apidef.Optional, Default: "", Filter: true, Sort: true, Guarded: true},
			{Name: "fixed_ips", Doc: "The addresses of the port with their subnets.", Type: types.FixedIPs(), Post: apidef.Optional, Put: apidef.Optional, Default: apidef.Unspecified, Filter: true, Guarded: true},
		},
	}
}
