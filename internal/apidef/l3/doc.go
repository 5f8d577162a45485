// Package l3 defines routers, floating addresses and what was added to them. The catalogue lists it; it holds data only.
package l3

import "isospin/internal/apidef"

// All are the extensions of this package, in the order in which their attributes are shown.
func All() []apidef.Extension {
	return []apidef.Extension{Router(), ExtGatewayMode(), DVR(), L3HA(), Extraroute(), ExtrarouteAtomic(), RouterEnableSNAT(), RouterAdminStateDownBeforeUpdate(), FIPPortDetails(), FloatingipPools(), L3Flavors(), L3PortIPChangeNotAllowed(), ExternalGatewayMultihoming(), EnableDefaultRouteBFD(), EnableDefaultRouteECMP(), EVPN(), L3ExtNDPProxy(), L3NDPProxy()}
}
