package portext

import (
	"time"

	"isospin/internal/apidef"
)

// PortMACOverride is the extension port-mac-override; facts from neutron-lib api/definitions/port_mac_address_override.py.
func PortMACOverride() apidef.Extension {
	return apidef.Extension{
		Alias: "port-mac-override", Name: "Hardware address of a bound device",
		Doc:     "Takes the hardware address of a physical device over to its port.",
		Updated: time.Date(2022, 3, 18, 10, 0, 0, 0, time.UTC),
	}
}
