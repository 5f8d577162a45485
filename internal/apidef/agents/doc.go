// Package agents defines agents and availability zones. The catalogue lists it; it holds data only.
package agents

import "isospin/internal/apidef"

// All are the extensions of this package, in the order in which their attributes are shown.
func All() []apidef.Extension {
	return []apidef.Extension{Agent(), AgentResourcesSynced(), AgentSortKey(), AvailabilityZone(), AvailabilityZoneFilter(), NetworkAvailabilityZone(), DHCPAgentScheduler(), L3AgentScheduler(), L3AgentSchedulerHAChassisPriority(), RouterAvailabilityZone()}
}
