// Package seclog is the agent feature of security group logging on Open vSwitch (`log` in [agent] extensions): it turns orders to log into flows that
// tell this process of connections that the security groups of a port accepted and of packets that they refused, and writes a line for each. Agents on
// Open vSwitch hosts run it beside sgovs, whose verdict and drop tables its flows hang in. It decides about no packet, and reports on no port.
package seclog

import (
	"errors"
	"maps"
	"slices"

	"isospin/internal/agent"
	"isospin/internal/agent/feature/brint"
	"isospin/internal/change"
	"isospin/internal/dataplane/openflow"
	"isospin/internal/reconcile"
	"isospin/internal/wire"
)

// Listener is the number by which flows name this process.
const Listener = 0x1509

// Config is what the operator chose ([network_log]).
type Config struct {
	// Rate is how many packets a second are told to the agent at most, of accepted and of refused ones each; Burst how many at once.
	Rate, Burst uint32
}

// Meters gives the limits numbers; meter.Book does.
type Meters interface {
	Of(use string) (uint32, error)
}

// Targets are what the feature fills.
type Targets struct {
	Meters reconcile.Target[uint32, openflow.Meter]
	Flows  reconcile.Target[openflow.Key, openflow.Flow]
}

// Feature is the conversion. Sync is for the loop's goroutine.
type Feature struct {
	cfg     Config
	targets Targets
	watch   *brint.Watch
	numbers Meters
	book    *Book
	tag     openflow.Tag

	// What was derived from documents that may be gone by now; thrown away and made again by a Sync of all.
	orders  map[string]*wire.Log
	owned   map[string]bool // ports that flows are wanted for
	metered bool
}

// New makes the feature; book is what lines are made from.
func New(c Config, t Targets, w *brint.Watch, numbers Meters, book *Book) *Feature {
	return &Feature{cfg: c, targets: t, watch: w, numbers: numbers, book: book, tag: openflow.TagOf(brint.Owner), orders: map[string]*wire.Log{}, owned: map[string]bool{}}
}

// Name is the name that owners carry.
func (f *Feature) Name() string { return "log" }

// Kinds are what it reads.
func (f *Feature) Kinds() []string { return []string{wire.KindPort, wire.KindLog} }

// Sync refills what the dirty documents and interfaces concern. An order more on a port that is logged already is no write at all: the line's book knows
// which orders it is for.
func (f *Feature) Sync(v agent.View, dirty []change.Key, all bool) agent.Result {
	res := agent.Result{Faults: map[change.Key]error{}}
	ports := map[string]bool{}
	if all {
		for id := range f.owned {
			ports[id] = true
		}
		f.orders = map[string]*wire.Log{}
		f.book.forget()
		dirty = nil
		for _, kind := range f.Kinds() {
			for id := range v.All(kind) {
				dirty = append(dirty, change.Key{Kind: kind, ID: id})
			}
		}
	}
	changed := f.changed(v, dirty, ports)
	if len(changed) > 0 {
		for id, m := range v.All(wire.KindPort) {
			if p, ok := m.(*wire.Port); ok && slices.ContainsFunc(changed, func(o *wire.Log) bool { return concerns(o, p) }) {
				ports[id] = true
			}
		}
	}
	if len(ports) == 0 {
		return res
	}
	meters, err := f.meters()
	for _, k := range dirty {
		if k.Kind == wire.KindLog {
			res.Faults[k] = err
		}
	}
	present := f.watch.Present()
	for id := range ports {
		f.syncPort(v, present, id, meters)
	}
	f.limit(meters)
	return res
}

// changed notes the ports that are dirty themselves, and gives the orders that came, went or are others, as they were and as they are.
func (f *Feature) changed(v agent.View, dirty []change.Key, ports map[string]bool) (out []*wire.Log) {
	for _, k := range dirty {
		if k.Kind == wire.KindPort {
			ports[k.ID] = true
			continue
		}
		if old := f.orders[k.ID]; old != nil {
			out = append(out, old)
			delete(f.orders, k.ID)
		}
		if m, ok := v.Get(wire.KindLog, k.ID); ok {
			if o, ok := m.(*wire.Log); ok {
				f.orders[k.ID] = o
				out = append(out, o)
			}
		}
	}
	return out
}

// concerns tells whether an order is about a port: one of its project that has groups, that group among them if the order names one
// (neutron/services/logapi/common/db_api.py).
func concerns(o *wire.Log, p *wire.Port) bool {
	return o.GetProjectId() == p.GetProjectId() && len(p.GetSecurityGroups()) > 0 &&
		(o.GetPortId() == "" || o.GetPortId() == p.GetId()) &&
		(o.GetSecurityGroupId() == "" || slices.Contains(p.GetSecurityGroups(), o.GetSecurityGroupId()))
}

