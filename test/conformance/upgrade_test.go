package conformance

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	_ "modernc.org/sqlite"

	"isospin/internal/apidef/catalogue"
	"isospin/internal/store/migrate"
	"isospin/isospintest"
	"isospin/test/rig"
)

// upTo is the versions of the schema up to one.
func upTo(t *testing.T, last string) migrate.Source {
	t.Helper()
	names, err := filepath.Glob("../../internal/store/migrate/sql/*.sql")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	files := fstest.MapFS{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if base := filepath.Base(name); base[:4] <= last {
			files["sql/"+base] = &fstest.MapFile{Data: text}
		}
	}
	return migrate.Source{{FS: files, Dir: "sql"}}
}

// TestOldRowsShowNewAttributes: networks, subnets and ports of a database that is older than extensions show the attributes that these
// bring, with the values that a create would have put in place.
func TestOldRowsShowNewAttributes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "isospin.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := upTo(t, "0004").Up(t.Context(), db, "sqlite"); err != nil {
		t.Fatal(err)
	}
	const standard = `,"project_id":"` + rig.ProjectM + `","tenant_id":"` + rig.ProjectM + `","description":"","created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z","revision_number":1,"tags":[],"name":""`
	for _, row := range [][]any{
		{"INSERT INTO networks (id, project_id, revision, body, name) VALUES ('n1', ?, 1, ?, '')", `{"id":"n1"` + standard + `,"admin_state_up":true,"status":"ACTIVE","mtu":1450,"router:external":false,"port_security_enabled":true,"provider:network_type":"vxlan","provider:physical_network":null,"provider:segmentation_id":7,"availability_zone_hints":[],"availability_zones":[]}`},
		{"INSERT INTO segments (id, network_id, network_type, physical_network, segmentation_id, segment_index, is_dynamic, host) VALUES ('s1', 'n1', 'vxlan', '', 7, 0, 0, '')"},
		{"INSERT INTO subnets (id, project_id, revision, body, network_id, name) VALUES ('u1', ?, 1, ?, 'n1', '')", `{"id":"u1"` + standard + `,"network_id":"n1","ip_version":4,"cidr":"10.0.0.0/24","subnetpool_id":null,"gateway_ip":"10.0.0.1","allocation_pools":[{"start":"10.0.0.2","end":"10.0.0.254"}],"enable_dhcp":true,"dns_nameservers":[],"host_routes":[],"ipv6_ra_mode":null,"ipv6_address_mode":null,"service_types":[]}`},
		{"INSERT INTO ports (id, project_id, revision, body, network_id, mac_address, name, device_id, device_owner, status, host, wiring) VALUES ('p1', ?, 1, ?, 'n1', 'fa:16:3e:00:00:01', '', '', '', 'DOWN', '', 1)",
			`{"id":"p1"` + standard + `,"network_id":"n1","mac_address":"fa:16:3e:00:00:01","admin_state_up":true,"status":"DOWN","device_id":"","device_owner":"","fixed_ips":[],"security_groups":[],"allowed_address_pairs":[],"extra_dhcp_opts":[],"port_security_enabled":true,"binding:host_id":"","binding:vnic_type":"normal","binding:profile":{},"binding:vif_type":"unbound","binding:vif_details":{},"propagate_uplink_status":true,"data_plane_status":null}`},
	} {
		args := row[1:]
		if len(args) > 0 {
			args = append([]any{rig.ProjectM}, args...)
		}
		if _, err := db.ExecContext(t.Context(), row[0].(string), args...); err != nil { //nolint:errcheck // a test may panic
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s := isospintest.Start(t, isospintest.Options{Config: map[string]string{"database/connection": "sqlite:///" + path}})
	c := rig.Caller{TB: t, URL: s.URL}.Who("A")
	reg, err := catalogue.Build(catalogue.Served())
	if err != nil {
		t.Fatal(err)
	}
	for collection, id := range map[string]string{"networks": "n1", "subnets": "u1", "ports": "p1"} {
		res, _ := reg.Resource(collection)
		old := c.Get("/"+collection+"/"+id, res.Name)
		for _, a := range res.Attributes {
			switch a.Name {
			case "vlan_transparent", "qinq", "segments", "is_default", "trunk_details": // not always there
				continue
			}
			if _, there := old[a.Name]; !there && !a.Hidden && !a.FilterOnly {
				t.Errorf("an old row of %s does not show %s", collection, a.Name)
			}
		}
		changed := map[string]any{res.Name: map[string]any{"name": "new"}}
		if a := c.Do("PUT", "/"+collection+"/"+id, changed); a.Status != 200 || !strings.Contains(string(a.Body), `"new"`) {
			t.Errorf("PUT of an old row of %s: %d %s", collection, a.Status, a.Body)
		}
	}
}
