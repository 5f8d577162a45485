package portext

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// DataPlaneStatus is the extension data-plane-status; facts from neutron-lib api/definitions/data_plane_status.py.
func DataPlaneStatus() apidef.Extension {
	return apidef.Extension{
		Alias: "data-plane-status", Name: "Status of the data plane",
		Doc:     "Lets an outside monitor report on the data plane under a port.",
		Updated: time.Date(2017, 1, 24, 10, 0, 0, 0, time.UTC),
		Extends: map[string][]apidef.Attribute{
			"ports": {
				{Name: "data_plane_status", Doc: "What an outside monitor says about the data plane under the port.", Type: types.ValuesOrNull("ACTIVE", "DOWN"), Put: apidef.Optional, Default: apidef.Unspecified, Guarded: true},
			},
		},
	}
}
