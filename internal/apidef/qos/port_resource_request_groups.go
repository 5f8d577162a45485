package qos

import (
	"time"

	"isospin/internal/apidef"
)

// PortResourceRequestGroups is the extension port-resource-request-groups; facts from neutron-lib api/definitions/port_resource_request_groups.py.
func PortResourceRequestGroups() apidef.Extension {
	return apidef.Extension{
		Alias: "port-resource-request-groups", Name: "Groups of resource requests",
		Doc:     "Asks Placement for several groups of resources.",
		Updated: time.Date(2021, 8, 2, 10, 0, 0, 0, time.UTC),
	}
}
