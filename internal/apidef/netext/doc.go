// Package netext defines what networks and subnets carry besides the core attributes. The catalogue lists it; it holds data only.
package netext

import "isospin/internal/apidef"

// All are the extensions of this package, in the order in which their attributes are shown.
func All() []apidef.Extension {
	return []apidef.Extension{ExternalNet(), SubnetExternalNetwork(), NetMTU(), NetMTUWritable(), VLANTransparent(), SubnetServiceTypes(), NetworkHA(), QinQ(), PVLAN()}
}
