package portforward

import (
	"time"

	"isospin/internal/apidef"
)

// FloatingIPPortForwardingDetail is the extension floating-ip-port-forwarding-detail; facts from neutron-lib api/definitions/fip_pf_detail.py.
func FloatingIPPortForwardingDetail() apidef.Extension {
	return apidef.Extension{
		Alias: "floating-ip-port-forwarding-detail", Name: "Details of port forwardings",
		Doc:     "Shows what the port of a forwarding is.",
		Updated: time.Date(2022, 5, 6, 10, 0, 0, 0, time.UTC),
	}
}
