package secgroup

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// SecurityGroupsDefaultStatefulness is the extension security-groups-default-statefulness; facts from neutron-lib api/definitions/security_groups_default_statefulness.py.
func SecurityGroupsDefaultStatefulness() apidef.Extension {
	return apidef.Extension{
		Alias: "security-groups-default-statefulness", Name: "Default statefulness",
		Doc:      "Sets whether new security groups of a project track connections.",
		Updated:  time.Date(2026, 4, 13, 0, 0, 0, 0, time.UTC),
		Requires: []string{"security-group", "stateful-security-group"},
		Resources: []apidef.Resource{
			securityGroupsDefaultStatefulness(),
		},
	}
}

func securityGroupsDefaultStatefulness() apidef.Resource {
	return apidef.Resource{
		Name: "security_groups_default_statefulness", Collection: "security_groups_default_statefulness", Path: "security-groups-default-statefulness",
		Doc:    "Whether new security groups of a project track connections.",
		NoBulk: true,
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Filter: true, Sort: true},
			{Name: "project_id", Doc: "The project that owns the object.", Type: types.StringOrNull(255), Post: apidef.Optional, Default: apidef.Unspecified, Filter: true, Sort: true, PolicyKey: true},
			{Name: "stateful", Doc: "Whether new groups of the project track connections.", Type: types.Bool(), Post: apidef.Optional, Put: apidef.Optional, Default: true, Filter: true, Sort: true},
		},
	}
}
