package portforward

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// FloatingIPPortForwardingPortRanges is the extension floating-ip-port-forwarding-port-ranges; facts from neutron-lib api/definitions/fip_pf_port_range.py.
func FloatingIPPortForwardingPortRanges() apidef.Extension {
	return apidef.Extension{
		Alias: "floating-ip-port-forwarding-port-ranges", Name: "Ranges in port forwardings",
		Doc:      "Passes ranges of ports on.",
		Updated:  time.Date(2020, 7, 1, 10, 0, 0, 0, time.UTC),
		Requires: []string{"floating-ip-port-forwarding"},
		Optional: []string{"floating-ip-port-forwarding-description"},
		Extends: map[string][]apidef.Attribute{
			"port_forwardings": {
				{Name: "external_port_range", Doc: "The ports outside.", Type: types.PortRange(1, 65535), Post: apidef.Optional, Put: apidef.Optional, Filter: true, Sort: true},
				{Name: "internal_port_range", Doc: "The ports inside.", Type: types.PortRange(1, 65535), Post: apidef.Optional, Put: apidef.Optional},
			},
		},
		Overrides: map[string][]apidef.Attribute{
			"port_forwardings": {
				{Name: "external_port", Doc: "The port outside.", Type: types.RangeOrNull(1, 65535), Post: apidef.Optional, Put: apidef.Optional, Filter: true, Sort: true},
				{Name: "internal_port", Doc: "The port inside.", Type: types.RangeOrNull(1, 65535), Post: apidef.Optional, Put: apidef.Optional},
			},
		},
	}
}
