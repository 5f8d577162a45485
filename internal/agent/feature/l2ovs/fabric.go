package l2ovs

import (
	"cmp"
	"hash/fnv"
	"maps"
	"net"
	"net/netip"
	"slices"

	"isospin/internal/agent/feature/brint"
	"isospin/internal/dataplane/openflow"
	"isospin/internal/dataplane/vswitch"
	"isospin/internal/wire"
)

// OpenFlow numbers that the host's own ports ask for, so that flows can name them before they exist and stay right when
// ovs-vswitchd starts anew.
const (
	firstTunnel = 65001
	firstPatch  = 65100
)

// fabric is the host's ways out: tunnels and physical networks.
type fabric struct {
	cfg     Config
	tunnels map[string]openflow.Port // by tunnel type
	patches map[string]openflow.Port // by physical network
}

func newFabric(c Config) fabric {
	fb := fabric{cfg: c, tunnels: map[string]openflow.Port{}, patches: map[string]openflow.Port{}}
	if c.LocalIP.IsValid() {
		for i, t := range []string{"vxlan", "gre", "geneve"} {
			if slices.Contains(c.TunnelTypes, t) {
				fb.tunnels[t] = openflow.Port(firstTunnel + i)
			}
		}
	}
	bridges := slices.Sorted(maps.Values(c.Mappings))
	bridges = slices.Compact(bridges)
	for phys, bridge := range c.Mappings {
		i, _ := slices.BinarySearch(bridges, bridge)
		fb.patches[phys] = openflow.Port(firstPatch + i)
	}
	return fb
}

// patchNames are the two ends of the patch to a physical network's bridge, as Neutron names them; long names are cut and told
// apart by a hash, since a name has 15 characters.
func patchNames(bridge string) (inner, outer string) {
	short := bridge
	if len(short) > 11 {
		h := fnv.New32a()
		_, _ = h.Write([]byte(bridge)) // hash.Hash never fails
		short = short[:5] + hexOf(h.Sum32())[:6]
	}
	return "int-" + short, "phy-" + short
}

func hexOf(n uint32) string {
	const digits = "0123456789abcdef"
	var b [8]byte
	for i := range b {
		b[i] = digits[n>>(28-4*i)&15]
	}
	return string(b[:])
}

// Owners of what the host needs whatever its documents say, each with its own fate: ports name what they stand on.
const hostOwner = "host"

func bridgeOwner(bridge string) string { return "bridge/" + bridge }
func tunnelOwner(kind string) string   { return "tunnel/" + kind }

// syncHost wants the bridges and the ports that do not depend on documents.
func (f *Feature) syncHost() {
	c := f.cfg
	f.targets.Bridges.Replace(f.owner(hostOwner), map[string]vswitch.Bridge{c.Bridge: vswitch.Integration(c.DatapathType)})
	f.targets.Flows.Replace(f.owner(hostOwner), f.tag.Want(brint.Standing()...))
	for phys, bridge := range c.Mappings {
		inner, outer := patchNames(bridge)
		in := vswitch.Patch(c.Bridge, outer)
		in.OFPort = int(f.fabric.patches[phys])
		f.targets.Bridges.Replace(f.owner(bridgeOwner(bridge)), map[string]vswitch.Bridge{bridge: {Existing: true}})
		f.targets.Ports.Replace(f.owner(bridgeOwner(bridge)), map[string]vswitch.Port{inner: in, outer: vswitch.Patch(bridge, inner)})
	}
	for t, n := range f.fabric.tunnels {
		tun := vswitch.Tunnel{Kind: t, Local: c.LocalIP, DontFragment: c.DontFragment, Checksum: c.Checksum}
		if t == "vxlan" && c.VXLANPort != 4789 { // 0 is the kind's own, too
			tun.UDPPort = c.VXLANPort
		}
		p := tun.Port(c.Bridge)
		p.OFPort = int(n)
		f.targets.Ports.Replace(f.owner(tunnelOwner(t)), map[string]vswitch.Port{t + "-isospin": p})
	}
}

// standsOn tells what of the host carries a segment, or what the operator has to do before anything does.
func (fb fabric) standsOn(s *wire.Segment) (docs []string, lacks string) {
	switch t := s.GetNetworkType(); t {
	case "local":
		return nil, ""
	case "vlan", "flat":
		bridge, mapped := fb.cfg.Mappings[s.GetPhysicalNetwork()]
		if !mapped {
			return nil, "this host has no bridge for physical network " + s.GetPhysicalNetwork() + ": name one in [ovs] bridge_mappings and restart the agent"
		}
		return []string{bridgeOwner(bridge)}, ""
	default:
		if !fb.cfg.LocalIP.IsValid() {
			return nil, "tunnels are off on this host: set [ovs] local_ip and restart the agent"
		}
		if _, ok := fb.tunnels[t]; !ok {
			return nil, "this host makes no " + t + " tunnels: add " + t + " to [agent] tunnel_types and restart the agent"
		}
		return []string{tunnelOwner(t)}, ""
	}
}

// physical finds the patch that a segment leaves by.
func (fb fabric) physical(s *wire.Segment) (openflow.Port, bool) {
	if s.GetNetworkType() != "vlan" && s.GetNetworkType() != "flat" {
		return 0, false
	}
	p, ok := fb.patches[s.GetPhysicalNetwork()]
	return p, ok
}

// tunnel finds the tunnel port of a segment.
func (fb fabric) tunnel(s *wire.Segment) (openflow.Port, bool) {
	p, ok := fb.tunnels[s.GetNetworkType()]
	return p, ok
}

