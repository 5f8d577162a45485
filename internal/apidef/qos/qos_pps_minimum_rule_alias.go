package qos

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// QoSPPSMinimumRuleAlias is the extension qos-pps-minimum-rule-alias; facts from neutron-lib api/definitions/qos_pps_minimum_rule_alias.py.
func QoSPPSMinimumRuleAlias() apidef.Extension {
	return apidef.Extension{
		Alias: "qos-pps-minimum-rule-alias", Name: "Packet rate guarantees by identifier",
		Doc:      "Reaches such rules without their policy.",
		Updated:  time.Date(2021, 10, 22, 10, 0, 0, 0, time.UTC),
		Requires: []string{"qos", "qos-pps-minimum"},
		Resources: []apidef.Resource{
			aliasMinimumPacketRateRules(),
		},
	}
}

func aliasMinimumPacketRateRules() apidef.Resource {
	return apidef.Resource{
		Name: "alias_minimum_packet_rate_rule", Collection: "alias_minimum_packet_rate_rules", Path: "alias-minimum-packet-rate-rules", Prefix: "/qos",
		Doc:    "A minimum packet rate rule by its own identifier.",
		NoBulk: true, NoList: true, NoCreate: true,
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Filter: true, Sort: true},
			{Name: "direction", Doc: "The direction of the traffic as seen by the port.", Type: types.Values("any", "ingress", "egress"), Put: apidef.Optional, Filter: true, Sort: true},
			{Name: "min_kpps", Doc: "The thousand packets a second that are guaranteed.", Type: types.Range(0, 2147483647), Put: apidef.Optional, Filter: true, Sort: true},
		},
	}
}
