package l3

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// EVPN is the extension evpn; facts from neutron-lib api/definitions/evpn.py.
func EVPN() apidef.Extension {
	return apidef.Extension{
		Alias: "evpn", Name: "EVPN",
		Doc:      "Joins routers to an EVPN.",
		Updated:  time.Date(2026, 4, 28, 0, 0, 0, 0, time.UTC),
		Requires: []string{"router"},
		Extends: map[string][]apidef.Attribute{
			"routers": {
				{Name: "evpn_vni", Doc: "The number of the router in EVPN.", Type: types.Range(0, 16777215), Post: apidef.Optional, Default: apidef.Unspecified, Filter: true, Sort: true, Guarded: true},
			},
		},
	}
}
