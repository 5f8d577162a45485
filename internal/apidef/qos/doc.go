// Package qos defines QoS policies and their rules. The catalogue lists it; it holds data only.
package qos

import "isospin/internal/apidef"

// All are the extensions of this package, in the order in which their attributes are shown.
func All() []apidef.Extension {
	return []apidef.Extension{QoS(), QoSBWLimitDirection(), QoSBWMinimumIngress(), QoSDefault(), QoSFIP(), QoSGatewayIP(), QoSPortNetworkPolicy(), QoSPPS(), QoSPPSMinimum(), QoSRulesAlias(), QoSPPSMinimumRuleAlias(), QoSRuleTypeDetails(), QoSRuleTypeFilter(), PortResourceRequest(), PortResourceRequestGroups()}
}
