package rbac

import (
	"time"

	"isospin/internal/apidef"
)

// RBACSecurityGroups is the extension rbac-security-groups; facts from neutron-lib api/definitions/rbac_security_groups.py.
func RBACSecurityGroups() apidef.Extension {
	return apidef.Extension{
		Alias: "rbac-security-groups", Name: "Sharing of security groups",
		Doc:      "Shares security groups with single projects.",
		Updated:  time.Date(2019, 2, 14, 0, 0, 0, 0, time.UTC),
		Requires: []string{"rbac-policies", "security-group"},
	}
}
