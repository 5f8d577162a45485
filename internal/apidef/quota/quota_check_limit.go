package quota

import (
	"time"

	"isospin/internal/apidef"
)

// QuotaCheckLimit is the extension quota-check-limit; facts from neutron-lib api/definitions/quota_check_limit.py.
func QuotaCheckLimit() apidef.Extension {
	return apidef.Extension{
		Alias: "quota-check-limit", Name: "Check of limits",
		Doc:     "Refuses a quota below what is in use.",
		Updated: time.Date(2021, 9, 8, 16, 0, 0, 0, time.UTC),
	}
}
