package agents

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// RouterAvailabilityZone is the extension router_availability_zone; facts from neutron-lib api/definitions/router_availability_zone.py.
func RouterAvailabilityZone() apidef.Extension {
	return apidef.Extension{
		Alias: "router_availability_zone", Name: "Availability zones of routers",
		Doc:      "Says in which zones a router is to work.",
		Updated:  time.Date(2015, 1, 1, 10, 0, 0, 0, time.UTC),
		Requires: []string{"availability_zone", "router"},
		Extends: map[string][]apidef.Attribute{
			"routers": {
				{Name: "availability_zone_hints", Doc: "The availability zones in which agents should serve the object.", Type: types.AvailabilityZoneHints(), Post: apidef.Optional, Default: []any{}},
				{Name: "availability_zones", Doc: "The availability zones in which agents serve the object at present.", Type: types.ReadOnly(apidef.Schema{"type": "array", "items": apidef.Schema{"type": "string"}})},
			},
		},
	}
}
