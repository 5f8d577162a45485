package segments

import (
	"time"

	"isospin/internal/apidef"
)

// StandardAttributeSegment is the extension standard-attr-segment; facts from neutron-lib api/definitions/standard_attr_segment.py.
func StandardAttributeSegment() apidef.Extension {
	return apidef.Extension{
		Alias: "standard-attr-segment", Name: "Standard attributes of segments",
		Doc:      "Gives segments times and revisions.",
		Updated:  time.Date(2018, 4, 9, 10, 0, 0, 0, time.UTC),
		Requires: []string{"segment"},
		Optional: []string{"standard-attr-description", "standard-attr-revisions", "standard-attr-timestamp"},
	}
}
