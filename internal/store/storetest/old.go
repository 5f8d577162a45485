package storetest

import (
	"io/fs"
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
	must(t, s.Close())
}
