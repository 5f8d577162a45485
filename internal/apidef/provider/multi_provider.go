package provider

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// MultiProvider is the extension multi-provider; facts from neutron-lib api/definitions/multiprovidernet.py.
func MultiProvider() apidef.Extension {
	return apidef.Extension{
		Alias: "multi-provider", Name: "Multi-provider networks",
		Doc:     "Networks of more than one segment.",
		Updated: time.Date(2013, 6, 27, 10, 0, 0, 0, time.UTC),
		Extends: map[string][]apidef.Attribute{
			"networks": {
				{Name: "segments", Doc: "The segments of a network that is carried in more than one way.", Type: types.NetworkSegments(), Post: apidef.Optional, Put: apidef.Optional, Default: apidef.Unspecified, Guarded: true},
			},
		},
	}
}
