package rbac

import (
	"time"

	"isospin/internal/apidef"
)

// RBACSubnetpool is the extension rbac-subnetpool; facts from neutron-lib api/definitions/rbac_subnetpool.py.
func RBACSubnetpool() apidef.Extension {
	return apidef.Extension{
		Alias: "rbac-subnetpool", Name: "Sharing of subnet pools",
		Doc:      "Shares subnet pools with single projects.",
		Updated:  time.Date(2020, 2, 5, 0, 0, 0, 0, time.UTC),
		Requires: []string{"rbac-address-scope", "rbac-policies"},
	}
}
