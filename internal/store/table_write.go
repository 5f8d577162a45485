package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Insert writes a new row; a *Duplicate when a unique index refuses it.
func (t *Table[T]) Insert(ctx context.Context, tx WriteTx, v *T) error {
	args, err := t.values(v)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, Query{SQL: t.textsFor(tx.Dialect()).insert, Args: args}); err != nil {
		return fmt.Errorf("insert into %s: %w", t.name, err)
	}
	if t.counted != "" {
		tx.Count(t.counted, t.project(v), 1)
	}
	return nil
}

// Update writes a row that exists. With prevRevision >= 0 it does so only when the row still has that revision,
// and is a *Stale otherwise; a *NotFound when there is no row, a *Duplicate when a unique index refuses it.
func (t *Table[T]) Update(ctx context.Context, tx WriteTx, v *T, prevRevision int64) error {
	args, err := t.values(v)
	if err != nil {
		return err
	}
	x := t.textsFor(tx.Dialect())
	id := args[0]
	args = append(args[1:], id)
	text := x.update
	if prevRevision >= 0 {
		text, args = x.compareAndSet, append(args, prevRevision)
	}
	n, err := tx.Exec(ctx, Query{SQL: text, Args: args})
	switch {
	case err != nil:
		return fmt.Errorf("update %s: %w", t.name, err)
	case n > 0:
		return nil
	}
	_, exists, err := Int(ctx, tx, Q(x.revisionOf, id))
	switch {
	case err != nil:
		return fmt.Errorf("update %s: %w", t.name, err)
	case exists:
		return &Stale{Table: t.name, ID: t.id(v)}
	}
	return &NotFound{Table: t.name, ID: t.id(v)}
}

// Delete removes a row; a *NotFound when there is none.
func (t *Table[T]) Delete(ctx context.Context, tx WriteTx, id string) error {
	n, err := t.remove(ctx, tx, Q(t.textsFor(tx.Dialect()).remove, id))
	if err != nil {
		return fmt.Errorf("delete from %s: %w", t.name, err)
	}
	if n == 0 {
		return &NotFound{Table: t.name, ID: id}
	}
	return nil
}

// remove runs the statement that deletes, and counts what it removed.
func (t *Table[T]) remove(ctx context.Context, tx WriteTx, q Query) (n int64, err error) {
	if t.counted == "" {
		return tx.Exec(ctx, q)
	}
	var owner sql.NullString
	err = Each(ctx, tx, q, func(scan func(...any) error) error {
		n++
		return scan(&owner)
	})
	if n > 0 {
		tx.Count(t.counted, owner.String, -n)
	}
	return n, err
}

// values are the row's values in the order of the insert statement, with room for two more.
func (t *Table[T]) values(v *T) ([]any, error) {
	body, err := t.encode(v)
	if err != nil {
		return nil, fmt.Errorf("encode a row of %s: %w", t.name, err)
	}
	args := make([]any, 4, 6+len(t.cols))
	// The body goes as text: a database that keeps bytes and text apart must find it as text for JSONText.
	args[0], args[1], args[2], args[3] = t.id(v), t.project(v), t.revisionOf(v), string(body)
	for i := range t.cols {
		args = append(args, t.cols[i].Of(v))
	}
	return args, nil
}

func (t *Table[T]) revisionOf(v *T) any {
	if t.revision == nil {
		return int64(0)
	}
	return t.revision(v)
}

// IsNotFound tells whether err says that a row does not exist.
func IsNotFound(err error) bool {
	_, ok := errors.AsType[*NotFound](err)
	return ok
}

// IsStale tells whether err says that a compare-and-set lost.
func IsStale(err error) bool {
	_, ok := errors.AsType[*Stale](err)
	return ok
}

// AsDuplicate gives the violation of a unique index in err.
func AsDuplicate(err error) (*Duplicate, bool) {
	return errors.AsType[*Duplicate](err)
}
