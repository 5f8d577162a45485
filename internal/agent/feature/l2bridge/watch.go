package l2bridge

import (
	"context"
	"slices"
	"sync"

	"isospin/internal/change"
)

// KindDevice is the kind of keys that say that a device of the host came or went; the id is its name.
const KindDevice = "device"

// Watch follows the host's devices for the feature: the loop hears which changed.
type Watch struct {
	source Source
	whole  []string // devices that everything hangs on
	keys   chan []change.Key

	mu   sync.Mutex
	last map[string]int // index by name; replaced, never changed
	seen bool
}

// Source is bridge.Devices.
type Source interface {
	Changed() <-chan struct{}
	Snapshot() (devices map[string]int, seen bool)
}

// NewWatch makes a watch that sees nothing until Run runs.
func NewWatch(s Source, c Config) *Watch {
	w := &Watch{source: s, keys: make(chan []change.Key), last: map[string]int{}}
	for _, mapped := range []map[string]string{c.Interfaces, c.Bridges} {
		for _, name := range mapped {
			w.whole = append(w.whole, name)
		}
	}
	return w
}

// Run follows until ctx ends.
func (w *Watch) Run(ctx context.Context) error {
	for {
		if keys, tell := w.look(); tell {
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

// look takes a snapshot and lists the devices of ports that are others than before; at the first one, and when a physical network's
// device came or went, it asks for a look at everything, which is nil.
func (w *Watch) look() (keys []change.Key, tell bool) {
	now, seen := w.source.Snapshot()
	if !seen {
		return nil, false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.last
	w.last = now
	if !w.seen {
		w.seen = true
		return nil, true
	}
	if slices.ContainsFunc(w.whole, func(name string) bool { return before[name] != now[name] }) {
		return nil, true
	}
	for name, index := range now {
		if isTap(name) && before[name] != index {
			keys = append(keys, change.Key{Kind: KindDevice, ID: name})
		}
	}
	for name := range before {
		if _, there := now[name]; !there && isTap(name) {
			keys = append(keys, change.Key{Kind: KindDevice, ID: name})
		}
	}
	return keys, len(keys) > 0
}

func (w *Watch) observed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen
}

func (w *Watch) devices() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}
