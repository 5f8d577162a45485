package store

import (
	"errors"
	"fmt"
)

// NotFound says that a table has no row with the identifier; callers turn it into the fault that names their noun.
type NotFound struct {
	Table string
	ID    string
}

func (e *NotFound) Error() string { return fmt.Sprintf("store: no %s in %s", e.ID, e.Table) }

// Stale says that a compare-and-set lost: the row has another revision than the caller read.
type Stale struct {
	Table string
	ID    string
}

func (e *Stale) Error() string {
	return fmt.Sprintf("store: %s in %s has another revision", e.ID, e.Table)
}

// ErrGap is yielded by Changes when changes may have been missed: the reader must compare everything.
var ErrGap = errors.New("store: changes may have been missed")

// ErrRowsOpen refuses a statement while the rows of the one before are still being read: read them whole first.
var ErrRowsOpen = errors.New("store: rows of the statement before are still open")

// ErrClosed is what a closed store answers.
var ErrClosed = errors.New("store: closed")

// Duplicate says which unique index refused a row.
type Duplicate struct {
	// Index is the index's or constraint's name in lower case; of a primary key it is the table's name and
	// "_pkey" on every database.
	Index string
	Cause error
}

func (d *Duplicate) Error() string { return "store: duplicate in " + d.Index }

// Unwrap gives the driver's error.
func (d *Duplicate) Unwrap() error { return d.Cause }

// Over says that a transaction would give an owner more rows of a kind than its limit.
type Over struct {
	Kind, Owner string
}

func (o *Over) Error() string {
	return fmt.Sprintf("store: %s has no room for another %s", o.Owner, o.Kind)
}

// Panic is a panic of a transaction's function, turned into that request's error after the rollback.
type Panic struct {
	Value any
	Stack []byte
}

func (p *Panic) Error() string {
	return fmt.Sprintf("store: panic in a transaction: %v\n%s", p.Value, p.Stack)
}
