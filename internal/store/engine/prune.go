package engine

import (
	"context"
	"time"

	"isospin/internal/store"
)

// pruneEvery is how often one of the servers deletes old changes.
const pruneEvery = time.Minute

const (
	// The server whose update touches the row does the chore of this minute; the others find it done.
	takeChore = `UPDATE chores SET due = ? WHERE name = 'prune' AND due <= ?`

	// at grows with the id, but for what servers' clocks differ: the border is found by halving.
	pruneFrom  = `SELECT MIN(id) FROM changes`
	pruneProbe = `SELECT at FROM changes WHERE id >= ? ORDER BY id LIMIT 1`

	// Few rows at a time, so that nobody waits long for the locks.
	pruneRows = `DELETE FROM changes WHERE id < ? AND at < ?`
	pruneStep = 5000
)

// prune deletes changes older than Keep.
func (e *Engine) prune(ctx context.Context) error {
	now := e.o.Clock.Now()
	if !e.queue.choreDue(now) {
		return nil
	}
	mine := false
	err := e.Write(ctx, func(tx store.WriteTx) error {
		n, err := tx.Exec(ctx, store.Q(takeChore, now.Add(pruneEvery).UnixMilli(), now.UnixMilli()))
		mine = n > 0
		return err
	})
	if err != nil || !mine {
		return err
	}
	return e.Prune(ctx)
}

// Prune deletes the changes that are older than Options.Keep, whoever's turn it is. The newest row stays, since it
// tells where the sequence stands.
func (e *Engine) Prune(ctx context.Context) error {
	before := e.o.Clock.Now().Add(-e.o.Keep).UnixMilli()
	var low, border int64
	err := e.Read(ctx, func(tx store.Tx) (err error) {
		low, border, err = pruneBorder(ctx, tx, before)
		return err
	})
	if err != nil {
		return err
	}
	for low < border {
		low = min(border, low+pruneStep)
		err := e.Write(ctx, func(tx store.WriteTx) error {
			_, err := tx.Exec(ctx, store.Q(pruneRows, low, before))
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// pruneBorder finds the lowest id and the lowest that stays.
func pruneBorder(ctx context.Context, tx store.Tx, before int64) (lowest, border int64, err error) {
	lowest, some, err := store.Int(ctx, tx, store.Q(pruneFrom))
	if err != nil || !some {
		return 0, 0, err
	}
	border, _, err = store.Int(ctx, tx, store.Q(selectHigh))
	for low := lowest; err == nil && low < border; {
		middle := low + (border-low)/2
		var at int64
		if at, _, err = store.Int(ctx, tx, store.Q(pruneProbe, middle)); at < before {
			low = middle + 1
		} else {
			border = middle
		}
	}
	return lowest, border, err
}
