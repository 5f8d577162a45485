// Package vpnaas defines VPN. The catalogue lists it; it holds data only.
package vpnaas

import "isospin/internal/apidef"

// All are the extensions of this package, in the order in which their attributes are shown.
func All() []apidef.Extension {
	return []apidef.Extension{VPNaaS(), VPNEndpointGroups(), VPNAESCtr(), VPNFlavors(), VPNAgentScheduler()}
}
