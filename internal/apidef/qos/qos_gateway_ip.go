package qos

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// QoSGatewayIP is the extension qos-gateway-ip; facts from neutron-lib api/definitions/qos_gateway_ip.py.
func QoSGatewayIP() apidef.Extension {
	return apidef.Extension{
		Alias: "qos-gateway-ip", Name: "QoS of gateways",
		Doc:      "Policies for the gateways of routers.",
		Updated:  time.Date(2018, 2, 24, 0, 0, 0, 0, time.UTC),
		Requires: []string{"ext-gw-mode", "qos", "router"},
		Overrides: map[string][]apidef.Attribute{
			"routers": {
				{Name: "external_gateway_info", Doc: "The way out: network, addresses and whether addresses are hidden; null: none.", Type: types.ObjectOrNothing(types.Key{Name: "network_id", Type: types.UUID(), Required: true}, types.Key{Name: "external_fixed_ips", Type: types.FixedIPs()}, types.Key{Name: "enable_snat", Type: types.Bool()}, types.Key{Name: "qos_policy_id", Type: types.UUIDOrNull()}), Post: apidef.Optional, Put: apidef.Optional, Guarded: true},
			},
		},
	}
}
