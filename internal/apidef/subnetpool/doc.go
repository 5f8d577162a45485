// Package subnetpool defines subnet pools and address scopes. The catalogue lists it; it holds data only.
package subnetpool

import "isospin/internal/apidef"

// All are the extensions of this package, in the order in which their attributes are shown.
func All() []apidef.Extension {
	return []apidef.Extension{SubnetAllocation(), DefaultSubnetpools(), SubnetpoolPrefixOperations(), SubnetOnboard(), AddressScope()}
}
