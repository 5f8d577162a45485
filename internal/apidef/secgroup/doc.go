// Package secgroup defines security groups, their rules and what was added to them. The catalogue lists it; it holds data only.
package secgroup

import "isospin/internal/apidef"

// All are the extensions of this package, in the order in which their attributes are shown.
func All() []apidef.Extension {
	return []apidef.Extension{SecurityGroup(), StatefulSecurityGroup(), SecurityGroupsNormalizedCIDR(), SecurityGroupsRemoteAddressGroup(), SecurityGroupsRulesBelongsToDefaultSG(), SecurityGroupsSharedFiltering(), PortSecurityGroupsFiltering(), SecurityGroupsDefaultRules(), SecurityGroupsDefaultStatefulness(), AddressGroup()}
}
