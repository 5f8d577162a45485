// Package rbac defines the sharing of objects with other projects. The catalogue lists it; it holds data only.
package rbac

import "isospin/internal/apidef"

// All are the extensions of this package, in the order in which their attributes are shown.
func All() []apidef.Extension {
	return []apidef.Extension{RBACPolicies(), RBACAddressScope(), RBACAddressGroup(), RBACSecurityGroups(), RBACSubnetpool()}
}
