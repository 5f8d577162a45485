package sgovs

import (
	"isospin/internal/agent"
	"isospin/internal/agent/feature/brint"
	"isospin/internal/agent/feature/secgroup"
	"isospin/internal/agent/feature/zone"
	"isospin/internal/change"
	"isospin/internal/dataplane/openflow"
	"isospin/internal/reconcile"
	"isospin/internal/wire"
)

// Config is what the operator chose.
type Config struct {
	// Off lets every port send and get what it likes.
	Off bool
	// Ethertypes are those that ports may use besides IP and ARP.
	Ethertypes []uint16
}

// Feature is the conversion. Sync is for the loop's goroutine.
type Feature struct {
	cfg    Config
	target reconcile.Target[openflow.Key, openflow.Flow]
	watch  *brint.Watch
	zones  *zone.Book
	tag    openflow.Tag

	// What was derived from documents that may be gone by now; thrown away and made again by a Sync of all.
	present  brint.Present
	owned    map[string]bool // what flows are wanted for
	groupsOf map[string][]string
	rules    map[string]rule
	groups   map[string]*group
	remotes  map[secgroup.Remote]*remote
}

// New makes the feature. It asks zones for the zones of the networks of ports that it filters.
func New(c Config, t reconcile.Target[openflow.Key, openflow.Flow], w *brint.Watch, zones *zone.Book) *Feature {
	f := &Feature{cfg: c, target: t, watch: w, zones: zones, tag: openflow.TagOf(brint.Owner), owned: map[string]bool{}}
	f.forget()
	return f
}

func (f *Feature) forget() {
	f.groupsOf, f.rules = map[string][]string{}, map[string]rule{}
	f.groups, f.remotes = map[string]*group{}, map[secgroup.Remote]*remote{}
}

// Name tells the feature from others. It says nothing of ports itself: l2ovs does, by Needs.
func (f *Feature) Name() string { return "security groups" }

// Kinds are what it reads.
func (f *Feature) Kinds() []string {
	return []string{wire.KindPort, wire.KindGroup, wire.KindRule, wire.KindMember, wire.KindAddress}
}

// Changed implements agent.Observer: never, since the loop hears of interfaces by l2ovs.
func (f *Feature) Changed() <-chan []change.Key { return nil }

// Observed implements agent.Observer. What was wanted before the first look at interfaces is not the whole of it, whatever a feature that looks a moment
// later has seen.
func (f *Feature) Observed() bool { return f.watch.Observed() }

// The documents on whose behalf flows are wanted. They are EntityL2's, since a port is wired when they are there.
const hostDoc = "filter"

func portDoc(id string) string  { return "filter/port/" + id }
func ruleDoc(id string) string  { return "filter/rule/" + id }
func groupDoc(id string) string { return "filter/group/" + id }

// want states all that is wanted for one document.
func (f *Feature) want(doc string, flows []openflow.Flow) {
	if len(flows) == 0 && !f.owned[doc] {
		return
	}
	f.target.Replace(reconcile.Owner{Feature: wire.EntityL2, Doc: doc}, f.tag.Want(flows...))
	if len(flows) == 0 {
		delete(f.owned, doc)
	} else {
		f.owned[doc] = true
	}
}

// work is what one Sync looks at.
type work struct {
	ports, groups map[string]bool
	// conj are groups of which a rule with a remote changed, uses what must be known of members: which of whose addresses.
	conj map[string]bool
	uses map[user]map[address]bool
	res  agent.Result
}

func newWork() *work {
	return &work{ports: map[string]bool{}, groups: map[string]bool{}, conj: map[string]bool{}, uses: map[user]map[address]bool{},
		res: agent.Result{Faults: map[change.Key]error{}}}
}

// Sync refills what the dirty documents and interfaces concern.
func (f *Feature) Sync(v agent.View, dirty []change.Key, all bool) agent.Result {
	f.present = f.watch.Present()
	w := newWork()
	if all {
		f.everything(v, w)
	} else {
		for _, k := range dirty {
			f.dirty(v, w, k)
		}
		f.finish(v, w)
	}
	return w.res
}

// finish refills what was noted: groups first, which say whose members count.
func (f *Feature) finish(v agent.View, w *work) {
	for id := range w.groups {
		f.syncUse(v, w, id)
	}
	for id := range w.conj {
		f.syncConjunctions(v, w, id)
	}
	for u, addresses := range w.uses {
		for a := range addresses {
			f.syncAddress(u, a)
		}
	}
	for id := range w.ports {
		f.syncPort(v, w, id)
		w.res.Ports = append(w.res.Ports, id)
	}
}

// everything begins anew: what was wanted and is not any more is withdrawn in the end.
func (f *Feature) everything(v agent.View, w *work) {
	stale := f.owned
	f.owned = map[string]bool{}
	f.forget()
	f.want(hostDoc, standing(f.cfg))
	for _, kind := range []string{wire.KindMember, wire.KindAddress, wire.KindRule, wire.KindPort} {
		for id := range v.All(kind) {
			f.dirty(v, w, change.Key{Kind: kind, ID: id})
		}
	}
	f.finish(v, w)
	for doc := range stale {
		if !f.owned[doc] {
			f.target.Replace(reconcile.Owner{Feature: wire.EntityL2, Doc: doc}, nil)
		}
	}
}

// dirty notes what a document that came, changed or went concerns.
func (f *Feature) dirty(v agent.View, w *work, k change.Key) {
	switch k.Kind {
	case wire.KindPort:
		w.ports[k.ID] = true
		f.inGroups(v, w, k.ID)
	case wire.KindGroup:
		w.tell(v, k.ID)
		for id := range v.In(wire.KindPort, agent.ByGroup, k.ID) {
			w.ports[id] = true
		}
	case wire.KindRule:
		f.syncRule(v, w, k.ID)
	case wire.KindMember, wire.KindAddress:
		f.learn(v, w, k)
	}
}

// tell has the ports of a group reported anew, by the feature that reports ports.
func (w *work) tell(v agent.View, group string) {
	for id := range v.In(wire.KindPort, agent.ByGroup, group) {
		w.res.Dirty = append(w.res.Dirty, change.Key{Kind: wire.KindPort, ID: id})
	}
}

// inGroups notes which groups a port is in, or was.
func (f *Feature) inGroups(v agent.View, w *work, id string) {
	for _, g := range f.groupsOf[id] {
		w.groups[g] = true
	}
	delete(f.groupsOf, id)
	p, ok := get[*wire.Port](v, wire.KindPort, id)
	if !ok || f.open(p) {
		return
	}
	for _, g := range p.GetSecurityGroups() {
		w.groups[g] = true
	}
	f.groupsOf[id] = p.GetSecurityGroups()
}

func get[T any](v agent.View, kind, id string) (t T, ok bool) {
	m, ok := v.Get(kind, id)
	if !ok {
		return t, false
	}
	t, ok = any(m).(T)
	return t, ok
}

var (
	_ agent.Feature  = (*Feature)(nil)
	_ agent.Observer = (*Feature)(nil)
)
