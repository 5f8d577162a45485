package qos

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// QoSRulesAlias is the extension qos-rules-alias; facts from neutron-lib api/definitions/qos_rules_alias.py.
func QoSRulesAlias() apidef.Extension {
	return apidef.Extension{
		Alias: "qos-rules-alias", Name: "Rules by identifier",
		Doc:      "Reaches QoS rules without their policy.",
		Updated:  time.Date(2018, 10, 7, 10, 0, 0, 0, time.UTC),
		Requires: []string{"qos", "qos-bw-limit-direction"},
		Resources: []apidef.Resource{
			aliasBandwidthLimitRules(),
			aliasDscpMarkingRules(),
			aliasMinimumBandwidthRules(),
		},
	}
}

func aliasBandwidthLimitRules() apidef.Resource {
	return apidef.Resource{
		Name: "alias_bandwidth_limit_rule", Collection: "alias_bandwidth_limit_rules", Path: "alias-bandwidth-limit-rules", Prefix: "/qos",
		Doc:    "A bandwidth limit rule by its own identifier.",
		NoBulk: true, NoList: true, NoCreate: true,
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Filter: true, Sort: true},
			{Name: "tenant_id", Doc: "The project that owns the object, by its older name; project_id always has the same value.", Type: types.String(255), PolicyKey: true},
			{Name: "direction", Doc: "The direction of the traffic that is limited.", Type: types.Values("ingress", "egress"), Put: apidef.Optional, Filter: true, Sort: true},
			{Name: "max_burst_kbps", Doc: "The most kilobits in a burst; 0 leaves it to the server.", Type: types.Range(0, 2147483647), Put: apidef.Optional, Filter: true, Sort: true},
			{Name: "max_kbps", Doc: "The most kilobits a second.", Type: types.Range(0, 2147483647), Put: apidef.Optional, Filter: true, Sort: true},
		},
	}
}

func aliasDscpMarkingRules() apidef.Resource {
	return apidef.Resource{
		Name: "alias_dscp_marking_rule", Collection: "alias_dscp_marking_rules", Path: "alias-dscp-marking-rules", Prefix: "/qos",
		Doc:    "A DSCP marking rule by its own identifier.",
		NoBulk: true, NoList: true, NoCreate: true,
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Filter: true, Sort: true},
			{Name: "tenant_id", Doc: "The project that owns the object, by its older name; project_id always has the same value.", Type: types.String(255), PolicyKey: true},
			{Name: "dscp_mark", Doc: "The DSCP mark put on packets.", Type: types.IntValues(0, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 44, 46, 48, 56), Put: apidef.Optional, Filter: true, Sort: true},
		},
	}
}

func aliasMinimumBandwidthRules() apidef.Resource {
	return apidef.Resource{
		Name: "alias_minimum_bandwidth_rule", Collection: "alias_minimum_bandwidth_rules", Path: "alias-minimum-bandwidth-rules", Prefix: "/qos",
		Doc:    "A minimum bandwidth rule by its own identifier.",
		NoBulk: true, NoList: true, NoCreate: true,
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Filter: true, Sort: true},
			{Name: "tenant_id", Doc: "The project that owns the object, by its older name; project_id always has the same value.", Type: types.String(255), PolicyKey: true},
			{Name: "direction", Doc: "The direction of the traffic as seen by the port.", Type: types.Values("ingress", "egress"), Put: apidef.Optional, Filter: true, Sort: true},
			{Name: "min_kbps", Doc: "The kilobits a second that are guaranteed.", Type: types.Range(0, 2147483647), Put: apidef.Optional, Filter: true, Sort: true},
		},
	}
}
