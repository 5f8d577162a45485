package trunk

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// TrunkDetails is the extension trunk-details; facts from neutron-lib api/definitions/trunk_details.py.
func TrunkDetails() apidef.Extension {
	return apidef.Extension{
		Alias: "trunk-details", Name: "Details of trunks",
		Doc:      "Shows the subports of a trunk on its port.",
		Updated:  time.Date(2016, 1, 1, 10, 0, 0, 0, time.UTC),
		Requires: []string{"trunk"},
		Extends: map[string][]apidef.Attribute{
			"ports": {
				{Name: "trunk_details", Doc: "The subports, where the port carries a trunk.", Type: types.ReadOnly(apidef.Schema{"type": "object"}), PolicyKey: true, Guarded: true, Computed: true},
			},
		},
	}
}
