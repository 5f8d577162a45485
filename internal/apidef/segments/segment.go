package segments

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// Segment is the extension segment; facts from neutron-lib api/definitions/segment.py.
func Segment() apidef.Extension {
	return apidef.Extension{
		Alias: "segment", Name: "Segments",
		Doc:      "Shows and sets the segments of networks.",
		Updated:  time.Date(2016, 2, 24, 17, 0, 0, 0, time.UTC),
		Requires: []string{"standard-attr-description"},
		Optional: []string{"standard-attr-segment"},
		Resources: []apidef.Resource{
			segments(),
		},
		Extends: map[string][]apidef.Attribute{
			"subnets": {
				{Name: "segment_id", Doc: "The segment of the network that the subnet belongs to.", Type: types.UUIDOrNull(), Post: apidef.Optional, Filter: true, Sort: true},
			},
		},
	}
}

func segments() apidef.Resource {
	return apidef.Resource{
		Name: "segment", Collection: "segments", Path: "segments",
		Doc:      "One way in which a network is carried.",
		Standard: true, NoBulk: true,
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Filter: true, Sort: true},
			{Name: "name", Doc: "A name for people; it need not be unique.", Type: types.NameOrNull(255), Post: apidef.Optional, Put: apidef.Optional, Default: apidef.Unspecified, Filter: true, Sort: true},
			{Name: "tenant_id", Doc: "The project that owns the object, by its older name; project_id always has the same value.", Type: types.String(255), Post: apidef.Optional, Default: apidef.Unspecified, Hidden: true},
			{Name: "network_id", Doc: "The network of the segment.", Type: types.UUID(), Post: apidef.Required, Filter: true, Sort: true},
			{Name: "network_type", Doc: "How the segment is carried.", Type: types.String(32), Post: apidef.Required, Filter: true, Sort: true},
			{Name: "physical_network", Doc: "The physical network that carries it.", Type: types.String(64), Post: apidef.Optional, Default: apidef.Unspecified, Filter: true, Sort: true},
			{Name: "segmentation_id", Doc: "The VLAN or tunnel number of the segment.", Type: types.Int(), Post: apidef.Optional, Default: apidef.Unspecified, Sort: true},
		},
	}
}
