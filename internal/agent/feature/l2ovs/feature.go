package l2ovs

import (
	"net/netip"

	"isospin/internal/agent"
	"isospin/internal/change"
	"isospin/internal/dataplane/openflow"
	"isospin/internal/dataplane/vswitch"
	"isospin/internal/reconcile"
	"isospin/internal/wire"
)

// Config is the host as the feature sees it.
type Config struct {
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
	watch   *Watch
	fabric  fabric

	// What was derived from documents that may be gone by now; thrown away and made again by a Sync of all.
	networkOf map[string]string            // port or forward → its network
	active    map[string]bool              // networks that flows are wanted for
	present   map[string]vswitch.Interface // by port id, as at the last Sync
}

// New makes the feature.
func New(c Config, t Targets, w *Watch) *Feature {
	return &Feature{cfg: c, targets: t, tag: openflow.TagOf(Owner), watch: w, fabric: newFabric(c),
		networkOf: map[string]string{}, active: map[string]bool{}}
}

// Name is the entity that the feature speaks for.
func (f *Feature) Name() string { return wire.EntityL2 }

// Kinds are what it reads.
func (f *Feature) Kinds() []string {
	return []string{wire.KindPort, wire.KindNetwork, wire.KindForward}
}

// Changed implements agent.Observer.
func (f *Feature) Changed() <-chan []change.Key { return f.watch.keys }

// owners of what is wanted on behalf of a network, a forward, and the host as a whole.
func netOwner(id string) string     { return "network/" + id }
func forwardOwner(id string) string { return "forward/" + id }

const hostOwner = "host"

// Sync refills what the dirty documents and interfaces concern.
func (f *Feature) Sync(v agent.View, dirty []change.Key, all bool) agent.Faults {
	faults := agent.Faults{}
	f.present = f.watch.interfaces()
	if all {
		f.syncHost()
		return f.syncAll(v, faults)
	}
	networks := map[string]bool{}
	var ports, forwards []string
	for _, k := range dirty {
		switch k.Kind {
		case wire.KindNetwork:
			networks[k.ID] = true
		case wire.KindPort:
			ports = append(ports, k.ID)
		case wire.KindForward:
			forwards = append(forwards, k.ID)
		}
	}
	for _, id := range ports {
		f.note(networks, id, f.portNetwork(v, id))
	}
	for _, id := range forwards {
		f.note(networks, id, f.forwardNetwork(v, id))
	}
	// A port that came to this host or left it is no longer, or again, one of another host's.
	forwards = append(forwards, ports...)
	for id := range networks {
		f.syncNetwork(v, id, f.whole(v, id, dirty), ports, forwards, faults)
	}
	return faults
}

// note marks the networks that a port or forward was on and is on.
func (f *Feature) note(networks map[string]bool, id, now string) {
	if before := f.networkOf[id]; before != "" {
		networks[before] = true
	}
	if now != "" {
		networks[now] = true
	}
}

// whole tells whether everything of a network must be made anew: its own document changed, or it came into use here or went out of it.
func (f *Feature) whole(v agent.View, network string, dirty []change.Key) bool {
	for _, k := range dirty {
		if k.Kind == wire.KindNetwork && k.ID == network {
			return true
		}
	}
	return f.active[network] != f.inUse(v, network)
}

// inUse tells whether an interface of the network is plugged in here.
func (f *Feature) inUse(v agent.View, network string) bool {
	if _, ok := v.Get(wire.KindNetwork, network); !ok {
		return false
	}
	for id := range v.In(wire.KindPort, agent.ByNetwork, network) {
		if _, ok := f.present[id]; ok {
			return true
		}
	}
	return false
}

func (f *Feature) syncAll(v agent.View, faults agent.Faults) agent.Faults {
	seen := map[string]bool{}
	networks := map[string]bool{}
	for id := range v.All(wire.KindNetwork) {
		networks[id] = true
	}
	for _, n := range f.networkOf {
		networks[n] = true
	}
	var ports, forwards []string
	for _, kind := range []string{wire.KindPort, wire.KindForward} {
		for id := range v.All(kind) {
			seen[id] = true
			if kind == wire.KindPort {
				ports = append(ports, id)
				f.note(networks, id, f.portNetwork(v, id))
			} else {
				forwards = append(forwards, id)
				f.note(networks, id, f.forwardNetwork(v, id))
			}
		}
	}
	for id := range f.networkOf {
		if !seen[id] {
			ports, forwards = append(ports, id), append(forwards, id)
		}
	}
	for id := range networks {
		f.syncNetwork(v, id, true, ports, forwards, faults)
	}
	return faults
}

