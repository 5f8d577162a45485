package vswitch

import (
	"context"
	"maps"
	"sync"

	"isospin/internal/ovsdb"
)

// Interface is an interface on the integration bridge that says which port of the API it is: os-vif, or an
// agent, has set external_ids:iface-id.
type Interface struct {
	Name        string
	IfaceID     string // the ID of the port in the API
	AttachedMAC string
	VMUUID      string
	Type        string
	Owner       string // the tag of the agent that made it; "" when it was plugged by others
	OFPort      int    // 0 is not assigned yet, -1 is a device that could not be opened
	MTU         int    // in use, in bytes; 0 is unknown
	LinkUp      bool
	AdminUp     bool
	Error       string // why ovs-vswitchd could not set it up
}

// Ready says whether flows can name the interface.
func (i Interface) Ready() bool { return i.OFPort > 0 }

// Interfaces follows the interfaces of one bridge by the database's monitor; it never asks by itself. All
// methods may be called by any goroutine.
type Interfaces struct {
	client  *ovsdb.Client
	bridge  string
	changed chan struct{}

	mu        sync.Mutex
	now       map[string]Interface
	connected bool
}

// NewInterfaces makes a watcher that sees nothing until Run runs.
func NewInterfaces(c *ovsdb.Client, bridge string) *Interfaces {
	return &Interfaces{client: c, bridge: bridge, changed: make(chan struct{}, 1)}
}

// Run follows until ctx ends, and returns nil then.
func (w *Interfaces) Run(ctx context.Context) error {
	changes, stop := w.client.Watch()
	defer stop()
	for {
		w.look()
		select {
		case <-ctx.Done():
			return nil
		case <-changes:
		}
	}
}

// Snapshot is the interfaces by name, as last seen; the caller's copy. connected is false while the database
// cannot be reached: then they are what was there before, and nobody may conclude that one is gone.
func (w *Interfaces) Snapshot() (interfaces map[string]Interface, connected bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.now), w.connected
}

// Changed receives after each change of Snapshot's answer; changes that come faster than they are read are told once.
func (w *Interfaces) Changed() <-chan struct{} { return w.changed }

func (w *Interfaces) look() {
	connected := w.client.State().Connected
	s := w.client.Snapshot()
	if s == nil {
		return
	}
	now := map[string]Interface{}
	if b, there := s.Bridge(w.bridge); there {
		s.On(b, func(p ovsdb.Port, i ovsdb.Interface) {
			if i.ExternalIDs["iface-id"] != "" {
				now[i.Name] = view(p, i)
			}
		})
	}
	w.mu.Lock()
	same := w.connected == connected && maps.Equal(w.now, now) && w.now != nil
	w.now, w.connected = now, connected
	w.mu.Unlock()
	if same {
		return
	}
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

func view(p ovsdb.Port, i ovsdb.Interface) Interface {
	return Interface{
		Name:        i.Name,
		IfaceID:     i.ExternalIDs["iface-id"],
		AttachedMAC: i.ExternalIDs["attached-mac"],
		VMUUID:      i.ExternalIDs["vm-uuid"],
		Type:        i.Type,
		Owner:       p.ExternalIDs[ownerKey],
		OFPort:      i.OFPort,
		MTU:         i.MTU,
		LinkUp:      i.LinkState == "up",
		AdminUp:     i.AdminState == "up",
		Error:       i.Error,
	}
}

// ByIfaceID picks one interface for each port of the API: while a machine moves or is replugged two may
// bear the same ID. One that flows can name wins, then the name that sorts first.
func ByIfaceID(interfaces map[string]Interface) map[string]Interface {
	out := map[string]Interface{}
	for name, i := range interfaces {
		other, taken := out[i.IfaceID]
		if !taken || i.Ready() && !other.Ready() || i.Ready() == other.Ready() && name < other.Name {
			out[i.IfaceID] = i
		}
	}
	return out
}
