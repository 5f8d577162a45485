package behaviour

import (
	"time"

	"isospin/internal/apidef"
)

// Sorting is the extension sorting; facts from neutron-lib api/definitions/sorting.py.
func Sorting() apidef.Extension {
	return apidef.Extension{
		Alias: "sorting", Name: "Sorting",
		Doc:     "Lists objects in the order of an attribute.",
		Updated: time.Date(2016, 6, 12, 0, 0, 0, 0, time.UTC),
	}
}
