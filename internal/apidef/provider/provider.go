package provider

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// Provider is the extension provider; facts from neutron-lib api/definitions/provider_net.py.
func Provider() apidef.Extension {
	return apidef.Extension{
		Alias: "provider", Name: "Provider networks",
		Doc:     "Shows and sets how a network is carried.",
		Updated: time.Date(2012, 9, 7, 10, 0, 0, 0, time.UTC),
		Extends: map[string][]apidef.Attribute{
			"networks": {
				{Name: "provider:network_type", Doc: "How the network is carried: local, flat, vlan, vxlan, gre or geneve.", Type: types.String(32), Post: apidef.Optional, Put: apidef.Optional, Default: apidef.Unspecified, Filter: true, Guarded: true},
				{Name: "provider:physical_network", Doc: "The physical network that carries it, by the name that hosts map to an interface.", Type: types.String(64), Post: apidef.Optional, Put: apidef.Optional, Default: apidef.Unspecified, Filter: true, Guarded: true},
				{Name: "provider:segmentation_id", Doc: "The VLAN or tunnel number that keeps the network apart.", Type: types.Int(), Post: apidef.Optional, Put: apidef.Optional, Default: apidef.Unspecified, Filter: true, Guarded: true},
			},
		},
	}
}
