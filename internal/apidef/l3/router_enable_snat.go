package l3

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// RouterEnableSNAT is the extension router-enable-snat; facts from neutron-lib api/definitions/router_enable_snat.py.
func RouterEnableSNAT() apidef.Extension {
	return apidef.Extension{
		Alias: "router-enable-snat", Name: "Hiding of addresses in routers",
		Doc:     "Shows whether a router hides addresses.",
		Updated: time.Date(2025, 9, 18, 18, 0, 0, 0, time.UTC),
		Extends: map[string][]apidef.Attribute{
			"routers": {
				{Name: "enable_snat", Doc: "Whether the router hides addresses behind its own.", Type: types.Bool(), Filter: true, Sort: true, PolicyKey: true},
			},
		},
	}
}
