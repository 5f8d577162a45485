// Package segments defines segments and ranges of their numbers. The catalogue lists it; it holds data only.
package segments

import "isospin/internal/apidef"

// All are the extensions of this package, in the order in which their attributes are shown.
func All() []apidef.Extension {
	return []apidef.Extension{Segment(), StandardAttributeSegment(), SubnetSegmentidWritable(), SegmentsPeerSubnetHostRoutes(), IPAllocation(), L2Adjacency(), NetworkSegmentRange()}
}
