package netext

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// PVLAN is the extension pvlan; facts from neutron-lib api/definitions/pvlan.py.
func PVLAN() apidef.Extension {
	return apidef.Extension{
		Alias: "pvlan", Name: "Private VLAN",
		Doc:     "Keeps ports of a network apart by their kind.",
		Updated: time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC),
		Extends: map[string][]apidef.Attribute{
			"networks": {
				{Name: "pvlan", Doc: "Whether ports of the network are kept apart by their kind.", Type: types.Bool(), Post: apidef.Optional, Put: apidef.Optional, Default: false},
			},
			"ports": {
				{Name: "pvlan_community", Doc: "The community of the port.", Type: types.RegexOrNull(`[a-zA-Z_.][a-zA-Z_.0-9]{0,231}$`), Post: apidef.Optional, Put: apidef.Optional},
				{Name: "pvlan_type", Doc: "Which ports of the network it may speak to.", Type: types.ValuesOrNull("isolated", "promiscuous", "community"), Post: apidef.Optional, Put: apidef.Optional, Filter: true},
			},
		},
	}
}
