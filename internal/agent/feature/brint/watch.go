package brint

import (
	"context"
	"maps"
	"slices"
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

	mu     sync.Mutex
	last   map[string]vswitch.Interface // by the id of its port
	trunks Trunks
	now    Present // of last and trunks; replaced, never changed
	seen   bool
}

// Trunks are the ports inside trunks, by the id of the port that carries the trunk and by their tags.
type Trunks map[string]map[uint16]string

// Interfaces is vswitch.Interfaces.
type Interfaces interface {
	Changed() <-chan struct{}
	Snapshot() (interfaces map[string]vswitch.Interface, connected bool)
}

// NewWatch makes a watch that sees nothing until Run runs.
func NewWatch(s Interfaces) *Watch {
	return &Watch{source: s, keys: make(chan []change.Key), now: Present{}}
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
	now := vswitch.ByIfaceID(all)
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.seen {
		w.seen, w.last, w.now = true, now, compose(now, w.trunks)
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
	w.last, w.now = now, compose(now, w.trunks)
	return keys, len(keys) > 0
}

// Carry says which ports carry which others. The feature trunk calls it, which knows the documents; t is not changed after.
func (w *Watch) Carry(t Trunks) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trunks, w.now = t, compose(w.last, t)
}

// compose puts ports inside trunks where the interface is of the port that carries them. A port that is said to be in two trunks is in one, always the same.
func compose(plugged map[string]vswitch.Interface, t Trunks) Present {
	out := make(Present, len(plugged))
	for id, i := range plugged {
		out[id] = Plug{Interface: i}
	}
	placed := map[string]bool{}
	for _, carrier := range slices.Sorted(maps.Keys(t)) {
		i, there := plugged[carrier]
		for _, vlan := range slices.Sorted(maps.Keys(t[carrier])) {
			id := t[carrier][vlan]
			if placed[id] || id == carrier {
				continue
			}
			placed[id] = true
			delete(out, id) // an interface of its own does not count while the port is inside
			if there {
				out[id] = Plug{Interface: i, VLAN: vlan}
			}
		}
	}
	for carrier := range t {
		if i, there := out[carrier]; there && i.VLAN == 0 {
			i.Trunk = true
			out[carrier] = i
		}
	}
	return out
}

// Carrier finds the port that carries the trunk that a port is in.
func (w *Watch) Carrier(id string) (carrier string, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c, inside := range w.trunks {
		for _, in := range inside {
			if in == id && (!ok || c < carrier) {
				carrier, ok = c, true
			}
		}
	}
	return carrier, ok
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
	return w.now
}
