package rig

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"isospin/internal/store"
	"isospin/internal/store/dbtest"
	"isospin/internal/store/engine"
	"isospin/internal/store/open"
)

// Databases starts the database servers that tests ask for, each once; Stop ends them.
type Databases struct {
	mu      sync.Mutex
	started map[string]*dbtest.Server
	made    int
}

// Kinds are the databases that a test of all of them goes through.
func Kinds() []string { return []string{"memory", "sqlite", "postgres", "mariadb"} }

// Fresh gives the options of a server with an empty database of the kind; servers with equal options share it.
func (d *Databases) Fresh(tb testing.TB, kind string) map[string]string {
	tb.Helper()
	switch kind {
	case "memory":
		return map[string]string{"isospin/memory": "true"}
	case "sqlite":
		return map[string]string{"database/connection": "sqlite:///" + tb.TempDir() + "/isospin.db"}
	}
	url, err := d.create(kind)
	if err != nil {
		tb.Fatal(err)
	}
	options := map[string]string{"database/connection": url}
	st, err := open.Open(tb.Context(), url, open.Options{Upgrade: true})
	if err != nil {
		tb.Fatal(err)
	}
	if err := st.Close(); err != nil {
		tb.Fatal(err)
	}
	return options
}

func (d *Databases) create(kind string) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.started == nil {
		d.started = map[string]*dbtest.Server{}
	}
	s := d.started[kind]
	if s == nil {
		var err error
		switch kind {
		case "postgres":
			s, err = dbtest.Postgres()
		case "mariadb":
			s, err = dbtest.MariaDB()
		default:
			err = fmt.Errorf("there is no database %q", kind)
		}
		if err != nil {
			return "", err
		}
		d.started[kind] = s
	}
	d.made++
	return s.Create(fmt.Sprintf("t%d", d.made))
}

// Stop ends the servers that were started.
func (d *Databases) Stop() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	for _, s := range d.started {
		errs = append(errs, s.Stop())
	}
	d.started = nil
	return errors.Join(errs...)
}

// Look opens a database beside the servers that use it, to see what they wrote.
func Look(tb testing.TB, options map[string]string) *engine.Engine {
	tb.Helper()
	st, err := open.Open(tb.Context(), options["database/connection"], open.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := st.Close(); err != nil {
			tb.Error(err)
		}
	})
	return st
}

// bookkeeping are the tables that change although nobody asked for anything.
func bookkeeping(table string) bool {
	switch table {
	case "changes", "tasks", "servers", "chores":
		return true
	}
	return strings.HasPrefix(table, "goose") || strings.HasPrefix(table, "sqlite_")
}

// Tables lists the tables of a database.
func Tables(ctx context.Context, st store.Store) (names []string, err error) {
	text := "SELECT table_name FROM information_schema.tables WHERE table_schema = "
	switch st.Dialect().Name() {
	case "sqlite":
		text = "SELECT name FROM sqlite_master WHERE type = 'table'"
	case "postgres":
		text += "'public'"
	default:
		text += "DATABASE()"
	}
	err = st.Read(ctx, func(tx store.Tx) error {
		names = nil
		return store.Each(ctx, tx, store.Q(text), func(scan func(...any) error) error {
			var n string
			err := scan(&n)
			if !bookkeeping(n) {
				names = append(names, n)
			}
			return err
		})
	})
	slices.Sort(names)
	return names, err
}

// Dump is every row of every table but the bookkeeping, as one sorted text a table.
func Dump(tb testing.TB, st store.Store) map[string]string {
	tb.Helper()
	ctx := tb.Context()
	names, err := Tables(ctx, st)
	if err != nil {
		tb.Fatal(err)
	}
	out := map[string]string{}
	err = st.Read(ctx, func(tx store.Tx) error {
		for _, name := range names {
			text, err := rows(ctx, tx, name)
			if err != nil {
				return err
			}
			out[name] = text
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

func rows(ctx context.Context, tx store.Tx, table string) (string, error) {
	rs, err := tx.Query(ctx, store.Q("SELECT * FROM "+table))
	if err != nil {
		return "", err
	}
	defer rs.Close()
	columns, err := rs.Columns()
	if err != nil {
		return "", err
	}
	var lines []string
	for rs.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rs.Scan(into...); err != nil {
			return "", err
		}
		var b strings.Builder
		for i, v := range values {
			if raw, ok := v.([]byte); ok {
				v = string(raw)
			}
			fmt.Fprintf(&b, "%s=%v ", columns[i], v)
		}
		lines = append(lines, b.String())
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n"), rs.Err()
}

// Digest is a dump as one short text.
func Digest(dump map[string]string) string {
	h := sha256.New()
	var names []string
	for n := range dump {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		fmt.Fprintf(h, "%s\n%s\n", n, dump[n])
	}
	return fmt.Sprintf("%x", h.Sum(nil))[:16]
}
