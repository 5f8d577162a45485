package l2bridge

import (
	"maps"
	"net/netip"

	"isospin/internal/agent"
	"isospin/internal/change"
	"isospin/internal/dataplane/bridge"
	"isospin/internal/dataplane/fdb"
	"isospin/internal/dataplane/link"
	"isospin/internal/dataplane/neigh"
	"isospin/internal/dataplane/vlan"
	"isospin/internal/dataplane/vxlan"
	"isospin/internal/reconcile"
	"isospin/internal/wire"
)

// Config is the host as the feature sees it.
type Config struct {
	Host string // its name: documents of ports say which host has them
	// Interfaces is the device of each physical network, Bridges the operator's bridge, which comes first where both are given.
	Interfaces, Bridges map[string]string
	// VXLAN says whether the host carries such networks. LocalIP is where tunnels to it end; the zero value: no tunnels.
	VXLAN    bool
	LocalIP  netip.Addr
	Port     int // UDP port of VXLAN
	TTL, TOS int // of outer packets, as vxlan.Device has them
	// ARPResponder has bridges answer ARP requests for ports of other hosts.
	ARPResponder bool
	// Filter is what decides what ports may send and get; nil where nothing does.
	Filter Filter
}

// Filter is the part of a filter that the reports of ports stand on.
type Filter interface {
	// Needs are the documents (of EntityL2's owners) whose objects must be there before a port is wired, or what is lacking in a sentence, or why
	// the port cannot be filtered.
	Needs(v agent.View, port string) (docs []string, lacks string, broken error)
}

// Targets is what the feature fills.
type Targets struct {
	Bridges    reconcile.Target[string, bridge.Bridge]
	VLANs      reconcile.Target[string, vlan.Device]
	VXLANs     reconcile.Target[string, vxlan.Device]
	Pairs      reconcile.Target[link.Key, link.Veth]
	Members    reconcile.Target[string, bridge.Member]
	Entries    reconcile.Target[fdb.Key, fdb.Entry]
	Neighbours reconcile.Target[neigh.Key, neigh.Neighbour]
}

// Feature is the conversion. Sync is for the loop's goroutine.
type Feature struct {
	cfg     Config
	targets Targets
	watch   *Watch

	// What was derived from documents that may be gone by now; thrown away and made again by a Sync of all.
	networkOf map[string]string          // port or forward → its network
	portOf    map[string]string          // device → the port that it is of
	trunks    map[string]trunk           // by the port that carries one
	active    map[string]bool            // networks that bridges are wanted for
	segments  map[string]map[string]bool // network → its segments that something is wanted for
	present   map[string]int             // the host's devices, as at the last Sync
}

// New makes the feature.
func New(c Config, t Targets, w *Watch) *Feature {
	return &Feature{cfg: c, targets: t, watch: w, networkOf: map[string]string{}, portOf: map[string]string{}, trunks: map[string]trunk{}, active: map[string]bool{}, segments: map[string]map[string]bool{}}
}

// Name is the entity that the feature speaks for.
func (f *Feature) Name() string { return wire.EntityL2 }

// Kinds are what it reads.
func (f *Feature) Kinds() []string {
	return []string{wire.KindPort, wire.KindNetwork, wire.KindForward, KindDevice}
}

// Changed implements agent.Observer.
func (f *Feature) Changed() <-chan []change.Key { return f.watch.keys }

// Observed implements agent.Observer.
func (f *Feature) Observed() bool { return f.watch.observed() }

// Owners of what is wanted on behalf of a network, of its segments and of a forward; a port's is its id. Ports name what they stand on.
func netOwner(id string) string              { return "network/" + id }
func segmentOwner(network, id string) string { return "segment/" + network + "/" + id }
func forwardOwner(id string) string          { return "forward/" + id }

func (f *Feature) owner(doc string) reconcile.Owner {
	return reconcile.Owner{Feature: f.Name(), Doc: doc}
}

// work is what one Sync looks at of one network: all of it, or some ports and forwards.
type work struct {
	whole           bool
	ports, forwards map[string]bool
}

type jobs map[string]*work

func (j jobs) on(network string) *work {
	w := j[network]
	if w == nil {
		w = &work{ports: map[string]bool{}, forwards: map[string]bool{}}
		j[network] = w
	}
	return w
}

