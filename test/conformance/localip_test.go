package conformance

import (
	"testing"

	"isospin/test/rig"
)

// TestLocalIPs: neutron/db/local_ip_db.py, and docs/differences.md where it answers 500.
func TestLocalIPs(t *testing.T) {
	lip := func(rest string) string { return `{"local_ip": {` + rest + `}}` }
	assoc := func(rest string) string { return `{"port_association": {` + rest + `}}` }
	const nobody = "5b9c5d1e-0d83-4d0c-a1ff-7d8b4a8f7d00"
	everywhere(t, func(t *testing.T, c rig.Caller) {
		c.Run(t, rig.Vars{}, []rig.Step{
			{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id"},
			{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "bare=network.id"},
			{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "cidr": "10.0.0.0/24", "ip_version": 4}}`, Want: "201", Save: "sub=subnet.id"},
			{As: "O", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "theirs=network.id"},
			{As: "O", Do: "POST /ports", Body: `{"port": {"network_id": "${theirs}"}}`, Want: "201", Save: "tport=port.id"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "fixed_ips": [{"ip_address": "10.0.0.50"}]}}`, Want: "201", Save: "p=port.id"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "fixed_ips": [{"ip_address": "10.0.0.60"}, {"ip_address": "10.0.0.61"}]}}`, Want: "201", Save: "two=port.id"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "fixed_ips": []}}`, Want: "201", Save: "none=port.id"},

			{As: "M", Do: "POST /local-ips", Body: lip(``), Want: "400 LocalIPPortOrNetworkRequired"},
			{As: "M", Do: "POST /local-ips", Body: lip(`"network_id": "` + nobody + `"`), Want: "404 NetworkNotFound"},
			{As: "A", Do: "POST /local-ips", Body: lip(`"network_id": "` + nobody + `"`), Want: "404 NetworkNotFound"},
			{As: "M", Do: "POST /local-ips", Body: lip(`"network_id": "${theirs}"`), Want: "404 NetworkNotFound"},
			{As: "M", Do: "POST /local-ips", Body: lip(`"network_id": "${bare}"`), Want: "400 BadRequest"},
			{As: "M", Do: "POST /local-ips", Body: lip(`"local_port_id": "` + nobody + `"`), Want: "400 BadRequest"},
			{As: "M", Do: "POST /local-ips", Body: lip(`"local_port_id": "${tport}"`), Want: "400 BadRequest"},
			{As: "M", Do: "POST /local-ips", Body: lip(`"local_port_id": "${p}", "network_id": "${bare}"`), Want: "400 BadRequest"},
			{As: "M", Do: "POST /local-ips", Body: lip(`"local_port_id": "${none}"`), Want: "400 LocalIPNoIP"},
			{As: "M", Do: "POST /local-ips", Body: lip(`"local_port_id": "${two}"`), Want: "400 LocalIPNoRequestedIP"},
			{As: "M", Do: "POST /local-ips", Body: lip(`"local_port_id": "${p}", "local_ip_address": "10.0.0.51"`), Want: "400 LocalIPRequestedIPNotFound"},
			{As: "M", Do: "POST /local-ips", Body: lip(`"network_id": "${net}", "ip_mode": "teleport"`), Want: "400"},
			{As: "M", Do: "POST /local-ips", Body: lip(`"network_id": "${net}", "local_ip_address": "10.0.0.50"`), Want: "409 IpAddressAlreadyAllocated"},
			{As: "M", Do: "POST /local-ips", Body: lip(`"network_id": "${net}", "local_ip_address": "10.9.0.1"`), Want: "400 InvalidIpForNetwork"},
			{As: "R", Do: "POST /local-ips", Body: lip(`"network_id": "${net}"`), Want: "403 PolicyNotAuthorized"},
			{As: "M", Do: "POST /local-ips", Body: lip(`"network_id": "${net}", "name": "a"`), Want: "201", Save: "a=local_ip.id aport=local_ip.local_port_id",
				Has: "local_ip.ip_mode = \"translate\"\nlocal_ip.network_id = \"${net}\"\nlocal_ip.local_ip_address present\nlocal_ip.revision_number = 0\nlocal_ip.description = \"\"\nlocal_ip.created_at present\nlocal_ip.tags absent\nlocal_ip.project_id = \"" + rig.ProjectM + "\""},
			{As: "M", Do: "GET /ports/${aport}", Want: "200", Has: "port.device_owner = \"network:local_ip\"\nport.device_id = \"${a}\"\nport.status = \"N/A\"\nport.project_id = \"" + rig.ProjectM + "\"\nport.security_groups = []"},
			{As: "M", Do: "POST /local-ips", Body: lip(`"network_id": "${net}", "local_ip_address": "10.0.0.90", "ip_mode": "passthrough"`), Want: "201", Save: "b=local_ip.id", Has: "local_ip.local_ip_address = \"10.0.0.90\""},
			{As: "M", Do: "POST /local-ips", Body: lip(`"local_port_id": "${two}", "local_ip_address": "10.0.0.61"`), Want: "201", Save: "c=local_ip.id", Has: "local_ip.network_id = \"${net}\"\nlocal_ip.local_ip_address = \"10.0.0.61\""},
			{As: "M", Do: "PUT /local-ips/${a}", Body: lip(`"ip_mode": "passthrough"`), Want: "400"},
			{As: "M", Do: "PUT /local-ips/${a}", Body: lip(`"name": "aa"`), Want: "200", Has: "local_ip.revision_number = 1"},
			{As: "M", Do: "GET /local-ips?network_id=${net}&ip_mode=translate", Want: "200", Has: "local_ips.# = 2"},
			{As: "O", Do: "GET /local-ips", Want: "200", Has: "local_ips = []"},
			{As: "O", Do: "GET /local-ips/${a}", Want: "404 LocalIPNotFound"},
			{As: "O", Do: "DELETE /local-ips/${a}", Want: "404 LocalIPNotFound"},
			{As: "R", Do: "DELETE /local-ips/${a}", Want: "403 PolicyNotAuthorized"},

			// Ports that hold a local address stay, and keep it.
			{As: "M", Do: "DELETE /ports/${aport}", Want: "409 ServicePortInUse"},
			{As: "M", Do: "DELETE /ports/${two}", Want: "409 ServicePortInUse"},
			{As: "M", Do: "PUT /ports/${two}", Body: `{"port": {"fixed_ips": [{"ip_address": "10.0.0.60"}]}}`, Want: "400 IPAddressChangeNotAllowed"},
			{As: "M", Do: "PUT /ports/${two}", Body: `{"port": {"fixed_ips": [{"ip_address": "10.0.0.61"}]}}`, Want: "200"},

			{As: "M", Do: "POST /local-ips/${a}/port_associations", Body: assoc(``), Want: "400"},
			{As: "M", Do: "POST /local-ips/${a}/port_associations", Body: assoc(`"fixed_port_id": "` + nobody + `"`), Want: "400 BadRequest"},
			{As: "M", Do: "POST /local-ips/${a}/port_associations", Body: assoc(`"fixed_port_id": "${tport}"`), Want: "400 BadRequest"},
			{As: "M", Do: "POST /local-ips/${a}/port_associations", Body: assoc(`"fixed_port_id": "${none}"`), Want: "400 LocalIPNoIP"},
			{As: "M", Do: "POST /local-ips/${a}/port_associations", Body: assoc(`"fixed_port_id": "${p}", "fixed_ip": "10.0.0.51"`), Want: "400 LocalIPRequestedIPNotFound"},
			{As: "R", Do: "POST /local-ips/${a}/port_associations", Body: assoc(`"fixed_port_id": "${p}"`), Want: "403 PolicyNotAuthorized"},
			{As: "O", Do: "POST /local-ips/${a}/port_associations", Body: assoc(`"fixed_port_id": "${tport}"`), Want: "404 LocalIPNotFound"},
			{As: "M", Do: "POST /local-ips/" + nobody + "/port_associations", Body: assoc(`"fixed_port_id": "${p}"`), Want: "404 LocalIPNotFound"},
			{As: "M", Do: "POST /local-ips/${a}/port_associations", Body: assoc(`"fixed_port_id": "${p}"`), Want: "201",
				Has: "port_association.fixed_port_id = \"${p}\"\nport_association.fixed_ip = \"10.0.0.50\"\nport_association.local_ip_id = \"${a}\"\nport_association.host = \"\"\nport_association.id absent\nport_association.project_id absent\nport_association.local_ip_address present"},
			{As: "M", Do: "POST /local-ips/${a}/port_associations", Body: assoc(`"fixed_port_id": "${p}"`), Want: "409 NeutronDbObjectDuplicateEntry"},
			{As: "M", Do: "POST /local-ips/${b}/port_associations", Body: assoc(`"fixed_port_id": "${p}", "fixed_ip": "10.0.0.50"`), Want: "201"},
			{As: "M", Do: "POST /local-ips/${b}/port_associations", Body: assoc(`"fixed_port_id": "${two}"`), Want: "201"},
			{As: "M", Do: "PUT /local-ips/${b}/port_associations/${two}", Body: assoc(`"fixed_ip": "10.0.0.50"`), Want: "400"},
			{As: "R", Do: "GET /local-ips/${b}/port_associations", Want: "200", Has: "port_associations.# = 2"},
			{As: "R", Do: "GET /local-ips/${b}/port_associations?fixed_port_id=${p}", Want: "200", Has: "port_associations.# = 1"},
			{As: "R", Do: "GET /local-ips/${b}/port_associations?limit=1", Want: "200", Save: "first=port_associations.0.fixed_port_id", Has: "port_associations.# = 1\nport_associations_links present"},
			{As: "R", Do: "GET /local-ips/${b}/port_associations?limit=1&marker=${b}_${first}", Want: "200", Save: "second=port_associations.0.fixed_port_id", Has: "port_associations.# = 1"},
			{As: "R", Do: "GET /local-ips/${b}/port_associations?limit=1&marker=${b}_${second}", Want: "200", Has: "port_associations = []"},
			{As: "R", Do: "GET /local-ips/${b}/port_associations?limit=1&marker=${a}_${p}", Want: "404"},
			{As: "R", Do: "GET /local-ips/${b}/port_associations?sort_key=host&sort_dir=asc", Want: "200", Has: "port_associations.# = 2"},
			{As: "R", Do: "GET /local-ips/${a}/port_associations/${p}", Want: "200", Has: "port_association.fixed_ip = \"10.0.0.50\""},
			{As: "R", Do: "GET /local_ips/${a}/port_associations/${p}", Want: "200"},
			{As: "R", Do: "GET /local-ips/${a}/port_associations/${two}", Want: "404 LocalIPAssociationNotFound"},
			{As: "O", Do: "GET /local-ips/${a}/port_associations", Want: "404 LocalIPNotFound"},
			{As: "O", Do: "DELETE /local-ips/${a}/port_associations/${p}", Want: "404"},
			{As: "R", Do: "DELETE /local-ips/${a}/port_associations/${p}", Want: "403 PolicyNotAuthorized"},
			// The host is the port's; the address that stands for the local one stays.
			{As: "A", Do: "PUT /ports/${p}", Body: `{"port": {"binding:host_id": "h1"}}`, Want: "200"},
			{As: "M", Do: "GET /local-ips/${a}/port_associations?host=h1", Want: "200", Has: "port_associations.# = 1\nport_associations.0.host = \"h1\""},
			{As: "M", Do: "PUT /ports/${p}", Body: `{"port": {"fixed_ips": [{"ip_address": "10.0.0.70"}]}}`, Want: "400 IPAddressChangeNotAllowed"},
			{As: "M", Do: "DELETE /local-ips/${a}", Want: "409 LocalIPInUse"},
			{As: "M", Do: "DELETE /local-ips/${a}/port_associations/${p}", Want: "204"},
			{As: "M", Do: "DELETE /local-ips/${a}/port_associations/${p}", Want: "404 LocalIPAssociationNotFound"},
			{As: "M", Do: "DELETE /local-ips/${a}", Want: "204"},
			{As: "M", Do: "GET /ports/${aport}", Want: "404 PortNotFound"},
			// A port that goes stands for nothing any more.
			{As: "M", Do: "DELETE /ports/${p}", Want: "204"},
			{As: "M", Do: "GET /local-ips/${b}/port_associations", Want: "200", Has: "port_associations.# = 1"},
			{As: "M", Do: "DELETE /networks/${net}", Want: "409 NetworkInUse"},
			{As: "M", Do: "DELETE /local-ips/${c}", Want: "204"},
			{As: "M", Do: "GET /ports/${two}", Want: "200"},
			{As: "M", Do: "DELETE /ports/${two}", Want: "204"},
			{As: "M", Do: "DELETE /local-ips/${b}", Want: "204"},
			{As: "M", Do: "DELETE /networks/${bare}", Want: "204"},
		})
	})
}

