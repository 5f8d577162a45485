package segments

import (
	"time"

	"isospin/internal/apidef"
)

// SegmentsPeerSubnetHostRoutes is the extension segments-peer-subnet-host-routes; facts from neutron-lib api/definitions/segments_peer_subnet_host_routes.py.
func SegmentsPeerSubnetHostRoutes() apidef.Extension {
	return apidef.Extension{
		Alias: "segments-peer-subnet-host-routes", Name: "Routes between segments",
		Doc:      "Tells guests the way to other segments of their network.",
		Updated:  time.Date(2018, 6, 12, 10, 0, 0, 0, time.UTC),
		Requires: []string{"segment"},
	}
}
