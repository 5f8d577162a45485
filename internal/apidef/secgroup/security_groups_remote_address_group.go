package secgroup

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// SecurityGroupsRemoteAddressGroup is the extension security-groups-remote-address-group; facts from neutron-lib api/definitions/security_groups_remote_address_group.py.
func SecurityGroupsRemoteAddressGroup() apidef.Extension {
	return apidef.Extension{
		Alias: "security-groups-remote-address-group", Name: "Address groups in rules",
		Doc:      "Security group rules that name an address group.",
		Updated:  time.Date(2020, 8, 25, 10, 0, 0, 0, time.UTC),
		Requires: []string{"security-group"},
		Extends: map[string][]apidef.Attribute{
			"security_group_rules": {
				{Name: "remote_address_group_id", Doc: "The address group at the other end.", Type: types.StringOrNull(36), Post: apidef.Optional, Filter: true, Sort: true},
			},
		},
	}
}
