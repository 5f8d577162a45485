package l3

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// Extraroute is the extension extraroute; facts from neutron-lib api/definitions/extraroute.py.
func Extraroute() apidef.Extension {
	return apidef.Extension{
		Alias: "extraroute", Name: "Further routes",
		Doc:      "Routes besides those of the subnets of a router.",
		Updated:  time.Date(2013, 2, 1, 10, 0, 0, 0, time.UTC),
		Requires: []string{"router"},
		Extends: map[string][]apidef.Attribute{
			"routers": {
				{Name: "routes", Doc: "Further routes of the router.", Type: types.HostRoutes(), Put: apidef.Optional, Default: apidef.Unspecified},
			},
		},
	}
}
