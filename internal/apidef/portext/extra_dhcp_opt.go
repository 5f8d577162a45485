package portext

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// ExtraDHCPOption is the extension extra_dhcp_opt; facts from neutron-lib api/definitions/extra_dhcp_opt.py.
func ExtraDHCPOption() apidef.Extension {
	return apidef.Extension{
		Alias: "extra_dhcp_opt", Name: "Further options of DHCP",
		Doc:     "Gives single ports options of DHCP.",
		Updated: time.Date(2013, 3, 17, 12, 0, 0, 0, time.UTC),
		Extends: map[string][]apidef.Attribute{
			"ports": {
				{Name: "extra_dhcp_opts", Doc: "Options of DHCP that this port gets besides the usual ones.", Type: types.ExtraDHCPOpts(), Post: apidef.Optional, Put: apidef.Optional},
			},
		},
	}
}
