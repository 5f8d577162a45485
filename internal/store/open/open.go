// Package open makes the Store that a connection URL asks for. assemble and the db commands call it; it is the
// one package that knows every dialect.
package open

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"isospin/internal/store/engine"
	"isospin/internal/store/mariadb"
	"isospin/internal/store/migrate"
	"isospin/internal/store/postgres"
	"isospin/internal/store/sqlite"
)

// Options are Engine's, and whether the schema is upgraded first.
type Options struct {
	engine.Options
	// Upgrade brings the schema to this build's version; without it Open refuses a database of another version.
	Upgrade bool
	// Schema replaces the schema's versions; nil: this build's own.
	Schema migrate.Source
}

// ErrSchema is wrapped when the database's schema is older than this build needs.
var ErrSchema = errors.New("the database needs `isospin db upgrade`")

// ErrNewer is wrapped when the database's schema is newer than this build can work with.
var ErrNewer = errors.New("the database belongs to a newer Isospin")

// backend is an engine.Backend whose schema can be upgraded.
type backend interface {
	engine.Backend
	Upgrade(ctx context.Context, src migrate.Source) (int, error)
	Versions(ctx context.Context, src migrate.Source) (have, want int64, err error)
}

// Open connects and starts a Store. The URLs are those of oslo.db's [database] connection:
//
//	sqlite:///var/lib/isospin/isospin.db      (three slashes and a path, as SQLAlchemy writes it; four for an absolute one too)
//	sqlite://                                 (in memory: gone with the process)
//	postgresql://user:password@host/database?host=/run/postgresql
//	mysql+pymysql://user:password@host/database
func Open(ctx context.Context, url string, o Options) (*engine.Engine, error) {
	b, err := connect(ctx, url, o)
	if err != nil {
		return nil, err
	}
	if err := prepare(ctx, b, o); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return engine.New(b, o.Options), nil
}

func prepare(ctx context.Context, b backend, o Options) error {
	if o.Upgrade {
		if _, err := b.Upgrade(ctx, o.schema()); err != nil {
			return err
		}
	}
	have, want, err := b.Versions(ctx, o.schema())
	switch {
	case err != nil:
		return err
	case have < want:
		return fmt.Errorf("schema version %d, needed %d: %w", have, want, ErrSchema)
	case have > want+1:
		// The version after this build's still keeps what this build reads; a later one need not.
		return fmt.Errorf("schema version %d, this build knows %d: %w", have, want, ErrNewer)
	}
	return nil
}

// Upgrade brings a database's schema to this build's version and returns how many versions it applied.
func Upgrade(ctx context.Context, url string, o Options) (applied int, err error) {
	b, err := connect(ctx, url, o)
	if err != nil {
		return 0, err
	}
	applied, err = b.Upgrade(ctx, o.schema())
	return applied, errors.Join(err, b.Close())
}

// Versions are a database's schema version and the one that this build needs.
func Versions(ctx context.Context, url string, o Options) (have, want int64, err error) {
	b, err := connect(ctx, url, o)
	if err != nil {
		return 0, 0, err
	}
	have, want, err = b.Versions(ctx, o.schema())
	return have, want, errors.Join(err, b.Close())
}

func (o Options) schema() migrate.Source {
	if o.Schema != nil {
		return o.Schema
	}
	return migrate.Own()
}

func connect(ctx context.Context, url string, o Options) (backend, error) {
	o.Options = o.Filled()
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return nil, fmt.Errorf("store: %q is no connection URL", url)
	}
	name, _, _ := strings.Cut(scheme, "+") // the driver that SQLAlchemy would take says nothing here
	switch name {
	case "sqlite":
		return sqlite.Open(ctx, sqlitePath(rest), o.Clock)
	case "postgresql", "postgres":
		return postgres.Open(ctx, url, o.Ident.UUID(), o.Clock, o.Log)
	case "mysql", "mariadb":
		return mariadb.Open(ctx, url, o.Clock, o.Log)
	}
	return nil, fmt.Errorf("store: no database is called %q; known are sqlite, postgresql and mysql", name)
}

// sqlitePath is what follows sqlite://. SQLAlchemy takes sqlite:///x as relative and sqlite:////x as absolute;
// the three slashes of an absolute path are what most people write, so both mean the absolute path here.
func sqlitePath(rest string) string {
	path, _, _ := strings.Cut(rest, "?")
	if path == "" || path == "/" || path == "/:memory:" {
		return ""
	}
	return "/" + strings.TrimLeft(path, "/")
}
