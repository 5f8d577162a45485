package model

// DefaultStatefulness says whether new security groups of a project track connections where a request says nothing.
type DefaultStatefulness struct {
	ID string `json:"id"`
	// ProjectID is nil for the setting of all projects that have none of their own.
	ProjectID *string `json:"project_id"`
	Stateful  bool    `json:"stateful"`
}
