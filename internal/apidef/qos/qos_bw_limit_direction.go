package qos

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// QoSBWLimitDirection is the extension qos-bw-limit-direction; facts from neutron-lib api/definitions/qos_bw_limit_direction.py.
func QoSBWLimitDirection() apidef.Extension {
	return apidef.Extension{
		Alias: "qos-bw-limit-direction", Name: "Direction of bandwidth limits",
		Doc:      "Bounds bandwidth in either direction.",
		Updated:  time.Date(2017, 4, 10, 10, 0, 0, 0, time.UTC),
		Requires: []string{"qos"},
		Extends: map[string][]apidef.Attribute{
			"bandwidth_limit_rules": {
				{Name: "direction", Doc: "The direction of the traffic that is limited.", Type: types.Values("ingress", "egress"), Post: apidef.Optional, Put: apidef.Optional, Default: "egress"},
			},
		},
	}
}
