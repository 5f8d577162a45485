package portext

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// PortMACAddressRegenerate is the extension port-mac-address-regenerate; facts from neutron-lib api/definitions/port_mac_address_regenerate.py.
func PortMACAddressRegenerate() apidef.Extension {
	return apidef.Extension{
		Alias: "port-mac-address-regenerate", Name: "New hardware addresses",
		Doc:     "Gives a port a new hardware address when null is set.",
		Updated: time.Date(2018, 5, 3, 10, 0, 0, 0, time.UTC),
		Overrides: map[string][]apidef.Attribute{
			"ports": {
				{Name: "mac_address", Doc: "The hardware address; null in an update asks for a new one.", Type: types.MACOrNull(), Post: apidef.Optional, Put: apidef.Optional, Default: apidef.Unspecified, Filter: true, Sort: true, Guarded: true},
			},
		},
	}
}
