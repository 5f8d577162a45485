// Package behaviour defines the extensions that add no attribute: they say how lists, filters and errors behave. The catalogue lists it; it holds data only.
package behaviour

import "isospin/internal/apidef"

// All are the extensions of this package, in the order in which their attributes are shown.
func All() []apidef.Extension {
	return []apidef.Extension{Pagination(), Sorting(), FilterValidation(), EmptyStringFiltering(), ProjectID(), IPSubstringFiltering()}
}
