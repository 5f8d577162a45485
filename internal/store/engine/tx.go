package engine

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"isospin/internal/change"
	"isospin/internal/store"
)

// tx is one run of a transaction's function.
type tx struct {
	e        *Engine
	c        Conn
	index    map[change.Key]int // into changes
	changes  []change.Change
	tasks    []change.Task
	changeID int64
	last     *sql.Rows
	counts   map[counter]int64
	bounds   map[counter]int64
}

var _ store.WriteTx = (*tx)(nil)

func (t *tx) Dialect() store.Dialect { return t.e.d }

// ready refuses a statement while the rows of the one before are open: a connection of PostgreSQL or MariaDB
// answers one statement at a time, and what works on SQLite must work there.
func (t *tx) ready(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if t.last != nil {
		if _, err := t.last.Columns(); err == nil { // closed rows do not know their columns
			return store.ErrRowsOpen
		}
		t.last = nil
	}
	t.count(ctx)
	return nil
}

// count counts one statement, for the server and for the request that makes it.
func (t *tx) count(ctx context.Context) {
	t.e.statements.Add(1)
	store.TallyOf(ctx).Add()
}

func (t *tx) Query(ctx context.Context, q store.Query) (*sql.Rows, error) {
	if err := t.ready(ctx); err != nil {
		return nil, err
	}
	rows, err := t.c.Query(ctx, q.SQL, q.Args)
	t.last = rows
	return rows, err
}

func (t *tx) Exec(ctx context.Context, q store.Query) (int64, error) {
	if err := t.ready(ctx); err != nil {
		return 0, err
	}
	return t.c.Exec(ctx, q.SQL, q.Args)
}

// Changed merges by key; a transaction has few keys with few sets, so a set is looked for one by one.
func (t *tx) Changed(key change.Key, sets ...change.Set) {
	i, ok := t.index[key]
	if !ok {
		if t.index == nil {
			t.index = make(map[change.Key]int)
		}
		i = len(t.changes)
		t.index[key] = i
		t.changes = append(t.changes, change.Change{Key: key})
	}
	c := &t.changes[i]
next:
	for _, s := range sets {
		for _, have := range c.Sets {
			if have == s {
				continue next
			}
		}
		c.Sets = append(c.Sets, s)
	}
}

func (t *tx) Owe(task change.Task) { t.tasks = append(t.tasks, task) }

const (
	// One row holds all changes of a transaction: it is its last statement, behind the counters that others may hold, so that the time in which its id
	// is taken but not yet to be seen is as short as can be.
	insertChanges = `INSERT INTO changes (at, body) VALUES (?, ?)`

	insertTask = `INSERT INTO tasks (name, payload, tries, due, parked, claim, reason) VALUES (?, ?, ?, ?, ?, '', '')`
)

// flush writes what the function declared.
func (t *tx) flush(ctx context.Context) error {
	if t.last != nil {
		_ = t.last.Close() // its error was the reader's to see
	}
	now := t.e.o.Clock.Now()
	for i := range t.tasks {
		task := &t.tasks[i]
		if len(task.Payload) == 0 {
			task.Payload = json.RawMessage("null")
		}
		if task.Due.IsZero() {
			task.Due = now
		}
		t.count(ctx)
		if _, err := t.c.Exec(ctx, insertTask, []any{
			task.Name, string(task.Payload), int64(task.Tries), task.Due.UnixMilli(), false,
		}); err != nil {
			return fmt.Errorf("owe task %s: %w", task.Name, err)
		}
	}
	if err := t.settle(ctx); err != nil {
		return err
	}
	if len(t.changes) == 0 {
		return nil
	}
	body, err := encodeChanges(t.changes)
	if err != nil {
		return err
	}
	t.count(ctx)
	if t.changeID, err = t.c.Insert(ctx, insertChanges, []any{now.UnixMilli(), body}); err != nil {
		return fmt.Errorf("write changes: %w", err)
	}
	return nil
}

// stored is a change as the table holds it: short names, since every commit writes one.
type stored struct {
	Kind string       `json:"k"`
	ID   string       `json:"i"`
	Sets []change.Set `json:"s,omitempty"`
}

func encodeChanges(cs []change.Change) (string, error) {
	out := make([]stored, len(cs))
	for i, c := range cs {
		out[i] = stored{Kind: c.Key.Kind, ID: c.Key.ID, Sets: c.Sets}
	}
	b, err := json.Marshal(out)
	return string(b), err
}

func decodeChanges(id int64, body []byte) ([]change.Change, error) {
	var in []stored
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, fmt.Errorf("decode change %d: %w", id, err)
	}
	out := make([]change.Change, len(in))
	for i, s := range in {
		out[i] = change.Change{ID: id, Key: change.Key{Kind: s.Kind, ID: s.ID}, Sets: s.Sets}
	}
	return out, nil
}