// Events of orders.
const (
	eventAll    = "ALL"
	eventAccept = "ACCEPT"
	eventDrop   = "DROP"
)

// entry is who has a port's packets written down.
func (f *Feature) entry(p *wire.Port) Entry {
	e := Entry{Project: p.GetProjectId()}
	for _, id := range slices.Sorted(maps.Keys(f.orders)) {
		o := f.orders[id]
		if !concerns(o, p) {
			continue
		}
		if o.GetEvent() == eventAll || o.GetEvent() == eventAccept {
			e.Accept = append(e.Accept, id)
		}
		if o.GetEvent() == eventAll || o.GetEvent() == eventDrop {
			e.Drop = append(e.Drop, id)
		}
	}
	return e
}

// syncPort refills the flows of one port, and what is known of it.
func (f *Feature) syncPort(v agent.View, present brint.Present, id string, meters limits) {
	m, _ := v.Get(wire.KindPort, id)
	p, ok := m.(*wire.Port)
	at, ready := present.Place(id)
	var flows []openflow.Flow
	if ok && ready && p.GetAdminStateUp() && p.GetPortSecurityEnabled() {
		e := f.entry(p)
		f.book.put(id, e)
		flows = told(at, id, e, meters)
	} else {
		f.book.put(id, Entry{})
	}
	if len(flows) == 0 && !f.owned[id] {
		return
	}
	f.targets.Flows.Replace(reconcile.Owner{Feature: f.Name(), Doc: id}, f.tag.Want(flows...))
	if len(flows) == 0 {
		delete(f.owned, id)
	} else {
		f.owned[id] = true
	}
}

// prioTold is above sgovs's, whose flow would end the packet's way.
const prioTold = 500

// told are the flows that tell of a port's packets. Accepted ones go on as they would; a drop table is the end of a packet anyway.
func told(at brint.Place, port string, e Entry, meters limits) (out []openflow.Flow) {
	for _, way := range []struct {
		self          openflow.IntField
		egress        bool
		verdict, drop uint8
	}{{brint.Source, true, brint.EgressVerdict, brint.EgressDrop}, {brint.Target, false, brint.IngressVerdict, brint.IngressDrop}} {
		self := way.self.Is(uint64(at.Number))
		if len(e.Accept) > 0 && meters.accept != 0 {
			const first = openflow.CTNew | openflow.CTTracked
			// Only what begins a connection: the connection is what was accepted.
			out = append(out, openflow.Flow{Table: way.verdict, Priority: prioTold,
				Match: openflow.Any(self, brint.Verdict.Is(brint.Accepted), brint.Tracked.Is(1), openflow.CTState.Masked(first, first)),
				Actions: openflow.Sequence(openflow.Do(openflow.ToController(openflow.Controller{ID: Listener, UserData: mark(eventAccept, port), Meter: meters.accept})),
					brint.Pass(way.egress))})
		}
		if len(e.Drop) > 0 && meters.drop != 0 {
			out = append(out, openflow.Flow{Table: way.drop, Priority: prioTold, Match: openflow.Any(self),
				Actions: openflow.Do(openflow.ToController(openflow.Controller{ID: Listener, UserData: mark(eventDrop, port), Meter: meters.drop}))})
		}
	}
	return out
}

// limits are the numbers of the two meters. Each kind has its own, so that a flood of drops hides no accepted connection.
type limits struct{ accept, drop uint32 }

// meters gives none with an error where there is no number left. With another error the numbers are good for now.
func (f *Feature) meters() (limits, error) {
	accept, err := f.numbers.Of("log/accept")
	drop, also := f.numbers.Of("log/drop")
	if err = errors.Join(err, also); accept == 0 || drop == 0 {
		return limits{}, err
	}
	return limits{accept, drop}, err
}

// limit wants the meters while a flow names them.
func (f *Feature) limit(l limits) {
	needed := len(f.owned) > 0
	if needed == f.metered {
		return
	}
	f.metered = needed
	var want map[uint32]openflow.Meter
	if needed {
		m := openflow.Meter{Packets: true, Rate: f.cfg.Rate, Burst: f.cfg.Burst}
		want = map[uint32]openflow.Meter{l.accept: m, l.drop: m}
	}
	f.targets.Meters.Replace(reconcile.Owner{Feature: f.Name(), Doc: "limits"}, want)
}

var _ agent.Feature = (*Feature)(nil)
