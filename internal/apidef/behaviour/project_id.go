package behaviour

import (
	"time"

	"isospin/internal/apidef"
)

// ProjectID is the extension project-id; facts from neutron-lib api/definitions/project_id.py.
func ProjectID() apidef.Extension {
	return apidef.Extension{
		Alias: "project-id", Name: "Project identifiers",
		Doc:     "Names the owner of objects project_id beside tenant_id.",
		Updated: time.Date(2016, 9, 9, 9, 9, 9, 0, time.UTC),
	}
}
