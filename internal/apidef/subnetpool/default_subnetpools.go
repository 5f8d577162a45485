package subnetpool

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// DefaultSubnetpools is the extension default-subnetpools; facts from neutron-lib api/definitions/default_subnetpools.py.
func DefaultSubnetpools() apidef.Extension {
	return apidef.Extension{
		Alias: "default-subnetpools", Name: "Default subnet pools",
		Doc:      "Takes the range of a subnet from the default pool.",
		Updated:  time.Date(2016, 2, 18, 18, 0, 0, 0, time.UTC),
		Requires: []string{"subnet_allocation"},
		Extends: map[string][]apidef.Attribute{
			"subnets": {
				{Name: "use_default_subnetpool", Doc: "Whether the default subnet pool gives the range.", Type: types.Bool(), Post: apidef.Optional, Default: false, Hidden: true},
			},
		},
	}
}
