package qos

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// PortResourceRequest is the extension port-resource-request; facts from neutron-lib api/definitions/port_resource_request.py.
func PortResourceRequest() apidef.Extension {
	return apidef.Extension{
		Alias: "port-resource-request", Name: "Resource requests",
		Doc:     "Tells what Placement must set aside for a port.",
		Updated: time.Date(2018, 5, 8, 10, 0, 0, 0, time.UTC),
		Extends: map[string][]apidef.Attribute{
			"ports": {
				{Name: "resource_request", Doc: "What Placement must set aside for the port.", Type: types.ReadOnly(apidef.Schema{"type": []any{"object", "null"}}), Computed: true},
			},
		},
	}
}
