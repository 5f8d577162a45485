package agents

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// Agent is the extension agent; facts from neutron-lib api/definitions/agent.py.
func Agent() apidef.Extension {
	return apidef.Extension{
		Alias: "agent", Name: "Agents",
		Doc:     "Lists the agents of the cloud and sets whether they take work.",
		Updated: time.Date(2013, 2, 3, 10, 0, 0, 0, time.UTC),
		Resources: []apidef.Resource{
			agents(),
		},
	}
}

func agents() apidef.Resource {
	return apidef.Resource{
		Name: "agent", Collection: "agents", Path: "agents",
		Doc:    "A part of a host that makes networks real.",
		NoBulk: true, NoCreate: true,
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Filter: true},
			{Name: "agent_type", Doc: "What the agent does, such as Open vSwitch agent.", Type: types.ReadOnly(apidef.Schema{"type": "string"}), Filter: true},
			{Name: "binary", Doc: "The program that clients know the agent by.", Type: types.ReadOnly(apidef.Schema{"type": "string"}), Filter: true},
			{Name: "topic", Doc: "The message topic that clients know the agent by.", Type: types.ReadOnly(apidef.Schema{"type": "string"}), Filter: true},
			{Name: "host", Doc: "The host that the agent works on.", Type: types.ReadOnly(apidef.Schema{"type": "string"}), Filter: true},
			{Name: "admin_state_up", Doc: "Whether new work may be given to the agent.", Type: types.Bool(), Put: apidef.Optional, Filter: true},
			{Name: "created_at", Doc: "When the agent was first seen.", Type: types.ReadOnly(apidef.Schema{"type": "string"})},
			{Name: "started_at", Doc: "When the agent was started.", Type: types.ReadOnly(apidef.Schema{"type": "string"})},
			{Name: "heartbeat_timestamp", Doc: "When the agent was last heard of.", Type: types.ReadOnly(apidef.Schema{"type": "string"}), Computed: true},
			{Name: "alive", Doc: "Whether the agent was heard of lately.", Type: types.Bool(), Filter: true, Computed: true},
			{Name: "configurations", Doc: "What the agent says of itself.", Type: types.ReadOnly(apidef.Schema{"type": "object"})},
			{Name: "description", Doc: "A text for people.", Type: types.StringOrNull(255), Put: apidef.Optional, Filter: true},
		},
	}
}
