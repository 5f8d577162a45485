package l2ovs

import (
	"context"
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
	last map[string]vswitch.Interface // by port id
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
		if keys := w.look(); len(keys) > 0 {
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

// look takes a snapshot and lists the ports whose interface is another than before. While the database is away nothing is
// known to be gone.
func (w *Watch) look() []change.Key {
	all, connected := w.source.Snapshot()
	if !connected {
		return nil
	}
	now := vswitch.ByIfaceID(all)
	w.mu.Lock()
	defer w.mu.Unlock()
	var keys []change.Key
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
	return keys
}

func (w *Watch) interfaces() map[string]vswitch.Interface {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}

// Report tells how far a port is: wired, waiting for its interface, or plugged in without a document.
func (f *Feature) Report(v agent.View, id string) (agent.PortState, bool) {
	p, known := get[*wire.Port](v, wire.KindPort, id)
	i, plugged := f.present[id]
	switch {
	case !known && !plugged:
		return agent.PortState{}, false
	case !known:
		return agent.PortState{State: wire.State_PLUGGED, Detail: "interface " + i.Name + " is plugged in; no server says that this host has the port"}, true
	case !plugged:
		return agent.PortState{Generation: p.GetWiring(), State: wire.State_UNPLUGGED, Detail: "no interface on " + f.cfg.Bridge + " has external_ids:iface-id=" + id}, true
	case i.Error != "":
		return agent.PortState{Generation: p.GetWiring(), State: wire.State_FAILED, Detail: "Open vSwitch cannot open interface " + i.Name + ": " + i.Error}, true
	case !i.Ready():
		return agent.PortState{Generation: p.GetWiring(), State: wire.State_PENDING, Detail: "Open vSwitch has not given interface " + i.Name + " a port number"}, true
	}
	if _, ok := v.Get(wire.KindNetwork, p.GetNetworkId()); !ok {
		return agent.PortState{Generation: p.GetWiring(), State: wire.State_PENDING, Detail: "the network's document has not come"}, true
	}
	if !p.GetAdminStateUp() {
		return agent.PortState{Generation: p.GetWiring(), State: wire.State_UNPLUGGED, Detail: "the port is administratively down"}, true
	}
	return agent.PortState{Generation: p.GetWiring(), State: wire.State_DONE, Needs: netOwner(p.GetNetworkId())}, true
}
