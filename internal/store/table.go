package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

// Column is one indexed value of a row, computed from T when the row is written.
type Column[T any] struct {
	Name string // the SQL column
	// Attr is the API attribute that the column holds the text, number or truth of ("" for internal columns):
	// filters and sort keys on it use the column and not the body.
	Attr string
	Of   func(*T) any // string, int64, bool, []byte or nil
	// Load puts a value that the body does not hold back into T; nil for columns that only mirror the body.
	Load func(v *T, raw any) error
}

// Row is one listed row: what rest needs without decoding the body.
type Row struct {
	ID      string
	Project string
	Body    []byte // a JSON object; whoever adds to it replaces it
	// Value is the decoded row where the reader decoded it, else nil.
	Value any
}

// Order is one sort key: an SQL expression and its direction.
type Order struct {
	Expr string
	Desc bool
}

// List says which rows, in which order. The id is always the last sort key.
type List struct {
	Where Cond
	Order []Order
	// AnyOrder leaves the order to the database: for reads of everything, which then go through the table as it lies.
	AnyOrder bool
	Limit    int // 0: all
	Offset   int
	Lock     bool // keep the rows until the commit, for the reader alone; in writing transactions
	Share    bool // keep the rows until the commit as they are, for any number of readers; in writing transactions
}

// Rows is the part of Table that does not depend on T, for code that serves every resource alike.
type Rows interface {
	TableName() string
	// ColumnOf finds the column that mirrors an API attribute.
	ColumnOf(attr string) (column string, ok bool)
	// Bodies reads rows without decoding them: one statement.
	Bodies(ctx context.Context, tx Tx, l List) ([]Row, error)
	// Count counts rows: one statement.
	Count(ctx context.Context, tx Tx, where Cond) (int64, error)
}

// Names of the columns that every table has.
const (
	columnID       = "id"
	columnProject  = "project_id"
	columnRevision = "revision"
	columnBody     = "body"
)

// Table maps T to the rows of one SQL table: id (the primary key), project_id, revision, body and the columns
// that filters, uniqueness, joins and quotas need. The body is T's JSON under the API's names; what a body does
// not hold comes back through Column.Load. The table itself is made by a migration. Safe for concurrent use.
type Table[T any] struct {
	name        string
	id, project func(*T) string
	revision    func(*T) any // nil: the table counts no revisions
	cols        []Column[T]  // without revision
	loaded      []int        // indexes in cols of those with Load
	attrs       map[string]string
	texts       sync.Map // dialect name -> *texts
	encode      func(*T) ([]byte, error)
	decode      func([]byte, *T) error
	counted     string // the kind that its rows are counted as, "" for none
}

// NewTable describes a table. A column named "revision" gives the revision of optimistic updates; it is not
// added a second time.
func NewTable[T any](name string, id, project func(*T) string, cols ...Column[T]) *Table[T] {
	t := &Table[T]{
		name: name, id: id, project: project,
		attrs: map[string]string{"id": columnID, "project_id": columnProject, "tenant_id": columnProject},
		// encoding/json is the codec until a benchmark asks for another.
		encode: func(v *T) ([]byte, error) { return json.Marshal(v) },
		decode: func(b []byte, v *T) error { return json.Unmarshal(b, v) },
	}
	for _, c := range cols {
		if c.Attr != "" {
			t.attrs[c.Attr] = c.Name
		}
		if c.Name == columnRevision {
			t.revision = c.Of
			continue
		}
		if c.Load != nil {
			t.loaded = append(t.loaded, len(t.cols))
		}
		t.cols = append(t.cols, c)
	}
	return t
}

// WithCodec replaces the body's codec; both functions must agree with encoding/json on what JSON means. It is
// called while the table is being made, before anybody uses it.
func (t *Table[T]) WithCodec(encode func(*T) ([]byte, error), decode func([]byte, *T) error) *Table[T] {
	t.encode, t.decode = encode, decode
	return t
}

// Counted makes each row count for its project, as a row of this kind (WriteTx.Count). It is called while the table is being made.
func (t *Table[T]) Counted(kind string) *Table[T] {
	t.counted = kind
	return t
}

// TableName is the name in SQL.
func (t *Table[T]) TableName() string { return t.name }

// ColumnOf finds the column that mirrors an API attribute.
func (t *Table[T]) ColumnOf(attr string) (string, bool) {
	c, ok := t.attrs[attr]
	return c, ok
}

// texts are a table's statements in one dialect, built once so that prepared statements are found by them.
type texts struct {
	get, getForUpdate, getForShare, find, bodies, count, insert, update, compareAndSet, remove, revisionOf string
}

func (t *Table[T]) textsFor(d Dialect) *texts {
	if v, ok := t.texts.Load(d.Name()); ok {
		return v.(*texts)
	}
	v, _ := t.texts.LoadOrStore(d.Name(), t.build(d))
	return v.(*texts)
}

func (t *Table[T]) build(d Dialect) *texts {
	names := []string{columnID, columnProject, columnRevision, columnBody}
	read := []string{d.Body(columnBody)}
	for _, c := range t.cols {
		names = append(names, c.Name)
	}
	for _, i := range t.loaded {
		read = append(read, t.cols[i].Name)
	}
	from := " FROM " + t.name
	listed := d.Body(columnBody)
	if d.Packed(columnBody) != "" {
		listed = columnBody // packing reads the column itself
	}
	x := &texts{
		find:       "SELECT " + strings.Join(read, ", ") + from,
		bodies:     "SELECT " + columnID + ", " + columnProject + ", " + listed + from,
		count:      "SELECT COUNT(*)" + from,
		remove:     "DELETE" + from + " WHERE id = ?",
		revisionOf: "SELECT " + columnRevision + from + " WHERE id = ?",
		insert: fmt.Sprintf("INSERT INTO %s (%s) VALUES (?%s)", t.name, strings.Join(names, ", "),
			strings.Repeat(", ?", len(names)-1)),
		update: fmt.Sprintf("UPDATE %s SET %s = ? WHERE id = ?", t.name, strings.Join(names[1:], " = ?, ")),
	}
	x.get = x.find + " WHERE id = ?"
	x.getForUpdate = x.get + d.ForUpdate(false)
	x.getForShare = x.get + d.ForShare()
	if t.counted != "" {
		x.remove += " RETURNING " + columnProject
	}
	x.compareAndSet = x.update + " AND " + columnRevision + " = ?"
	return x
}

var _ Rows = (*Table[struct{}])(nil)
