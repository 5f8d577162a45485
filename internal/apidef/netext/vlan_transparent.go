package netext

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// VLANTransparent is the extension vlan-transparent; facts from neutron-lib api/definitions/vlantransparent.py.
func VLANTransparent() apidef.Extension {
	return apidef.Extension{
		Alias: "vlan-transparent", Name: "VLAN transparency",
		Doc:     "Networks through which guests may send VLAN tags.",
		Updated: time.Date(2015, 3, 23, 9, 0, 0, 0, time.UTC),
		Extends: map[string][]apidef.Attribute{
			"networks": {
				{Name: "vlan_transparent", Doc: "Whether guests may send VLAN tags of their own through the network.", Type: types.Bool(), Post: apidef.Optional, Default: apidef.Unspecified, Filter: true},
			},
		},
	}
}
