package qos

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// QoSDefault is the extension qos-default; facts from neutron-lib api/definitions/qos_default.py.
func QoSDefault() apidef.Extension {
	return apidef.Extension{
		Alias: "qos-default", Name: "Default policies",
		Doc:      "Marks a policy as that of new networks of its project.",
		Updated:  time.Date(2017, 4, 6, 10, 0, 0, 0, time.UTC),
		Requires: []string{"qos"},
		Extends: map[string][]apidef.Attribute{
			"policies": {
				{Name: "is_default", Doc: "Whether the policy is that of new networks of its project.", Type: types.Bool(), Post: apidef.Optional, Put: apidef.Optional, Default: false, Filter: true},
			},
		},
	}
}
