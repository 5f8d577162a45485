package portforward

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// ExposeL3ConntrackHelper is the extension expose-l3-conntrack-helper; facts from neutron-lib api/definitions/expose_l3_conntrack_helper.py.
func ExposeL3ConntrackHelper() apidef.Extension {
	return apidef.Extension{
		Alias: "expose-l3-conntrack-helper", Name: "Helpers of connection tracking in routers",
		Doc:      "Shows the helpers of a router with it.",
		Updated:  time.Date(2019, 4, 4, 10, 0, 0, 0, time.UTC),
		Requires: []string{"l3-conntrack-helper", "router"},
		Extends: map[string][]apidef.Attribute{
			"routers": {
				{Name: "conntrack_helpers", Doc: "The helpers of connection tracking of the router.", Type: types.ReadOnly(apidef.Schema{"type": "array", "items": apidef.Schema{"type": "object"}}), Computed: true},
			},
		},
	}
}
