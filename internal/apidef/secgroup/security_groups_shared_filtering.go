package secgroup

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// SecurityGroupsSharedFiltering is the extension security-groups-shared-filtering; facts from neutron-lib api/definitions/security_groups_shared_filtering.py.
func SecurityGroupsSharedFiltering() apidef.Extension {
	return apidef.Extension{
		Alias: "security-groups-shared-filtering", Name: "Filter of shared security groups",
		Doc:      "Shows and filters by whether a group is shared.",
		Updated:  time.Date(2021, 10, 5, 9, 0, 0, 0, time.UTC),
		Requires: []string{"rbac-security-groups"},
		Extends: map[string][]apidef.Attribute{
			"security_groups": {
				{Name: "shared", Doc: "Whether the group is open to the project of the caller besides its own.", Type: types.Bool(), Filter: true, PolicyKey: true, Guarded: true, Computed: true},
			},
		},
	}
}
