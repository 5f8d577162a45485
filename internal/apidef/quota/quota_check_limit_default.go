package quota

import (
	"time"

	"isospin/internal/apidef"
)

// QuotaCheckLimitDefault is the extension quota-check-limit-default; facts from neutron-lib api/definitions/quota_check_limit_default.py.
func QuotaCheckLimitDefault() apidef.Extension {
	return apidef.Extension{
		Alias: "quota-check-limit-default", Name: "Check of limits by default",
		Doc:      "Checks limits unless told otherwise.",
		Updated:  time.Date(2024, 8, 21, 16, 0, 0, 0, time.UTC),
		Requires: []string{"quota-check-limit"},
	}
}
