package netext

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// NetMTU is the extension net-mtu; facts from neutron-lib api/definitions/network_mtu.py.
func NetMTU() apidef.Extension {
	return apidef.Extension{
		Alias: "net-mtu", Name: "MTU of networks",
		Doc:     "Shows the largest packet that a network carries.",
		Updated: time.Date(2015, 3, 25, 10, 0, 0, 0, time.UTC),
		Extends: map[string][]apidef.Attribute{
			"networks": {
				{Name: "mtu", Doc: "The largest packet in bytes that the network carries; 0 leaves the choice to the server.", Type: types.NonNegative(), Filter: true, Sort: true},
			},
		},
	}
}
