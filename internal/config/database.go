package config

import (
	"fmt"
	"slices"
	"strings"
)

// Database is where the servers' rows are.
type Database struct {
	Connection  Connection `option:"connection" default:"" secret:"true" deprecated:"sql_connection,DEFAULT/sql_connection" help:"Address of the database, as SQLAlchemy writes it: mysql+pymysql://user:password@host/name, postgresql://user:password@host/name, sqlite:////folder/file. Empty: an embedded database in [isospin] state_dir."`
	MaxPoolSize int        `option:"max_pool_size" default:"20" min:"1" deprecated:"DEFAULT/sql_max_pool_size" help:"How many connections to the database a server keeps open."`
}

// Connection is an address of a database, dialect[+driver]://user:password@host/name?params, whose password
// does not get into logs. The zero value stands for the embedded database. The store reads it; here only the
// dialect is looked at.
type Connection struct{ url string }

// UnmarshalText keeps an address of a dialect that the store has.
func (c *Connection) UnmarshalText(text []byte) error {
	scheme, _, ok := strings.Cut(string(text), "://")
	if !ok {
		return fmt.Errorf("it is not of the form dialect://user:password@host/name")
	}
	dialect, _, _ := strings.Cut(scheme, "+")
	if dialects := []string{"mysql", "mariadb", "postgresql", "postgres", "sqlite"}; !slices.Contains(dialects, dialect) {
		return fmt.Errorf("possible dialects are %s", strings.Join(dialects, ", "))
	}
	c.url = string(text)
	return nil
}

// URL is the address with the password, for the store.
func (c Connection) URL() string { return c.url }

// Embedded tells whether no address was given.
func (c Connection) Embedded() bool { return c.url == "" }

// String is the address without the password.
func (c Connection) String() string {
	if c.url == "" {
		return "embedded"
	}
	scheme, rest, _ := strings.Cut(c.url, "://")
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		user, _, _ := strings.Cut(rest[:at], ":")
		rest = user + ":***" + rest[at:]
	}
	return scheme + "://" + rest
}

// GoString keeps the password out of %#v too.
func (c Connection) GoString() string { return c.String() }
