package portforward

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// FloatingIPPortForwardingDescription is the extension floating-ip-port-forwarding-description; facts from neutron-lib api/definitions/fip_pf_description.py.
func FloatingIPPortForwardingDescription() apidef.Extension {
	return apidef.Extension{
		Alias: "floating-ip-port-forwarding-description", Name: "Descriptions of port forwardings",
		Doc:      "Gives forwardings a text for people.",
		Updated:  time.Date(2019, 11, 1, 10, 0, 0, 0, time.UTC),
		Requires: []string{"floating-ip-port-forwarding"},
		Extends: map[string][]apidef.Attribute{
			"port_forwardings": {
				{Name: "description", Doc: "A text for people.", Type: types.String(1024), Post: apidef.Optional, Put: apidef.Optional, Default: "", Filter: true},
			},
		},
	}
}
