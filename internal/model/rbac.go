package model

// RBACPolicy is a right of one project, or of all, on an object of another.
type RBACPolicy struct {
	ID           string `json:"id"`
	ProjectID    string `json:"project_id"`
	TenantID     string `json:"tenant_id"` // the older name of ProjectID, always the same value
	ObjectType   string `json:"object_type"`
	ObjectID     string `json:"object_id"`
	Action       string `json:"action"`
	TargetTenant string `json:"target_tenant"`
}
