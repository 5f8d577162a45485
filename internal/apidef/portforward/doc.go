// Package portforward defines port forwardings and helpers of connection tracking. The catalogue lists it; it holds data only.
package portforward

import "isospin/internal/apidef"

// All are the extensions of this package, in the order in which their attributes are shown.
func All() []apidef.Extension {
	return []apidef.Extension{FloatingIPPortForwarding(), FloatingIPPortForwardingDescription(), FloatingIPPortForwardingDetail(), FloatingIPPortForwardingPortRanges(), ExposePortForwardingInFIP(), L3ConntrackHelper(), ExposeL3ConntrackHelper()}
}
