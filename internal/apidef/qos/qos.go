package qos

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// QoS is the extension qos; facts from neutron-lib api/definitions/qos.py.
func QoS() apidef.Extension {
	return apidef.Extension{
		Alias: "qos", Name: "QoS",
		Doc:     "Policies that bound and guarantee the traffic of ports and networks.",
		Updated: time.Date(2015, 6, 8, 10, 0, 0, 0, time.UTC),
		Resources: []apidef.Resource{
			bandwidthLimitRules(),
			dscpMarkingRules(),
			minimumBandwidthRules(),
			policies(),
			ruleTypes(),
		},
		Extends: map[string][]apidef.Attribute{
			"networks": {
				{Name: "qos_policy_id", Doc: "The QoS policy of the object; null: none.", Type: types.UUIDOrNull(), Post: apidef.Optional, Put: apidef.Optional, Guarded: true},
			},
			"ports": {
				{Name: "qos_policy_id", Doc: "The QoS policy of the object; null: none.", Type: types.UUIDOrNull(), Post: apidef.Optional, Put: apidef.Optional, Guarded: true},
			},
		},
	}
}

func bandwidthLimitRules() apidef.Resource {
	return apidef.Resource{
		Name: "bandwidth_limit_rule", Collection: "bandwidth_limit_rules", Path: "bandwidth_limit_rules", Parent: "policies",
		Doc: "A bound on the bandwidth of what has the policy.",
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Filter: true, Sort: true},
			{Name: "max_burst_kbps", Doc: "The most kilobits in a burst; 0 leaves it to the server.", Type: types.Range(0, 2147483647), Post: apidef.Optional, Put: apidef.Optional, Default: 0, Filter: true, Sort: true},
			{Name: "max_kbps", Doc: "The most kilobits a second.", Type: types.Range(0, 2147483647), Post: apidef.Required, Put: apidef.Optional, Filter: true, Sort: true},
		},
	}
}

func dscpMarkingRules() apidef.Resource {
	return apidef.Resource{
		Name: "dscp_marking_rule", Collection: "dscp_marking_rules", Path: "dscp_marking_rules", Parent: "policies",
		Doc: "A mark on the packets of what has the policy.",
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Filter: true, Sort: true},
			{Name: "dscp_mark", Doc: "The DSCP mark put on packets.", Type: types.IntValues(0, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 44, 46, 48, 56), Post: apidef.Required, Put: apidef.Optional, Filter: true, Sort: true},
		},
	}
}

func minimumBandwidthRules() apidef.Resource {
	return apidef.Resource{
		Name: "minimum_bandwidth_rule", Collection: "minimum_bandwidth_rules", Path: "minimum_bandwidth_rules", Parent: "policies",
		Doc: "A bandwidth that is guaranteed.",
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Filter: true, Sort: true},
			{Name: "direction", Doc: "The direction of the traffic as seen by the port.", Type: types.Values("egress"), Post: apidef.Optional, Put: apidef.Optional, Default: "egress", Filter: true, Sort: true},
			{Name: "min_kbps", Doc: "The kilobits a second that are guaranteed.", Type: types.Range(0, 2147483647), Post: apidef.Required, Put: apidef.Optional, Filter: true, Sort: true},
		},
	}
}

func policies() apidef.Resource {
	return apidef.Resource{
		Name: "policy", Collection: "policies", Path: "policies", Prefix: "/qos",
		Doc:      "A set of QoS rules.",
		Standard: true, Taggable: true, NoBulk: true,
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Filter: true, Sort: true},
			{Name: "name", Doc: "A name for people; it need not be unique.", Type: types.Name(255), Post: apidef.Optional, Put: apidef.Optional, Default: "", Filter: true, Sort: true},
			{Name: "tenant_id", Doc: "The project that owns the object, by its older name; project_id always has the same value.", Type: types.String(255), Post: apidef.Optional, Default: apidef.Unspecified, Filter: true, Sort: true, PolicyKey: true},
			{Name: "rules", Doc: "The rules of the policy.", Type: types.ReadOnly(apidef.Schema{"type": "array", "items": apidef.Schema{"type": "object"}}), Computed: true},
			{Name: "shared", Doc: "Whether the object is open to the project of the caller besides its own.", Type: types.Bool(), Post: apidef.Optional, Put: apidef.Optional, Default: false, Filter: true, Computed: true},
		},
	}
}

func ruleTypes() apidef.Resource {
	return apidef.Resource{
		Name: "rule_type", Collection: "rule_types", Path: "rule-types", Prefix: "/qos",
		Doc:    "A type of QoS rule that can be used.",
		NoBulk: true, NoCreate: true, NoUpdate: true, NoDelete: true,
		Attributes: []apidef.Attribute{
			{Name: "type", Doc: "The name of the rule type.", Type: types.ReadOnly(apidef.Schema{"type": "string"})},
		},
	}
}
