package secgroup

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// SecurityGroupsRulesBelongsToDefaultSG is the extension security-groups-rules-belongs-to-default-sg; facts from neutron-lib api/definitions/security_groups_rules_belongs_to_default_sg.py.
func SecurityGroupsRulesBelongsToDefaultSG() apidef.Extension {
	return apidef.Extension{
		Alias: "security-groups-rules-belongs-to-default-sg", Name: "Rules of default security groups",
		Doc:      "Tells whether a rule belongs to the default group of its project.",
		Updated:  time.Date(2023, 5, 23, 10, 0, 0, 0, time.UTC),
		Requires: []string{"security-group"},
		Extends: map[string][]apidef.Attribute{
			"security_group_rules": {
				{Name: "belongs_to_default_sg", Doc: "Whether the group of the rule is the default one of its project.", Type: types.BoolOrNull(), Filter: true, Computed: true},
			},
		},
	}
}
