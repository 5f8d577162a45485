package behaviour

import (
	"time"

	"isospin/internal/apidef"
)

// IPSubstringFiltering is the extension ip-substring-filtering; facts from neutron-lib api/definitions/ip_substring_port_filtering.py.
func IPSubstringFiltering() apidef.Extension {
	return apidef.Extension{
		Alias: "ip-substring-filtering", Name: "Filter of ports by part of an address",
		Doc:     "Finds ports by a part of an IP address.",
		Updated: time.Date(2017, 11, 28, 9, 0, 0, 0, time.UTC),
	}
}
