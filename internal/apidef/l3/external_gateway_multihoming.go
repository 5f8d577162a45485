package l3

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// ExternalGatewayMultihoming is the extension external-gateway-multihoming; facts from neutron-lib api/definitions/l3_ext_gw_multihoming.py.
func ExternalGatewayMultihoming() apidef.Extension {
	return apidef.Extension{
		Alias: "external-gateway-multihoming", Name: "Several external gateways",
		Doc:      "Routers with more than one way out.",
		Updated:  time.Date(2023, 1, 18, 0, 0, 0, 0, time.UTC),
		Requires: []string{"ext-gw-mode", "router"},
		Extends: map[string][]apidef.Attribute{
			"routers": {
				{Name: "external_gateways", Doc: "The ways out, where there are several.", Type: types.ListOfDict(types.Key{Name: "network_id", Type: types.UUID(), Required: true}, types.Key{Name: "external_fixed_ips", Type: types.FixedIPs()}, types.Key{Name: "enable_snat", Type: types.Bool()}), Guarded: true},
			},
		},
		Actions: map[string][]apidef.Action{
			"routers": {
				{Name: "add_external_gateways", Method: "PUT", Doc: "Adds ways out.", Input: gatewaysInput()},
				{Name: "remove_external_gateways", Method: "PUT", Doc: "Removes ways out.", Input: gatewaysInput()},
				{Name: "update_external_gateways", Method: "PUT", Doc: "Changes ways out.", Input: gatewaysInput()},
			},
		},
	}
}

// gatewaysInput is the body of the actions.
func gatewaysInput() apidef.Type {
	gateway := []types.Key{{Name: "network_id", Type: types.UUID(), Required: true}, {Name: "external_fixed_ips", Type: types.FixedIPs()},
		{Name: "enable_snat", Type: types.Bool()}, {Name: "qos_policy_id", Type: types.UUIDOrNull()}}
	return types.Object(types.Key{Name: "router", Type: types.Object(types.Key{Name: "external_gateways", Type: types.ListOfDict(gateway...), Required: true}), Required: true})
}
