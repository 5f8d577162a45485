package l3

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// FIPPortDetails is the extension fip-port-details; facts from neutron-lib api/definitions/fip_port_details.py.
func FIPPortDetails() apidef.Extension {
	return apidef.Extension{
		Alias: "fip-port-details", Name: "Ports of floating addresses",
		Doc:      "Shows what the port of a floating address is.",
		Updated:  time.Date(2018, 4, 9, 10, 0, 0, 0, time.UTC),
		Requires: []string{"router"},
		Extends: map[string][]apidef.Attribute{
			"floatingips": {
				{Name: "port_details", Doc: "What the port of the address is.", Type: types.ReadOnly(apidef.Schema{"type": []any{"object", "null"}}), Computed: true},
			},
		},
	}
}
