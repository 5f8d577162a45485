// Package eventlog defines orders to log what filters do. The catalogue lists it; it holds data only.
package eventlog

import "isospin/internal/apidef"

// All are the extensions of this package, in the order in which their attributes are shown.
func All() []apidef.Extension {
	return []apidef.Extension{Logging()}
}
