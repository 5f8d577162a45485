package open

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"isospin/internal/store/migrate"
)

func TestSQLitePaths(t *testing.T) {
	for rest, want := range map[string]string{
		"": "", "/": "", "/:memory:": "", "/var/lib/isospin.db": "/var/lib/isospin.db",
		"//var/lib/isospin.db": "/var/lib/isospin.db", "/tmp/a.db?timeout=5": "/tmp/a.db",
	} {
		if got := sqlitePath(rest); got != want {
			t.Errorf("sqlite://%s is the file %q, want %q", rest, got, want)
		}
	}
}

func TestURLsThatAreNone(t *testing.T) {
	for url, want := range map[string]string{
		"isospin.db": "no connection URL", "oracle://a/b": `"oracle"`, "sqlite:///proc/none/isospin.db": "no such file",
		"postgresql+psycopg2://nobody@127.0.0.1:1/none": "postgres", "mysql+pymysql://nobody@127.0.0.1:1/none": "mariadb",
	} {
		s, err := Open(context.Background(), url, Options{Upgrade: true})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s opened %v: %v", url, s, err)
		}
	}
}

func TestANewerDatabaseIsRefused(t *testing.T) {
	ctx := context.Background()
	url := "sqlite:///" + t.TempDir() + "/isospin.db"
	own := migrate.Own()
	later := migrate.Folder{FS: fstest.MapFS{
		"sql/9001_later.sql":  {Data: []byte("CREATE TABLE later (id {{.Int}} NOT NULL){{.Table}};\n")},
		"sql/9002_latest.sql": {Data: []byte("CREATE TABLE latest (id {{.Int}} NOT NULL){{.Table}};\n")},
	}, Dir: "sql"}
	if _, err := Upgrade(ctx, url, Options{Schema: append(own, later)}); err != nil {
		t.Fatal(err)
	}
	for _, upgrade := range []bool{true, false} {
		s, err := Open(ctx, url, Options{Upgrade: upgrade})
		if !errors.Is(err, ErrNewer) {
			t.Errorf("upgrade %v: opened %v: %v", upgrade, s, err)
		}
	}
}
