package netext

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// NetworkHA is the extension network_ha; facts from neutron-lib api/definitions/network_ha.py.
func NetworkHA() apidef.Extension {
	return apidef.Extension{
		Alias: "network_ha", Name: "Networks of highly available routers",
		Doc:     "Marks the network that routers of a project speak over.",
		Updated: time.Date(2023, 4, 27, 10, 0, 0, 0, time.UTC),
		Extends: map[string][]apidef.Attribute{
			"networks": {
				{Name: "ha", Doc: "Whether the network is the one that highly available routers of a project speak over.", Type: types.Bool(), Post: apidef.Optional, Default: false, Hidden: true},
			},
		},
	}
}
