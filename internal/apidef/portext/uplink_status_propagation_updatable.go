package portext

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// UplinkStatusPropagationUpdatable is the extension uplink-status-propagation-updatable; facts from neutron-lib api/definitions/uplink_status_propagation_updatable.py.
func UplinkStatusPropagationUpdatable() apidef.Extension {
	return apidef.Extension{
		Alias: "uplink-status-propagation-updatable", Name: "Settable propagation of the uplink status",
		Doc:      "Changes the propagation of the uplink status of a port that exists.",
		Updated:  time.Date(2024, 9, 3, 18, 0, 0, 0, time.UTC),
		Requires: []string{"uplink-status-propagation"},
		Overrides: map[string][]apidef.Attribute{
			"ports": {
				{Name: "propagate_uplink_status", Doc: "Whether the link of a virtual function follows that of its physical port.", Type: types.Bool(), Post: apidef.Optional, Put: apidef.Optional, Default: true},
			},
		},
	}
}
