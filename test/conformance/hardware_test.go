//go:build conformance

package conformance

import (
	"testing"

	"isospin/internal/model"
	"isospin/internal/wire"
	"isospin/isospintest"
	"isospin/test/rig"
)

// TestHardware: ports of functions of cards, of whole cards and of macvtap devices, as Nova asks for them.
func TestHardware(t *testing.T) {
	for _, kind := range []string{"sqlite", "postgres", "mariadb"} {
		t.Run(kind, func(t *testing.T) {
			options := listening(t, databases.Fresh(t, kind))
			options["ml2/mechanism_drivers"] = "sriovnicswitch,openvswitch,macvtap"
			s := isospintest.Start(t, isospintest.Options{Config: options})
			hosts(t, options, 2, &wire.AgentFacts{AgentType: model.AgentNICSwitch, Binary: "neutron-sriov-nic-agent", Topic: "N/A", Configurations: []byte(`{"device_mappings": {"physnet1": ["enp1s0f0"]}}`), StartedAt: 1},
				&wire.AgentFacts{AgentType: model.AgentMacvtap, Binary: "neutron-macvtap-agent", Topic: "N/A", Configurations: []byte(`{"interface_mappings": {"physnet3": "eth3"}}`), StartedAt: 1})
			slot := `"binding:profile": {"pci_slot": "0000:05:00.3", "pci_vendor_info": "8086:10ed", "physical_network": "physnet1"}`
			rig.Caller{TB: t, URL: s.URL}.Who("A").Run(t, rig.Vars{}, []rig.Step{
				{As: "A", Do: "GET /agents?host=h1&agent_type=NIC%20Switch%20agent", Want: "200", Has: "agents.# = 1\nagents.0.alive = true\nagents.0.binary = \"neutron-sriov-nic-agent\""},
				{As: "A", Do: "POST /networks", Body: `{"network": {"provider:network_type": "vlan", "provider:physical_network": "physnet1", "provider:segmentation_id": 55}}`, Want: "201", Save: "vlan=network.id"},
				{As: "A", Do: "POST /networks", Body: `{"network": {"provider:network_type": "flat", "provider:physical_network": "physnet3"}}`, Want: "201", Save: "flat=network.id"},
				{As: "A", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "tunnel=network.id"},
				{As: "S", Do: "POST /ports", Body: `{"port": {"network_id": "${vlan}", "device_owner": "compute:nova", "binding:vnic_type": "direct", "binding:host_id": "h1", ` + slot + `}}`, Want: "201", Save: "vf=port.id",
					Has: "port.binding:vif_type = \"hw_veb\"\nport.binding:vif_details.vlan = \"55\"\nport.binding:vif_details.port_filter = false\nport.binding:vif_details.bound_drivers.0 = \"sriovnicswitch\"\n" +
						"port.binding:profile.pci_slot = \"0000:05:00.3\"\nport.status = \"DOWN\""},
				{As: "S", Do: "POST /ports/${vf}/bindings", Body: `{"binding": {"host": "h2", "vnic_type": "direct", "profile": {"pci_slot": "0000:06:00.1"}}}`, Want: "201",
					Has: "binding.status = \"INACTIVE\"\nbinding.vif_type = \"hw_veb\"\nbinding.profile.pci_slot = \"0000:06:00.1\""},
				{As: "S", Do: "PUT /ports/${vf}/bindings/h2/activate", Want: "200", Has: "vif_type = \"hw_veb\"\nstatus = \"ACTIVE\""},
				{As: "S", Do: "GET /ports/${vf}", Want: "200", Has: "port.binding:host_id = \"h2\"\nport.binding:profile = {\"pci_slot\": \"0000:06:00.1\"}"},
				{As: "S", Do: "POST /ports", Body: `{"port": {"network_id": "${vlan}", "device_owner": "compute:nova", "binding:vnic_type": "macvtap", "binding:host_id": "h1", ` + slot + `}}`, Want: "201", Has: `port.binding:vif_type = "hw_veb"`},
				{As: "S", Do: "POST /ports", Body: `{"port": {"network_id": "${vlan}", "device_owner": "compute:nova", "binding:vnic_type": "direct-physical", "binding:host_id": "metal", ` + slot + `}}`, Want: "201", Save: "pf=port.id",
					Has: "port.binding:vif_type = \"hostdev_physical\"\nport.status = \"ACTIVE\""},
				{As: "S", Do: "PUT /ports/${pf}", Body: `{"port": {"binding:host_id": ""}}`, Want: "200", Has: "port.binding:vif_type = \"unbound\"\nport.status = \"DOWN\""},
				{As: "S", Do: "PUT /ports/${pf}", Body: `{"port": {"binding:host_id": "h1"}}`, Want: "200", Has: "port.binding:vif_type = \"hostdev_physical\"\nport.status = \"ACTIVE\""},
				{As: "S", Do: "PUT /ports/${pf}", Body: `{"port": {"binding:vnic_type": "direct"}}`, Want: "409 PortInUse"},
				{As: "S", Do: "POST /ports", Body: `{"port": {"network_id": "${tunnel}", "device_owner": "compute:nova", "binding:vnic_type": "direct", "binding:host_id": "h1"}}`, Want: "201", Has: `port.binding:vif_type = "binding_failed"`},
				{As: "S", Do: "POST /ports", Body: `{"port": {"network_id": "${vlan}", "device_owner": "compute:nova", "binding:vnic_type": "direct", "binding:host_id": "h1", "binding:profile": {"capabilities": ["switchdev"]}}}`, Want: "201", Has: `port.binding:vif_type = "binding_failed"`},
				{As: "S", Do: "POST /ports", Body: `{"port": {"network_id": "${vlan}", "device_owner": "compute:nova", "binding:host_id": "h1"}}`, Want: "201", Has: "port.binding:vif_type = \"ovs\"\nport.binding:vif_details.ovs_create_tap = true"},
				{As: "S", Do: "POST /ports", Body: `{"port": {"network_id": "${flat}", "device_owner": "compute:nova", "binding:host_id": "h1"}}`, Want: "201", Save: "tap=port.id",
					Has: "port.binding:vif_type = \"macvtap\"\nport.binding:vif_details.macvtap_source = \"eth3\"\nport.binding:vif_details.physical_interface = \"eth3\"\nport.binding:vif_details.macvtap_mode = \"bridge\"\nport.binding:vif_details.vlan absent"},
				{As: "S", Do: "POST /ports/${tap}/bindings", Body: `{"binding": {"host": "h2"}}`, Want: "201", Has: `binding.vif_type = "macvtap"`},
			})
			rig.Exact(t, rig.Look(t, options))
		})
	}
}
