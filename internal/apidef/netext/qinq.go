package netext

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// QinQ is the extension qinq; facts from neutron-lib api/definitions/qinq.py.
func QinQ() apidef.Extension {
	return apidef.Extension{
		Alias: "qinq", Name: "Double tags",
		Doc:     "Networks through which guests may send doubly tagged frames.",
		Updated: time.Date(2024, 12, 2, 10, 0, 0, 0, time.UTC),
		Extends: map[string][]apidef.Attribute{
			"networks": {
				{Name: "qinq", Doc: "Whether guests may send doubly tagged frames.", Type: types.Bool(), Post: apidef.Optional, Default: apidef.Unspecified, Filter: true},
			},
		},
	}
}
