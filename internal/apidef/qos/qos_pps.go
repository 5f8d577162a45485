package qos

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// QoSPPS is the extension qos-pps; facts from neutron-lib api/definitions/qos_pps_rule.py.
func QoSPPS() apidef.Extension {
	return apidef.Extension{
		Alias: "qos-pps", Name: "Packet rate limits",
		Doc:      "Bounds the packet rate.",
		Updated:  time.Date(2021, 5, 12, 10, 0, 0, 0, time.UTC),
		Requires: []string{"qos"},
		Resources: []apidef.Resource{
			packetRateLimitRules(),
		},
	}
}

func packetRateLimitRules() apidef.Resource {
	return apidef.Resource{
		Name: "packet_rate_limit_rule", Collection: "packet_rate_limit_rules", Path: "packet_rate_limit_rules", Parent: "policies",
		Doc:    "A bound on the packet rate of what has the policy.",
		NoBulk: true,
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Filter: true, Sort: true},
			{Name: "direction", Doc: "The direction of the traffic as seen by the port.", Type: types.Values("ingress", "egress"), Post: apidef.Optional, Put: apidef.Optional, Default: "egress", Filter: true, Sort: true},
			{Name: "max_burst_kpps", Doc: "The most thousand packets in a burst.", Type: types.Range(0, 2147483647), Post: apidef.Optional, Put: apidef.Optional, Default: 0, Filter: true, Sort: true},
			{Name: "max_kpps", Doc: "The most thousand packets a second.", Type: types.Range(0, 2147483647), Post: apidef.Required, Put: apidef.Optional, Filter: true, Sort: true},
		},
	}
}
