package subnetpool

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// SubnetOnboard is the extension subnet_onboard; facts from neutron-lib api/definitions/subnet_onboard.py.
func SubnetOnboard() apidef.Extension {
	return apidef.Extension{
		Alias: "subnet_onboard", Name: "Taking subnets into pools",
		Doc:      "Takes the subnets of a network into a pool.",
		Updated:  time.Date(2018, 12, 18, 9, 0, 0, 0, time.UTC),
		Requires: []string{"subnet_allocation"},
		Actions: map[string][]apidef.Action{
			"subnetpools": {
				{Name: "onboard_network_subnets", Method: "PUT", Doc: "Takes the subnets of a network into the pool.", Input: types.Object(types.Key{Name: "network_id", Type: types.UUID(), Required: true})},
			},
		},
	}
}
