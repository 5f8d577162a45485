package conformance

import (
	"testing"

	"isospin/isospintest"
	"isospin/test/rig"
)

// TestTrunks: behaviour.md, section 15; neutron/services/trunk.
func TestTrunks(t *testing.T) {
	everywhereWith(t, isospintest.Options{}, func(t *testing.T, c rig.Caller) { trunkSteps(t, c) })
}

func trunkSteps(t *testing.T, c rig.Caller) {
	t.Helper()
	port := func(net, rest string) string { return `{"port": {"network_id": "${` + net + `}"` + rest + `}}` }
	c.Run(t, rig.Vars{}, []rig.Step{
		{As: "A", Do: "POST /networks", Body: `{"network": {"provider:network_type": "vlan", "provider:physical_network": "physnet1", "provider:segmentation_id": 7, "mtu": 1450, "project_id": "` + rig.ProjectM + `"}}`, Want: "201", Save: "seven=network.id"},
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id"},
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "two=network.id"},
		{As: "M", Do: "POST /networks", Body: `{"network": {"mtu": 1400}}`, Want: "201", Save: "small=network.id"},
		{As: "M", Do: "POST /ports", Body: port("net", ""), Want: "201", Save: "parent=port.id", Has: "port.trunk_details absent\nport.ip_allocation = \"immediate\""},
		{As: "M", Do: "POST /ports", Body: port("two", ""), Want: "201", Save: "a=port.id amac=port.mac_address"},
		{As: "M", Do: "POST /ports", Body: port("two", ""), Want: "201", Save: "b=port.id"},
		{As: "M", Do: "POST /ports", Body: port("seven", ""), Want: "201", Save: "c=port.id"},
		{As: "M", Do: "POST /ports", Body: port("two", `, "device_id": "somebody"`), Want: "201", Save: "used=port.id"},
		{As: "M", Do: "POST /ports", Body: port("small", ""), Want: "201", Save: "tiny=port.id"},
		{As: "O", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "foreign=network.id"},
		{As: "O", Do: "POST /ports", Body: port("foreign", ""), Want: "201", Save: "alien=port.id"},
		// What is refused.
		{As: "M", Do: "POST /trunks", Body: `{"trunk": {}}`, Want: "400 HTTPBadRequest"},
		{As: "M", Do: "POST /trunks", Body: `{"trunk": {"port_id": "nope"}}`, Want: "400"},
		{As: "M", Do: "POST /trunks", Body: `{"trunk": {"port_id": "5b9c5d1e-0d83-4d0c-a1ff-7d8b4a8f7d00"}}`, Want: "404 PortNotFound"},
		{As: "M", Do: "POST /trunks", Body: `{"trunk": {"port_id": "${alien}"}}`, Want: "404 PortNotFound"},
		{As: "M", Do: "POST /trunks", Body: `{"trunk": {"port_id": "${parent}", "sub_ports": [{"port_id": "${parent}", "segmentation_type": "vlan", "segmentation_id": 5}]}}`, Want: "409 ParentPortInUse"},
		{As: "M", Do: "POST /trunks", Body: `{"trunk": {"port_id": "${parent}", "sub_ports": [{"port_id": "${alien}", "segmentation_type": "vlan", "segmentation_id": 5}]}}`, Want: "404 PortNotFound"},
		{As: "M", Do: "POST /trunks", Body: `{"trunk": {"port_id": "${parent}", "sub_ports": [{"port_id": "${used}", "segmentation_type": "vlan", "segmentation_id": 5}]}}`, Want: "409 PortInUse"},
		{As: "M", Do: "POST /trunks", Body: `{"trunk": {"port_id": "${parent}", "sub_ports": [{"port_id": "${a}"}]}}`, Want: "400 InvalidInput"},
		{As: "M", Do: "POST /trunks", Body: `{"trunk": {"port_id": "${parent}", "sub_ports": [{"port_id": "${a}", "segmentation_type": "vlan"}]}}`, Want: "400"},
		{As: "M", Do: "POST /trunks", Body: `{"trunk": {"port_id": "${parent}", "sub_ports": [{"port_id": "${a}", "segmentation_type": "vlan", "segmentation_id": 4095}]}}`, Want: "400 InvalidInput"},
		{As: "M", Do: "POST /trunks", Body: `{"trunk": {"port_id": "${parent}", "sub_ports": [{"port_id": "${a}", "segmentation_type": "vlan", "segmentation_id": 0}]}}`, Want: "400"},
		{As: "M", Do: "POST /trunks", Body: `{"trunk": {"port_id": "${parent}", "sub_ports": [{"port_id": "${a}", "segmentation_type": "vxlan", "segmentation_id": 5}]}}`, Want: "400 InvalidInput"},
		{As: "M", Do: "POST /trunks", Body: `{"trunk": {"port_id": "${parent}", "sub_ports": [{"port_id": "${a}", "segmentation_type": "inherit"}]}}`, Want: "400 InvalidInput"},
		{As: "M", Do: "POST /trunks", Body: `{"trunk": {"port_id": "${tiny}", "sub_ports": [{"port_id": "${a}", "segmentation_type": "vlan", "segmentation_id": 5}]}}`, Want: "409 SubPortMtuGreaterThanTrunkPortMtu"},
		{As: "M", Do: "POST /trunks", Body: `{"trunk": {"port_id": "${parent}", "sub_ports": [{"port_id": "${a}", "segmentation_type": "vlan", "segmentation_id": 5}, {"port_id": "${b}", "segmentation_type": "vlan", "segmentation_id": 5}]}}`, Want: "400"},
		{As: "M", Do: "POST /trunks", Body: `{"trunk": {"port_id": "${parent}", "status": "ACTIVE"}}`, Want: "400 HTTPBadRequest"},
		{As: "M", Do: "POST /trunks", Body: `{"trunks": [{"port_id": "${parent}"}]}`, Want: "400"},
		{As: "M", Do: "POST /trunks", Body: `{"trunk": {"port_id": "${parent}", "sub_ports": "x"}}`, Want: "400"},
		{As: "R", Do: "POST /trunks", Body: `{"trunk": {"port_id": "${parent}"}}`, Want: "403 PolicyNotAuthorized"},
		{As: "M", Do: "GET /trunks", Want: "200", Has: "trunks = []"},
		{As: "M", Do: "GET /ports/${a}", Want: "200", Has: "port.revision_number = 1"},
		// A trunk.
		{As: "M", Do: "POST /trunks", Body: `{"trunk": {"port_id": "${parent}", "name": "t", "sub_ports": [{"port_id": "${a}", "segmentation_type": "vlan", "segmentation_id": 5}]}}`, Want: "201", Save: "t=trunk.id",
			Has: "trunk.status = \"DOWN\"\ntrunk.admin_state_up = true\ntrunk.port_id = \"${parent}\"\ntrunk.name = \"t\"\ntrunk.description = \"\"\ntrunk.tags = []\ntrunk.sub_ports = [{\"port_id\": \"${a}\", \"segmentation_type\": \"vlan\", \"segmentation_id\": 5}]\ntrunk.project_id = \"" + rig.ProjectM + "\"\ntrunk.tenant_id = \"" + rig.ProjectM + "\"\ntrunk.revision_number present\ntrunk.created_at present"},
		{As: "M", Do: "GET /ports/${parent}", Want: "200", Has: "port.trunk_details = {\"trunk_id\": \"${t}\", \"sub_ports\": [{\"port_id\": \"${a}\", \"segmentation_type\": \"vlan\", \"segmentation_id\": 5, \"mac_address\": \"${amac}\"}]}\nport.revision_number = 1"},
		{As: "M", Do: "GET /ports/${a}", Want: "200", Has: "port.trunk_details absent\nport.device_owner = \"\""},
		{As: "M", Do: "GET /ports?id=${parent}&fields=trunk_details", Want: "200", Has: "ports.0.trunk_details.trunk_id = \"${t}\""},
		{As: "O", Do: "GET /trunks/${t}", Want: "404 TrunkNotFound"},
		{As: "O", Do: "GET /trunks", Want: "200", Has: "trunks = []"},
		{As: "O", Do: "DELETE /trunks/${t}", Want: "404 TrunkNotFound"},
		{As: "O", Do: "PUT /trunks/${t}/add_subports", Body: `{"sub_ports": []}`, Want: "404 TrunkNotFound"},
		{As: "R", Do: "GET /trunks/${t}", Want: "200"},
		{As: "R", Do: "GET /trunks/${t}/get_subports", Want: "200", Has: "sub_ports.# = 1"},
		{As: "R", Do: "PUT /trunks/${t}/add_subports", Body: `{"sub_ports": []}`, Want: "403 PolicyNotAuthorized"},
		{As: "R", Do: "PUT /trunks/${t}/remove_subports", Body: `{"sub_ports": []}`, Want: "403 PolicyNotAuthorized"},
		{As: "M", Do: "GET /trunks?port_id=${parent}&status=DOWN&name=t&admin_state_up=true&sort_key=name&sort_dir=asc&limit=5", Want: "200", Has: "trunks.# = 1"},
		{As: "M", Do: "GET /trunks?port_id=${a}", Want: "200", Has: "trunks.# = 0"},
		{As: "M", Do: "GET /trunks?sub_ports=x", Want: "400"},
		// Ports of trunks.
		{As: "M", Do: "DELETE /ports/${parent}", Want: "409 PortInUseAsTrunkParent"},
		{As: "M", Do: "DELETE /ports/${a}", Want: "409 PortInUseAsSubPort"},
		{As: "M", Do: "POST /trunks", Body: `{"trunk": {"port_id": "${parent}"}}`, Want: "409 ParentPortInUse"},
		{As: "M", Do: "POST /trunks", Body: `{"trunk": {"port_id": "${a}"}}`, Want: "409 TrunkPortInUse"},
		{As: "M", Do: "POST /trunks", Body: `{"trunk": {"port_id": "${b}", "sub_ports": [{"port_id": "${a}", "segmentation_type": "vlan", "segmentation_id": 5}]}}`, Want: "409 TrunkPortInUse"},
		{As: "M", Do: "POST /trunks", Body: `{"trunk": {"port_id": "${b}", "sub_ports": [{"port_id": "${parent}", "segmentation_type": "vlan", "segmentation_id": 5}]}}`, Want: "409 ParentPortInUse"},
		{As: "A", Do: "PUT /ports/${a}", Body: `{"port": {"mac_address": "fa:16:3e:00:00:09"}}`, Want: "200"},
		{As: "M", Do: "GET /ports/${parent}", Want: "200", Has: "port.trunk_details.sub_ports.0.mac_address = \"fa:16:3e:00:00:09\""},
		{As: "M", Do: "PUT /ports/${parent}", Body: `{"port": {"trunk_details": {}}}`, Want: "400"},
		// More subports, and fewer.
		{As: "M", Do: "PUT /trunks/${t}/add_subports", Body: `{"sub_ports": [{"port_id": "${b}", "segmentation_type": "vlan", "segmentation_id": 5}]}`, Want: "409 DuplicateSubPort"},
		{As: "M", Do: "PUT /trunks/${t}/add_subports", Body: `{"sub_ports": [{"port_id": "${b}", "segmentation_type": "vlan", "segmentation_id": 6}, {"port_id": "${c}", "segmentation_type": "inherit"}]}`, Want: "200",
			Has: "id = \"${t}\"\nsub_ports.# = 3\nsub_ports.2 = {\"port_id\": \"${c}\", \"segmentation_type\": \"vlan\", \"segmentation_id\": 7}\nstatus = \"DOWN\"\nrevision_number = 1"},
		{As: "M", Do: "PUT /trunks/${t}/add_subports", Body: `{"sub_ports": [{"port_id": "${b}", "segmentation_type": "vlan", "segmentation_id": 8}]}`, Want: "409 TrunkPortInUse"},
		{As: "M", Do: "PUT /trunks/${t}/add_subports", Body: `{"sub_ports": [{"segmentation_type": "vlan", "segmentation_id": 8}]}`, Want: "400"},
		{As: "M", Do: "PUT /trunks/${t}/add_subports", Body: `{}`, Want: "400"},
		{As: "M", Do: "PUT /trunks/${t}/add_subports", Body: ``, Want: "400"},
		{As: "M", Do: "PUT /trunks/${t}/add_subports", Body: `[]`, Want: "400"},
		{As: "M", Do: "POST /trunks/${t}/add_subports", Body: `{"sub_ports": []}`, Want: "405"},
		{As: "M", Do: "PUT /trunks/5b9c5d1e-0d83-4d0c-a1ff-7d8b4a8f7d00/add_subports", Body: `{"sub_ports": []}`, Want: "404 TrunkNotFound"},
		{As: "M", Do: "GET /trunks/${t}/get_subports", Want: "200", Has: "sub_ports.# = 3"},
		{As: "M", Do: "PUT /trunks/${t}/remove_subports", Body: `{"sub_ports": [{"port_id": "${used}"}]}`, Want: "404 SubPortNotFound"},
		{As: "M", Do: "PUT /trunks/${t}/remove_subports", Body: `{"sub_ports": [{"port_id": "${c}"}, {"port_id": "${b}"}]}`, Want: "200", Has: "sub_ports.# = 1\nrevision_number = 2"},
		{As: "M", Do: "GET /ports/${parent}", Want: "200", Has: "port.trunk_details.sub_ports.# = 1"},
		{As: "M", Do: "DELETE /ports/${b}", Want: "204"},
		// Administratively down.
		{As: "M", Do: "PUT /trunks/${t}", Body: `{"trunk": {"admin_state_up": false, "name": "u", "description": "d"}}`, Want: "200", Has: "trunk.admin_state_up = false\ntrunk.name = \"u\"\ntrunk.description = \"d\"\ntrunk.revision_number = 3"},
		{As: "M", Do: "PUT /trunks/${t}/add_subports", Body: `{"sub_ports": [{"port_id": "${c}", "segmentation_type": "vlan", "segmentation_id": 9}]}`, Want: "409 TrunkDisabled"},
		{As: "M", Do: "PUT /trunks/${t}/remove_subports", Body: `{"sub_ports": [{"port_id": "${a}"}]}`, Want: "409 TrunkDisabled"},
		{As: "M", Do: "DELETE /trunks/${t}", Want: "409 TrunkDisabled"},
		{As: "M", Do: "PUT /trunks/${t}", Body: `{"trunk": {"port_id": "${a}"}}`, Want: "400"},
		{As: "M", Do: "PUT /trunks/${t}", Body: `{"trunk": {"sub_ports": []}}`, Want: "400"},
		{As: "M", Do: "PUT /trunks/${t}", Body: `{"trunk": {"admin_state_up": true}}`, Want: "200"},
		{As: "M", Do: "PUT /trunks/${t}", Header: "If-Match: revision_number=1", Body: `{"trunk": {"name": "x"}}`, Want: "412"},
		{As: "M", Do: "DELETE /trunks/${t}", Want: "204"},
		{As: "M", Do: "DELETE /trunks/${t}", Want: "404 TrunkNotFound"},
		{As: "M", Do: "GET /ports/${parent}", Want: "200", Has: "port.trunk_details absent"},
		{As: "M", Do: "DELETE /ports/${a}", Want: "204"},
		{As: "M", Do: "DELETE /ports/${parent}", Want: "204"},
		{As: "A", Do: "GET /quotas/" + rig.ProjectM + "/details", Want: "200", Has: "quota.trunk.used = 0\nquota.trunk.limit = -1"},
	})
}
