package behaviour

import (
	"time"

	"isospin/internal/apidef"
)

// FilterValidation is the extension filter-validation; facts from neutron-lib api/definitions/filter_validation.py.
func FilterValidation() apidef.Extension {
	return apidef.Extension{
		Alias: "filter-validation", Name: "Validation of filters",
		Doc:     "Refuses filters that no attribute answers to.",
		Updated: time.Date(2018, 7, 4, 10, 0, 0, 0, time.UTC),
	}
}
