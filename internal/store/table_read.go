package store

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"math"
	"strings"
)

// Get reads one row; a *NotFound when there is none.
func (t *Table[T]) Get(ctx context.Context, tx Tx, id string) (T, error) {
	return t.one(ctx, tx, t.textsFor(tx.Dialect()).get, id)
}

// GetForUpdate reads one row and locks it until the commit.
func (t *Table[T]) GetForUpdate(ctx context.Context, tx WriteTx, id string) (T, error) {
	return t.one(ctx, tx, t.textsFor(tx.Dialect()).getForUpdate, id)
}

// GetForShare reads one row that nobody may change or remove until the commit: the parent of a row that is written.
func (t *Table[T]) GetForShare(ctx context.Context, tx WriteTx, id string) (T, error) {
	return t.one(ctx, tx, t.textsFor(tx.Dialect()).getForShare, id)
}

func (t *Table[T]) one(ctx context.Context, tx Tx, text, id string) (T, error) {
	var v T
	vs, err := t.read(ctx, tx, Q(text, id), 1)
	if err != nil {
		return v, err
	}
	if len(vs) == 0 {
		return v, &NotFound{Table: t.name, ID: id}
	}
	return vs[0], nil
}

// Find reads and decodes the rows of a list: one statement.
func (t *Table[T]) Find(ctx context.Context, tx Tx, l List) ([]T, error) {
	return t.read(ctx, tx, l.query(t.textsFor(tx.Dialect()).find, tx.Dialect()), l.Limit)
}

func (t *Table[T]) read(ctx context.Context, tx Tx, q Query, expect int) ([]T, error) {
	rows, err := tx.Query(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", t.name, err)
	}
	defer rows.Close()
	var body sql.RawBytes
	raws := make([]any, len(t.loaded))
	dest := make([]any, 1, 1+len(raws))
	dest[0] = &body
	for i := range raws {
		dest = append(dest, &raws[i])
	}
	out := make([]T, 0, min(expect, 1024))
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return nil, fmt.Errorf("read %s: %w", t.name, err)
		}
		out = append(out, *new(T))
		if err := t.fill(&out[len(out)-1], body, raws); err != nil {
			return nil, err
		}
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", t.name, err)
	}
	return out, nil
}

// fill makes v of a body and the columns that the body does not hold.
func (t *Table[T]) fill(v *T, body []byte, raws []any) error {
	if err := t.decode(body, v); err != nil {
		return fmt.Errorf("decode a row of %s: %w", t.name, err)
	}
	for i, c := range t.loaded {
		if err := t.cols[c].Load(v, plain(raws[i])); err != nil {
			return fmt.Errorf("load column %s of %s: %w", t.cols[c].Name, t.name, err)
		}
	}
	return nil
}

// Bodies reads the rows of a list without decoding them: one statement.
func (t *Table[T]) Bodies(ctx context.Context, tx Tx, l List) ([]Row, error) {
	d := tx.Dialect()
	q := l.query(t.textsFor(d).bodies, d)
	scan := bodies
	if packed := d.Packed(q.SQL); packed != "" {
		q.SQL, scan = packed, unpack
	}
	rows, err := tx.Query(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", t.name, err)
	}
	defer rows.Close()
	out, err := scan(rows)
	if err == nil {
		err = rows.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", t.name, err)
	}
	return out, nil
}

// bodies reads rows one by one.
func bodies(rows *sql.Rows) ([]Row, error) {
	var (
		out  []Row
		id   string
		proj sql.NullString
		body sql.RawBytes
		mem  arena
		dest = []any{&id, &proj, &body}
	)
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return nil, err
		}
		out = append(out, Row{ID: id, Project: proj.String, Body: mem.copy(body)})
	}
	return out, nil
}

