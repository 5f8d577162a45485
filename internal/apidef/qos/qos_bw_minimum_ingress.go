package qos

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// QoSBWMinimumIngress is the extension qos-bw-minimum-ingress; facts from neutron-lib api/definitions/qos_bw_minimum_ingress.py.
func QoSBWMinimumIngress() apidef.Extension {
	return apidef.Extension{
		Alias: "qos-bw-minimum-ingress", Name: "Guarantees for entering traffic",
		Doc:      "Guarantees bandwidth in either direction.",
		Updated:  time.Date(2018, 7, 9, 10, 0, 0, 0, time.UTC),
		Requires: []string{"qos"},
		Overrides: map[string][]apidef.Attribute{
			"minimum_bandwidth_rules": {
				{Name: "direction", Doc: "The direction of the traffic as seen by the port.", Type: types.Values("ingress", "egress"), Post: apidef.Optional, Put: apidef.Optional, Default: "egress", Filter: true, Sort: true},
			},
		},
	}
}
