package brint

import (
	"context"
	"sync"

	"isospin/internal/change"
	"isospin/internal/dataplane/vswitch"
	"isospin/internal/wire"
)

// Watch follows the interfaces on the integration bridge for the features: the loop hears which ports' interfaces changed, and tells all that
// read ports.
type Watch struct {
	source Interfaces
	keys   chan []change.Key

	mu   sync.Mutex
	last Present // replaced, never changed
	seen bool
}

// Interfaces is vswitch.Interfaces.
type Interfaces interface {
	Changed() <-chan struct{}
	Snapshot() (interfaces map[string]vswitch.Interface, connected bool)
}

// NewWatch makes a watch that sees nothing until Run runs.
func NewWatch(s Interfaces) *Watch {
	return &Watch{source: s, keys: make(chan []change.Key), last: Present{}}
}

// Run follows until ctx ends.
func (w *Watch) Run(ctx context.Context) error {
	for {
		if keys, tell := w.Look(); tell {
			select {
			case w.keys <- keys:
			case <-ctx.Done():
				return nil
			}
		}
		select {
		case <-w.source.Changed():
		case <-ctx.Done():
			return nil
		}
	}
}

// Look takes a snapshot and lists the ports whose interface is another than before; at the first one it asks for a look at
// everything, which is nil. While the database is away nothing is known to be gone.
func (w *Watch) Look() (keys []change.Key, tell bool) {
	all, connected := w.source.Snapshot()
	if !connected {
		return nil, false
	}
	now := Present(vswitch.ByIfaceID(all))
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.seen {
		w.seen, w.last = true, now
		return nil, true
	}
	for id, i := range now {
		if before, ok := w.last[id]; !ok || before != i {
			keys = append(keys, change.Key{Kind: wire.KindPort, ID: id})
		}
	}
	for id := range w.last {
		if _, ok := now[id]; !ok {
			keys = append(keys, change.Key{Kind: wire.KindPort, ID: id})
		}
	}
	w.last = now
	return keys, len(keys) > 0
}

// Changed yields the ports whose interface is another now; nil at the first look: agent.Observer's.
func (w *Watch) Changed() <-chan []change.Key { return w.keys }

// Observed tells whether there was a first look.
func (w *Watch) Observed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen
}

// Present is what was seen last.
func (w *Watch) Present() Present {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}
