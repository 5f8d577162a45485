package sgovs

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"isospin/internal/agent"
	"isospin/internal/agent/feature/brint"
	"isospin/internal/agent/feature/secgroup"
	"isospin/internal/change"
	"isospin/internal/dataplane/openflow"
	"isospin/internal/wire"
)

// open tells whether a port is not filtered: port security is off, or it is one of the cloud's own (Neutron's is_port_trusted).
func (f *Feature) open(p *wire.Port) bool {
	return f.cfg.Off || !p.GetPortSecurityEnabled() || strings.HasPrefix(p.GetDeviceOwner(), "network:")
}

// syncPort refills the flows of one port. Before they are there it neither sends nor gets anything, since the tables' misses drop.
func (f *Feature) syncPort(v agent.View, w *work, id string) {
	key := change.Key{Kind: wire.KindPort, ID: id}
	w.res.Faults[key] = nil
	p, ok := get[*wire.Port](v, wire.KindPort, id)
	at, ready := f.present.Place(id)
	if !ok || !ready || !p.GetAdminStateUp() {
		f.want(portDoc(id), nil)
		return
	}
	if f.open(p) {
		f.want(portDoc(id), openFlows(at))
		return
	}
	zone, err := f.zones.Of(p.GetNetworkId())
	if err != nil {
		w.res.Faults[key] = err
	}
	if zone == 0 {
		f.want(portDoc(id), nil)
		return
	}
	identities, err := secgroup.Identities(p)
	if err != nil {
		w.res.Faults[key] = err // those that can be read serve
	}
	flows := sends(at, zone, identities, f.cfg.Ethertypes)
	f.want(portDoc(id), append(flows, judged(at, zone, f.members(v, p))...))
}

// openFlows pass all that a port sends and gets. A connection that somebody else here began with it has to be remembered all the same.
func openFlows(at brint.Place) []openflow.Flow {
	return []openflow.Flow{
		{Table: brint.Spoof, Priority: prioOpen, Match: openflow.Any(brint.Source.Is(uint64(at.Number))), Actions: openflow.Do(openflow.Resubmit(brint.Answer))},
		{Table: brint.Ingress, Priority: prioOpen, Match: openflow.Any(brint.Target.Is(uint64(at.Number))),
			Actions: openflow.Do(openflow.Resubmit(brint.Commit), openflow.Resubmit(brint.Shape))},
	}
}

// in are the groups that a port's packets are held against, by kind, in order.
type in struct{ stateful, stateless []string }

// members are the groups of a port whose documents are there; the others allow nothing yet.
func (f *Feature) members(v agent.View, p *wire.Port) in {
	var out in
	for _, id := range slices.Sorted(slices.Values(p.GetSecurityGroups())) {
		g, ok := get[*wire.SecurityGroup](v, wire.KindGroup, id)
		switch {
		case !ok:
		case g.GetStateful():
			out.stateful = append(out.stateful, id)
		default:
			out.stateless = append(out.stateless, id)
		}
	}
	return out
}

// ask holds a packet against the rules of groups, one after the other, as each of the ways says: with which addresses and ports.
func ask(groups []string, egress bool, ways ...func(uint8) openflow.Action) []openflow.Action {
	var out []openflow.Action
	for _, id := range groups {
		n := brint.Network(id)
		out = append(out, brint.GroupHigh.Set(n>>32), brint.GroupLow.Set(n&0xffffffff))
		for _, way := range ways {
			out = append(out, way(rulesTable(egress)))
		}
	}
	return out
}

// judged are the flows that hold a port's packets against its groups.
func judged(at brint.Place, zone uint16, groups in) []openflow.Flow {
	n := uint64(at.Number)
	flows := []openflow.Flow{{Table: brint.Ingress, Priority: prioPlain, Match: openflow.Any(brint.Target.Is(n)),
		Actions: openflow.Do(brint.Zone.Set(uint64(zone)), openflow.Resubmit(brint.IngressAlways))}}
	for _, way := range []struct {
		egress               bool
		self                 openflow.IntField
		free, state, verdict uint8
	}{
		{true, brint.Source, brint.EgressFree, brint.EgressState, brint.EgressVerdict},
		{false, brint.Target, brint.IngressFree, brint.IngressState, brint.IngressVerdict},
	} {
		self := way.self.Is(n)
		if len(groups.stateless) > 0 {
			flows = append(flows, openflow.Flow{Table: way.free, Priority: prioPlain, Match: openflow.Any(self), Actions: openflow.Sequence(
				openflow.Do(brint.Verdict.Set(brint.Unjudged)), ask(groups.stateless, way.egress, openflow.Resubmit), openflow.Do(openflow.Resubmit(way.verdict)))})
		}
		if len(groups.stateful) == 0 {
			continue
		}
		for _, reply := range []bool{false, true} {
			// By the packet's own as well, where it is the first one's: connections of SCTP have no ports on the userspace datapath.
			ways := []func(uint8) openflow.Action{openflow.ResubmitReply, openflow.Resubmit}
			if reply {
				ways = ways[:1]
			}
			flows = append(flows, openflow.Flow{Table: way.state, Priority: prioPlain, Match: openflow.Any(self, tracked(reply)),
				// The rules that count are those for the packet that began the connection: of the other direction for an answer.
				Actions: openflow.Sequence(openflow.Do(brint.Tracked.Set(1), brint.Verdict.Set(brint.Refused)),
					ask(groups.stateful, way.egress != reply, ways...), openflow.Do(openflow.Resubmit(way.verdict)))})
		}
	}
	return flows
}

