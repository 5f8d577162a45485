package agents

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// AgentResourcesSynced is the extension agent-resources-synced; facts from neutron-lib api/definitions/agent_resources_synced.py.
func AgentResourcesSynced() apidef.Extension {
	return apidef.Extension{
		Alias: "agent-resources-synced", Name: "State of resources in Placement",
		Doc:      "Tells whether what an agent provides is known to Placement.",
		Updated:  time.Date(2018, 12, 19, 0, 0, 0, 0, time.UTC),
		Requires: []string{"agent"},
		Extends: map[string][]apidef.Attribute{
			"agents": {
				{Name: "resources_synced", Doc: "Whether what the agent provides is known to Placement.", Type: types.ReadOnly(apidef.Schema{"type": []any{"boolean", "null"}})},
			},
		},
	}
}
