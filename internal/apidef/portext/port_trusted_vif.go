package portext

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// PortTrustedVIF is the extension port-trusted-vif; facts from neutron-lib api/definitions/port_trusted_vif.py.
func PortTrustedVIF() apidef.Extension {
	return apidef.Extension{
		Alias: "port-trusted-vif", Name: "Trusted virtual functions",
		Doc:      "Lets a virtual function change its own settings.",
		Updated:  time.Date(2024, 7, 10, 10, 0, 0, 0, time.UTC),
		Requires: []string{"binding"},
		Extends: map[string][]apidef.Attribute{
			"ports": {
				{Name: "trusted", Doc: "Whether a virtual function may change its own settings.", Type: types.Bool(), Post: apidef.Optional, Put: apidef.Optional, Default: apidef.Unspecified, Guarded: true},
			},
		},
	}
}
