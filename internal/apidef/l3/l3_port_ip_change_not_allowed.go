package l3

import (
	"time"

	"isospin/internal/apidef"
)

// L3PortIPChangeNotAllowed is the extension l3-port-ip-change-not-allowed; facts from neutron-lib api/definitions/l3_port_ip_change_not_allowed.py.
func L3PortIPChangeNotAllowed() apidef.Extension {
	return apidef.Extension{
		Alias: "l3-port-ip-change-not-allowed", Name: "Fixed addresses of router ports",
		Doc:      "Refuses to change the address of a router interface in use.",
		Updated:  time.Date(2018, 10, 9, 10, 0, 0, 0, time.UTC),
		Requires: []string{"router"},
	}
}
