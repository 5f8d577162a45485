package l3

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// L3Flavors is the extension l3-flavors; facts from neutron-lib api/definitions/l3_flavors.py.
func L3Flavors() apidef.Extension {
	return apidef.Extension{
		Alias: "l3-flavors", Name: "Flavours of routers",
		Doc:      "Chooses the kind of a router.",
		Updated:  time.Date(2016, 5, 17, 0, 0, 0, 0, time.UTC),
		Requires: []string{"flavors", "router"},
		Extends: map[string][]apidef.Attribute{
			"routers": {
				{Name: "flavor_id", Doc: "The flavour of the router.", Type: types.UUIDOrNull(), Post: apidef.Optional, Default: apidef.Unspecified, Sort: true, Guarded: true},
			},
		},
	}
}
