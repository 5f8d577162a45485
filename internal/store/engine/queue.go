package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"isospin/internal/change"
	"isospin/internal/store"
)

const (
	// poll is how often due tasks are looked for when nothing tells of them: those of a server that died, and
	// those that other servers owe where the database cannot announce.
	poll = time.Second
	// firstBackoff doubles with every try, to maxBackoff.
	firstBackoff = time.Second
	maxBackoff   = 5 * time.Minute
	// settleLimit bounds how long done may wait for the database.
	settleLimit = 30 * time.Second
)

// queue hands out due tasks. A claimed task stays in the table with its due time moved on by the lease, so that
// the task of a server that died becomes due again; a running claim's lease is renewed.
type queue struct {
	e *Engine
	// turn is held while the table is searched, so that many callers woken by one task do not search at once.
	turn chan struct{}
	mu   sync.Mutex
	// All below is guarded by mu.
	waiting int
	woken   chan struct{} // closed and replaced to wake everybody who waits
	held    map[int64]string
	renewed time.Time
	looked  time.Time
	chore   time.Time // when this server last tried to get the chore
	next    time.Time // when the earliest task is due; zero when there is none
}

func newQueue(e *Engine) *queue {
	return &queue{e: e, turn: make(chan struct{}, 1), woken: make(chan struct{}), held: make(map[int64]string)}
}

func (q *queue) wake() {
	q.mu.Lock()
	defer q.mu.Unlock()
	close(q.woken)
	q.woken = make(chan struct{})
}

func (q *queue) wanted() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting > 0
}

// choreDue tells, once a minute, that it is time to see to the chore.
func (q *queue) choreDue(now time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.chore.IsZero() {
		q.chore = now // not at the start, where every millisecond counts
	}
	if now.Sub(q.chore) < pruneEvery {
		return false
	}
	q.chore = now
	return true
}

