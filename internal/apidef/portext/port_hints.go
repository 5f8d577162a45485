package portext

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// PortHints is the extension port-hints; facts from neutron-lib api/definitions/port_hints.py.
func PortHints() apidef.Extension {
	return apidef.Extension{
		Alias: "port-hints", Name: "Hints",
		Doc:     "What a backend may do better for a port.",
		Updated: time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC),
		Extends: map[string][]apidef.Attribute{
			"ports": {
				{Name: "hints", Doc: "What a backend may do better for this port.", Type: types.ObjectOrNull(types.Key{Name: "openvswitch", Type: types.Object(types.Key{Name: "other_config", Type: types.Object(types.Key{Name: "tx-steering", Type: types.Values("thread", "hash")})})}), Post: apidef.Optional, Put: apidef.Optional, Guarded: true},
			},
		},
	}
}
