package l3

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// ExtGatewayMode is the extension ext-gw-mode; facts from neutron-lib api/definitions/l3_ext_gw_mode.py.
func ExtGatewayMode() apidef.Extension {
	return apidef.Extension{
		Alias: "ext-gw-mode", Name: "Modes of the external gateway",
		Doc:      "Switches hiding of addresses on and off.",
		Updated:  time.Date(2013, 3, 28, 10, 0, 0, 0, time.UTC),
		Requires: []string{"router"},
		Overrides: map[string][]apidef.Attribute{
			"routers": {
				{Name: "external_gateway_info", Doc: "The way out: network, addresses and whether addresses are hidden; null: none.", Type: types.ObjectOrNothing(types.Key{Name: "network_id", Type: types.UUID(), Required: true}, types.Key{Name: "external_fixed_ips", Type: types.FixedIPs()}, types.Key{Name: "enable_snat", Type: types.Bool()}), Post: apidef.Optional, Put: apidef.Optional, Guarded: true},
			},
		},
	}
}
