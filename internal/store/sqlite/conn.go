package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"isospin/internal/store"

	sqlite "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// cacheLimit is how many prepared statements a connection keeps before it starts again from none.
const cacheLimit = 1024

// conn is one connection with its prepared statements. It is used by one goroutine at a time.
//
// Statements run without the caller's context: the driver would start a goroutine for each to watch it. The
// engine looks at the context before every statement, and none takes long.
type conn struct {
	c       *sql.Conn
	cache   map[string]*sql.Stmt
	last    *sql.Rows // what the present transaction opened last; the engine sees to it that no two are open
	indexes map[string]string
}

func newConn(ctx context.Context, db *sql.DB) (*conn, error) {
	c, err := db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("open a connection: %w", err)
	}
	return &conn{c: c, cache: make(map[string]*sql.Stmt), indexes: make(map[string]string)}, nil
}

func (c *conn) prepare(text string) (*sql.Stmt, error) {
	if s, ok := c.cache[text]; ok {
		return s, nil
	}
	s, err := c.c.PrepareContext(context.Background(), text)
	if err != nil {
		return nil, err
	}
	c.cache[text] = s
	return s, nil
}

// Query runs a statement that yields rows; the rows end with the transaction at the latest.
func (c *conn) Query(_ context.Context, text string, args []any) (*sql.Rows, error) {
	s, err := c.prepare(text)
	if err != nil {
		return nil, err
	}
	rows, err := s.QueryContext(context.Background(), args...)
	if err != nil {
		return nil, c.explain(err)
	}
	c.last = rows
	return rows, nil
}

// Exec runs a statement and tells how many rows it touched.
func (c *conn) Exec(_ context.Context, text string, args []any) (int64, error) {
	r, err := c.exec(text, args)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// Insert runs an insert and gives the new row's id.
func (c *conn) Insert(_ context.Context, text string, args []any) (int64, error) {
	r, err := c.exec(text, args)
	if err != nil {
		return 0, err
	}
	return r.LastInsertId()
}

func (c *conn) exec(text string, args []any) (sql.Result, error) {
	s, err := c.prepare(text)
	if err != nil {
		return nil, err
	}
	r, err := s.ExecContext(context.Background(), args...)
	if err != nil {
		return nil, c.explain(err)
	}
	return r, nil
}

// run executes a statement of the transaction's frame.
func (c *conn) run(text string) error {
	_, err := c.exec(text, nil)
	return err
}

// finish closes what a transaction's function left open and keeps the cache within its limit.
func (c *conn) finish() {
	if c.last != nil {
		_ = c.last.Close() // its error was the reader's to see
		c.last = nil
	}
	if len(c.cache) > cacheLimit {
		c.forget()
	}
}

func (c *conn) forget() {
	for _, s := range c.cache {
		_ = s.Close()
	}
	clear(c.cache)
}

// close ends the connection itself: database/sql would keep it, with whatever transaction is open.
func (c *conn) close() error {
	c.finish()
	c.forget()
	err := c.c.Raw(func(any) error { return driver.ErrBadConn })
	if errors.Is(err, driver.ErrBadConn) {
		return nil
	}
	return err
}

// explain turns a uniqueness violation into a *store.Duplicate; SQLite undoes the statement by itself.
func (c *conn) explain(err error) error {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return err
	}
	switch e.Code() {
	case lib.SQLITE_CONSTRAINT_UNIQUE, lib.SQLITE_CONSTRAINT_PRIMARYKEY, lib.SQLITE_CONSTRAINT_ROWID:
		return &store.Duplicate{Index: c.indexOf(e), Cause: err}
	}
	return err
}

const uniqueMark = "UNIQUE constraint failed: "

// indexOf finds the index's name: SQLite tells only the columns ("UNIQUE constraint failed: t.a, t.b (2067)").
func (c *conn) indexOf(e *sqlite.Error) string {
	_, columns, ok := strings.Cut(e.Error(), uniqueMark)
	if !ok {
		return ""
	}
	columns, _, _ = strings.Cut(columns, " (")
	if name, ok := strings.CutPrefix(columns, "index '"); ok { // an index on expressions
		return strings.ToLower(strings.TrimSuffix(name, "'"))
	}
	table, _, _ := strings.Cut(columns, ".")
	if e.Code() != lib.SQLITE_CONSTRAINT_UNIQUE {
		return strings.ToLower(table) + "_pkey"
	}
	if name, ok := c.indexes[columns]; ok {
		return name
	}
	names := strings.ReplaceAll(columns, table+".", "")
	name := strings.ToLower(table + "_" + strings.ReplaceAll(names, ", ", "_") + "_key")
	if found, err := c.lookUp(table, names); err == nil && found != "" {
		name = strings.ToLower(found)
	}
	c.indexes[columns] = name
	return name
}

// namedIndex finds the unique index over the given columns, in order; those that SQLite named itself do not count.
const namedIndex = `
SELECT l.name FROM pragma_index_list(?) AS l
WHERE l."unique" AND l.origin = 'c'
  AND (SELECT group_concat(i.name, ', ') FROM (SELECT name FROM pragma_index_info(l.name) ORDER BY seqno) AS i) = ?`

func (c *conn) lookUp(table, columns string) (name string, err error) {
	err = c.c.QueryRowContext(context.Background(), namedIndex, table, columns).Scan(&name)
	return name, err
}

// busy tells whether another process held the database for longer than the connection waits.
func busy(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && (e.Code()&0xff == lib.SQLITE_BUSY || e.Code()&0xff == lib.SQLITE_LOCKED)
}
