package rbac

import (
	"time"

	"isospin/internal/apidef"
)

// RBACAddressScope is the extension rbac-address-scope; facts from neutron-lib api/definitions/rbac_address_scope.py.
func RBACAddressScope() apidef.Extension {
	return apidef.Extension{
		Alias: "rbac-address-scope", Name: "Sharing of address scopes",
		Doc:      "Shares address scopes with single projects.",
		Updated:  time.Date(2020, 2, 12, 0, 0, 0, 0, time.UTC),
		Requires: []string{"address-scope", "rbac-policies"},
	}
}
