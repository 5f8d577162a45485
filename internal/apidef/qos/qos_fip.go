package qos

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// QoSFIP is the extension qos-fip; facts from neutron-lib api/definitions/qos_fip.py.
func QoSFIP() apidef.Extension {
	return apidef.Extension{
		Alias: "qos-fip", Name: "QoS of floating addresses",
		Doc:      "Policies for floating addresses.",
		Updated:  time.Date(2017, 7, 20, 0, 0, 0, 0, time.UTC),
		Requires: []string{"qos", "router"},
		Extends: map[string][]apidef.Attribute{
			"floatingips": {
				{Name: "qos_policy_id", Doc: "The QoS policy of the object; null: none.", Type: types.UUIDOrNull(), Post: apidef.Optional, Put: apidef.Optional, Guarded: true},
			},
		},
	}
}
