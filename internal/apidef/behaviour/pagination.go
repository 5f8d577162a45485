package behaviour

import (
	"time"

	"isospin/internal/apidef"
)

// Pagination is the extension pagination; facts from neutron-lib api/definitions/pagination.py.
func Pagination() apidef.Extension {
	return apidef.Extension{
		Alias: "pagination", Name: "Pagination",
		Doc:     "Lists objects page by page.",
		Updated: time.Date(2016, 6, 12, 0, 0, 0, 0, time.UTC),
	}
}
