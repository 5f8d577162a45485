package secgroup

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// StatefulSecurityGroup is the extension stateful-security-group; facts from neutron-lib api/definitions/stateful_security_group.py.
func StatefulSecurityGroup() apidef.Extension {
	return apidef.Extension{
		Alias: "stateful-security-group", Name: "Stateful security groups",
		Doc:      "Lets a group go without the tracking of connections.",
		Updated:  time.Date(2019, 11, 26, 9, 0, 0, 0, time.UTC),
		Requires: []string{"security-group"},
		Extends: map[string][]apidef.Attribute{
			"security_groups": {
				{Name: "stateful", Doc: "Whether answers to permitted traffic pass by themselves.", Type: types.Bool(), Post: apidef.Optional, Put: apidef.Optional, Default: true, Filter: true},
			},
		},
	}
}
