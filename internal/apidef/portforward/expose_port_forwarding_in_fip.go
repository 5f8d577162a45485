package portforward

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// ExposePortForwardingInFIP is the extension expose-port-forwarding-in-fip; facts from neutron-lib api/definitions/expose_port_forwarding_in_fip.py.
func ExposePortForwardingInFIP() apidef.Extension {
	return apidef.Extension{
		Alias: "expose-port-forwarding-in-fip", Name: "Port forwardings in floating addresses",
		Doc:      "Shows the forwardings of a floating address with it.",
		Updated:  time.Date(2018, 6, 28, 16, 0, 0, 0, time.UTC),
		Requires: []string{"floating-ip-port-forwarding", "router"},
		Extends: map[string][]apidef.Attribute{
			"floatingips": {
				{Name: "port_forwardings", Doc: "The ports that are passed on.", Type: types.ReadOnly(apidef.Schema{"type": "array", "items": apidef.Schema{"type": "object"}}), Computed: true},
			},
		},
	}
}
