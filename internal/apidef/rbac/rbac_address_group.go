package rbac

import (
	"time"

	"isospin/internal/apidef"
)

// RBACAddressGroup is the extension rbac-address-group; facts from neutron-lib api/definitions/rbac_address_group.py.
func RBACAddressGroup() apidef.Extension {
	return apidef.Extension{
		Alias: "rbac-address-group", Name: "Sharing of address groups",
		Doc:      "Shares address groups with single projects.",
		Updated:  time.Date(2021, 1, 20, 0, 0, 0, 0, time.UTC),
		Requires: []string{"rbac-policies", "security-group"},
	}
}
