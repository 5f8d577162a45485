package portforward

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// L3ConntrackHelper is the extension l3-conntrack-helper; facts from neutron-lib api/definitions/l3_conntrack_helper.py.
func L3ConntrackHelper() apidef.Extension {
	return apidef.Extension{
		Alias: "l3-conntrack-helper", Name: "Helpers of connection tracking",
		Doc:      "Helpers of connection tracking on routers.",
		Updated:  time.Date(2019, 4, 4, 10, 0, 0, 0, time.UTC),
		Requires: []string{"router"},
		Resources: []apidef.Resource{
			conntrackHelpers(),
		},
	}
}

func conntrackHelpers() apidef.Resource {
	return apidef.Resource{
		Name: "conntrack_helper", Collection: "conntrack_helpers", Path: "conntrack_helpers", Parent: "routers",
		Doc: "A helper of connection tracking on a router.",
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Filter: true, Sort: true},
			{Name: "project_id", Doc: "The project that owns the object.", Type: types.String(255), Post: apidef.Optional, Default: apidef.Unspecified, Hidden: true, PolicyKey: true},
			{Name: "helper", Doc: "The helper of connection tracking, such as tftp.", Type: types.Text(64), Post: apidef.Required, Put: apidef.Optional, Filter: true, Sort: true},
			{Name: "port", Doc: "The port whose connections it helps.", Type: types.Range(1, 65535), Post: apidef.Required, Put: apidef.Optional, Filter: true, Sort: true},
			{Name: "protocol", Doc: "The protocol whose connections it helps.", Type: types.Protocol("dccp", "icmp", "ipv6-icmp", "sctp", "tcp", "udp"), Post: apidef.Required, Put: apidef.Optional, Filter: true, Sort: true},
		},
	}
}
