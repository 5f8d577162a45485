package model

// MeteringLabel is a counter of traffic through the routers of its project, or of all if it is shared.
type MeteringLabel struct {
	ID          string `json:"id"`
	ProjectID   string `json:"project_id"`
	TenantID    string `json:"tenant_id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Shared      bool   `json:"shared"`
}

// MeteringRule says which traffic a label counts. Prefixes are addresses with a length; host bits may be set.
type MeteringRule struct {
	ID              string  `json:"id"`
	ProjectID       string  `json:"project_id"`
	TenantID        string  `json:"tenant_id"`
	MeteringLabelID string  `json:"metering_label_id"`
	Direction       string  `json:"direction"`
	Excluded        bool    `json:"excluded"`
	RemoteIPPrefix  *string `json:"remote_ip_prefix"`
	SourcePrefix    *string `json:"source_ip_prefix"`
	DestPrefix      *string `json:"destination_ip_prefix"`
}
