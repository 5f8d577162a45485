package localip

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// LocalIP is the extension local_ip; facts from neutron-lib api/definitions/local_ip.py.
func LocalIP() apidef.Extension {
	return apidef.Extension{
		Alias: "local_ip", Name: "Local addresses",
		Doc:     "Addresses that each host serves from a port of its own.",
		Updated: time.Date(2021, 7, 26, 10, 0, 0, 0, time.UTC),
		Resources: []apidef.Resource{
			localIps(),
			portAssociations(),
		},
	}
}

func localIps() apidef.Resource {
	return apidef.Resource{
		Name: "local_ip", Collection: "local_ips", Path: "local-ips",
		Doc:      "An address that each host serves from a port of its own.",
		Standard: true,
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Filter: true, Sort: true},
			{Name: "name", Doc: "A name for people; it need not be unique.", Type: types.Name(255), Post: apidef.Optional, Put: apidef.Optional, Default: "", Filter: true, Sort: true},
			{Name: "project_id", Doc: "The project that owns the object.", Type: types.String(255), Post: apidef.Optional, Default: apidef.Unspecified, Filter: true, Sort: true, PolicyKey: true},
			{Name: "description", Doc: "A text for people.", Type: types.String(255), Post: apidef.Optional, Put: apidef.Optional, Default: "", Filter: true},
			{Name: "ip_mode", Doc: "Whether packets are translated or passed as they are.", Type: types.Values("translate", "passthrough"), Post: apidef.Optional, Default: "translate", Filter: true, Sort: true},
			{Name: "local_ip_address", Doc: "The address, served on each host anew.", Type: types.IPAddressOrNull(), Post: apidef.Optional, Default: apidef.Unspecified, Filter: true, Sort: true, Guarded: true},
			{Name: "local_port_id", Doc: "The port that holds the address.", Type: types.UUID(), Post: apidef.Optional, Default: apidef.Unspecified, Filter: true, Sort: true},
			{Name: "network_id", Doc: "The network of the address.", Type: types.UUID(), Post: apidef.Optional, Default: apidef.Unspecified, Filter: true, Sort: true},
		},
	}
}

func portAssociations() apidef.Resource {
	return apidef.Resource{
		Name: "port_association", Collection: "port_associations", Path: "port_associations", Parent: "local_ips",
		Doc:      "A port that stands for a local address on its host.",
		Standard: true, NoUpdate: true,
		Attributes: []apidef.Attribute{
			{Name: "project_id", Doc: "The project that owns the object.", Type: types.String(255), Post: apidef.Optional, Default: apidef.Unspecified, Hidden: true, PolicyKey: true},
			{Name: "fixed_ip", Doc: "The address of the port that stands for the local one.", Type: types.IPAddressOrNull(), Post: apidef.Optional, Filter: true, Sort: true},
			{Name: "fixed_port_id", Doc: "The port that stands for the local address.", Type: types.UUID(), Post: apidef.Required, Filter: true, Sort: true},
			{Name: "host", Doc: "The host of the port.", Type: types.ReadOnly(apidef.Schema{"type": []any{"string", "null"}}), Filter: true, Sort: true},
			{Name: "local_ip_address", Doc: "The local address.", Type: types.ReadOnly(apidef.Schema{"type": "string"}), Filter: true, Sort: true},
			{Name: "local_ip_id", Doc: "The local address that is associated.", Type: types.UUID()},
		},
	}
}
