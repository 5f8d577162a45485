package qos

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// QoSPortNetworkPolicy is the extension qos-port-network-policy; facts from neutron-lib api/definitions/qos_port_network_policy.py.
func QoSPortNetworkPolicy() apidef.Extension {
	return apidef.Extension{
		Alias: "qos-port-network-policy", Name: "QoS by network",
		Doc:      "Shows the policy that a port has from its network.",
		Updated:  time.Date(2019, 11, 1, 10, 0, 0, 0, time.UTC),
		Requires: []string{"qos"},
		Extends: map[string][]apidef.Attribute{
			"ports": {
				{Name: "qos_network_policy_id", Doc: "The QoS policy that the network of the port has.", Type: types.UUIDOrNull(), Computed: true},
			},
		},
	}
}
