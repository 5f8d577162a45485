package storetest

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"isospin/internal/store"
	"isospin/internal/store/migrate"
	"isospin/internal/store/open"
)

// OldRows shows on an empty database that rows of a version before there were counts are counted by the upgrade, and that
// policies of then have the bodies that the API shows.
func OldRows(t *testing.T, url string) {
	ctx := deadline(t)
	files := fstest.MapFS{}
	for _, name := range []string{"0001_store.sql", "0002_networking.sql"} {
		text, err := fs.ReadFile(migrate.Own()[0].FS, "sql/"+name)
		must(t, err)
		files["sql/"+name] = &fstest.MapFile{Data: text}
	}
	old := open.Options{Schema: migrate.Source{{FS: files, Dir: "sql"}}, Upgrade: true}
	s, err := open.Open(ctx, url, old)
	must(t, err)
	write(t, s, func(tx store.WriteTx) error {
		for i, project := range []any{"p", "p", "q", "", nil} {
			if _, err := tx.Exec(ctx, store.Q("INSERT INTO networks (id, project_id, revision, body, name) VALUES (?, ?, 0, '{}', '')", uid(i), project)); err != nil {
				return err
			}
		}
		for i, q := range []store.Query{
			store.Q("INSERT INTO segments (id, network_id, network_type, physical_network, segmentation_id, segment_index, is_dynamic, host) VALUES (?, ?, 'vlan', 'physnet1', 100, 0, 0, '')", uid(20), uid(0)),
			store.Q("INSERT INTO segments (id, network_id, network_type, physical_network, segmentation_id, segment_index, is_dynamic, host) VALUES (?, ?, 'local', '', 0, 0, 0, '')", uid(21), uid(1)),
			store.Q("INSERT INTO subnets (id, project_id, revision, body, network_id, name) VALUES (?, 'p', 0, '{\"name\":\"s\"}', ?, 's')", uid(22), uid(0)),
			store.Q("INSERT INTO ports (id, project_id, revision, body, network_id, mac_address, name, device_id, device_owner, status, host, wiring) VALUES (?, '', 0, '{\"name\":\"p\"}', ?, 'm', 'p', '', '', 'DOWN', '', 1)", uid(23), uid(0)),
		} {
			if _, err := tx.Exec(ctx, q); err != nil {
				return fmt.Errorf("row %d: %w", i, err)
			}
		}
		_, err := tx.Exec(ctx, store.Q("INSERT INTO rbac_policies (id, project_id, object_type, object_id, action, target_project) VALUES (?, 'p', 'network', ?, 'access_as_shared', '*')", uid(9), uid(0)))
		return err
	})
	must(t, s.Close())
	s, err = open.Open(ctx, url, open.Options{Upgrade: true})
	must(t, err)
	for c, want := range map[[2]string]int64{{"p", "network"}: 2, {"q", "network"}: 1, {"p", "rbac_policy"}: 1, {"p", "port"}: 0, {"", "network"}: 0} {
		if n := used(t, s, c[0], c[1]); n != want {
			t.Errorf("%v: %d are counted, not %d", c, n, want)
		}
	}
	read(t, s, func(tx store.Tx) error {
		return store.Each(ctx, tx, store.Q("SELECT body, revision FROM rbac_policies"), func(scan func(...any) error) error {
			var body string
			var revision int64
			err := scan(&body, &revision)
			want := `{"id":"` + uid(9) + `","project_id":"p","tenant_id":"p","object_type":"network","object_id":"` + uid(0) + `","action":"access_as_shared","target_tenant":"*"}`
			if body != want || revision != 0 {
				t.Errorf("the policy's body is %s (%d)", body, revision)
			}
			return err
		})
	})
	for id, want := range map[string]map[string]any{
		"segments " + uid(20): {"id": uid(20), "name": nil, "network_id": uid(0), "network_type": "vlan", "physical_network": "physnet1", "segmentation_id": 100.0, "revision_number": 0.0},
		"segments " + uid(21): {"physical_network": nil, "segmentation_id": nil, "description": nil},
		"subnets " + uid(22):  {"name": "s", "segment_id": nil},
		"ports " + uid(23):    {"name": "p", "ip_allocation": "immediate"},
	} {
		has(t, s, id, want)
	}
	must(t, s.Close())
}

// has holds a row's body to members of it; the row is named by its table and its id.
func has(t *testing.T, s store.Store, row string, want map[string]any) {
	t.Helper()
	ctx := deadline(t)
	table, id, _ := strings.Cut(row, " ")
	read(t, s, func(tx store.Tx) error {
		return store.Each(ctx, tx, store.Q("SELECT body FROM "+table+" WHERE id = ?", id), func(scan func(...any) error) error {
			var text string
			if err := scan(&text); err != nil {
				return err
			}
			var body map[string]any
			if err := json.Unmarshal([]byte(text), &body); err != nil {
				t.Errorf("%s: %s: %v", row, text, err)
			}
			for name, v := range want {
				if got, ok := body[name]; !ok || got != v {
					t.Errorf("%s: %s is %v (there: %v), want %v", row, name, got, ok, v)
				}
			}
			if at, ok := body["created_at"].(string); table == "segments" && (!ok || len(at) != 20 || at[10] != 'T') {
				t.Errorf("%s was made at %v", row, body["created_at"])
			}
			return nil
		})
	})
}
