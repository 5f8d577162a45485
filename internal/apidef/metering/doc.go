// Package metering defines counters of traffic. The catalogue lists it; it holds data only.
package metering

import "isospin/internal/apidef"

// All are the extensions of this package, in the order in which their attributes are shown.
func All() []apidef.Extension {
	return []apidef.Extension{Metering(), MeteringSourceAndDestinationFields()}
}
