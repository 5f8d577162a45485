package model

import "time"

// Agent types as clients of the agents API know them.
const (
	AgentOVS         = "Open vSwitch agent"
	AgentLinuxBridge = "Linux bridge agent"
	AgentDHCP        = "DHCP agent"
	AgentL3          = "L3 agent"
	AgentMetadata    = "Metadata agent"
	AgentNICSwitch   = "NIC Switch agent"
	AgentMacvtap     = "Macvtap agent"
)

// Agent is one role of a host's agent process, shown as the agent that clients know. It is alive while its
// host has a session; rows change only when a host comes, goes or reports other facts.
type Agent struct {
	ID               string         `json:"id"`
	AgentType        string         `json:"agent_type"`
	Binary           string         `json:"binary"`
	Topic            string         `json:"topic"`
	Host             string         `json:"host"`
	AdminStateUp     bool           `json:"admin_state_up"`
	Description      *string        `json:"description"`
	AvailabilityZone *string        `json:"availability_zone"`
	Configurations   map[string]any `json:"configurations"`
	ResourcesSynced  *bool          `json:"resources_synced"`
	CreatedAt        string         `json:"created_at"`
	StartedAt        string         `json:"started_at"`
	// HAChassisPriority is how much the agent is preferred for highly available routers; nil: not at all.
	HAChassisPriority *int64 `json:"ha_chassis_priority,omitempty"`
	// Connected says that a server holds the host's session; Server names it. Columns, not body.
	Connected bool   `json:"-"`
	Server    string `json:"-"`
	// SeenAt is when the session ended or began, Unix milliseconds; a connected agent's heartbeat is now.
	SeenAt int64 `json:"-"`
}

// AgentStamp formats a moment as the agents API does: no zone, microseconds (behaviour.md, section 7).
func AgentStamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000000") }

// Host is what mechanism drivers know of a host when they bind: its agents and what they said of themselves.
type Host struct {
	Name   string
	Agents []Agent // those that are alive and administratively up
}

// Agent finds the host's live agent of a type.
func (h Host) Agent(agentType string) (Agent, bool) {
	for _, a := range h.Agents {
		if a.AgentType == agentType {
			return a, true
		}
	}
	return Agent{}, false
}
