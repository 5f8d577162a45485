package segments

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// IPAllocation is the extension ip_allocation; facts from neutron-lib api/definitions/ip_allocation.py.
func IPAllocation() apidef.Extension {
	return apidef.Extension{
		Alias: "ip_allocation", Name: "Time of address allocation",
		Doc:     "Tells when a port gets its addresses.",
		Updated: time.Date(2016, 6, 10, 23, 0, 0, 0, time.UTC),
		Extends: map[string][]apidef.Attribute{
			"ports": {
				{Name: "ip_allocation", Doc: "When the port gets its addresses: immediate, deferred or none.", Type: types.ReadOnly(apidef.Schema{"type": "string"}), Filter: true, Sort: true},
			},
		},
	}
}
