package conformance

import (
	"testing"

	"isospin/test/rig"
)

// TestProviderNetworks: behaviour.md, section 8.
func TestProviderNetworks(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		c.Run(t, rig.Vars{}, []rig.Step{
			{As: "A", Do: "POST /networks", Body: `{"network": {"provider:network_type": "vlan", "provider:physical_network": "physnet1", "provider:segmentation_id": 100}}`, Want: "201", Save: "vlan=network.id",
				Has: "network.provider:network_type = \"vlan\"\nnetwork.provider:physical_network = \"physnet1\"\nnetwork.provider:segmentation_id = 100\nnetwork.mtu = 1500\nnetwork.segments absent"},
			{As: "A", Do: "POST /networks", Body: `{"network": {"provider:network_type": "vlan", "provider:physical_network": "physnet1", "provider:segmentation_id": 100}}`, Want: "409 VlanIdInUse"},
			{As: "A", Do: "POST /networks", Body: `{"network": {"provider:network_type": "vlan", "provider:physical_network": "public", "provider:segmentation_id": "100"}}`, Want: "201"},
			{As: "A", Do: "POST /networks", Body: `{"network": {"provider:network_type": "vlan"}}`, Want: "201", Has: "network.provider:segmentation_id present\nnetwork.provider:physical_network present"},
			{As: "A", Do: "POST /networks", Body: `{"network": {"provider:network_type": "vlan", "provider:physical_network": "nope"}}`, Want: "400 InvalidInput"},
			{As: "A", Do: "POST /networks", Body: `{"network": {"provider:network_type": "vlan", "provider:physical_network": "physnet1", "provider:segmentation_id": 4095}}`, Want: "400 InvalidInput"},
			{As: "A", Do: "POST /networks", Body: `{"network": {"provider:network_type": "vlan", "provider:physical_network": "physnet1", "provider:segmentation_id": 0}}`, Want: "400 InvalidInput"},
			{As: "A", Do: "POST /networks", Body: `{"network": {"provider:network_type": "vlan", "provider:segmentation_id": 5}}`, Want: "400 InvalidInput"},
			{As: "A", Do: "POST /networks", Body: `{"network": {"provider:physical_network": "physnet1"}}`, Want: "400 InvalidInput"},
			{As: "A", Do: "POST /networks", Body: `{"network": {"provider:segmentation_id": 5}}`, Want: "400 InvalidInput"},
			{As: "A", Do: "POST /networks", Body: `{"network": {"provider:network_type": "nope"}}`, Want: "400 InvalidInput"},
			{As: "A", Do: "POST /networks", Body: `{"network": {"provider:network_type": "flat", "provider:physical_network": "physnet1"}}`, Want: "201", Has: "network.mtu = 1500\nnetwork.provider:segmentation_id = null"},
			{As: "A", Do: "POST /networks", Body: `{"network": {"provider:network_type": "flat", "provider:physical_network": "physnet1"}}`, Want: "409 FlatNetworkInUse"},
			{As: "A", Do: "POST /networks", Body: `{"network": {"provider:network_type": "flat", "provider:physical_network": "public", "provider:segmentation_id": 1}}`, Want: "400 InvalidInput"},
			{As: "A", Do: "POST /networks", Body: `{"network": {"provider:network_type": "flat"}}`, Want: "400 InvalidInput"},
			{As: "A", Do: "POST /networks", Body: `{"network": {"provider:network_type": "local"}}`, Want: "201", Has: "network.mtu = 1500\nnetwork.provider:physical_network = null\nnetwork.provider:segmentation_id = null"},
			{As: "A", Do: "POST /networks", Body: `{"network": {"provider:network_type": "local", "provider:segmentation_id": 1}}`, Want: "400 InvalidInput"},
			{As: "A", Do: "POST /networks", Body: `{"network": {"provider:network_type": "vxlan", "provider:segmentation_id": 4000}}`, Want: "201", Save: "vxlan=network.id", Has: "network.mtu = 1450"},
			{As: "A", Do: "POST /networks", Body: `{"network": {"provider:network_type": "vxlan", "provider:segmentation_id": 4000}}`, Want: "409 TunnelIdInUse"},
			{As: "A", Do: "POST /networks", Body: `{"network": {"provider:network_type": "geneve", "provider:segmentation_id": 4000}}`, Want: "201", Has: "network.mtu = 1450"},
			{As: "A", Do: "POST /networks", Body: `{"network": {"provider:network_type": "gre", "provider:segmentation_id": 4294967295}}`, Want: "201", Has: "network.mtu = 1458\nnetwork.provider:segmentation_id = 4294967295"},
			{As: "A", Do: "POST /networks", Body: `{"network": {"provider:network_type": "vxlan", "provider:segmentation_id": 16777216}}`, Want: "400 InvalidInput"},
			{As: "A", Do: "POST /networks", Body: `{"network": {"provider:network_type": "vxlan", "provider:segmentation_id": -1}}`, Want: "400 InvalidInput"},
			{As: "A", Do: "POST /networks", Body: `{"network": {"provider:network_type": "vxlan", "provider:segmentation_id": 0}}`, Want: "400 InvalidInput"},
			{As: "A", Do: "POST /networks", Body: `{"network": {"provider:network_type": "vxlan", "provider:segmentation_id": 99999999999999999999}}`, Want: "400"},
			{As: "A", Do: "POST /networks", Body: `{"network": {"provider:network_type": "vxlan", "provider:physical_network": "physnet1"}}`, Want: "400 InvalidInput"},
			{As: "M", Do: "POST /networks", Body: `{"network": {"provider:network_type": "vxlan"}}`, Want: "403 PolicyNotAuthorized"},
			// Only a VLAN network's id can be changed.
			{As: "A", Do: "PUT /networks/${vlan}", Body: `{"network": {"provider:segmentation_id": 101}}`, Want: "200", Has: "network.provider:segmentation_id = 101\nnetwork.provider:network_type = \"vlan\""},
			{As: "A", Do: "POST /networks", Body: `{"network": {"provider:network_type": "vlan", "provider:physical_network": "physnet1", "provider:segmentation_id": 100}}`, Want: "201"},
			{As: "A", Do: "PUT /networks/${vlan}", Body: `{"network": {"provider:segmentation_id": 100}}`, Want: "409 VlanIdInUse"},
			{As: "A", Do: "PUT /networks/${vlan}", Body: `{"network": {"provider:segmentation_id": 5000}}`, Want: "400 InvalidInput"},
			{As: "A", Do: "PUT /networks/${vlan}", Body: `{"network": {"provider:segmentation_id": null}}`, Want: "400"},
			{As: "A", Do: "PUT /networks/${vlan}", Body: `{"network": {"provider:network_type": "vxlan"}}`, Want: "400 InvalidInput"},
			{As: "A", Do: "GET /networks/${vlan}", Want: "200", Has: "network.provider:segmentation_id = 101"},
			{As: "A", Do: "PUT /networks/${vxlan}", Body: `{"network": {"provider:segmentation_id": 4001}}`, Want: "400 InvalidInput"},
			{As: "A", Do: "PUT /networks/${vxlan}", Body: `{"network": {"provider:segmentation_id": 4000}}`, Want: "200"},
			// Several segments.
			{As: "A", Do: "POST /networks", Body: `{"network": {"segments": [{"provider:network_type": "vlan", "provider:physical_network": "physnet1", "provider:segmentation_id": 200}, {"provider:network_type": "vxlan"}]}}`, Want: "201", Save: "multi=network.id",
				Has: "network.segments.# = 2\nnetwork.segments.0.provider:segmentation_id = 200\nnetwork.segments.1.provider:network_type = \"vxlan\"\nnetwork.mtu = 1450\nnetwork.provider:network_type absent"},
			{As: "A", Do: "GET /networks/${multi}", Want: "200", Has: "network.segments.# = 2"},
			{As: "A", Do: "POST /networks", Body: `{"network": {"segments": [{"provider:network_type": "vlan", "provider:physical_network": "physnet1", "provider:segmentation_id": 201}, {"provider:network_type": "vlan", "provider:physical_network": "physnet1", "provider:segmentation_id": 201}]}}`, Want: "400 SegmentsContainDuplicateEntry"},
			{As: "A", Do: "POST /networks", Body: `{"network": {"provider:network_type": "vxlan", "segments": [{"provider:network_type": "vxlan"}]}}`, Want: "400 SegmentsSetInConjunctionWithProviders"},
			{As: "A", Do: "POST /networks", Body: `{"network": {"segments": [{"provider:network_type": "vlan", "provider:physical_network": "physnet1", "provider:segmentation_id": 200}, {"provider:network_type": "vxlan"}]}}`, Want: "409 VlanIdInUse"},
			{As: "A", Do: "PUT /networks/${multi}", Body: `{"network": {"provider:segmentation_id": 9}}`, Want: "400"},
			{As: "A", Do: "GET /networks?provider:segmentation_id=200", Want: "200", Has: "networks.# = 1\nnetworks.0.id = \"${multi}\""},
			{As: "A", Do: "GET /networks?provider:network_type=gre", Want: "200", Has: "networks.# = 1"},
			{As: "A", Do: "GET /networks?provider:physical_network=public", Want: "200", Has: "networks.# = 1"},
			{As: "A", Do: "DELETE /networks/${multi}", Want: "204"},
			{As: "A", Do: "POST /networks", Body: `{"network": {"segments": [{"provider:network_type": "vlan", "provider:physical_network": "physnet1", "provider:segmentation_id": 200}]}}`, Want: "201", Has: "network.provider:segmentation_id = 200"},
		})
	})
}

