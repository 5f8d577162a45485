package portext

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// PortHardwareOffloadType is the extension port-hardware-offload-type; facts from neutron-lib api/definitions/port_hardware_offload_type.py.
func PortHardwareOffloadType() apidef.Extension {
	return apidef.Extension{
		Alias: "port-hardware-offload-type", Name: "Hardware offload",
		Doc:     "Says how the hardware switches packets of a port.",
		Updated: time.Date(2023, 5, 9, 10, 0, 0, 0, time.UTC),
		Extends: map[string][]apidef.Attribute{
			"ports": {
				{Name: "hardware_offload_type", Doc: "How the hardware switches packets itself.", Type: types.Values("switchdev"), Post: apidef.Optional, Default: apidef.Unspecified, Guarded: true},
			},
		},
	}
}
