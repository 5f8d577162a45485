package l3

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// DVR is the extension dvr; facts from neutron-lib api/definitions/dvr.py.
func DVR() apidef.Extension {
	return apidef.Extension{
		Alias: "dvr", Name: "Distributed routers",
		Doc:      "Routers that work on every host.",
		Updated:  time.Date(2014, 6, 1, 10, 0, 0, 0, time.UTC),
		Requires: []string{"router"},
		Extends: map[string][]apidef.Attribute{
			"routers": {
				{Name: "distributed", Doc: "Whether hosts route for themselves.", Type: types.BoolOrNull(), Post: apidef.Optional, Put: apidef.Optional, Default: apidef.Unspecified, Guarded: true},
			},
		},
	}
}