// TestMTU: net-mtu and net-mtu-writable.
func TestMTU(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		c.Run(t, rig.Vars{}, []rig.Step{
			{As: "M", Do: "POST /networks", Body: `{"network": {"mtu": 1400}}`, Want: "201", Save: "net=network.id", Has: "network.mtu = 1400"},
			{As: "M", Do: "POST /networks", Body: `{"network": {"mtu": 0}}`, Want: "201", Has: "network.mtu = 1450"},
			{As: "M", Do: "POST /networks", Body: `{"network": {"mtu": 1451}}`, Want: "400 InvalidInput"},
			{As: "M", Do: "POST /networks", Body: `{"network": {"mtu": 2147483648}}`, Want: "400"},
			{As: "M", Do: "POST /networks", Body: `{"network": {"mtu": true}}`, Want: "400"},
			{As: "M", Do: "POST /networks", Body: `{"network": {"mtu": -1}}`, Want: "400"},
			{As: "M", Do: "POST /networks", Body: `{"network": {"mtu": "1300"}}`, Want: "201", Has: "network.mtu = 1300"},
			{As: "M", Do: "PUT /networks/${net}", Body: `{"network": {"mtu": 1500}}`, Want: "400 InvalidInput"},
			{As: "M", Do: "PUT /networks/${net}", Body: `{"network": {"mtu": 1300}}`, Want: "200", Has: "network.mtu = 1300"},
			{As: "M", Do: "PUT /networks/${net}", Body: `{"network": {"mtu": 0}}`, Want: "200", Has: "network.mtu = 1450"},
			{As: "M", Do: "GET /networks?mtu=1300", Want: "200", Has: "networks.# = 1"},
			{As: "M", Do: "POST /networks", Body: `{"network": {"mtu": 1279}}`, Want: "201", Save: "small=network.id"},
			{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${small}", "ip_version": 6, "cidr": "2001:db8::/64"}}`, Want: "409 NetworkMTUSubnetConflict"},
			{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 6, "cidr": "2001:db8::/64"}}`, Want: "201"},
			{As: "M", Do: "PUT /networks/${net}", Body: `{"network": {"mtu": 1279}}`, Want: "409 NetworkMTUSubnetConflict"},
		})
	})
}

// TestSharing: sections 5 and 8 as far as networks go.
func TestSharing(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		c.Run(t, rig.Vars{}, []rig.Step{
			{As: "A", Do: "POST /networks", Body: `{"network": {"name": "open", "shared": true}}`, Want: "201", Save: "net=network.id", Has: "network.shared = true"},
			{As: "A", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 4, "cidr": "10.0.0.0/24"}}`, Want: "201", Save: "sub=subnet.id", Has: "subnet.shared absent"},
			{As: "M", Do: "GET /networks/${net}", Want: "200", Has: "network.shared = true\nnetwork.provider:network_type absent\nnetwork.provider:segmentation_id absent\nnetwork.provider:physical_network absent"},
			{As: "M", Do: "GET /subnets/${sub}", Want: "200"},
			{As: "M", Do: "GET /subnets", Want: "200", Has: "subnets.# = 1"},
			{As: "M", Do: "GET /networks?shared=true", Want: "200", Has: "networks.# = 1"},
			{As: "M", Do: "GET /networks?shared=false", Want: "200", Has: "networks.# = 0"},
			{As: "M", Do: "PUT /networks/${net}", Body: `{"network": {"name": "x"}}`, Want: "403 PolicyNotAuthorized"},
			{As: "M", Do: "DELETE /networks/${net}", Want: "403 PolicyNotAuthorized"},
			{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 4, "cidr": "10.1.0.0/24"}}`, Want: "403 PolicyNotAuthorized"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}"}}`, Want: "201", Save: "port=port.id"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "fixed_ips": [{"subnet_id": "${sub}"}]}}`, Want: "201"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "fixed_ips": [{"ip_address": "10.0.0.9"}]}}`, Want: "403 PolicyNotAuthorized"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "mac_address": "fa:16:3e:00:00:09"}}`, Want: "403 PolicyNotAuthorized"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "port_security_enabled": false}}`, Want: "403 PolicyNotAuthorized"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "device_owner": "network:dhcp"}}`, Want: "403 PolicyNotAuthorized"},
			{As: "O", Do: "GET /ports/${port}", Want: "404"},
			{As: "O", Do: "GET /ports", Want: "200", Has: "ports.# = 0"},
			{As: "A", Do: "PUT /networks/${net}", Body: `{"network": {"shared": false}}`, Want: "409 InvalidSharedSetting"},
			{As: "A", Do: "GET /networks/${net}", Want: "200", Has: "network.shared = true"},
			{As: "M", Do: "POST /networks", Body: `{"network": {"shared": true}}`, Want: "403 PolicyNotAuthorized"},
			{As: "M", Do: "POST /networks", Body: `{"network": {"shared": false}}`, Want: "201", Save: "own=network.id"},
			{As: "M", Do: "PUT /networks/${own}", Body: `{"network": {"shared": false}}`, Want: "403 PolicyNotAuthorized"},
			{As: "M", Do: "POST /networks", Body: `{"network": {"router:external": true}}`, Want: "403 PolicyNotAuthorized"},
			{As: "A", Do: "POST /networks", Body: `{"network": {"name": "out", "router:external": true}}`, Want: "201", Save: "ext=network.id", Has: "network.router:external = true\nnetwork.shared = false"},
			{As: "M", Do: "GET /networks/${ext}", Want: "200", Has: "network.router:external = true\nnetwork.shared = false"},
			{As: "M", Do: "GET /networks?router:external=true", Want: "200", Has: "networks.# = 1"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${ext}"}}`, Want: "403 PolicyNotAuthorized"},
			{As: "A", Do: "PUT /networks/${ext}", Body: `{"network": {"router:external": false}}`, Want: "200"},
			{As: "M", Do: "GET /networks/${ext}", Want: "404"},
			{As: "A", Do: "PUT /networks/${ext}", Body: `{"network": {"shared": true}}`, Want: "200", Has: "network.shared = true"},
			{As: "A", Do: "PUT /networks/${ext}", Body: `{"network": {"shared": false}}`, Want: "200", Has: "network.shared = false"},
			{As: "O", Do: "GET /networks/${own}", Want: "404 NetworkNotFound"},
			{As: "O", Do: "PUT /networks/${own}", Body: `{"network": {"name": "x"}}`, Want: "404 NetworkNotFound"},
			{As: "O", Do: "DELETE /networks/${own}", Want: "404 NetworkNotFound"},
			{As: "O", Do: "POST /ports", Body: `{"port": {"network_id": "${own}"}}`, Want: "404 NetworkNotFound"},
			{As: "O", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${own}", "ip_version": 4, "cidr": "10.0.0.0/24"}}`, Want: "404 NetworkNotFound"},
			{As: "R", Do: "PUT /networks/${own}", Body: `{"network": {"name": "x"}}`, Want: "403 PolicyNotAuthorized"},
			{As: "R", Do: "DELETE /networks/${own}", Want: "403 PolicyNotAuthorized"},
			{As: "R", Do: "GET /networks/${own}", Want: "200"},
		})
	})
}

