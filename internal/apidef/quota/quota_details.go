package quota

import (
	"time"

	"isospin/internal/apidef"
)

// QuotaDetails is the extension quota_details; facts from neutron extensions/quotasv2_detail.py.
func QuotaDetails() apidef.Extension {
	return apidef.Extension{
		Alias: "quota_details", Name: "Details of quotas",
		Doc:      "Shows what is used and reserved.",
		Updated:  time.Date(2017, 2, 10, 10, 0, 0, 0, time.UTC),
		Requires: []string{"quotas"},
		Actions: map[string][]apidef.Action{
			"quotas": {{Name: "details", Method: "GET", Doc: "Shows what a project may have, has and has set aside."}},
		},
	}
}