// Claim waits for a due task with one of the names and takes it.
func (e *Engine) Claim(ctx context.Context, names []string) (change.Task, func(error) error, error) {
	q := e.queue
	for {
		q.mu.Lock()
		woken := q.woken
		q.waiting++
		q.mu.Unlock()
		t, claim, ok, err := q.search(ctx, names)
		if err == nil && !ok {
			select {
			case <-woken:
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		q.mu.Lock()
		q.waiting--
		q.mu.Unlock()
		if err != nil {
			return change.Task{}, nil, err
		}
		if ok {
			keep := context.WithoutCancel(ctx)
			return t, func(failed error) error { return q.settle(keep, t, claim, failed) }, nil
		}
	}
}

const (
	dueTask    = `SELECT id FROM tasks WHERE parked = ? AND due <= ? AND `
	lockTask   = `SELECT id, name, payload, tries, due FROM tasks WHERE parked = ? AND due <= ? AND `
	firstTask  = ` ORDER BY due, id LIMIT 1`
	claimTask  = `UPDATE tasks SET due = ?, tries = tries + 1, claim = ? WHERE id = ?`
	endTask    = `DELETE FROM tasks WHERE id = ? AND claim = ?`
	retryTask  = `UPDATE tasks SET due = ?, parked = ?, claim = '', reason = ? WHERE id = ? AND claim = ?`
	renewTask  = `UPDATE tasks SET due = ? WHERE id = ? AND claim = ?`
	earliest   = `SELECT MIN(due) FROM tasks WHERE parked = ?`
	parkedTask = `SELECT id, name, payload, tries, due, reason FROM tasks WHERE parked = ? ORDER BY id`
	unparkTask = `UPDATE tasks SET due = ?, parked = ?, tries = 0, claim = '' WHERE id = ? AND parked = ?`
)

// search takes a due task if there is one.
func (q *queue) search(ctx context.Context, names []string) (t change.Task, claim string, ok bool, err error) {
	select {
	case q.turn <- struct{}{}:
		defer func() { <-q.turn }()
	case <-ctx.Done():
		return t, "", false, ctx.Err()
	}
	e := q.e
	named := store.In("name", names)
	now := e.o.Clock.Now()
	args := append([]any{false, now.UnixMilli()}, named.Args...)
	err = e.Read(ctx, func(tx store.Tx) error {
		_, ok, err = store.Int(ctx, tx, store.Q(dueTask+named.SQL+firstTask, args...))
		return err
	})
	if err != nil || !ok {
		return t, "", false, err
	}
	claim = e.o.Ident.UUID()
	text := lockTask + named.SQL + firstTask + e.d.ForUpdate(true)
	err = e.Write(ctx, func(tx store.WriteTx) error {
		ok = false
		err := store.Each(ctx, tx, store.Q(text, args...), func(scan func(...any) error) error {
			ok = true
			return scanTask(scan, &t)
		})
		if err != nil || !ok {
			return err
		}
		// A try is counted when it begins, so that a task that kills its server is parked in the end.
		_, err = tx.Exec(ctx, store.Q(claimTask, now.Add(e.o.Lease).UnixMilli(), claim, t.ID))
		return err
	})
	if err != nil || !ok {
		return t, "", false, err
	}
	q.mu.Lock()
	q.held[t.ID] = claim
	q.mu.Unlock()
	if t.Tries >= e.o.Tries {
		err := q.settle(ctx, t, claim, fmt.Errorf("given up: the server ended while it was tried for the %dth time", t.Tries))
		return t, "", false, err
	}
	return t, claim, true, nil
}

func scanTask(scan func(...any) error, t *change.Task, more ...any) error {
	var payload []byte
	var due int64
	if err := scan(append([]any{&t.ID, &t.Name, &payload, &t.Tries, &due}, more...)...); err != nil {
		return err
	}
	t.Payload, t.Due = json.RawMessage(payload), time.UnixMilli(due)
	return nil
}

// settle ends a claim. Where the lease was lost to another server the other's claim stands and nothing is written.
func (q *queue) settle(ctx context.Context, t change.Task, claim string, failed error) error {
	q.mu.Lock()
	delete(q.held, t.ID)
	q.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	query := store.Q(endTask, t.ID, claim)
	if failed != nil {
		tried := t.Tries + 1
		wait := maxBackoff
		if t.Tries < 9 {
			wait = min(maxBackoff, firstBackoff<<t.Tries)
		}
		due := q.e.o.Clock.Now().Add(wait)
		query = store.Q(retryTask, due.UnixMilli(), tried >= q.e.o.Tries, clip(failed.Error()), t.ID, claim)
	}
	err := q.e.Write(ctx, func(tx store.WriteTx) error {
		_, err := tx.Exec(ctx, query)
		return err
	})
	if err != nil {
		return fmt.Errorf("settle task %d: %w", t.ID, err)
	}
	return nil
}

// clip keeps a reason within its column and whole in its characters.
func clip(s string) string {
	const limit = 1000
	if r := []rune(s); len(r) > limit {
		return string(r[:limit])
	}
	return s
}

// tick wakes those who wait when a task is due, and renews the leases of those who work.
func (q *queue) tick(ctx context.Context, announced bool) error {
	now := q.e.o.Clock.Now()
	q.mu.Lock()
	look := q.waiting > 0 && (announced || now.Sub(q.looked) >= poll)
	due := q.waiting > 0 && !q.next.IsZero() && !now.Before(q.next)
	var renew map[int64]string
	if len(q.held) == 0 {
		q.renewed = now
	} else if now.Sub(q.renewed) >= q.e.o.Lease/3 {
		renew = make(map[int64]string, len(q.held))
		for id, claim := range q.held {
			renew[id] = claim
		}
	}
	q.mu.Unlock()
	if look {
		next, err := q.earliest(ctx)
		if err != nil {
			return err
		}
		q.mu.Lock()
		q.looked, q.next = now, next
		q.mu.Unlock()
		due = !next.IsZero() && !now.Before(next)
	}
	if due {
		q.mu.Lock()
		q.next = time.Time{}
		q.mu.Unlock()
		q.wake()
	}
	return q.renew(ctx, renew, now)
}

func (q *queue) earliest(ctx context.Context) (time.Time, error) {
	var ms int64
	var ok bool
	err := q.e.Read(ctx, func(tx store.Tx) (err error) {
		ms, ok, err = store.Int(ctx, tx, store.Q(earliest, false))
		return err
	})
	if err != nil || !ok {
		return time.Time{}, err
	}
	return time.UnixMilli(ms), nil
}

func (q *queue) renew(ctx context.Context, held map[int64]string, now time.Time) error {
	if len(held) == 0 {
		return nil
	}
	err := q.e.Write(ctx, func(tx store.WriteTx) error {
		for id, claim := range held {
			if _, err := tx.Exec(ctx, store.Q(renewTask, now.Add(q.e.o.Lease).UnixMilli(), id, claim)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	q.mu.Lock()
	q.renewed = now
	q.mu.Unlock()
	return nil
}

// Parked lists the tasks that were given up, oldest first.
func (e *Engine) Parked(ctx context.Context) ([]store.Parked, error) {
	var out []store.Parked
	err := e.Read(ctx, func(tx store.Tx) error {
		out = nil
		return store.Each(ctx, tx, store.Q(parkedTask, true), func(scan func(...any) error) error {
			var p store.Parked
			err := scanTask(scan, &p.Task, &p.Reason)
			out = append(out, p)
			return err
		})
	})
	return out, err
}

// Unpark makes a parked task due at once.
func (e *Engine) Unpark(ctx context.Context, id int64) error {
	err := e.Write(ctx, func(tx store.WriteTx) error {
		n, err := tx.Exec(ctx, store.Q(unparkTask, e.o.Clock.Now().UnixMilli(), false, id, true))
		if err == nil && n == 0 {
			return &store.NotFound{Table: "tasks", ID: fmt.Sprint(id)}
		}
		return err
	})
	if err != nil {
		return err
	}
	e.queue.wake()
	e.b.Announce()
	return nil
}
