package agents

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// DHCPAgentScheduler is the extension dhcp_agent_scheduler; facts from neutron-lib api/definitions/dhcpagentscheduler.py.
func DHCPAgentScheduler() apidef.Extension {
	return apidef.Extension{
		Alias: "dhcp_agent_scheduler", Name: "Placing of networks",
		Doc:      "Shows and sets which agents serve DHCP on a network.",
		Updated:  time.Date(2013, 2, 7, 10, 0, 0, 0, time.UTC),
		Requires: []string{"agent"},
		Resources: []apidef.Resource{
			dhcpAgents(),
			dhcpNetworks(),
		},
	}
}

func dhcpAgents() apidef.Resource {
	return apidef.Resource{
		Key: "dhcp-agents", Name: "agent", Collection: "agents", Path: "dhcp-agents", Parent: "networks",
		Doc:    "An agent that serves DHCP on the network.",
		NoBulk: true, NoShow: true, NoCreate: true, NoUpdate: true, NoDelete: true,
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Filter: true},
			{Name: "admin_state_up", Doc: "Whether new work may be given to the agent.", Type: types.Bool(), Put: apidef.Optional, Filter: true},
			{Name: "agent_type", Doc: "What the agent does, such as Open vSwitch agent.", Type: types.ReadOnly(apidef.Schema{"type": "string"}), Filter: true},
			{Name: "alive", Doc: "Whether the agent was heard of lately.", Type: types.Bool(), Filter: true},
			{Name: "binary", Doc: "The program that clients know the agent by.", Type: types.ReadOnly(apidef.Schema{"type": "string"}), Filter: true},
			{Name: "configurations", Doc: "What the agent says of itself.", Type: types.ReadOnly(apidef.Schema{"type": "object"})},
			{Name: "created_at", Doc: "When the agent was first seen.", Type: types.ReadOnly(apidef.Schema{"type": "string"})},
			{Name: "description", Doc: "A text for people.", Type: types.StringOrNull(255), Put: apidef.Optional, Filter: true},
			{Name: "heartbeat_timestamp", Doc: "When the agent was last heard of.", Type: types.ReadOnly(apidef.Schema{"type": "string"})},
			{Name: "host", Doc: "The host that the agent works on.", Type: types.ReadOnly(apidef.Schema{"type": "string"}), Filter: true},
			{Name: "started_at", Doc: "When the agent was started.", Type: types.ReadOnly(apidef.Schema{"type": "string"})},
			{Name: "topic", Doc: "The message topic that clients know the agent by.", Type: types.ReadOnly(apidef.Schema{"type": "string"}), Filter: true},
		},
	}
}

func dhcpNetworks() apidef.Resource {
	return apidef.Resource{
		Key: "dhcp-networks", Name: "network", Collection: "networks", Path: "dhcp-networks", Parent: "agents",
		Doc:    "A network on which the agent serves DHCP.",
		NoBulk: true, NoShow: true, NoUpdate: true,
		Attributes: []apidef.Attribute{
			{Name: "network_id", Doc: "The network that the agent shall serve.", Type: types.UUID(), Post: apidef.Optional, Default: apidef.Unspecified, Guarded: true},
		},
	}
}
