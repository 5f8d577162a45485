package l3

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// ExtrarouteAtomic is the extension extraroute-atomic; facts from neutron-lib api/definitions/extraroute_atomic.py.
func ExtrarouteAtomic() apidef.Extension {
	return apidef.Extension{
		Alias: "extraroute-atomic", Name: "Single further routes",
		Doc:      "Adds and removes routes without replacing all.",
		Updated:  time.Date(2019, 7, 10, 0, 0, 0, 0, time.UTC),
		Requires: []string{"extraroute", "router"},
		Actions: map[string][]apidef.Action{
			"routers": {
				{Name: "add_extraroutes", Method: "PUT", Doc: "Adds routes, whatever others there are.", Input: types.Object(types.Key{Name: "router", Type: types.Object(types.Key{Name: "routes", Type: types.HostRoutes(), Required: true}), Required: true})},
				{Name: "remove_extraroutes", Method: "PUT", Doc: "Removes routes, whatever others there are.", Input: types.Object(types.Key{Name: "router", Type: types.Object(types.Key{Name: "routes", Type: types.HostRoutes(), Required: true}), Required: true})},
			},
		},
	}
}
