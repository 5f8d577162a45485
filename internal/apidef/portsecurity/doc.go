// Package portsecurity defines the switch for the filtering of ports. The catalogue lists it; it holds data only.
package portsecurity

import "isospin/internal/apidef"

// All are the extensions of this package, in the order in which their attributes are shown.
func All() []apidef.Extension {
	return []apidef.Extension{PortSecurity()}
}
