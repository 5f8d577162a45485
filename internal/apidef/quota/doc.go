// Package quota defines quotas. The catalogue lists it; it holds data only.
package quota

import "isospin/internal/apidef"

// All are the extensions of this package, in the order in which their attributes are shown.
func All() []apidef.Extension {
	return []apidef.Extension{Quotas(), QuotaDetails(), QuotaCheckLimit(), QuotaCheckLimitDefault()}
}
