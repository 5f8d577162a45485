package netext

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// SubnetExternalNetwork is the extension subnet-external-network; facts from neutron-lib api/definitions/subnet_external_network.py.
func SubnetExternalNetwork() apidef.Extension {
	return apidef.Extension{
		Alias: "subnet-external-network", Name: "Subnets of external networks",
		Doc:      "Shows and filters by whether the network of a subnet leads outside.",
		Updated:  time.Date(2024, 2, 5, 18, 0, 0, 0, time.UTC),
		Requires: []string{"external-net"},
		Extends: map[string][]apidef.Attribute{
			"subnets": {
				{Name: "router:external", Doc: "Whether the network of the subnet leads outside.", Type: types.Bool(), Filter: true, PolicyKey: true, Guarded: true, Computed: true},
			},
		},
	}
}
