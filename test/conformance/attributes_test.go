package conformance

import (
	"testing"

	"isospin/isospintest"
	"isospin/test/rig"
)

// TestDeviceAttributes: what ports say of their devices, and how binding:profile shows it.
func TestDeviceAttributes(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		port := func(attributes string) string { return `{"port": {"network_id": "${net}"` + attributes + `}}` }
		c.Run(t, rig.Vars{}, []rig.Step{
			{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id"},
			{As: "M", Do: "POST /ports", Body: port(``), Want: "201", Save: "plain=port.id",
				Has: "port.device_profile = null\nport.numa_affinity_policy = null\nport.hardware_offload_type = null\nport.trusted absent\nport.hints absent"},
			{As: "A", Do: "GET /ports/${plain}", Want: "200", Has: "port.trusted = null\nport.hints = null\nport.binding:profile = {}"},
			{As: "M", Do: "POST /ports", Body: port(`, "trusted": true`), Want: "403 PolicyNotAuthorized"},
			{As: "M", Do: "POST /ports", Body: port(`, "hints": {"openvswitch": {"other_config": {"tx-steering": "hash"}}}`), Want: "403 PolicyNotAuthorized"},
			{As: "A", Do: "POST /ports", Body: port(`, "trusted": true, "hints": {"openvswitch": {"other_config": {"tx-steering": "hash"}}}`), Want: "201", Save: "p=port.id",
				Has: "port.trusted = true\nport.binding:profile = {\"trusted\": true}\nport.hints = {\"openvswitch\": {\"other_config\": {\"tx-steering\": \"hash\"}}}"},
			{As: "A", Do: "PUT /ports/${p}", Body: `{"port": {"trusted": false, "hints": null}}`, Want: "200",
				Has: "port.trusted = false\nport.binding:profile = {\"trusted\": false}\nport.hints = null\nport.revision_number = 2"},
			{As: "A", Do: "PUT /ports/${p}", Body: `{"port": {"trusted": null}}`, Want: "400"},
			{As: "A", Do: "PUT /ports/${p}", Body: `{"port": {"hints": {"openvswitch": {"other_config": {"tx-steering": "maybe"}}}}}`, Want: "400"},
			{As: "A", Do: "PUT /ports/${p}", Body: `{"port": {"hints": {"vpp": {}}}}`, Want: "400"},
			{As: "S", Do: "PUT /ports/${p}", Body: `{"port": {"binding:profile": {"pci_slot": "0000:00:00.1"}}}`, Want: "200"},
			{As: "A", Do: "GET /ports/${p}", Want: "200", Has: "port.binding:profile = {\"pci_slot\": \"0000:00:00.1\", \"trusted\": false}"},
			{As: "M", Do: "POST /ports", Body: port(`, "hardware_offload_type": "switchdev"`), Want: "201", Has: "port.hardware_offload_type = \"switchdev\"\nport.binding:profile absent"},
			{As: "A", Do: "POST /ports", Body: port(`, "hardware_offload_type": "other"`), Want: "400"},
			{As: "A", Do: "POST /ports", Body: port(`, "hardware_offload_type": "switchdev"`), Want: "201", Save: "hw=port.id",
				Has: "port.hardware_offload_type = \"switchdev\"\nport.binding:profile = {\"capabilities\": [\"switchdev\"]}"},
			{As: "A", Do: "PUT /ports/${hw}", Body: `{"port": {"hardware_offload_type": "switchdev"}}`, Want: "400"},
			{As: "M", Do: "POST /ports", Body: port(`, "device_profile": "fpga", "numa_affinity_policy": "socket"`), Want: "201", Save: "numa=port.id",
				Has: "port.device_profile = \"fpga\"\nport.numa_affinity_policy = \"socket\""},
			{As: "M", Do: "PUT /ports/${numa}", Body: `{"port": {"device_profile": "gpu"}}`, Want: "400"},
			{As: "M", Do: "PUT /ports/${numa}", Body: `{"port": {"numa_affinity_policy": "near"}}`, Want: "400"},
			{As: "M", Do: "PUT /ports/${numa}", Body: `{"port": {"numa_affinity_policy": null}}`, Want: "200", Has: "port.numa_affinity_policy = null"},
		})
	})
}

