package behaviour

import (
	"time"

	"isospin/internal/apidef"
)

// EmptyStringFiltering is the extension empty-string-filtering; facts from neutron-lib api/definitions/empty_string_filtering.py.
func EmptyStringFiltering() apidef.Extension {
	return apidef.Extension{
		Alias: "empty-string-filtering", Name: "Filters by the empty text",
		Doc:     "Finds objects whose attribute is the empty text.",
		Updated: time.Date(2018, 5, 1, 10, 0, 0, 0, time.UTC),
	}
}
