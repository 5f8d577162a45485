package portext

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// UplinkStatusPropagation is the extension uplink-status-propagation; facts from neutron-lib api/definitions/uplink_status_propagation.py.
func UplinkStatusPropagation() apidef.Extension {
	return apidef.Extension{
		Alias: "uplink-status-propagation", Name: "Propagation of the uplink status",
		Doc:     "Lets the link of a virtual function follow that of its physical port.",
		Updated: time.Date(2018, 5, 31, 18, 0, 0, 0, time.UTC),
		Extends: map[string][]apidef.Attribute{
			"ports": {
				{Name: "propagate_uplink_status", Doc: "Whether the link of a virtual function follows that of its physical port.", Type: types.Bool(), Post: apidef.Optional, Default: true},
			},
		},
	}
}
