// Package flavor defines flavours of services and the providers of services. The catalogue lists it; it holds data only.
package flavor

import "isospin/internal/apidef"

// All are the extensions of this package, in the order in which their attributes are shown.
func All() []apidef.Extension {
	return []apidef.Extension{Flavors(), ServiceType()}
}
