package portext

import (
	"time"

	"isospin/internal/apidef"
)

// AAPRejectMulticast is the extension aap-reject-multicast; facts from neutron-lib api/definitions/aap_reject_multicast.py.
func AAPRejectMulticast() apidef.Extension {
	return apidef.Extension{
		Alias: "aap-reject-multicast", Name: "No multicast in address pairs",
		Doc:      "Refuses multicast addresses among allowed address pairs.",
		Updated:  time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC),
		Requires: []string{"allowed-address-pairs"},
	}
}
