// Package binding defines where ports are plugged and how. The catalogue lists it; it holds data only.
package binding

import "isospin/internal/apidef"

// All are the extensions of this package, in the order in which their attributes are shown.
func All() []apidef.Extension {
	return []apidef.Extension{Binding(), BindingExtended()}
}
