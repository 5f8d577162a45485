package secgroup

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// SecurityGroupsNormalizedCIDR is the extension security-groups-normalized-cidr; facts from neutron-lib api/definitions/security_groups_normalized_cidr.py.
func SecurityGroupsNormalizedCIDR() apidef.Extension {
	return apidef.Extension{
		Alias: "security-groups-normalized-cidr", Name: "Normalised prefixes of security group rules",
		Doc:      "Shows the prefix of a rule with its host bits cut.",
		Updated:  time.Date(2020, 7, 28, 10, 0, 0, 0, time.UTC),
		Requires: []string{"security-group"},
		Extends: map[string][]apidef.Attribute{
			"security_group_rules": {
				{Name: "normalized_cidr", Doc: "The addresses at the other end with host bits cut.", Type: types.CIDROrNull(), Filter: true, Sort: true},
			},
		},
	}
}
