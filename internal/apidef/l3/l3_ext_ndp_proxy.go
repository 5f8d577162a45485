package l3

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// L3ExtNDPProxy is the extension l3-ext-ndp-proxy; facts from neutron-lib api/definitions/l3_ext_ndp_proxy.py.
func L3ExtNDPProxy() apidef.Extension {
	return apidef.Extension{
		Alias: "l3-ext-ndp-proxy", Name: "NDP proxy of routers",
		Doc:      "Switches on that a router answers for addresses behind it.",
		Updated:  time.Date(2020, 8, 25, 0, 0, 0, 0, time.UTC),
		Requires: []string{"ext-gw-mode", "router"},
		Extends: map[string][]apidef.Attribute{
			"routers": {
				{Name: "enable_ndp_proxy", Doc: "Whether the router answers for addresses behind it.", Type: types.BoolOrNull(), Post: apidef.Optional, Put: apidef.Optional, Default: apidef.Unspecified, Filter: true},
			},
		},
	}
}
