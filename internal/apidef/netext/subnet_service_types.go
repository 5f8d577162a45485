package netext

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// SubnetServiceTypes is the extension subnet-service-types; facts from neutron-lib api/definitions/subnet_service_types.py.
func SubnetServiceTypes() apidef.Extension {
	return apidef.Extension{
		Alias: "subnet-service-types", Name: "Service types of subnets",
		Doc:     "Keeps the addresses of a subnet for ports of some device owners.",
		Updated: time.Date(2016, 3, 15, 18, 0, 0, 0, time.UTC),
		Extends: map[string][]apidef.Attribute{
			"subnets": {
				{Name: "service_types", Doc: "The device owners whose ports get addresses here; empty: all.", Type: types.SubnetServiceTypes(), Post: apidef.Optional, Put: apidef.Optional, Default: apidef.Unspecified},
			},
		},
	}
}
