package store

import (
	"context"
	"sync/atomic"
)

// Tally counts the statements of one request.
type Tally struct{ n atomic.Uint64 }

// Statements were made so far, also by runs of a transaction that were repeated.
func (t *Tally) Statements() uint64 { return t.n.Load() }

// Add counts one more; nil counts nothing.
func (t *Tally) Add() {
	if t != nil {
		t.n.Add(1)
	}
}

type tallyKey struct{}

// WithTally has statements counted that are made with the context that it returns.
func WithTally(ctx context.Context) (context.Context, *Tally) {
	t := &Tally{}
	return context.WithValue(ctx, tallyKey{}, t), t
}

// TallyOf finds who counts; nil where nobody does.
func TallyOf(ctx context.Context) *Tally {
	t, _ := ctx.Value(tallyKey{}).(*Tally)
	return t
}
