package segments

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// L2Adjacency is the extension l2_adjacency; facts from neutron-lib api/definitions/l2_adjacency.py.
func L2Adjacency() apidef.Extension {
	return apidef.Extension{
		Alias: "l2_adjacency", Name: "Adjacency",
		Doc:     "Tells whether all ports of a network share one segment.",
		Updated: time.Date(2016, 4, 12, 16, 0, 0, 0, time.UTC),
		Extends: map[string][]apidef.Attribute{
			"networks": {
				{Name: "l2_adjacency", Doc: "Whether all ports of the network share one segment.", Type: types.ReadOnly(apidef.Schema{"type": "boolean"}), Computed: true},
			},
		},
	}
}
