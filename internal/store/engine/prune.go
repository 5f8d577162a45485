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

	// Few rows at a time, so that nobody waits long for the locks; the newest row stays, since it tells where
	// the sequence stands.
	pruneUpTo = `SELECT MAX(id) FROM changes WHERE at < ?`
	pruneFrom = `SELECT MIN(id) FROM changes`
	pruneRows = `DELETE FROM changes WHERE id <= ? AND id < ? AND at < ?`

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

// Prune deletes the changes that are older than Options.Keep, whoever's turn it is.
func (e *Engine) Prune(ctx context.Context) error {
	before := e.o.Clock.Now().Add(-e.o.Keep).UnixMilli()
	var from, upTo, newest int64
	var some bool
	err := e.Read(ctx, func(tx store.Tx) (err error) {
		if upTo, some, err = store.Int(ctx, tx, store.Q(pruneUpTo, before)); err != nil || !some {
			return err
		}
		if from, _, err = store.Int(ctx, tx, store.Q(pruneFrom)); err != nil {
			return err
		}
		newest, _, err = store.Int(ctx, tx, store.Q(selectHigh))
		return err
	})
	if err != nil || !some {
		return err
	}
	for ; from <= upTo && from < newest; from += pruneStep {
		err := e.Write(ctx, func(tx store.WriteTx) error {
			_, err := tx.Exec(ctx, store.Q(pruneRows, min(upTo, from+pruneStep), newest, before))
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
