package l3

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// L3HA is the extension l3-ha; facts from neutron-lib api/definitions/l3_ext_ha_mode.py.
func L3HA() apidef.Extension {
	return apidef.Extension{
		Alias: "l3-ha", Name: "Highly available routers",
		Doc:      "Routers with a second host that takes over.",
		Updated:  time.Date(2014, 4, 26, 0, 0, 0, 0, time.UTC),
		Requires: []string{"router"},
		Extends: map[string][]apidef.Attribute{
			"routers": {
				{Name: "ha", Doc: "Whether a second host takes over.", Type: types.BoolOrNull(), Post: apidef.Optional, Put: apidef.Optional, Default: apidef.Unspecified, Guarded: true},
			},
		},
	}
}
