package qos

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// QoSRuleTypeDetails is the extension qos-rule-type-details; facts from neutron-lib api/definitions/qos_rule_type_details.py.
func QoSRuleTypeDetails() apidef.Extension {
	return apidef.Extension{
		Alias: "qos-rule-type-details", Name: "Details of rule types",
		Doc:      "Shows which drivers support a rule type.",
		Updated:  time.Date(2017, 6, 22, 10, 0, 0, 0, time.UTC),
		Requires: []string{"qos"},
		Extends: map[string][]apidef.Attribute{
			"rule_types": {
				{Name: "drivers", Doc: "Which drivers support the rule type, and within which bounds.", Type: types.ReadOnly(apidef.Schema{"type": "array", "items": apidef.Schema{"type": "object"}})},
			},
		},
	}
}
