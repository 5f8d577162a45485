package subnetpool

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// SubnetpoolPrefixOperations is the extension subnetpool-prefix-ops; facts from neutron-lib api/definitions/subnetpool_prefix_ops.py.
func SubnetpoolPrefixOperations() apidef.Extension {
	return apidef.Extension{
		Alias: "subnetpool-prefix-ops", Name: "Prefixes of subnet pools",
		Doc:      "Adds and removes single prefixes of a pool.",
		Updated:  time.Date(2019, 2, 8, 10, 0, 0, 0, time.UTC),
		Requires: []string{"subnet_allocation"},
		Actions: map[string][]apidef.Action{
			"subnetpools": {
				{Name: "add_prefixes", Method: "PUT", Doc: "Adds ranges to the pool.", Input: types.Object(types.Key{Name: "prefixes", Type: types.CIDRList(), Required: true})},
				{Name: "remove_prefixes", Method: "PUT", Doc: "Takes ranges out of the pool.", Input: types.Object(types.Key{Name: "prefixes", Type: types.CIDRList(), Required: true})},
			},
		},
	}
}