// TestOthersPorts: who owns a network does not hold on to the ports that others have there, though it sees them.
func TestOthersPorts(t *testing.T) {
	c := quick(t)
	m, o := c.As(rig.ProjectM, "manager,member,reader"), c.As(rig.ProjectO, "member,reader")
	net := m.Make("/networks", "network", map[string]any{})["id"]
	m.Make("/subnets", "subnet", map[string]any{"network_id": net, "cidr": "10.0.0.0/24", "ip_version": 4})
	m.Make("/rbac-policies", "rbac_policy", map[string]any{"object_type": "network", "object_id": net, "action": "access_as_shared", "target_tenant": rig.ProjectO})
	mine := m.Make("/local-ips", "local_ip", map[string]any{"network_id": net})
	o.Make("/local-ips", "local_ip", map[string]any{"network_id": net})                // a shared network will do
	port := o.Make("/ports", "port", map[string]any{"network_id": net})["id"].(string) //nolint:errcheck // a test may panic
	m.Get("/ports/"+port, "port")
	for path, x := range map[string]struct {
		body string
		want int
	}{
		"/local-ips": {`{"local_ip": {"local_port_id": "` + port + `"}}`, 400},
		"/local-ips/" + mine["id"].(string) + "/port_associations": {`{"port_association": {"fixed_port_id": "` + port + `"}}`, 400}, //nolint:errcheck // a test may panic
		"/log/logs": {`{"log": {"resource_type": "security_group", "target_id": "` + port + `"}}`, 404},
	} {
		if a := m.Do("POST", path, x.body); a.Status != x.want {
			t.Errorf("POST %s: %d %s", path, a.Status, a.Body)
		}
	}
	if a := o.Do("DELETE", "/ports/"+port, nil); a.Status != 204 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}
