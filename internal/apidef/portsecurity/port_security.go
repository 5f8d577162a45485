package portsecurity

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// PortSecurity is the extension port-security; facts from neutron-lib api/definitions/port_security.py.
func PortSecurity() apidef.Extension {
	return apidef.Extension{
		Alias: "port-security", Name: "Port security",
		Doc:     "Switches filtering of a port or of the ports of a network on and off.",
		Updated: time.Date(2012, 7, 23, 10, 0, 0, 0, time.UTC),
		Extends: map[string][]apidef.Attribute{
			"networks": {
				{Name: "port_security_enabled", Doc: "Whether new ports of the network have their traffic filtered.", Type: types.Bool(), Post: apidef.Optional, Put: apidef.Optional, Default: true, Guarded: true},
			},
			"ports": {
				{Name: "port_security_enabled", Doc: "Whether the traffic of the port is held to its addresses and filtered by security groups.", Type: types.Bool(), Post: apidef.Optional, Put: apidef.Optional, Default: apidef.Unspecified, Guarded: true},
			},
		},
	}
}
