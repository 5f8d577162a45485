package l2ovs

import (
	"context"
	"slices"
	"sync"

	"isospin/internal/agent"
	"isospin/internal/change"
	"isospin/internal/dataplane/vswitch"
	"isospin/internal/wire"
)

// Watch follows the interfaces on the integration bridge for the feature: the loop hears which ports' interfaces changed.
type Watch struct {
	source Source
	keys   chan []change.Key

	mu   sync.Mutex
	last map[string]vswitch.Interface // by port id; replaced, never changed
	seen bool
}

// Source is vswitch.Interfaces.
type Source interface {
	Changed() <-chan struct{}
	Snapshot() (interfaces map[string]vswitch.Interface, connected bool)
}

// NewWatch makes a watch that sees nothing until Run runs.
func NewWatch(s Source) *Watch {
	return &Watch{source: s, keys: make(chan []change.Key), last: map[string]vswitch.Interface{}}
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

// look takes a snapshot and lists the ports whose interface is another than before; at the first one it asks for a look at
// everything, which is nil. While the database is away nothing is known to be gone.
func (w *Watch) look() (keys []change.Key, tell bool) {
	all, connected := w.source.Snapshot()
	if !connected {
		return nil, false
	}
	now := vswitch.ByIfaceID(all)
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

func (w *Watch) observed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen
}

func (w *Watch) interfaces() map[string]vswitch.Interface {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}

// Report tells how far a port is: wired, waiting for its interface, or plugged in without a document.
func (f *Feature) Report(v agent.View, id string) (agent.Report, bool) {
	p, known := get[*wire.Port](v, wire.KindPort, id)
	i, plugged := f.present[id]
	say := func(s wire.State, detail string) (agent.Report, bool) {
		return agent.Report{PortState: agent.PortState{Generation: p.GetWiring(), State: s, Detail: detail}}, true
	}
	switch {
	case !known && !plugged:
		return agent.Report{}, false
	case !known:
		return say(wire.State_PLUGGED, "interface "+i.Name+" is plugged in; no server says that this host has the port")
	case !plugged:
		return say(wire.State_UNPLUGGED, "no interface on "+f.cfg.Bridge+" has external_ids:iface-id="+id)
	case i.Error != "":
		return say(wire.State_FAILED, "Open vSwitch cannot open interface "+i.Name+": "+i.Error)
	case !i.Ready():
		return say(wire.State_PENDING, "Open vSwitch has not given interface "+i.Name+" a port number")
	case !p.GetAdminStateUp():
		return say(wire.State_UNPLUGGED, "the port is administratively down")
	}
	n, ok := get[*wire.Network](v, wire.KindNetwork, p.GetNetworkId())
	if !ok {
		return say(wire.State_PENDING, "the network's document has not come")
	}
	at := slices.IndexFunc(n.GetSegments(), func(s *wire.Segment) bool { return s.GetId() == p.GetSegmentId() })
	if at < 0 {
		return say(wire.State_PENDING, "the network's document does not name the port's segment "+p.GetSegmentId())
	}
	docs, lacks := f.fabric.standsOn(n.GetSegments()[at])
	if lacks != "" {
		return say(wire.State_FAILED, lacks)
	}
	r, _ := say(wire.State_DONE, "")
	r.Docs = append(docs, netOwner(p.GetNetworkId()), hostOwner)
	return r, true
}
