package qos

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// QoSRuleTypeFilter is the extension qos-rule-type-filter; facts from neutron-lib api/definitions/qos_rule_type_filter.py.
func QoSRuleTypeFilter() apidef.Extension {
	return apidef.Extension{
		Alias: "qos-rule-type-filter", Name: "Filter of rule types",
		Doc:      "Lists all rule types or those supported by some driver.",
		Updated:  time.Date(2022, 2, 2, 10, 0, 0, 0, time.UTC),
		Requires: []string{"qos"},
		Extends: map[string][]apidef.Attribute{
			"rule_types": {
				{Name: "all_rules", Doc: "Asks for every rule type that exists; a filter alone.", Type: types.BoolOrNull(), Post: apidef.Optional, Put: apidef.Optional, Default: apidef.Unspecified, Hidden: true, Filter: true},
				{Name: "all_supported", Doc: "Asks for the rule types that some driver supports; a filter alone.", Type: types.BoolOrNull(), Post: apidef.Optional, Put: apidef.Optional, Default: apidef.Unspecified, Hidden: true, Filter: true},
			},
		},
	}
}
