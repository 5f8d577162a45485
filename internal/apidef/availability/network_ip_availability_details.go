package availability

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// NetworkIPAvailabilityDetails is the extension network-ip-availability-details; facts from neutron-lib api/definitions/network_ip_availability_details.py.
func NetworkIPAvailabilityDetails() apidef.Extension {
	return apidef.Extension{
		Alias: "network-ip-availability-details", Name: "Details of free addresses",
		Doc:      "Counts the addresses of networks by use.",
		Updated:  time.Date(2025, 10, 31, 0, 0, 0, 0, time.UTC),
		Requires: []string{"network-ip-availability"},
		Extends: map[string][]apidef.Attribute{
			"network_ip_availabilities": {
				{Name: "ip_availability_details", Doc: "Counts for each kind of use.", Type: types.ReadOnly(apidef.Schema{"type": "object"})},
			},
		},
	}
}
