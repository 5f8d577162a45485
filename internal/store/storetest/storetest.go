// Package storetest is the conformance suite that every dialect runs: what store.Store, store.Table and freerange
// promise, on one database that two stores share as two servers would. Tests of the dialect packages call Run;
// benchmarks call Bench. It is imported by tests alone.
package storetest

import (
	"context"
	"embed"
	"fmt"
	"strings"
	"testing"
	"time"

	"isospin/internal/store"
	"isospin/internal/store/engine"
	"isospin/internal/store/migrate"
)

//go:embed sql/*.sql
var files embed.FS

// Schema is Isospin's schema with the suite's own table.
func Schema() migrate.Source {
	return append(migrate.Own(), migrate.Folder{FS: files, Dir: "sql"})
}

// Thing is a resource of the suite.
type Thing struct {
	ID       string         `json:"id"`
	Project  string         `json:"project_id"`
	Name     string         `json:"name"`
	Slot     *int64         `json:"slot"`
	Up       bool           `json:"up"`
	Note     *string        `json:"note"`
	Size     int            `json:"size"`
	Revision int64          `json:"revision_number"`
	Ext      map[string]any `json:"ext,omitempty"`
	Secret   string         `json:"-"`
}

// Things is its table.
func Things() *store.Table[Thing] {
	return store.NewTable("things",
		func(v *Thing) string { return v.ID },
		func(v *Thing) string { return v.Project },
		store.Column[Thing]{Name: "revision", Attr: "revision_number", Of: func(v *Thing) any { return v.Revision }},
		store.Column[Thing]{Name: "name", Attr: "name", Of: func(v *Thing) any { return v.Name }},
		store.Column[Thing]{Name: "slot", Attr: "slot", Of: func(v *Thing) any {
			if v.Slot == nil {
				return nil
			}
			return *v.Slot
		}},
		store.Column[Thing]{Name: "up", Attr: "up", Of: func(v *Thing) any { return v.Up }},
		store.Column[Thing]{
			Name: "secret",
			Of:   func(v *Thing) any { return v.Secret },
			Load: func(v *Thing, raw any) error {
				s, ok := raw.(string)
				if !ok {
					return fmt.Errorf("secret is a %T", raw)
				}
				v.Secret = s
				return nil
			},
		},
	)
}

// Open makes a store on the suite's database; every call of one test is on the same database, as another server.
type Open func(t testing.TB, o engine.Options) *engine.Engine

// NewDatabase gives an empty database with Schema.
type NewDatabase func(t testing.TB) Open

// Run runs the suite.
func Run(t *testing.T, database NewDatabase) {
	for _, c := range []struct {
		name string
		test func(*testing.T, Open)
	}{
		{"Rows", testRows},
		{"Counts", testCounts},
		{"CountsAtOnce", testCountsAtOnce},
		{"Lists", testLists},
		{"ListsStay", testListsStay},
		{"Text", testText},
		{"BigBodies", testBigBodies},
		{"JSONText", testJSONText},
		{"CompareAndSet", testCompareAndSet},
		{"Duplicates", testDuplicates},
		{"Rollback", testRollback},
		{"Panics", testPanics},
		{"Goexit", testGoexit},
		{"NestedQueries", testNestedQueries},
		{"OwnWritesAreRead", testOwnWritesAreRead},
		{"OneState", testOneState},
		{"Cancelled", testCancelled},
		{"Counters", testCounters},
		{"Check", testCheck},
		{"Changes", testChanges},
		{"ChangesMerge", testChangesMerge},
		{"ChangesUnderLoad", testChangesUnderLoad},
		{"ChangesGap", testChangesGap},
		{"Prune", testPrune},
		{"Tasks", testTasks},
		{"TasksAreTakenOnce", testTasksAreTakenOnce},
		{"TasksOfTheDead", testTasksOfTheDead},
		{"TasksAreParked", testTasksAreParked},
		{"FreeRange", testFreeRange},
		{"FreeRangeAddresses", testFreeRangeAddresses},
		{"FreeRangeExact", testFreeRangeExact},
		{"FreeRangeMixed", testFreeRangeMixed},
		{"FreeRangeNamed", testFreeRangeNamed},
		{"FreeRangeSet", testFreeRangeSet},
		{"FreeRangeCost", testFreeRangeCost},
		{"ClosedRefuses", testClosedRefuses},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, database(t)) })
	}
}

// limit is how long anything may be waited for.
const limit = 20 * time.Second

func deadline(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, s store.Store, fn func(store.WriteTx) error) {
	t.Helper()
	must(t, s.Write(deadline(t), fn))
}

func read(t testing.TB, s store.Store, fn func(store.Tx) error) {
	t.Helper()
	must(t, s.Read(deadline(t), fn))
}

// uid is an identifier of 36 characters that sorts as n does.
func uid(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

func thing(n int) Thing {
	return Thing{ID: uid(n), Project: "p" + fmt.Sprint(n%3), Name: fmt.Sprintf("thing-%04d", n), Size: n, Revision: 1}
}

// padded is a thing with a body of about a kilobyte, as a port's is.
func padded(n int) Thing {
	v := thing(n)
	v.Ext = map[string]any{"pad": strings.Repeat("x", 880)}
	return v
}

func insert(t testing.TB, s store.Store, vs ...Thing) {
	t.Helper()
	things := Things()
	ctx := deadline(t)
	write(t, s, func(tx store.WriteTx) error {
		for i := range vs {
			if err := things.Insert(ctx, tx, &vs[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// Wipe empties every table that the suite uses.
func Wipe(t testing.TB, s store.Store) {
	t.Helper()
	ctx := deadline(t)
	write(t, s, func(tx store.WriteTx) error {
		for _, table := range []string{"things", "changes", "tasks", "free_range", "quotas"} {
			if _, err := tx.Exec(ctx, store.Q("DELETE FROM "+table)); err != nil {
				return err
			}
		}
		return nil
	})
}
