package netext

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// ExternalNet is the extension external-net; facts from neutron-lib api/definitions/external_net.py.
func ExternalNet() apidef.Extension {
	return apidef.Extension{
		Alias: "external-net", Name: "External networks",
		Doc:     "Marks networks that lead outside.",
		Updated: time.Date(2013, 1, 14, 10, 0, 0, 0, time.UTC),
		Extends: map[string][]apidef.Attribute{
			"networks": {
				{Name: "router:external", Doc: "Whether the network leads outside, so that routers may have their gateway on it.", Type: types.Bool(), Post: apidef.Optional, Put: apidef.Optional, Default: false, Filter: true, PolicyKey: true, Guarded: true},
			},
		},
	}
}