// TestNetworkDelete: what goes with a network and what holds it.
func TestNetworkDelete(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		c.Run(t, rig.Vars{}, []rig.Step{
			{As: "A", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id"},
			{As: "A", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 4, "cidr": "10.0.0.0/24"}}`, Want: "201", Save: "sub=subnet.id"},
			{As: "A", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "device_owner": "network:dhcp", "device_id": "x"}}`, Want: "201", Has: "port.fixed_ips.0.ip_address = \"10.0.0.2\"\nport.port_security_enabled = false\nport.security_groups = []"},
			{As: "A", Do: "POST /ports", Body: `{"port": {"network_id": "${net}"}}`, Want: "201", Save: "port=port.id"},
			{As: "A", Do: "DELETE /networks/${net}", Want: "409 NetworkInUse"},
			{As: "A", Do: "DELETE /subnets/${sub}", Want: "409 SubnetInUse"},
			{As: "A", Do: "DELETE /ports/${port}", Want: "204"},
			{As: "A", Do: "DELETE /subnets/${sub}", Want: "204"},
			{As: "A", Do: "GET /ports", Want: "200", Has: "ports.# = 1\nports.0.fixed_ips = []"},
			{As: "A", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 4, "cidr": "10.0.0.0/24"}}`, Want: "201"},
			{As: "A", Do: "DELETE /networks/${net}", Want: "204"},
			{As: "A", Do: "GET /ports", Want: "200", Has: "ports.# = 0"},
			{As: "A", Do: "GET /subnets", Want: "200", Has: "subnets.# = 0"},
		})
	})
}