// entryFlows give packets from the fabric their network.
func (fb fabric) entryFlows(n *wire.Network, net64 uint64) []openflow.Flow {
	var flows []openflow.Flow
	enter := func(next uint8) []openflow.Action {
		return openflow.Do(openflow.Metadata.Set(net64), brint.Origin.Set(brint.FromFabric), openflow.Resubmit(next))
	}
	tags := brint.Transparent(n)
	for _, s := range n.GetSegments() {
		if port, ok := fb.tunnel(s); ok {
			match := openflow.Any(openflow.InPort.Is(port), openflow.TunID.Is(uint64(s.GetSegmentationId())))
			if !tags {
				match = match.With(openflow.Untagged())
			}
			flows = append(flows, openflow.Flow{Table: brint.Classify, Priority: prioPlain, Match: match, Actions: enter(brint.Forward)})
		}
		port, ok := fb.physical(s)
		if !ok {
			continue
		}
		match, actions := openflow.Any(openflow.InPort.Is(port), openflow.Untagged()), enter(brint.Forward)
		if s.GetNetworkType() == "vlan" {
			match, actions = openflow.Any(openflow.InPort.Is(port), openflow.VLAN(uint16(s.GetSegmentationId()))), enter(brint.Inside)
			if tags {
				actions = enter(brint.Forward)
			}
			actions = append(openflow.Do(openflow.PopVLAN()), actions...)
		}
		flows = append(flows, openflow.Flow{Table: brint.Classify, Priority: prioPlain, Match: match, Actions: actions})
	}
	return flows
}

// way is how a remote port is reached.
type way struct {
	port   openflow.Port
	vlan   uint16 // on a physical network; 0 is untagged
	tunnel uint64 // key, where remote is set
	remote netip.Addr
}

// wayTo decides how this host reaches a port of another: by the physical network that its host uses if this one is connected to it,
// else by a tunnel of the network if both ends have one.
func (fb fabric) wayTo(n *wire.Network, p *wire.Forward) (way, bool) {
	var tunnels []*wire.Segment
	for _, s := range n.GetSegments() {
		if s.GetId() == p.GetSegmentId() {
			if port, ok := fb.physical(s); ok {
				return way{port: port, vlan: vlanOf(s)}, true
			}
		}
		if _, ok := fb.tunnel(s); ok {
			if s.GetId() == p.GetSegmentId() {
				tunnels = append([]*wire.Segment{s}, tunnels...)
			} else {
				tunnels = append(tunnels, s)
			}
		}
	}
	remote, err := netip.ParseAddr(p.GetTunnelIp())
	if err != nil || len(tunnels) == 0 || remote == fb.cfg.LocalIP || remote.Is4() != fb.cfg.LocalIP.Is4() {
		return way{}, false
	}
	port, _ := fb.tunnel(tunnels[0])
	return way{port: port, tunnel: uint64(tunnels[0].GetSegmentationId()), remote: remote}, true
}

func vlanOf(s *wire.Segment) uint16 {
	if s.GetNetworkType() == "vlan" {
		return uint16(s.GetSegmentationId())
	}
	return 0
}

// actions send a packet this way.
func (w way) actions() []openflow.Action {
	if !w.remote.IsValid() {
		if w.vlan == 0 {
			return openflow.Do(openflow.Output(w.port))
		}
		return openflow.Sequence(openflow.TagVLAN(w.vlan), openflow.Do(openflow.Output(w.port)))
	}
	to := openflow.TunDst.Set(w.remote)
	if w.remote.Is6() {
		to = openflow.TunIPv6Dst.Set(w.remote)
	}
	return openflow.Do(openflow.SetTunnel(w.tunnel), to, openflow.Output(w.port))
}

// leave sends a packet of a port of this host to the fabric: nobody here judges it any more, so a new connection is remembered now.
func leave(actions []openflow.Action) []openflow.Action {
	return openflow.Sequence(openflow.Do(openflow.Resubmit(brint.Commit)), actions)
}

// forwardFlows are the flows towards one port of another host: what is sent to it, and what it is asked.
func (fb fabric) forwardFlows(n *wire.Network, p *wire.Forward) []openflow.Flow {
	mac, err := net.ParseMAC(p.GetMacAddress())
	if err != nil {
		return nil // the port's own host reports it
	}
	net64 := brint.Network(n.GetId())
	var flows []openflow.Flow
	if w, ok := fb.wayTo(n, p); ok {
		flows = append(flows, openflow.Flow{Table: brint.Forward, Priority: prioPlain,
			Match: openflow.Any(openflow.Metadata.Is(net64), brint.Origin.Is(0), openflow.EthDst.Is(mac)), Actions: leave(w.actions())})
	}
	for _, text := range p.GetIpAddresses() {
		if addr, err := netip.ParseAddr(text); err == nil {
			flows = append(flows, fb.answers(onNetwork(n), mac, addr)...)
		}
	}
	return flows
}

// floodActions send a copy to every physical network of the network that this host is on, and by tunnel to each host that
// is reached no other way.
func (fb fabric) floodActions(n *wire.Network, remotes []*wire.Forward) []openflow.Action {
	var out []openflow.Action
	for _, s := range n.GetSegments() {
		if port, ok := fb.physical(s); ok {
			out = append(out, openflow.Clone(way{port: port, vlan: vlanOf(s)}.actions()...))
		}
	}
	ends := map[way]bool{}
	for _, p := range remotes {
		if w, ok := fb.wayTo(n, p); ok && w.remote.IsValid() {
			ends[w] = true
		}
	}
	ways := slices.Collect(maps.Keys(ends))
	slices.SortFunc(ways, func(a, b way) int {
		return cmp.Or(a.remote.Compare(b.remote), cmp.Compare(a.port, b.port), cmp.Compare(a.tunnel, b.tunnel))
	})
	for _, w := range ways {
		out = append(out, w.actions()...)
	}
	return out
}