// Sync refills what the dirty documents and devices concern.
func (f *Feature) Sync(v agent.View, dirty []change.Key, all bool) agent.Result {
	res := agent.Result{Faults: map[change.Key]error{}}
	f.present = f.watch.devices()
	todo := jobs{}
	if all {
		f.everything(v, todo, &res)
	}
	for _, k := range dirty {
		switch k.Kind {
		case wire.KindNetwork:
			todo.on(k.ID).whole = true
		case wire.KindPort:
			f.port(v, k.ID, todo, &res)
		case wire.KindForward:
			f.member(v, todo, k.ID)
		case KindDevice:
			if id, ok := f.portOf[k.ID]; ok {
				f.port(v, id, todo, &res)
			}
		}
	}
	for id, w := range todo {
		f.syncNetwork(v, id, w, &res)
	}
	return res
}

// port lists a port whose document or device changed, and what it carries.
func (f *Feature) port(v agent.View, id string, todo jobs, res *agent.Result) {
	f.syncTrunk(v, id, todo, res)
	f.member(v, todo, id)
	res.Ports = append(res.Ports, id)
}

// member puts a port, here or elsewhere, on the lists of the network that it is on and of the one that it was on. Both lists, since a port that
// came to this host or left it is no longer, or again, one of another host's.
func (f *Feature) member(v agent.View, todo jobs, id string) {
	on := map[string]bool{f.networkOf[id]: true}
	if p, ok := get[*wire.Port](v, wire.KindPort, id); ok {
		on[p.GetNetworkId()] = true
	}
	if p, ok := get[*wire.Forward](v, wire.KindForward, id); ok {
		on[p.GetNetworkId()] = true
	}
	delete(on, "")
	for network := range on {
		w := todo.on(network)
		w.ports[id], w.forwards[id] = true, true
	}
}

// everything lists all networks, those that only ports and forwards name, and what was there before.
func (f *Feature) everything(v agent.View, todo jobs, res *agent.Result) {
	for id := range f.trunks {
		f.syncTrunk(v, id, todo, res)
	}
	for id := range v.All(wire.KindPort) {
		f.syncTrunk(v, id, todo, res)
	}
	for id := range v.All(wire.KindNetwork) {
		todo.on(id).whole = true
	}
	for id := range f.active {
		todo.on(id).whole = true
	}
	for _, m := range v.All(wire.KindPort) {
		todo.on(m.(*wire.Port).GetNetworkId()).whole = true
	}
	for _, m := range v.All(wire.KindForward) {
		todo.on(m.(*wire.Forward).GetNetworkId()).whole = true
	}
	for id, network := range f.networkOf {
		w := todo.on(network)
		w.whole, w.ports[id], w.forwards[id] = true, true, true
	}
}

// inUse tells whether a device of one of the network's ports is on this host.
func (f *Feature) inUse(v agent.View, network string) bool {
	for id := range v.In(wire.KindPort, agent.ByNetwork, network) {
		if _, ok := f.plugged(id); ok {
			return true
		}
	}
	return false
}

func get[T any](v agent.View, kind, id string) (t T, ok bool) {
	m, ok := v.Get(kind, id)
	if !ok {
		return t, false
	}
	t, ok = any(m).(T)
	return t, ok
}

// syncNetwork refills one network: its bridge and what carries its segments, and its ports and forwards, all of them when its own document
// changed or when it came into use on this host or went out of it.
func (f *Feature) syncNetwork(v agent.View, id string, w *work, res *agent.Result) {
	n, known := get[*wire.Network](v, wire.KindNetwork, id)
	use := known && n.GetAdminStateUp() && f.inUse(v, id)
	if w.whole || use != f.active[id] {
		for p := range v.In(wire.KindPort, agent.ByNetwork, id) {
			w.ports[p] = true
			res.Ports = append(res.Ports, p)
		}
		for p := range v.In(wire.KindForward, agent.ByNetwork, id) {
			w.forwards[p] = true
		}
	}
	delete(f.active, id)
	var want map[string]bridge.Bridge
	if use {
		f.active[id] = true
		want = map[string]bridge.Bridge{BridgeName(id): {MTU: int(n.GetMtu()), NoTags: f.cfg.noTags(n)}}
	}
	f.targets.Bridges.Replace(f.owner(netOwner(id)), want)
	f.syncSegments(v, n, use, id)
	for p := range w.ports {
		f.syncPort(v, n, use, id, p)
	}
	for p := range w.forwards {
		f.syncForward(v, n, use, id, p)
	}
}

