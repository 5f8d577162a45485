// Package store keeps everything that Isospin must not forget: rows with indexed columns and a body, and the
// change and task tables that are written in the same transaction. rest opens one transaction a request and all
// plugins write through it; sessions read changes; the task runner claims tasks. Dialects (SQLite, PostgreSQL,
// MariaDB) live in packages below and are chosen by assemble. It knows no resource and never looks inside a body.
package store

import (
	"context"
	"database/sql"
	"iter"

	"isospin/internal/change"
)

// Store runs functions in transactions. It is safe for concurrent use.
type Store interface {
	// Read runs fn in a transaction that sees one state and writes nothing.
	Read(ctx context.Context, fn func(Tx) error) error
	// Write runs fn in a transaction and commits it durably when fn returns nil. It runs fn again when the
	// database aborted the transaction (deadlock, serialization failure, SQLITE_BUSY), so fn must touch
	// nothing but tx and variables that it sets from scratch. An error of fn rolls everything back and is returned;
	// a panic of fn does too, as a *Panic. fn never calls Read or Write itself: on SQLite it runs on the one writer.
	Write(ctx context.Context, fn func(WriteTx) error) error
	// Changes yields every change committed by any server from now on at least once; order means nothing.
	// A yielded ErrGap says that changes may have been missed (a server away for too long, a lost
	// connection): the reader must compare everything. It ends with ctx.
	Changes(ctx context.Context) iter.Seq2[change.Change, error]
	// Claim waits for a due task with one of the names and takes it, so that no other server does. done(nil)
	// ends the task, done(err) puts it back with backoff or, after too many tries, parks it with err's text.
	Claim(ctx context.Context, names []string) (t change.Task, done func(error) error, err error)
	// Dialect tells how SQL differs.
	Dialect() Dialect
	// Stats counts what was done so far.
	Stats() Stats
	Close() error
}

// Stats counts since the start; tests assert that cost follows the change.
type Stats struct {
	Statements uint64 // SQL statements, BEGIN and COMMIT left out
	Commits    uint64 // transactions that reached the disk
	Retries    uint64 // runs repeated because the database aborted them
}

// Query is SQL with ? for each argument; the dialect rewrites the marks. The text should be constant, since
// prepared statements are kept by it. []byte, string, int64, bool, float64, time.Time and nil are the arguments' types.
type Query struct {
	SQL  string
	Args []any
}

// Q makes a Query.
func Q(sql string, args ...any) Query { return Query{SQL: sql, Args: args} }

// Tx reads. One statement at a time: while the rows of a Query are open, every other statement is ErrRowsOpen.
type Tx interface {
	Query(ctx context.Context, q Query) (*sql.Rows, error)
	Dialect() Dialect
}

// WriteTx reads and writes.
type WriteTx interface {
	Tx
	// Exec returns how many rows it touched. A uniqueness violation is a *Duplicate, which names the index
	// and leaves the transaction usable.
	Exec(ctx context.Context, q Query) (int64, error)
	// Changed says that the document is dirty in these sets; merged by key, written at the commit.
	Changed(key change.Key, sets ...change.Set)
	// Owe writes a task at the commit.
	Owe(t change.Task)
	// Count says how many rows of a kind an owner has gained (or lost); merged, and written at the commit. Counted tables
	// call it; what belongs to nobody is not counted.
	Count(kind, owner string, by int64)
	// Bound makes the commit an *Over where the transaction adds rows of the kind to the owner and has it end with more than
	// its own limit or, without one, than this; negative: no limit.
	Bound(kind, owner string, limit int64)
}

// Dialect is how one database's SQL differs from another's.
type Dialect interface {
	Name() string // "sqlite", "postgres", "mariadb"
	// Rebind turns ? marks into the dialect's.
	Rebind(sql string) string
	// JSONText is an expression for the text of a top-level member of a JSON column (NULL when absent or null).
	JSONText(column, member string) string
	// ForUpdate is the suffix that locks the rows read until the commit ("" where writers are alone);
	// skipLocked passes over rows that others hold.
	ForUpdate(skipLocked bool) string
	// ForShare is the suffix that keeps the rows read as they are until the commit, while others may keep them too ("" where
	// writers are alone): what a new row hangs on.
	ForShare() string
	// InsertIgnore is the statement's head and tail for an insert that does nothing on a duplicate:
	// "INSERT OR IGNORE INTO", "" or "INSERT INTO", "ON CONFLICT DO NOTHING".
	InsertIgnore() (head, tail string)
	// Random is the expression for a random number to order by.
	Random() string
	// Body is the expression that reads a body column as bytes at the least cost.
	Body(column string) string
	// Packed wraps a statement that yields id, project_id and body so that it yields one row: the ids, the projects
	// and the bodies, each joined by PackMark, the bodies in memory that the driver does not use again. "" where
	// reading row by row is no dearer.
	Packed(rows string) string
	// Direction is the suffix of a sort key; NULL sorts below everything on every database.
	Direction(desc bool) string
}

// PackMark is between packed values: the character of JSON that stands in no string unescaped, nor in an identifier.
const PackMark = '\x1e'

// Parked is a task that was given up after too many tries and waits for an operator.
type Parked struct {
	change.Task
	Reason string // the last error's text
}

// Parker is the part of a Store that an operator's commands use.
type Parker interface {
	// Parked lists what was given up, oldest first.
	Parked(ctx context.Context) ([]Parked, error)
	// Unpark makes a parked task due at once, with its tries forgotten; a *NotFound when there is none.
	Unpark(ctx context.Context, id int64) error
}
