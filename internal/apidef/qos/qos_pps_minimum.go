package qos

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// QoSPPSMinimum is the extension qos-pps-minimum; facts from neutron-lib api/definitions/qos_pps_minimum_rule.py.
func QoSPPSMinimum() apidef.Extension {
	return apidef.Extension{
		Alias: "qos-pps-minimum", Name: "Packet rate guarantees",
		Doc:      "Guarantees a packet rate.",
		Updated:  time.Date(2021, 7, 14, 10, 0, 0, 0, time.UTC),
		Requires: []string{"qos"},
		Resources: []apidef.Resource{
			minimumPacketRateRules(),
		},
	}
}

func minimumPacketRateRules() apidef.Resource {
	return apidef.Resource{
		Name: "minimum_packet_rate_rule", Collection: "minimum_packet_rate_rules", Path: "minimum-packet-rate-rules", Parent: "policies",
		Doc: "A packet rate that is guaranteed.",
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Filter: true, Sort: true},
			{Name: "direction", Doc: "The direction of the traffic as seen by the port.", Type: types.Values("any", "ingress", "egress"), Post: apidef.Optional, Put: apidef.Optional, Default: "egress", Filter: true, Sort: true},
			{Name: "min_kpps", Doc: "The thousand packets a second that are guaranteed.", Type: types.Range(0, 2147483647), Post: apidef.Required, Put: apidef.Optional, Filter: true, Sort: true},
		},
	}
}
