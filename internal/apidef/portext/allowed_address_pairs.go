package portext

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// AllowedAddressPairs is the extension allowed-address-pairs; facts from neutron-lib api/definitions/allowedaddresspairs.py.
func AllowedAddressPairs(max int) apidef.Extension {
	return apidef.Extension{
		Alias: "allowed-address-pairs", Name: "Allowed address pairs",
		Doc:     "Lets a port use addresses besides its own.",
		Updated: time.Date(2013, 7, 23, 10, 0, 0, 0, time.UTC),
		Extends: map[string][]apidef.Attribute{
			"ports": {
				{Name: "allowed_address_pairs", Doc: "Further addresses, with their hardware addresses, that the port may use.", Type: types.AllowedAddressPairs(max), Post: apidef.Optional, Put: apidef.Optional, Default: apidef.Unspecified, Guarded: true},
			},
		},
	}
}
