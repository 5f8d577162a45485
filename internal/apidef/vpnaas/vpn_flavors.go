package vpnaas

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// VPNFlavors is the extension vpn-flavors; facts from neutron-lib api/definitions/vpn_flavors.py.
func VPNFlavors() apidef.Extension {
	return apidef.Extension{
		Alias: "vpn-flavors", Name: "Flavours of VPN",
		Doc:      "Chooses the kind of a VPN service.",
		Updated:  time.Date(2017, 4, 19, 0, 0, 0, 0, time.UTC),
		Requires: []string{"vpnaas"},
		Optional: []string{"flavors"},
		Extends: map[string][]apidef.Attribute{
			"vpnservices": {
				{Name: "flavor_id", Doc: "The flavour of the service.", Type: types.UUIDOrNull(), Post: apidef.Optional},
			},
		},
	}
}