// unpack reads the one row of a packed list. The bodies are parts of one piece of memory, which nobody else uses.
func unpack(rows *sql.Rows) ([]Row, error) {
	var ids, projects sql.NullString
	var packed sql.RawBytes
	if !rows.Next() {
		return nil, nil
	}
	if err := rows.Scan(&ids, &projects, &packed); err != nil {
		return nil, err
	}
	if !ids.Valid {
		return nil, nil
	}
	out := make([]Row, strings.Count(ids.String, string(PackMark))+1)
	for i := range out {
		r := &out[i]
		r.ID, ids.String, _ = strings.Cut(ids.String, string(PackMark))
		r.Project, projects.String, _ = strings.Cut(projects.String, string(PackMark))
		n := bytes.IndexByte(packed, PackMark)
		if last := i == len(out)-1; last != (n < 0) {
			return nil, fmt.Errorf("a body of row %s has a mark inside", r.ID)
		}
		if n < 0 {
			n = len(packed)
		}
		r.Body = packed[:n:n]
		packed = packed[min(n+1, len(packed)):]
	}
	return out, nil
}

// Count counts rows: one statement.
func (t *Table[T]) Count(ctx context.Context, tx Tx, where Cond) (int64, error) {
	q := Query{SQL: t.textsFor(tx.Dialect()).count, Args: where.Args}
	if !where.True() {
		q.SQL += " WHERE " + where.SQL
	}
	n, _, err := Int(ctx, tx, q)
	if err != nil {
		return 0, fmt.Errorf("count %s: %w", t.name, err)
	}
	return n, nil
}

// query appends a list's clauses to a statement's head. The texts depend only on the list's shape.
func (l List) query(head string, d Dialect) Query {
	var b strings.Builder
	b.WriteString(head)
	args := l.Where.Args
	if !l.Where.True() {
		b.WriteString(" WHERE ")
		b.WriteString(l.Where.SQL)
	}
	if !l.AnyOrder {
		b.WriteString(" ORDER BY ")
		for _, o := range l.Order {
			b.WriteString(o.Expr)
			b.WriteString(d.Direction(o.Desc))
			b.WriteString(", ")
		}
		b.WriteString(columnID)
	}
	if l.Limit > 0 || l.Offset > 0 {
		limit := int64(l.Limit)
		if limit <= 0 {
			limit = math.MaxInt64
		}
		b.WriteString(" LIMIT ? OFFSET ?")
		args = append(args[:len(args):len(args)], limit, int64(l.Offset))
	}
	switch {
	case l.Lock:
		b.WriteString(d.ForUpdate(false))
	case l.Share:
		b.WriteString(d.ForShare())
	}
	return Query{SQL: b.String(), Args: args}
}

// Int reads the one number that a statement yields; ok is false when it yields no row or NULL.
func Int(ctx context.Context, tx Tx, q Query) (n int64, ok bool, err error) {
	rows, err := tx.Query(ctx, q)
	if err != nil {
		return 0, false, err
	}
	defer rows.Close()
	var v sql.NullInt64
	if rows.Next() {
		if err := rows.Scan(&v); err != nil {
			return 0, false, err
		}
	}
	return v.Int64, v.Valid, rows.Err()
}

// Each runs fn for every row of a statement; scan is the row's Scan.
func Each(ctx context.Context, tx Tx, q Query, fn func(scan func(...any) error) error) error {
	rows, err := tx.Query(ctx, q)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := fn(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// arena copies many small byte slices into few large ones, so that a list of ten thousand rows is some dozens
// of allocations. What it returned stays valid; appending to it never reaches a neighbour.
type arena struct{ free []byte }

const arenaChunk = 256 << 10

func (a *arena) copy(b []byte) []byte {
	if len(b) > arenaChunk/4 {
		return append([]byte(nil), b...)
	}
	if len(b) > cap(a.free)-len(a.free) {
		// The first chunk is small: most lists are short.
		a.free = make([]byte, 0, min(arenaChunk, max(4*len(b), 2*cap(a.free))))
	}
	n := len(a.free)
	a.free = append(a.free, b...)
	return a.free[n:len(a.free):len(a.free)]
}

// plain brings a scanned value to one of string, int64, float64, bool or nil: databases differ in whether text comes as bytes.
func plain(v any) any {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return v
}