// TestPVLAN: private VLANs need port security, give every port a kind, and take it away when they end.
func TestPVLAN(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		port := func(attributes string) string { return `{"port": {"network_id": "${net}"` + attributes + `}}` }
		c.Run(t, rig.Vars{}, []rig.Step{
			{As: "M", Do: "POST /networks", Body: `{"network": {"pvlan": true, "port_security_enabled": false}}`, Want: "400 PVLANNetworkPortSecurityDisabled"},
			{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id", Has: "network.pvlan = false"},
			{As: "M", Do: "POST /ports", Body: port(`, "pvlan_type": "isolated"`), Want: "400 PVLANNotEnabledOnNetwork"},
			{As: "M", Do: "POST /ports", Body: port(``), Want: "201", Save: "old=port.id", Has: "port.pvlan_type = null\nport.pvlan_community = null"},
			{As: "M", Do: "PUT /networks/${net}", Body: `{"network": {"pvlan": true}}`, Want: "200", Has: "network.pvlan = true"},
			{As: "M", Do: "GET /ports/${old}", Want: "200", Has: "port.pvlan_type = \"promiscuous\"\nport.revision_number = 2"},
			{As: "M", Do: "PUT /networks/${net}", Body: `{"network": {"port_security_enabled": false}}`, Want: "400 PVLANNetworkPortSecurityDisabled"},
			{As: "M", Do: "POST /ports", Body: port(`, "port_security_enabled": false`), Want: "400 PVLANPortSecurityDisabled"},
			{As: "M", Do: "POST /ports", Body: port(`, "device_owner": "network:dhcp"`), Want: "201", Has: "port.pvlan_type = \"promiscuous\""},
			{As: "M", Do: "POST /ports", Body: port(`, "pvlan_type": "community"`), Want: "400 PVLANCommunityNameRequired"},
			{As: "M", Do: "POST /ports", Body: port(`, "pvlan_type": "isolated", "pvlan_community": "red"`), Want: "400 PVLANCannotSetCommunityName"},
			{As: "M", Do: "POST /ports", Body: port(`, "pvlan_type": "community", "pvlan_community": "1red"`), Want: "400"},
			{As: "M", Do: "POST /ports", Body: port(`, "pvlan_type": "community", "pvlan_community": "red"`), Want: "201", Save: "c=port.id", Has: "port.pvlan_community = \"red\""},
			{As: "M", Do: "GET /ports?pvlan_type=community", Want: "200", Has: "ports.# = 1"},
			{As: "M", Do: "PUT /ports/${c}", Body: `{"port": {"pvlan_type": "isolated"}}`, Want: "200", Has: "port.pvlan_type = \"isolated\"\nport.pvlan_community = null"},
			{As: "M", Do: "PUT /ports/${c}", Body: `{"port": {"pvlan_type": "community"}}`, Want: "400 PVLANCommunityNameRequired"},
			{As: "M", Do: "PUT /ports/${c}", Body: `{"port": {"pvlan_type": null}}`, Want: "200", Has: "port.pvlan_type = \"promiscuous\""},
			{As: "M", Do: "PUT /networks/${net}", Body: `{"network": {"pvlan": false}}`, Want: "200"},
			{As: "M", Do: "GET /ports?pvlan_type=promiscuous", Want: "200", Has: "ports.# = 0"},
			{As: "O", Do: "GET /networks/${net}", Want: "404"},
		})
	})
}

