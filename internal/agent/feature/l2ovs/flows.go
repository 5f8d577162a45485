package l2ovs

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"isospin/internal/agent"
	"isospin/internal/agent/feature/brint"
	"isospin/internal/dataplane/openflow"
	"isospin/internal/wire"
)

// Priorities within tables.
const (
	prioPlain  = 100
	prioBefore = 110 // for exceptions to what prioPlain says
	prioProbe  = 120
)

// userspace is the datapath type of Open vSwitch's own datapath; the other is the kernel's.
const userspace = "netdev"

// readable tells whether portFlows can do anything for a port.
func readable(p *wire.Port) bool {
	_, err := net.ParseMAC(p.GetMacAddress())
	return err == nil
}

// portFlows are the flows of one port of this host: in from it, answers for its addresses, out to it. What is here counts before what is
// elsewhere, so that a port that moves is always in one of the two places, in whatever order flows are written. Of a port that waits the
// rest is there already.
func (fb fabric) portFlows(n *wire.Network, p *wire.Port, at brint.Place, waits bool) ([]openflow.Flow, error) {
	mac, err := net.ParseMAC(p.GetMacAddress())
	if err != nil {
		return nil, fmt.Errorf("the port's MAC address cannot be read: %w", err)
	}
	net64 := brint.Network(n.GetId())
	to := openflow.Flow{Table: brint.Forward, Priority: prioBefore, Match: openflow.Any(openflow.Metadata.Is(net64), openflow.EthDst.Is(mac)), Actions: at.To()}
	if waits { // what the fabric brings is for this host by a physical switch's word
		to.Match = to.Match.With(brint.Origin.Is(brint.FromFabric))
	}
	flows := append(at.Flows(net64, brint.Transparent(n)), to)
	for _, f := range p.GetFixedIps() {
		addr, err := netip.ParseAddr(f.GetIpAddress())
		if err != nil {
			return flows, fmt.Errorf("the address %q cannot be read: %w", f.GetIpAddress(), err)
		}
		if !waits {
			flows = append(flows, fb.answers(onNetwork(n), mac, addr)...)
		}
		// What a port asks of its own address is a probe or an announcement: others must hear it, and an answer
		// would tell the guest that somebody else has the address.
		own := openflow.ARPRequest(addr)
		if addr.Is6() {
			own = openflow.NeighbourSolicit(openflow.NDTarget.Is(addr))
		}
		flows = append(flows, openflow.Flow{Table: brint.Answer, Priority: prioProbe + 10,
			Match: own.With(onNetwork(n)...).With(brint.Source.Is(uint64(at.Number))), Actions: openflow.Do(openflow.Resubmit(brint.LocalIP))})
	}
	return flows, nil
}

// onNetwork matches frames of the network itself: where tags of guests pass, a tagged frame is of a network that only the guests know, and
// what it asks is none of the host's business.
func onNetwork(n *wire.Network) []openflow.Term {
	on := []openflow.Term{openflow.Metadata.Is(brint.Network(n.GetId()))}
	if brint.Transparent(n) {
		on = append(on, openflow.Untagged())
	}
	return on
}

// answers are the flows that answer for an address of the network, whoever has it. The kernel's datapath cannot write the option and the
// flags of a neighbour advertisement: there a solicitation is led to the one that has the address, who answers it himself. The frame is
// then for that one alone, which RFC 6085 allows for packets to a multicast address.
func (fb fabric) answers(on []openflow.Term, mac net.HardwareAddr, addr netip.Addr) []openflow.Flow {
	if addr.Is4() {
		return []openflow.Flow{{Table: brint.Answer, Priority: prioPlain,
			Match: openflow.ARPRequest(addr).With(on...), Actions: openflow.ARPReply(mac, addr, brint.Return)}}
	}
	if fb.cfg.DatapathType != userspace {
		return []openflow.Flow{{Table: brint.Answer, Priority: prioPlain, Match: openflow.NDSolicit(addr).With(on...),
			Actions: openflow.Do(openflow.EthDst.Set(mac), openflow.Resubmit(brint.LocalIP))}}
	}
	return []openflow.Flow{
		{Table: brint.Answer, Priority: prioPlain, Match: openflow.NDSolicit(addr).With(on...),
			Actions: openflow.NDReply(mac, addr, openflow.NDOverride, brint.Advert)},
		{Table: brint.Answer, Priority: prioProbe, Match: openflow.NDProbe(addr).With(on...),
			Actions: openflow.NDProbeReply(mac, addr, openflow.NDOverride, brint.Advert)},
	}
}

// networkFlows are the flows of a network as a whole: in from the fabric, and the flood.
func (f *Feature) networkFlows(v agent.View, n *wire.Network) []openflow.Flow {
	net64 := brint.Network(n.GetId())
	flows := f.fabric.entryFlows(n, net64)
	var local []brint.Place
	for id := range v.In(wire.KindPort, agent.ByNetwork, n.GetId()) {
		p, ok := get[*wire.Port](v, wire.KindPort, id)
		if at, ready := f.present.Place(id); ok && ready && p.GetAdminStateUp() && readable(p) && !f.waits(v, p) {
			local = append(local, at)
		}
	}
	slices.SortFunc(local, func(a, b brint.Place) int { return cmp.Compare(a.Number, b.Number) })
	var remotes []*wire.Forward
	for id := range v.In(wire.KindForward, agent.ByNetwork, n.GetId()) {
		if f.here(v, id) {
			continue
		}
		if p, ok := get[*wire.Forward](v, wire.KindForward, id); ok {
			remotes = append(remotes, p)
		}
	}
	var inside []openflow.Action
	for _, at := range local {
		inside = append(inside, at.To()...)
	}
	outside := f.fabric.floodActions(n, remotes)
	if len(outside) > 0 {
		outside = leave(outside)
	}
	flows = append(flows,
		openflow.Flow{Table: brint.Flood, Priority: prioBefore, Match: openflow.Any(openflow.Metadata.Is(net64), brint.Origin.Is(brint.FromFabric)), Actions: inside},
		openflow.Flow{Table: brint.Flood, Priority: prioPlain, Match: openflow.Any(openflow.Metadata.Is(net64)),
			Actions: openflow.Sequence(inside, outside)})
	return flows
}
