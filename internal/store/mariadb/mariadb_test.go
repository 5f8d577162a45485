package mariadb_test

import (
	"context"
	"testing"

	"isospin/internal/store"
	"isospin/internal/store/dbtest"
	"isospin/internal/store/engine"
	"isospin/internal/store/open"
	"isospin/internal/store/storetest"
)

// url is the database that all tests of the package use, one after the other; empty and old are such as nobody has used.
var url, empty, old string

func TestMain(m *testing.M) {
	dbtest.Main(m, dbtest.MariaDB, func(s *dbtest.Server) (err error) {
		if url, err = s.Create("isospin"); err != nil {
			return err
		}
		if _, err = s.Create("empty"); err != nil {
			return err
		}
		empty = s.TCP("empty")
		old, err = s.Create("old")
		return err
	})
}

// database empties the tables: quicker by far than a new database.
func database(t testing.TB) storetest.Open {
	s := start(t, engine.Options{})
	storetest.Wipe(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return start
}

func start(t testing.TB, o engine.Options) *engine.Engine {
	t.Helper()
	s, err := open.Open(context.Background(), url, open.Options{Options: o, Upgrade: true, Schema: storetest.Schema()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestConformance(t *testing.T) { storetest.Run(t, database) }

func TestConnectionsLost(t *testing.T) {
	storetest.ConnectionsLost(t, database, func(ctx context.Context, tx store.WriteTx) error {
		var ids []int64
		const others = `SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND user = 'root'`
		err := store.Each(ctx, tx, store.Q(others), func(scan func(...any) error) error {
			var id int64
			err := scan(&id)
			ids = append(ids, id)
			return err
		})
		for _, id := range ids {
			_, _ = tx.Exec(ctx, store.Q("KILL CONNECTION ?", id)) // it may have ended by itself
		}
		return err
	})
}

func TestUpgrade(t *testing.T) { storetest.Upgrade(t, empty) }

func TestOldRows(t *testing.T) { storetest.OldRows(t, old) }

func BenchmarkStore(b *testing.B) { storetest.Bench(b, database) }
