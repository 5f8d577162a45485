package store

import (
	"context"
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
	Body    []byte // a JSON object; splicers replace it through Splice
}

// Order is one sort key: an SQL expression and its direction.
type Order struct {
	Expr string
	Desc bool
}

// List says which rows, in which order. The id is always the last sort key.
type List struct {
	Where  Cond
	Order  []Order
	Limit  int // 0: all
	Offset int
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
