// Package autoalloc defines the topology that a project gets by itself. The catalogue lists it; it holds data only.
package autoalloc

import "isospin/internal/apidef"

// All are the extensions of this package, in the order in which their attributes are shown.
func All() []apidef.Extension {
	return []apidef.Extension{AutoAllocatedTopology()}
}
