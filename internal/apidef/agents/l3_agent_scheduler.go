package agents

import (
	"time"

	"isospin/internal/apidef"
)

// L3AgentScheduler is the extension l3_agent_scheduler; facts from neutron extensions/l3agentscheduler.py.
func L3AgentScheduler() apidef.Extension {
	return apidef.Extension{
		Alias: "l3_agent_scheduler", Name: "Placing of routers",
		Doc:     "Shows and sets which agents a router works on.",
		Updated: time.Date(2013, 2, 7, 10, 0, 0, 0, time.UTC),
		Resources: []apidef.Resource{
			l3Agents(),
			l3Routers(),
		},
	}
}

func l3Agents() apidef.Resource {
	return apidef.Resource{
		Key: "l3-agents", Name: "agent", Collection: "agents", Path: "l3-agents", Parent: "routers",
		Doc:    "An agent that the router works on.",
		NoBulk: true, NoShow: true, NoCreate: true, NoUpdate: true, NoDelete: true,
		Attributes: []apidef.Attribute{},
	}
}

func l3Routers() apidef.Resource {
	return apidef.Resource{
		Key: "l3-routers", Name: "router", Collection: "routers", Path: "l3-routers", Parent: "agents",
		Doc:    "A router that works on the agent.",
		NoBulk: true, NoShow: true, NoUpdate: true,
		Attributes: []apidef.Attribute{},
	}
}
