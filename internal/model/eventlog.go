package model

// EventLog is an order to log what security groups accept or drop.
type EventLog struct {
	Standard
	Name         string `json:"name"`
	Enabled      bool   `json:"enabled"`
	Event        string `json:"event"`
	ResourceType string `json:"resource_type"`
	// ResourceID is the group whose events are logged, TargetID the port at which; nil: all of the project's.
	ResourceID *string `json:"resource_id"`
	TargetID   *string `json:"target_id"`
}