// TestDefaultStatefulness: a project's setting, else that of all projects, counts for groups that come later.
func TestDefaultStatefulness(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		const path = "/security-groups-default-statefulness"
		body := func(attributes string) string {
			return `{"security_groups_default_statefulness": {` + attributes + `}}`
		}
		c.Run(t, rig.Vars{}, []rig.Step{
			{As: "M", Do: "POST " + path, Body: body(`"stateful": false`), Want: "403 PolicyNotAuthorized"},
			{As: "A", Do: "POST " + path, Body: body(`"stateful": false, "project_id": null`), Want: "201", Save: "all=security_groups_default_statefulness.id",
				Has: "security_groups_default_statefulness.project_id = null\nsecurity_groups_default_statefulness.tenant_id absent"},
			{As: "A", Do: "POST " + path, Body: body(`"project_id": null`), Want: "409 SecurityGroupDefaultStatefulnessAlreadyExists"},
			{As: "M", Do: "POST /security-groups", Body: `{"security_group": {"name": "a"}}`, Want: "201", Has: "security_group.stateful = false"},
			{As: "M", Do: "GET /security-groups?name=default", Want: "200", Has: "security_groups.0.stateful = false"},
			{As: "M", Do: "POST /security-groups", Body: `{"security_group": {"name": "b", "stateful": true}}`, Want: "201", Has: "security_group.stateful = true"},
			{As: "A", Do: "POST " + path, Body: body(`"project_id": "` + rig.ProjectM + `"`), Want: "201", Save: "own=security_groups_default_statefulness.id",
				Has: "security_groups_default_statefulness.stateful = true\nsecurity_groups_default_statefulness.project_id = \"" + rig.ProjectM + "\""},
			{As: "M", Do: "POST /security-groups", Body: `{"security_group": {"name": "c"}}`, Want: "201", Has: "security_group.stateful = true"},
			{As: "M", Do: "GET " + path, Want: "200", Has: "security_groups_default_statefulness.# = 1"},
			{As: "O", Do: "GET " + path, Want: "200", Has: "security_groups_default_statefulness.# = 0"},
			{As: "O", Do: "GET " + path + "/${own}", Want: "404 SecurityGroupDefaultStatefulnessNotFound"},
			{As: "M", Do: "PUT " + path + "/${own}", Body: body(`"stateful": false`), Want: "403"},
			{As: "A", Do: "PUT " + path + "/${own}", Body: body(`"stateful": false`), Want: "200", Has: "security_groups_default_statefulness.stateful = false"},
			{As: "A", Do: "GET " + path + "?stateful=false", Want: "200", Has: "security_groups_default_statefulness.# = 2"},
			{As: "M", Do: "POST /security-groups", Body: `{"security_group": {"name": "d"}}`, Want: "201", Has: "security_group.stateful = false"},
			{As: "A", Do: "DELETE " + path + "/${own}", Want: "204"},
			{As: "A", Do: "DELETE " + path + "/${all}", Want: "204"},
			{As: "M", Do: "POST /security-groups", Body: `{"security_group": {"name": "e"}}`, Want: "201", Has: "security_group.stateful = true"},
			{As: "A", Do: "POST " + path, Body: `{"security_groups_default_statefulness": [{}]}`, Want: "400"},
		})
	})
}

// TestVLANTransparency: offered by configuration alone, and granted where every mechanism driver lets tags pass.
func TestVLANTransparency(t *testing.T) {
	start := func(t *testing.T, config map[string]string) rig.Caller {
		return rig.Caller{TB: t, URL: isospintest.Start(t, isospintest.Options{Config: config}).URL}.Who("A")
	}
	ask := `{"network": {"vlan_transparent": true}}`
	t.Run("not offered", func(t *testing.T) {
		start(t, nil).Run(t, rig.Vars{}, []rig.Step{
			{As: "M", Do: "POST /networks", Body: ask, Want: "400 HTTPBadRequest"},
			{As: "M", Do: "GET /extensions/vlan-transparent", Want: "404"},
			{As: "M", Do: "GET /extensions/qinq", Want: "404"},
			{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Has: "network.vlan_transparent absent\nnetwork.qinq absent"},
		})
	})
	t.Run("no driver", func(t *testing.T) {
		start(t, map[string]string{"DEFAULT/vlan_transparent": "true", "DEFAULT/vlan_qinq": "true"}).Run(t, rig.Vars{}, []rig.Step{
			{As: "A", Do: "POST /networks", Body: `{"network": {"vlan_transparent": true, "provider:network_type": "flat", "provider:physical_network": "public"}}`,
				Want: "400 VlanTransparencyDriverError"},
			{As: "M", Do: "POST /networks", Body: `{"network": {"qinq": true}}`, Want: "400 VlanQinqDriverError"},
			{As: "M", Do: "POST /networks", Body: `{"network": {"qinq": true, "vlan_transparent": true}}`, Want: "400"},
			{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Has: "network.vlan_transparent = false\nnetwork.qinq = false"},
			{As: "M", Do: "GET /networks?vlan_transparent=false&qinq=false", Want: "200", Has: "networks.# = 1"},
		})
	})
	t.Run("openvswitch", func(t *testing.T) {
		start(t, map[string]string{"DEFAULT/vlan_transparent": "true"}).Run(t, rig.Vars{}, []rig.Step{
			{As: "M", Do: "POST /networks", Body: ask, Want: "201", Has: "network.vlan_transparent = true"},
		})
	})
	t.Run("linuxbridge", func(t *testing.T) {
		start(t, map[string]string{"DEFAULT/vlan_transparent": "true", "ml2/mechanism_drivers": "linuxbridge"}).Run(t, rig.Vars{}, []rig.Step{
			{As: "M", Do: "POST /networks", Body: ask, Want: "201", Save: "net=network.id", Has: "network.vlan_transparent = true\nnetwork.qinq absent"},
			{As: "M", Do: "PUT /networks/${net}", Body: `{"network": {"vlan_transparent": false}}`, Want: "400"},
			{As: "M", Do: "GET /networks?vlan_transparent=true", Want: "200", Has: "networks.# = 1"},
			{As: "M", Do: "GET /extensions/vlan-transparent", Want: "200"},
		})
	})
}

