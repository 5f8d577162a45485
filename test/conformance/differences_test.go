package conformance

import (
	"testing"

	"isospin/test/rig"
)

// TestDifferences holds docs/differences.md to what no other test here holds.
func TestDifferences(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		v := rig.Vars{}
		c.Run(t, v, world())
		c.Run(t, v, []rig.Step{
			{As: "M", Do: "POST /networks", Body: `{"network": {"mtu": 67}}`, Want: "400 InvalidInput"},
			{As: "A", Do: "POST /networks", Body: `{"network": {"provider:network_type": "geneve", "provider:segmentation_id": 16777216}}`, Want: "400 InvalidInput"},
			{As: "M", Do: "POST /networks", Body: `{"network": {"name": "a\u0000b"}}`, Want: "400"},
			{As: "M", Do: "POST /networks", Body: `{"network": {"name": "\udc00\ud800"}}`, Want: "400"},
			{As: "M", Do: "POST /networks", Body: `{"network": {"description": "\ud83d\ude00"}}`, Want: "201", Has: "network.description = \"😀\""},
			{As: "M", Do: "GET /networks/%ff", Want: "404 NetworkNotFound"},
			{As: "M", Do: "GET /networks?name=%ff", Want: "400"},
			// A router's interface holds the gateway.
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "device_owner": "network:router_interface", "device_id": "r", "fixed_ips": [{"ip_address": "10.0.0.1"}]}}`, Want: "201", Save: "gw=port.id"},
			{As: "M", Do: "PUT /subnets/${sub}", Body: `{"subnet": {"gateway_ip": null}}`, Want: "409 GatewayIpInUse"},
			{As: "M", Do: "PUT /subnets/${sub}", Body: `{"subnet": {"gateway_ip": "10.0.0.1", "name": "x"}}`, Want: "200"},
			{As: "M", Do: "DELETE /subnets/${sub}", Want: "409 SubnetInUse"},
			{As: "M", Do: "DELETE /ports/${gw}", Want: "409 ServicePortInUse"},
		})
	})
}