func (f *Feature) portNetwork(v agent.View, id string) string {
	if p, ok := get[*wire.Port](v, wire.KindPort, id); ok {
		return p.GetNetworkId()
	}
	return ""
}

func (f *Feature) forwardNetwork(v agent.View, id string) string {
	if p, ok := get[*wire.Forward](v, wire.KindForward, id); ok {
		return p.GetNetworkId()
	}
	return ""
}

func get[T any](v agent.View, kind, id string) (t T, ok bool) {
	m, ok := v.Get(kind, id)
	if !ok {
		return t, false
	}
	t, ok = any(m).(T)
	return t, ok
}

// syncNetwork refills one network: what is wanted for it as a whole, and the ports and forwards named (all of it when whole).
func (f *Feature) syncNetwork(v agent.View, id string, whole bool, ports, forwards []string, faults agent.Faults) {
	n, known := get[*wire.Network](v, wire.KindNetwork, id)
	use := known && f.inUse(v, id)
	if use {
		f.active[id] = true
	} else {
		delete(f.active, id)
	}
	if whole {
		ports, forwards = f.members(v, id, ports, forwards)
	}
	for _, p := range ports {
		f.syncPort(v, n, use, id, p, faults)
	}
	for _, p := range forwards {
		f.syncForward(v, n, use, id, p)
	}
	var want []openflow.Flow
	if use {
		want = f.networkFlows(v, n)
	}
	f.targets.Flows.Replace(f.owner(netOwner(id)), f.tag.Want(want...))
}

// members lists all ports and forwards of a network, and of those given the ones that were on it.
func (f *Feature) members(v agent.View, id string, ports, forwards []string) (allPorts, allForwards []string) {
	for p := range v.In(wire.KindPort, agent.ByNetwork, id) {
		allPorts = append(allPorts, p)
	}
	for p := range v.In(wire.KindForward, agent.ByNetwork, id) {
		allForwards = append(allForwards, p)
	}
	for _, p := range ports {
		if f.networkOf[p] == id {
			allPorts = append(allPorts, p)
		}
	}
	for _, p := range forwards {
		if f.networkOf[p] == id {
			allForwards = append(allForwards, p)
		}
	}
	return allPorts, allForwards
}

func (f *Feature) owner(doc string) reconcile.Owner {
	return reconcile.Owner{Feature: f.Name(), Doc: doc}
}

// syncPort refills the flows of one port of this host.
func (f *Feature) syncPort(v agent.View, n *wire.Network, use bool, network, id string, faults agent.Faults) {
	p, ok := get[*wire.Port](v, wire.KindPort, id)
	switch {
	case ok && p.GetNetworkId() != network, !ok && f.networkOf[id] != network:
		return // another network's
	case !ok:
		if _, elsewhere := v.Get(wire.KindForward, id); !elsewhere {
			delete(f.networkOf, id)
		}
		f.targets.Flows.Replace(f.owner(id), nil)
		return
	}
	f.networkOf[id] = network
	i, plugged := f.present[id]
	if !use || !plugged || !i.Ready() || !p.GetAdminStateUp() {
		f.targets.Flows.Replace(f.owner(id), nil)
		return
	}
	flows, err := portFlows(n, p, openflow.Port(i.OFPort))
	if err != nil {
		faults[change.Key{Kind: wire.KindPort, ID: id}] = err
	}
	f.targets.Flows.Replace(f.owner(id), f.tag.Want(flows...))
}

// syncForward refills the flows towards one port of another host.
func (f *Feature) syncForward(v agent.View, n *wire.Network, use bool, network, id string) {
	p, ok := get[*wire.Forward](v, wire.KindForward, id)
	switch {
	case ok && p.GetNetworkId() != network, !ok && f.networkOf[id] != network:
		return
	case !ok:
		if _, own := v.Get(wire.KindPort, id); !own {
			delete(f.networkOf, id)
		}
		f.targets.Flows.Replace(f.owner(forwardOwner(id)), nil)
		return
	}
	f.networkOf[id] = network
	_, own := v.Get(wire.KindPort, id)
	var want []openflow.Flow
	if use && !own {
		want = f.fabric.forwardFlows(n, p)
	}
	f.targets.Flows.Replace(f.owner(forwardOwner(id)), f.tag.Want(want...))
}

var (
	_ agent.Feature  = (*Feature)(nil)
	_ agent.Observer = (*Feature)(nil)
	_ agent.Reporter = (*Feature)(nil)
)
