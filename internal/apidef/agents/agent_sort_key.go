package agents

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// AgentSortKey is the extension agent_sort_key; facts from neutron-lib api/definitions/agent_sort_key.py.
func AgentSortKey() apidef.Extension {
	return apidef.Extension{
		Alias: "agent_sort_key", Name: "Sorting of agents",
		Doc:     "Sorts agents by their attributes.",
		Updated: time.Date(2013, 2, 3, 10, 0, 0, 0, time.UTC),
		Overrides: map[string][]apidef.Attribute{
			"agents": {
				{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Filter: true, Sort: true},
				{Name: "agent_type", Doc: "What the agent does, such as Open vSwitch agent.", Type: types.ReadOnly(apidef.Schema{"type": "string"}), Filter: true, Sort: true},
				{Name: "binary", Doc: "The program that clients know the agent by.", Type: types.ReadOnly(apidef.Schema{"type": "string"}), Filter: true, Sort: true},
				{Name: "topic", Doc: "The message topic that clients know the agent by.", Type: types.ReadOnly(apidef.Schema{"type": "string"}), Filter: true, Sort: true},
				{Name: "host", Doc: "The host that the agent works on.", Type: types.ReadOnly(apidef.Schema{"type": "string"}), Filter: true, Sort: true},
				{Name: "admin_state_up", Doc: "Whether new work may be given to the agent.", Type: types.Bool(), Put: apidef.Optional, Filter: true, Sort: true},
				{Name: "created_at", Doc: "When the agent was first seen.", Type: types.ReadOnly(apidef.Schema{"type": "string"}), Sort: true},
				{Name: "started_at", Doc: "When the agent was started.", Type: types.ReadOnly(apidef.Schema{"type": "string"}), Sort: true},
				{Name: "heartbeat_timestamp", Doc: "When the agent was last heard of.", Type: types.ReadOnly(apidef.Schema{"type": "string"}), Sort: true, Computed: true},
				{Name: "alive", Doc: "Whether the agent was heard of lately.", Type: types.Bool(), Filter: true, Sort: true, Computed: true},
				{Name: "description", Doc: "A text for people.", Type: types.StringOrNull(255), Put: apidef.Optional, Filter: true, Sort: true},
			},
		},
	}
}
