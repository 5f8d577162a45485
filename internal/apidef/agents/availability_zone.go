package agents

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// AvailabilityZone is the extension availability_zone; facts from neutron-lib api/definitions/availability_zone.py.
func AvailabilityZone() apidef.Extension {
	return apidef.Extension{
		Alias: "availability_zone", Name: "Availability Zone", // the name that openstackclient asks for
		Doc:      "Groups agents into zones that fail apart.",
		Updated:  time.Date(2015, 1, 1, 10, 0, 0, 0, time.UTC),
		Requires: []string{"agent"},
		Resources: []apidef.Resource{
			availabilityZones(),
		},
		Extends: map[string][]apidef.Attribute{
			"agents": {
				{Name: "availability_zone", Doc: "The availability zone of the agent.", Type: types.ReadOnly(apidef.Schema{"type": []any{"string", "null"}}), Filter: true},
			},
		},
	}
}

func availabilityZones() apidef.Resource {
	return apidef.Resource{
		Name: "availability_zone", Collection: "availability_zones", Path: "availability_zones",
		Doc:    "A group of agents that fails apart from others.",
		NoBulk: true, NoShow: true, NoCreate: true, NoUpdate: true, NoDelete: true,
		Attributes: []apidef.Attribute{
			{Name: "name", Doc: "The name of the zone.", Type: types.ReadOnly(apidef.Schema{"type": "string"}), Filter: true},
			{Name: "resource", Doc: "What agents of the zone serve: network or router.", Type: types.ReadOnly(apidef.Schema{"type": "string"}), Filter: true},
			{Name: "state", Doc: "available, or unavailable when none of its agents takes work.", Type: types.ReadOnly(apidef.Schema{"type": "string"}), Filter: true},
		},
	}
}
