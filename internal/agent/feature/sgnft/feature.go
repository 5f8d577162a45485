package sgnft

import (
	"isospin/internal/agent"
	"isospin/internal/agent/feature/secgroup"
	"isospin/internal/agent/feature/zone"
	"isospin/internal/change"
	"isospin/internal/dataplane/conntrack"
	"isospin/internal/dataplane/nft"
	"isospin/internal/reconcile"
	"isospin/internal/wire"
)

// Config is what the operator chose, and what the kernel can.
type Config struct {
	// Off lets every port send and get what it likes.
	Off bool
	// Ethertypes are those that ports may use besides IP and ARP.
	Ethertypes []uint16
	// Tracks says that the kernel tracks connections on bridges. Where it does not, ports in groups with state pass nothing, and say why.
	Tracks bool
}

// Targets is what the feature fills.
type Targets struct {
	Table reconcile.Target[nft.Key, nft.Object]
	// Here are the addresses of tracked ports: the connections of one that leaves are not there any more when it comes back.
	Here reconcile.Target[conntrack.Key, conntrack.Here]
}

// Feature is the conversion. Sync is for the loop's goroutine.
type Feature struct {
	cfg    Config
	target Targets
	zones  *zone.Book

	// What was derived from documents that may be gone by now; thrown away and made again by a Sync of all.
	owned    map[string]bool // what objects are wanted for
	groupsOf map[string][]string
	groupOf  map[string]string // a rule's
	groups   map[string]*group
	remotes  map[secgroup.Remote]*remote
}

// New makes the feature. It asks zones for the zones of the networks of ports that it has tracked.
func New(c Config, t Targets, zones *zone.Book) *Feature {
	f := &Feature{cfg: c, target: t, zones: zones, owned: map[string]bool{}}
	f.forget()
	return f
}

func (f *Feature) forget() {
	f.groupsOf, f.groupOf = map[string][]string{}, map[string]string{}
	f.groups, f.remotes = map[string]*group{}, map[secgroup.Remote]*remote{}
}

// Name tells the feature from others. It says nothing of ports itself: l2bridge does, by Needs.
func (f *Feature) Name() string { return "security groups" }

// Kinds are what it reads.
func (f *Feature) Kinds() []string {
	return []string{wire.KindPort, wire.KindNetwork, wire.KindGroup, wire.KindRule, wire.KindMember, wire.KindAddress}
}

// The documents on whose behalf objects are wanted. They are EntityL2's, since a port is wired when they are there.
const hostDoc = "filter"

func portDoc(id string) string  { return "filter/port/" + id }
func groupDoc(id string) string { return "filter/group/" + id }

func owner(doc string) reconcile.Owner { return reconcile.Owner{Feature: wire.EntityL2, Doc: doc} }

// want states all that is wanted for one document.
func (f *Feature) want(doc string, objects map[nft.Key]nft.Object) {
	if len(objects) == 0 && !f.owned[doc] {
		return
	}
	f.target.Table.Replace(owner(doc), objects)
	if len(objects) == 0 {
		delete(f.owned, doc)
	} else {
		f.owned[doc] = true
	}
}

// work is what one Sync looks at.
type work struct {
	ports map[string]bool
	// uses are groups that may have come into use or gone out of it, groups those whose rules are to be written anew.
	uses, groups map[string]bool
	// docs are documents of members and addresses, prefixes the remotes whose prefixes changed.
	docs     map[change.Key]bool
	prefixes map[secgroup.Remote]bool
	res      agent.Result
}

func newWork() *work {
	return &work{ports: map[string]bool{}, uses: map[string]bool{}, groups: map[string]bool{}, docs: map[change.Key]bool{},
		prefixes: map[secgroup.Remote]bool{}, res: agent.Result{Faults: map[change.Key]error{}}}
}

// Sync refills what the dirty documents concern.
func (f *Feature) Sync(v agent.View, dirty []change.Key, all bool) agent.Result {
	w := newWork()
	if all {
		f.everything(v, w)
		return w.res
	}
	for _, k := range dirty {
		f.dirty(v, w, k)
	}
	f.finish(v, w)
	return w.res
}

// finish refills what was noted: groups first, which say whose members count.
func (f *Feature) finish(v agent.View, w *work) {
	for id := range w.uses {
		f.syncUse(v, w, id)
	}
	for r := range w.prefixes {
		f.syncPrefixes(w, r)
	}
	for id := range w.groups {
		f.syncGroup(v, w, id)
	}
	for k := range w.docs {
		f.syncMember(k)
	}
	for id := range w.ports {
		f.syncPort(v, w, id)
		w.res.Ports = append(w.res.Ports, id)
		w.res.Dirty = append(w.res.Dirty, change.Key{Kind: wire.KindPort, ID: id}) // l2bridge reports on it
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
			f.target.Table.Replace(owner(doc), nil)
			f.target.Here.Replace(owner(doc), nil)
		}
	}
}

// dirty notes what a document that came, changed or went concerns.
func (f *Feature) dirty(v agent.View, w *work, k change.Key) {
	switch k.Kind {
	case wire.KindPort:
		w.ports[k.ID] = true
		f.inGroups(v, w, k.ID)
	case wire.KindNetwork:
		for id := range v.In(wire.KindPort, agent.ByNetwork, k.ID) {
			w.ports[id] = true
		}
	case wire.KindGroup:
		w.uses[k.ID], w.groups[k.ID] = true, true
		for id := range v.In(wire.KindPort, agent.ByGroup, k.ID) {
			w.ports[id] = true
		}
	case wire.KindRule:
		f.ruleChanged(v, w, k.ID)
	case wire.KindMember, wire.KindAddress:
		f.learn(v, w, k)
	}
}

// inGroups notes which groups a port is in, or was.
func (f *Feature) inGroups(v agent.View, w *work, id string) {
	for _, g := range f.groupsOf[id] {
		w.uses[g] = true
	}
	delete(f.groupsOf, id)
	p, ok := get[*wire.Port](v, wire.KindPort, id)
	if !ok || f.open(p) {
		return
	}
	for _, g := range p.GetSecurityGroups() {
		w.uses[g] = true
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

var _ agent.Feature = (*Feature)(nil)