// TestLimitsOfLists: how long lists of subnets and ports may be is configured.
func TestLimitsOfLists(t *testing.T) {
	s := isospintest.Start(t, isospintest.Options{Config: map[string]string{
		"DEFAULT/max_dns_nameservers": "1", "DEFAULT/max_subnet_host_routes": "0", "DEFAULT/max_allowed_address_pair": "1"}})
	subnet := func(attributes string) string {
		return subnetOf(`"ip_version": 4, "cidr": "10.0.0.0/24", ` + attributes)
	}
	rig.Caller{TB: t, URL: s.URL}.Run(t, rig.Vars{}, []rig.Step{
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id"},
		{As: "M", Do: "POST /subnets", Body: subnet(`"dns_nameservers": ["10.0.0.2", "10.0.0.3"]`), Want: "400 DNSNameServersExhausted"},
		{As: "M", Do: "POST /subnets", Body: subnet(`"host_routes": [{"destination": "10.9.0.0/24", "nexthop": "10.0.0.9"}]`), Want: "400 HostRoutesExhausted"},
		{As: "M", Do: "POST /subnets", Body: subnet(`"dns_nameservers": ["10.0.0.2"], "host_routes": []`), Want: "201", Save: "sub=subnet.id"},
		{As: "M", Do: "PUT /subnets/${sub}", Body: `{"subnet": {"dns_nameservers": ["10.0.0.2", "10.0.0.3"]}}`, Want: "400 DNSNameServersExhausted"},
		{As: "M", Do: "POST /ports", Body: portOf(`, "allowed_address_pairs": [{"ip_address": "10.0.0.2"}, {"ip_address": "10.0.0.3"}]`), Want: "400 AllowedAddressPairExhausted"},
		{As: "M", Do: "POST /ports", Body: portOf(`, "allowed_address_pairs": [{"ip_address": "10.0.0.2"}]`), Want: "201"},
	})
}

// TestStatusAttributes: what a port says of its uplink and its data plane.
func TestStatusAttributes(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		c.Run(t, rig.Vars{}, []rig.Step{
			{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id"},
			{As: "M", Do: "POST /ports", Body: portOf(``), Want: "201", Save: "p=port.id", Has: "port.propagate_uplink_status = true\nport.data_plane_status = null"},
			{As: "M", Do: "POST /ports", Body: portOf(`, "propagate_uplink_status": "no"`), Want: "201", Has: "port.propagate_uplink_status = false"},
			{As: "M", Do: "PUT /ports/${p}", Body: `{"port": {"propagate_uplink_status": false}}`, Want: "200", Has: "port.propagate_uplink_status = false\nport.revision_number = 2"},
			{As: "M", Do: "PUT /ports/${p}", Body: `{"port": {"propagate_uplink_status": null}}`, Want: "400"},
			{As: "A", Do: "POST /ports", Body: portOf(`, "data_plane_status": "ACTIVE"`), Want: "400"},
			{As: "M", Do: "PUT /ports/${p}", Body: `{"port": {"data_plane_status": "DOWN"}}`, Want: "403 PolicyNotAuthorized"},
			{As: "A", Do: "PUT /ports/${p}", Body: `{"port": {"data_plane_status": "BUILD"}}`, Want: "400"},
			{As: "A", Do: "PUT /ports/${p}", Body: `{"port": {"data_plane_status": "DOWN"}}`, Want: "200", Has: "port.data_plane_status = \"DOWN\"\nport.status = \"DOWN\""},
			{As: "M", Do: "GET /ports/${p}", Want: "200", Has: "port.data_plane_status = \"DOWN\""},
			{As: "A", Do: "PUT /ports/${p}", Body: `{"port": {"data_plane_status": null}}`, Want: "200", Has: "port.data_plane_status = null"},
		})
	})
}
