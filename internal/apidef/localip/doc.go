// Package localip defines addresses that each host serves from a port of its own. The catalogue lists it; it holds data only.
package localip

import "isospin/internal/apidef"

// All are the extensions of this package, in the order in which their attributes are shown.
func All() []apidef.Extension {
	return []apidef.Extension{LocalIP()}
}