// syncSegments refills what carries a network's segments, and withdraws that of segments which it has no longer.
func (f *Feature) syncSegments(v agent.View, n *wire.Network, use bool, network string) {
	gone := f.segments[network]
	delete(f.segments, network)
	if use {
		var remotes []*wire.Forward
		for id := range v.In(wire.KindForward, agent.ByNetwork, network) {
			if p, ok := get[*wire.Forward](v, wire.KindForward, id); ok && !f.here(v, id) {
				remotes = append(remotes, p)
			}
		}
		now := map[string]bool{}
		for _, s := range n.GetSegments() {
			now[s.GetId()] = true
			f.segment(segmentOwner(network, s.GetId()), f.cfg.uplink(n, s), f.cfg.floods(n, s, remotes))
		}
		f.segments[network] = now
		maps.DeleteFunc(gone, func(id string, _ bool) bool { return now[id] })
	}
	for id := range gone {
		f.segment(segmentOwner(network, id), uplink{}, nil)
	}
}

func (f *Feature) segment(doc string, u uplink, floods map[fdb.Key]fdb.Entry) {
	owner := f.owner(doc)
	f.targets.VLANs.Replace(owner, u.vlans)
	f.targets.VXLANs.Replace(owner, u.vxlans)
	f.targets.Pairs.Replace(owner, u.pairs)
	f.targets.Members.Replace(owner, u.members)
	f.targets.Entries.Replace(owner, floods)
}

// syncPort refills where the device of one port of this host is.
func (f *Feature) syncPort(v agent.View, n *wire.Network, use bool, network, id string) {
	p, ok := get[*wire.Port](v, wire.KindPort, id)
	if ok && p.GetNetworkId() != network {
		return // another network's
	}
	device := TapName(id)
	if !ok {
		f.left(v, id, network)
		if f.portOf[device] == id {
			delete(f.portOf, device)
		}
		f.targets.VLANs.Replace(f.owner(id), nil)
		f.targets.Members.Replace(f.owner(id), nil)
		return
	}
	f.networkOf[id], f.portOf[device] = network, id
	at, ok := f.plugged(id)
	if !use || !ok {
		f.targets.VLANs.Replace(f.owner(id), nil)
		f.targets.Members.Replace(f.owner(id), nil)
		return
	}
	f.targets.VLANs.Replace(f.owner(id), at.vlans)
	f.targets.Members.Replace(f.owner(id), map[string]bridge.Member{
		device: {Bridge: BridgeName(network), Index: at.index, MTU: int(n.GetMtu()), Down: !p.GetAdminStateUp()}})
}

// syncForward refills the entries towards one port of another host.
func (f *Feature) syncForward(v agent.View, n *wire.Network, use bool, network, id string) {
	p, ok := get[*wire.Forward](v, wire.KindForward, id)
	if ok && p.GetNetworkId() != network {
		return
	}
	var entries map[fdb.Key]fdb.Entry
	var neighbours map[neigh.Key]neigh.Neighbour
	if ok {
		f.networkOf[id] = network
		if use && !f.here(v, id) {
			entries, neighbours = f.cfg.forward(n, p)
		}
	} else {
		f.left(v, id, network)
	}
	f.targets.Entries.Replace(f.owner(forwardOwner(id)), entries)
	f.targets.Neighbours.Replace(f.owner(forwardOwner(id)), neighbours)
}

// here tells whether a port is this host's, whatever forwarding entries still say. One that is on another host still, while this one waits for it, is
// the other's until either document says otherwise: they come in two frames.
func (f *Feature) here(v agent.View, id string) bool {
	p, ok := get[*wire.Port](v, wire.KindPort, id)
	if !ok {
		return false
	}
	if _, waits := p.WaitsAt(f.cfg.Host); !waits {
		return true
	}
	where, ok := get[*wire.Forward](v, wire.KindForward, id)
	return ok && where.GetHost() == f.cfg.Host
}

// left forgets where a port was, once no document speaks of it there.
func (f *Feature) left(v agent.View, id, network string) {
	_, here := v.Get(wire.KindPort, id)
	_, elsewhere := v.Get(wire.KindForward, id)
	if !here && !elsewhere && f.networkOf[id] == network {
		delete(f.networkOf, id)
	}
}

var (
	_ agent.Feature  = (*Feature)(nil)
	_ agent.Observer = (*Feature)(nil)
	_ agent.Reporter = (*Feature)(nil)
)
