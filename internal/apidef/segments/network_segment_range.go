package segments

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// NetworkSegmentRange is the extension network-segment-range; facts from neutron-lib api/definitions/network_segment_range.py.
func NetworkSegmentRange() apidef.Extension {
	return apidef.Extension{
		Alias: "network-segment-range", Name: "Segment ranges",
		Doc:      "Sets the numbers that networks are kept apart by.",
		Updated:  time.Date(2018, 11, 29, 0, 0, 0, 0, time.UTC),
		Requires: []string{"provider"},
		Resources: []apidef.Resource{
			networkSegmentRanges(),
		},
	}
}

func networkSegmentRanges() apidef.Resource {
	return apidef.Resource{
		Name: "network_segment_range", Collection: "network_segment_ranges", Path: "network-segment-ranges",
		Doc:      "A range of numbers that networks are kept apart by.",
		Standard: true, Taggable: true,
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Filter: true, Sort: true},
			{Name: "name", Doc: "A name for people; it need not be unique.", Type: types.Name(255), Post: apidef.Optional, Put: apidef.Optional, Default: "", Filter: true, Sort: true},
			{Name: "project_id", Doc: "The project that owns the object.", Type: types.String(255), Post: apidef.Optional, Default: apidef.Unspecified, Filter: true, Sort: true, PolicyKey: true},
			{Name: "available", Doc: "The numbers that are free.", Type: types.ReadOnly(apidef.Schema{"type": "array", "items": apidef.Schema{"type": "integer"}}), Computed: true},
			{Name: "default", Doc: "Whether the range comes from the configuration.", Type: types.Bool()},
			{Name: "maximum", Doc: "The last number of the range.", Type: types.Range(1, 4294967295), Post: apidef.Required, Put: apidef.Optional},
			{Name: "minimum", Doc: "The first number of the range.", Type: types.Range(1, 4294967295), Post: apidef.Required, Put: apidef.Optional},
			{Name: "network_type", Doc: "The type of network that the numbers are for.", Type: types.Values("vlan", "vxlan", "gre", "geneve"), Post: apidef.Optional, Default: apidef.Unspecified, Filter: true},
			{Name: "physical_network", Doc: "The physical network of a VLAN range.", Type: types.String(64), Post: apidef.Optional, Default: apidef.Unspecified, Filter: true},
			{Name: "shared", Doc: "Whether all projects may use the range.", Type: types.Bool(), Post: apidef.Optional, Default: true},
			{Name: "used", Doc: "The numbers in use, with their projects.", Type: types.ReadOnly(apidef.Schema{"type": "object"}), Computed: true},
		},
	}
}
