package l2ovs

import (
	"net/netip"

	"isospin/internal/agent"
	"isospin/internal/agent/feature/brint"
	"isospin/internal/agent/feature/secgroup"
	"isospin/internal/change"
	"isospin/internal/dataplane/openflow"
	"isospin/internal/dataplane/vswitch"
	"isospin/internal/reconcile"
	"isospin/internal/wire"
)

// Config is the host as the feature sees it.
type Config struct {
	Host         string // its name: documents of ports say which host has them
	Bridge       string // the integration bridge
	DatapathType string
	// Mappings is the bridge of each physical network.
	Mappings map[string]string
	// LocalIP is where tunnels to this host end; the zero value: no tunnels.
	LocalIP      netip.Addr
	TunnelTypes  []string
	VXLANPort    int
	DontFragment bool
	Checksum     bool
	// Filter is what decides what ports may send and get; nil where nothing does.
	Filter Filter
}

// Filter is the part of a filter that the reports of ports stand on.
type Filter interface {
	// Needs tells of a port of this host.
	Needs(v agent.View, port string) secgroup.Needs
}

// Targets is what the feature fills.
type Targets struct {
	Bridges reconcile.Target[string, vswitch.Bridge]
	Ports   reconcile.Target[string, vswitch.Port]
	Flows   reconcile.Target[openflow.Key, openflow.Flow]
}

// Feature is the conversion. Sync is for the loop's goroutine.
type Feature struct {
	cfg     Config
	targets Targets
	tag     openflow.Tag
	watch   *brint.Watch
	fabric  fabric

	// What was derived from documents that may be gone by now; thrown away and made again by a Sync of all.
	networkOf map[string]string // port or forward → its network
	active    map[string]bool   // networks that flows are wanted for
	present   brint.Present     // as at the last Sync
}

// New makes the feature.
func New(c Config, t Targets, w *brint.Watch) *Feature {
	return &Feature{cfg: c, targets: t, tag: openflow.TagOf(brint.Owner), watch: w, fabric: newFabric(c),
		networkOf: map[string]string{}, active: map[string]bool{}}
}

// Name is the entity that the feature speaks for.
func (f *Feature) Name() string { return wire.EntityL2 }

// Kinds are what it reads.
func (f *Feature) Kinds() []string {
	return []string{wire.KindPort, wire.KindNetwork, wire.KindForward}
}

// Changed implements agent.Observer.
func (f *Feature) Changed() <-chan []change.Key { return f.watch.Changed() }

// Owners of what is wanted on behalf of a network and of a forward; a port's is its id.
func netOwner(id string) string     { return "network/" + id }
func forwardOwner(id string) string { return "forward/" + id }

func (f *Feature) owner(doc string) reconcile.Owner {
	return reconcile.Owner{Feature: f.Name(), Doc: doc}
}

// Observed implements agent.Observer.
func (f *Feature) Observed() bool { return f.watch.Observed() }

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

// Sync refills what the dirty documents and interfaces concern.
func (f *Feature) Sync(v agent.View, dirty []change.Key, all bool) agent.Result {
	res := agent.Result{Faults: map[change.Key]error{}}
	f.present = f.watch.Present()
	todo := jobs{}
	if all {
		f.syncHost()
		f.everything(v, todo)
		for id := range f.present {
			res.Ports = append(res.Ports, id)
		}
	}
	for _, k := range dirty {
		switch k.Kind {
		case wire.KindNetwork:
			todo.on(k.ID).whole = true
		case wire.KindPort, wire.KindForward:
			// Both, since a port that came to this host or left it is no longer, or again, one of another host's.
			f.member(v, todo, k.ID)
			if k.Kind == wire.KindPort {
				res.Ports = append(res.Ports, k.ID)
			}
		}
	}
	for id, w := range todo {
		f.syncNetwork(v, id, w, &res)
	}
	return res
}

// member puts a port, here or elsewhere, on the lists of the network that it is on and of the one that it was on.
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
func (f *Feature) everything(v agent.View, todo jobs) {
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

// inUse tells whether an interface of the network is plugged in here.
func (f *Feature) inUse(v agent.View, network string) bool {
	for id := range v.In(wire.KindPort, agent.ByNetwork, network) {
		if _, ok := f.present[id]; ok {
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

// syncNetwork refills one network: what is wanted for it as a whole, and its ports and forwards, all of them when its own document
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
	if use {
		f.active[id] = true
	}
	for p := range w.ports {
		f.syncPort(v, n, use, id, p, res)
	}
	for p := range w.forwards {
		f.syncForward(v, n, use, id, p)
	}
	var want []openflow.Flow
	if use {
		want = f.networkFlows(v, n)
	}
	f.targets.Flows.Replace(f.owner(netOwner(id)), f.tag.Want(want...))
}

// syncPort refills the flows of one port of this host.
func (f *Feature) syncPort(v agent.View, n *wire.Network, use bool, network, id string, res *agent.Result) {
	p, ok := get[*wire.Port](v, wire.KindPort, id)
	if ok && p.GetNetworkId() != network {
		return // another network's
	}
	res.Faults[change.Key{Kind: wire.KindPort, ID: id}] = nil
	if !ok {
		f.left(v, id, network)
		f.targets.Flows.Replace(f.owner(id), nil)
		return
	}
	f.networkOf[id] = network
	at, ready := f.present.Place(id)
	if !use || !ready || !p.GetAdminStateUp() {
		f.targets.Flows.Replace(f.owner(id), nil)
		return
	}
	flows, err := f.fabric.portFlows(n, p, at, f.waits(v, p))
	res.Faults[change.Key{Kind: wire.KindPort, ID: id}] = err
	f.targets.Flows.Replace(f.owner(id), f.tag.Want(flows...))
}

// syncForward refills the flows towards one port of another host.
func (f *Feature) syncForward(v agent.View, n *wire.Network, use bool, network, id string) {
	p, ok := get[*wire.Forward](v, wire.KindForward, id)
	if ok && p.GetNetworkId() != network {
		return
	}
	if !ok {
		f.left(v, id, network)
		f.targets.Flows.Replace(f.owner(forwardOwner(id)), nil)
		return
	}
	f.networkOf[id] = network
	var want []openflow.Flow
	if use && !f.here(v, id) {
		want = f.fabric.forwardFlows(n, p)
	}
	f.targets.Flows.Replace(f.owner(forwardOwner(id)), f.tag.Want(want...))
}

// waits tells whether a port of this host is on another one still: it gets frames that the fabric brings for it, and what its guest says is
// heard, but nobody here is led to it. The forwarding entry counts as well as the port's own document: they come in two frames, and
// whichever comes first moves the port.
func (f *Feature) waits(v agent.View, p *wire.Port) bool {
	if _, waits := p.WaitsAt(f.cfg.Host); !waits {
		return false
	}
	where, ok := get[*wire.Forward](v, wire.KindForward, p.GetId())
	return !ok || where.GetHost() != f.cfg.Host
}

// here tells whether a port is in this host's switch, whatever forwarding entries still say.
func (f *Feature) here(v agent.View, id string) bool {
	p, ok := get[*wire.Port](v, wire.KindPort, id)
	return ok && !f.waits(v, p) && p.SwitchedAt(f.cfg.Host)
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