// tracked matches packets of a connection, or that could begin one, in the direction of the first or in the other.
func tracked(reply bool) openflow.Term {
	const mask = openflow.CTTracked | openflow.CTInvalid | openflow.CTReply
	if reply {
		return openflow.CTState.Masked(openflow.CTTracked|openflow.CTReply, mask)
	}
	return openflow.CTState.Masked(openflow.CTTracked, mask)
}

func unspecified() openflow.Term { return openflow.IPv6Src.Is(netip.IPv6Unspecified()) }

// sends are the flows that let a port send with its own addresses and no others.
func sends(at brint.Place, zone uint16, identities []secgroup.Identity, ethertypes []uint16) []openflow.Flow {
	self := brint.Source.Is(uint64(at.Number))
	var out []openflow.Flow
	add := func(table uint8, priority uint16, m openflow.Match, next uint8) {
		as := openflow.Do(openflow.Resubmit(next))
		if next == brint.EgressFree { // where it may be tracked
			as = openflow.Do(brint.Zone.Set(uint64(zone)), openflow.Resubmit(next))
		}
		out = append(out, openflow.Flow{Table: table, Priority: priority, Match: m.With(self), Actions: as})
	}
	known := map[string]bool{}
	for _, i := range identities {
		mac, err := net.ParseMAC(i.MAC)
		if err != nil || len(mac) != 6 {
			continue // Identities wrote it
		}
		src, sll, tll := openflow.EthSrc.Is(mac), openflow.NDSLL.Is(mac), openflow.NDTLL.Is(mac)
		noSLL, noTLL := openflow.NDSLL.Is(make(net.HardwareAddr, 6)), openflow.NDTLL.Is(make(net.HardwareAddr, 6))
		if !known[i.MAC] {
			known[i.MAC] = true
			add(brint.Spoof, prioPlain+10, openflow.UDP(src, openflow.IPv4Src.Is(netip.IPv4Unspecified()), openflow.UDPSrc.Is(dhcpClient), openflow.UDPDst.Is(dhcpServer)), brint.Answer)
			// A hypervisor says so for a guest that has moved.
			add(brint.Spoof, prioPlain, openflow.Any(openflow.EthType.Is(openflow.TypeRARP), src, openflow.ARPSHA.Is(mac)), brint.Answer)
			add(brint.Spoof, prioPlain+10, openflow.ICMPv6(src, unspecified()), brint.Neighbour)
			add(brint.Neighbour, prioRest-10, openflow.NeighbourSolicit(src, sll), brint.Answer)
			add(brint.Neighbour, prioRest-10, openflow.NeighbourSolicit(src, noSLL), brint.Answer)
			for _, kind := range ethertypes {
				add(brint.Spoof, prioPlain, openflow.Any(openflow.EthType.Is(uint64(kind)), src), brint.Answer)
			}
		}
		if i.Prefix.Addr().Is4() {
			add(brint.Spoof, prioPlain, openflow.IPv4(append(within4(openflow.IPv4Src, i.Prefix), src)...), brint.EgressFree)
			sha := openflow.ARPSHA.Is(mac)
			add(brint.Spoof, prioPlain, openflow.ARP(append(within4(openflow.ARPSPA, i.Prefix), src, sha)...), brint.Answer)
			// Whether somebody else has the address (RFC 5227).
			add(brint.Spoof, prioPlain+10, openflow.ARP(append(within4(openflow.ARPTPA, i.Prefix), src, sha, openflow.ARPOp.Is(1),
				openflow.ARPSPA.Is(netip.IPv4Unspecified()))...), brint.Answer)
			continue
		}
		add(brint.Spoof, prioPlain, openflow.IPv6(append(within6(openflow.IPv6Src, i.Prefix), src)...), brint.EgressFree)
		target := within6(openflow.NDTarget, i.Prefix)
		add(brint.Neighbour, prioNobody+10, openflow.NeighbourSolicit(append(slices.Clone(target), src, noSLL, unspecified())...), brint.Answer)
		for _, option := range []openflow.Term{tll, noTLL} {
			add(brint.Neighbour, prioPlain, openflow.NeighbourAdvert(append(slices.Clone(target), src, option)...), brint.Answer)
		}
	}
	return out
}

func within4(f openflow.IPv4Field, p netip.Prefix) []openflow.Term {
	if p.Bits() == 0 {
		return nil
	}
	return []openflow.Term{f.In(p)}
}

func within6(f openflow.IPv6Field, p netip.Prefix) []openflow.Term {
	if p.Bits() == 0 {
		return nil
	}
	return []openflow.Term{f.In(p)}
}

// Needs is what a port of this host needs of this feature before it is wired.
func (f *Feature) Needs(v agent.View, id string) secgroup.Needs {
	p, ok := get[*wire.Port](v, wire.KindPort, id)
	if !ok {
		return secgroup.Needs{}
	}
	out := secgroup.Needs{Docs: []string{hostDoc, portDoc(id)}}
	if f.open(p) {
		return out
	}
	if zone, err := f.zones.Of(p.GetNetworkId()); zone == 0 {
		out.Broken = fmt.Errorf("the port's connections cannot be tracked: %w", err)
		return out
	}
	if _, err := secgroup.Identities(p); err != nil {
		out.Broken = err
		return out
	}
	for _, g := range p.GetSecurityGroups() {
		if _, ok := get[*wire.SecurityGroup](v, wire.KindGroup, g); !ok {
			out.Lacks = "the document of security group " + g + " has not come"
			return out
		}
		out.Docs = append(out.Docs, groupDoc(g))
		for rule := range v.In(wire.KindRule, agent.ByGroup, g) {
			out.Docs = append(out.Docs, ruleDoc(rule))
			if err := f.rules[rule].err; err != nil && (out.Note == "" || err.Error() < out.Note) {
				out.Note = err.Error()
			}
		}
	}
	return out
}
