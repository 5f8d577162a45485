package netext

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// NetMTUWritable is the extension net-mtu-writable; facts from neutron-lib api/definitions/network_mtu_writable.py.
func NetMTUWritable() apidef.Extension {
	return apidef.Extension{
		Alias: "net-mtu-writable", Name: "Settable MTU of networks",
		Doc:      "Sets the largest packet that a network carries.",
		Updated:  time.Date(2017, 7, 12, 0, 0, 0, 0, time.UTC),
		Requires: []string{"net-mtu"},
		Overrides: map[string][]apidef.Attribute{
			"networks": {
				{Name: "mtu", Doc: "The largest packet in bytes that the network carries; 0 leaves the choice to the server.", Type: types.NonNegative(), Post: apidef.Optional, Put: apidef.Optional, Default: 0, Filter: true, Sort: true, Guarded: true},
			},
		},
	}
}
