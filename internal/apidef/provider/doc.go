// Package provider defines how networks are carried, as operators see and set it. The catalogue lists it; it holds data only.
package provider

import "isospin/internal/apidef"

// All are the extensions of this package, in the order in which their attributes are shown.
func All() []apidef.Extension {
	return []apidef.Extension{Provider(), MultiProvider()}
}
