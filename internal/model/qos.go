package model

// QoSPolicy is a set of rules for the traffic of what has the policy.
type QoSPolicy struct {
	Standard
	Name string `json:"name"`
	// IsDefault: new networks of the project have the policy unless they name one.
	IsDefault bool `json:"is_default"`
	// Shared is what a request said; the answer's value depends on the caller and is spliced.
	Shared *bool `json:"shared,omitempty"`
}

// The types of QoS rules.
const (
	QoSBandwidthLimit    = "bandwidth_limit"
	QoSDSCPMarking       = "dscp_marking"
	QoSMinimumBandwidth  = "minimum_bandwidth"
	QoSMinimumPacketRate = "minimum_packet_rate"
	QoSPacketRateLimit   = "packet_rate_limit"
)

// Directions of traffic as a port sees it; any is one bound for both together.
const (
	DirectionIngress = "ingress"
	DirectionEgress  = "egress"
	DirectionAny     = "any"
)

// QoSRule is one rule of a policy. A type uses some of the numbers; the others are nil and not in its body.
type QoSRule struct {
	ID        string `json:"id"`
	PolicyID  string `json:"qos_policy_id"`
	Type      string `json:"type"`
	Direction string `json:"direction,omitempty"` // "" for DSCP
	// Kilobits a second, and the kilobits of a burst.
	MaxKbps      *int64 `json:"max_kbps,omitempty"`
	MaxBurstKbps *int64 `json:"max_burst_kbps,omitempty"`
	MinKbps      *int64 `json:"min_kbps,omitempty"`
	// Thousand packets a second, and those of a burst.
	MaxKpps      *int64 `json:"max_kpps,omitempty"`
	MaxBurstKpps *int64 `json:"max_burst_kpps,omitempty"`
	MinKpps      *int64 `json:"min_kpps,omitempty"`
	DSCPMark     *int64 `json:"dscp_mark,omitempty"`
	// TenantID is an attribute of the API that no rule has: a rule belongs to whom its policy belongs.
	TenantID  string `json:"tenant_id,omitempty"`
	ProjectID string `json:"project_id,omitempty"`
}
