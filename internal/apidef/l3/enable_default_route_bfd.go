package l3

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// EnableDefaultRouteBFD is the extension enable-default-route-bfd; facts from neutron-lib api/definitions/l3_enable_default_route_bfd.py.
func EnableDefaultRouteBFD() apidef.Extension {
	return apidef.Extension{
		Alias: "enable-default-route-bfd", Name: "BFD on default routes",
		Doc:      "Watches the default routes of a router.",
		Updated:  time.Date(2023, 2, 27, 0, 0, 0, 0, time.UTC),
		Requires: []string{"external-gateway-multihoming", "router"},
		Extends: map[string][]apidef.Attribute{
			"routers": {
				{Name: "enable_default_route_bfd", Doc: "Whether the default routes are watched by BFD.", Type: types.BoolOrNull(), Post: apidef.Optional, Put: apidef.Optional, Guarded: true},
			},
		},
	}
}
