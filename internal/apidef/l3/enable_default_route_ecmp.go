package l3

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// EnableDefaultRouteECMP is the extension enable-default-route-ecmp; facts from neutron-lib api/definitions/l3_enable_default_route_ecmp.py.
func EnableDefaultRouteECMP() apidef.Extension {
	return apidef.Extension{
		Alias: "enable-default-route-ecmp", Name: "ECMP of default routes",
		Doc:      "Shares traffic among the default routes of a router.",
		Updated:  time.Date(2023, 2, 27, 0, 0, 0, 0, time.UTC),
		Requires: []string{"external-gateway-multihoming", "router"},
		Extends: map[string][]apidef.Attribute{
			"routers": {
				{Name: "enable_default_route_ecmp", Doc: "Whether the default routes share the traffic.", Type: types.BoolOrNull(), Post: apidef.Optional, Put: apidef.Optional, Guarded: true},
			},
		},
	}
}
