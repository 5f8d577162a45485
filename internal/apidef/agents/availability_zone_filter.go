package agents

import (
	"time"

	"isospin/internal/apidef"
)

// AvailabilityZoneFilter is the extension availability_zone_filter; facts from neutron-lib api/definitions/availability_zone_filter.py.
func AvailabilityZoneFilter() apidef.Extension {
	return apidef.Extension{
		Alias: "availability_zone_filter", Name: "Filter of availability zones",
		Doc:      "Filters availability zones by name, resource and state.",
		Updated:  time.Date(2018, 6, 22, 10, 0, 0, 0, time.UTC),
		Requires: []string{"availability_zone"},
	}
}
