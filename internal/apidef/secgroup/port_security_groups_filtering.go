package secgroup

import (
	"time"

	"isospin/internal/apidef"
)

// PortSecurityGroupsFiltering is the extension port-security-groups-filtering; facts from neutron-lib api/definitions/security_groups_port_filtering.py.
func PortSecurityGroupsFiltering() apidef.Extension {
	return apidef.Extension{
		Alias: "port-security-groups-filtering", Name: "Filter of ports by security group",
		Doc:     "Lists the ports that use a security group.",
		Updated: time.Date(2018, 1, 9, 9, 0, 0, 0, time.UTC),
	}
}
