package agents

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// NetworkAvailabilityZone is the extension network_availability_zone; facts from neutron-lib api/definitions/network_availability_zone.py.
func NetworkAvailabilityZone() apidef.Extension {
	return apidef.Extension{
		Alias: "network_availability_zone", Name: "Availability zones of networks",
		Doc:      "Says in which zones a network is to be served.",
		Updated:  time.Date(2015, 1, 1, 10, 0, 0, 0, time.UTC),
		Requires: []string{"availability_zone"},
		Extends: map[string][]apidef.Attribute{
			"networks": {
				{Name: "availability_zone_hints", Doc: "The availability zones in which agents should serve the object.", Type: types.AvailabilityZoneHints(), Post: apidef.Optional, Default: []any{}, Sort: true},
				{Name: "availability_zones", Doc: "The availability zones in which agents serve the object at present.", Type: types.ReadOnly(apidef.Schema{"type": "array", "items": apidef.Schema{"type": "string"}})},
			},
		},
	}
}
