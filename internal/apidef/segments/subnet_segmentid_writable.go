package segments

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// SubnetSegmentidWritable is the extension subnet-segmentid-writable; facts from neutron-lib api/definitions/subnet_segmentid_writable.py.
func SubnetSegmentidWritable() apidef.Extension {
	return apidef.Extension{
		Alias: "subnet-segmentid-writable", Name: "Settable segment of a subnet",
		Doc:      "Sets the segment of a subnet that exists.",
		Updated:  time.Date(2018, 3, 12, 0, 0, 0, 0, time.UTC),
		Requires: []string{"segment"},
		Overrides: map[string][]apidef.Attribute{
			"subnets": {
				{Name: "segment_id", Doc: "The segment of the network that the subnet belongs to.", Type: types.UUIDOrNull(), Post: apidef.Optional, Put: apidef.Optional, Filter: true, Sort: true},
			},
		},
	}
}
