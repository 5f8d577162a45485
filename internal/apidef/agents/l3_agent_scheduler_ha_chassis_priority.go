package agents

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// L3AgentSchedulerHAChassisPriority is the extension l3-agent-scheduler-ha-chassis-priority; facts from neutron-lib api/definitions/l3_agent_scheduler_ha_chassis_priority.py.
func L3AgentSchedulerHAChassisPriority() apidef.Extension {
	return apidef.Extension{
		Alias: "l3-agent-scheduler-ha-chassis-priority", Name: "Priority of agents",
		Doc:      "Sets how much an agent is preferred for highly available routers.",
		Updated:  time.Date(2026, 3, 31, 0, 0, 0, 0, time.UTC),
		Requires: []string{"agent", "l3_agent_scheduler"},
		Extends: map[string][]apidef.Attribute{
			"agents": {
				{Name: "ha_chassis_priority", Doc: "How much this agent is preferred for highly available routers.", Type: types.IntOrNull(), Post: apidef.Optional, Put: apidef.Optional, Default: apidef.Unspecified, Guarded: true},
			},
		},
	}
}
