package store

import (
	"context"
	"fmt"
	"strings"
)

// Difference is a row whose column does not say what its body says.
type Difference struct {
	Table  string
	ID     string
	Column string
	Have   string // what the column holds
	Want   string // what the body asks for
}

func (d Difference) String() string {
	return fmt.Sprintf("%s %s: column %s is %s, the body says %s", d.Table, d.ID, d.Column, d.Have, d.Want)
}

// Checker is the part of a Table that `db check` uses.
type Checker interface {
	TableName() string
	// Check compares every row's columns with its body and reports each difference; it reads pages of a
	// thousand rows, so that a table of any size fits in memory.
	Check(ctx context.Context, tx Tx, report func(Difference)) error
}

var _ Checker = (*Table[struct{}])(nil)

// CheckAll checks tables one after the other, each in a state of its own.
func CheckAll(ctx context.Context, s Store, tables []Checker, report func(Difference)) error {
	for _, t := range tables {
		if err := s.Read(ctx, func(tx Tx) error { return t.Check(ctx, tx, report) }); err != nil {
			return err
		}
	}
	return nil
}

const checkPage = 1000

// Check recomputes every row's columns from its body.
func (t *Table[T]) Check(ctx context.Context, tx Tx, report func(Difference)) error {
	names := []string{columnID, columnProject, columnRevision}
	for _, c := range t.cols {
		names = append(names, c.Name)
	}
	text := fmt.Sprintf("SELECT %s, %s FROM %s WHERE id > ? ORDER BY id LIMIT %d",
		tx.Dialect().Body(columnBody), strings.Join(names, ", "), t.name, checkPage)
	for last, n := "", checkPage; n == checkPage; {
		n = 0
		err := Each(ctx, tx, Q(text, last), func(scan func(...any) error) error {
			var body []byte
			have := make([]any, len(names))
			dest := []any{&body}
			for i := range have {
				dest = append(dest, &have[i])
			}
			if err := scan(dest...); err != nil {
				return err
			}
			n++
			last = normal(have[0])
			t.compare(last, body, names, have, report)
			return nil
		})
		if err != nil {
			return fmt.Errorf("check %s: %w", t.name, err)
		}
	}
	return nil
}

func (t *Table[T]) compare(id string, body []byte, names []string, have []any, report func(Difference)) {
	raws := make([]any, len(t.loaded))
	for i, c := range t.loaded {
		raws[i] = have[3+c]
	}
	var v T
	if err := t.fill(&v, body, raws); err != nil {
		report(Difference{Table: t.name, ID: id, Column: columnBody, Have: string(body), Want: err.Error()})
		return
	}
	want := []any{t.id(&v), t.project(&v), t.revisionOf(&v)}
	for _, c := range t.cols {
		want = append(want, c.Of(&v))
	}
	for i := range want {
		if h, w := normal(have[i]), normal(want[i]); h != w {
			report(Difference{Table: t.name, ID: id, Column: names[i], Have: h, Want: w})
		}
	}
}

// normal writes a value so that what was bound and what a database gives back compare equal: truth is 0 or 1
// where a database has no type for it, text may come as bytes.
func normal(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case bool:
		if v {
			return "1"
		}
		return "0"
	case []byte:
		return string(v)
	}
	return fmt.Sprint(v)
}
