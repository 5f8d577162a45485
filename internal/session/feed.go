package session

import (
	"context"
	"errors"
	"iter"
	"sync"

	"isospin/internal/change"
	"isospin/internal/store"
)

// feed gathers changes until the hub has time for them.
type feed struct {
	mu      sync.Mutex
	changes []change.Change
	gap     bool
	wake    chan struct{}
}

func newFeed() *feed { return &feed{wake: make(chan struct{}, 1)} }

// read follows the store's changes until they end.
func (f *feed) read(ctx context.Context, changes iter.Seq2[change.Change, error]) error {
	for c, err := range changes {
		switch {
		case errors.Is(err, store.ErrGap):
			f.add(func() { f.changes, f.gap = nil, true }) // comparing everything covers what waits
		case err != nil:
			return err
		default:
			f.add(func() { f.changes = append(f.changes, c) })
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return errors.New("session: the feed of changes ended")
}

func (f *feed) add(put func()) {
	f.mu.Lock()
	put()
	f.mu.Unlock()
	poke(f.wake)
}

func (f *feed) take() (changes []change.Change, gap bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	changes, gap = f.changes, f.gap
	f.changes, f.gap = nil, false
	return changes, gap
}

// poke fills a channel of one; whoever reads it looks at everything that happened before.
func poke(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
