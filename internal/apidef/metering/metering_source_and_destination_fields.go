package metering

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// MeteringSourceAndDestinationFields is the extension metering_source_and_destination_fields; facts from neutron-lib api/definitions/metering_source_and_destination_filters.py.
func MeteringSourceAndDestinationFields() apidef.Extension {
	return apidef.Extension{
		Alias: "metering_source_and_destination_fields", Name: "Both ends in metering rules",
		Doc:      "Tells source and destination of counted traffic apart.",
		Updated:  time.Date(2020, 8, 21, 8, 12, 0, 0, time.UTC),
		Requires: []string{"metering"},
		Extends: map[string][]apidef.Attribute{
			"metering_label_rules": {
				{Name: "destination_ip_prefix", Doc: "The addresses that the traffic goes to.", Type: types.IPOrCIDROrNull(), Post: apidef.Optional, Put: apidef.Optional, Filter: true, Sort: true},
				{Name: "source_ip_prefix", Doc: "The addresses that the traffic comes from.", Type: types.IPOrCIDROrNull(), Post: apidef.Optional, Put: apidef.Optional, Filter: true, Sort: true},
			},
		},
		Overrides: map[string][]apidef.Attribute{
			"metering_label_rules": {
				{Name: "remote_ip_prefix", Doc: "The addresses at the other end.", Type: types.IPOrCIDROrNull(), Post: apidef.Optional, Filter: true, Sort: true},
			},
		},
	}
}
