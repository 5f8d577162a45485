package portext

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// PortDeviceProfile is the extension port-device-profile; facts from neutron-lib api/definitions/port_device_profile.py.
func PortDeviceProfile() apidef.Extension {
	return apidef.Extension{
		Alias: "port-device-profile", Name: "Device profiles",
		Doc:     "Names the device profile of the accelerator of a port.",
		Updated: time.Date(2020, 12, 17, 10, 0, 0, 0, time.UTC),
		Extends: map[string][]apidef.Attribute{
			"ports": {
				{Name: "device_profile", Doc: "The device profile that the accelerator of the port is made by.", Type: types.StringOrNull(255), Post: apidef.Optional},
			},
		},
	}
}
