package sgovs

import (
	"isospin/internal/agent/feature/brint"
	"isospin/internal/dataplane/openflow"
)

// Priorities of what is the same for all ports.
const (
	prioOpen   = 400 // ports that are not filtered
	prioNever  = 300
	prioAlways = 200
	prioPlain  = 100
	prioNobody = 60 // what has no sender's address
	prioRest   = 50
)

// Types of ICMPv6 that conntrack does not track: neighbour discovery and multicast listeners.
const (
	mldQuery, mldReport, mldDone, mldReport2         = 130, 131, 132, 143
	routerSolicit, routerAdvert, redirect            = 133, 134, 137
	neighbourSolicit, neighbourAdvert                = 135, 136
	dhcpServer, dhcpClient, dhcp6Client, dhcp6Server = 67, 68, 546, 547
)

// standing are the flows that no document has a part in. What ports may always send and get is Neutron's choice (neutron/agent/firewall.py and
// openvswitch_firewall), and reports of multicast listeners besides, without which switches that follow them cut guests off.
func standing(c Config) []openflow.Flow {
	to := func(table uint8) []openflow.Action { return openflow.Do(openflow.Resubmit(table)) }
	icmp6 := func(kind uint64) openflow.Match { return openflow.ICMPv6(openflow.ICMPv6Type.Is(kind)) }
	var out []openflow.Flow
	add := func(table uint8, priority uint16, m openflow.Match, as []openflow.Action) {
		out = append(out, openflow.Flow{Table: table, Priority: priority, Match: m, Actions: as})
	}
	// Nobody who is filtered is a router or a DHCP server, whatever addresses it may use.
	for _, kind := range []uint64{routerAdvert, redirect} {
		add(brint.Spoof, prioNever, icmp6(kind), brint.Drop(brint.EgressDrop, brint.Forbidden))
	}
	for _, m := range []openflow.Match{
		openflow.UDP(openflow.UDPSrc.Is(dhcpServer), openflow.UDPDst.Is(dhcpClient)), openflow.UDP6(openflow.UDPSrc.Is(dhcp6Server), openflow.UDPDst.Is(dhcp6Client)),
	} {
		add(brint.EgressFree, prioAlways, m, brint.Drop(brint.EgressDrop, brint.Forbidden))
		add(brint.IngressAlways, prioPlain, m, to(brint.Shape))
	}
	add(brint.EgressFree, prioAlways, openflow.UDP(openflow.UDPSrc.Is(dhcpClient), openflow.UDPDst.Is(dhcpServer)), to(brint.Answer))
	add(brint.EgressFree, prioAlways, openflow.UDP6(openflow.UDPSrc.Is(dhcp6Client), openflow.UDPDst.Is(dhcp6Server)), to(brint.Answer))
	for _, kind := range []uint64{mldQuery, mldReport, mldDone, mldReport2, routerSolicit, neighbourSolicit, neighbourAdvert} {
		add(brint.EgressFree, prioAlways, icmp6(kind), to(brint.Neighbour))
		if kind != neighbourSolicit && kind != neighbourAdvert {
			add(brint.Neighbour, prioRest, icmp6(kind), to(brint.Answer))
		}
	}
	// A solicitation without a sender is only for finding out whether somebody has the address: ports have flows for their own above this one.
	add(brint.Neighbour, prioNobody, openflow.NeighbourSolicit(unspecified()), brint.Drop(brint.EgressDrop, brint.Forged))
	add(brint.IngressAlways, prioPlain, openflow.ARP(), to(brint.Shape))
	for _, kind := range []uint64{mldQuery, routerAdvert, neighbourSolicit, neighbourAdvert} {
		add(brint.IngressAlways, prioPlain, icmp6(kind), to(brint.Shape))
	}
	for _, kind := range c.Ethertypes {
		add(brint.IngressAlways, prioPlain, openflow.Any(openflow.EthType.Is(uint64(kind))), to(brint.Shape))
	}
	add(brint.IngressAlways, prioRest, openflow.IPv4(), to(brint.IngressFree))
	add(brint.IngressAlways, prioRest, openflow.IPv6(), to(brint.IngressFree))
	for _, t := range []struct {
		state, verdict, drop uint8
		accepted             []openflow.Action
	}{
		{brint.EgressState, brint.EgressVerdict, brint.EgressDrop, brint.Pass(true)},
		{brint.IngressState, brint.IngressVerdict, brint.IngressDrop, brint.Pass(false)},
	} {
		add(t.verdict, prioPlain, openflow.Any(brint.Verdict.Is(brint.Accepted)), t.accepted)
		unjudged := brint.Verdict.Is(brint.Unjudged)
		add(t.verdict, prioRest, openflow.IPv4(unjudged), openflow.Do(openflow.CTNextFrom(brint.Zone.Bits(0, 15), t.state)))
		add(t.verdict, prioRest, openflow.IPv6(unjudged), openflow.Do(openflow.CTNextFrom(brint.Zone.Bits(0, 15), t.state)))
		add(t.state, prioRest, openflow.Any(openflow.CTState.Masked(openflow.CTInvalid, openflow.CTInvalid)), brint.Drop(t.drop, brint.Invalid))
	}
	// What the sender's judgement found out of the connection serves the receiver's, on one host.
	add(brint.IngressVerdict, prioRest+10, openflow.Any(brint.Verdict.Is(brint.Unjudged), brint.Tracked.Is(1)), to(brint.IngressState))
	return append(out, commits()...)
}

// commits remember new connections. In a copy: after an action on connections Open vSwitch takes a packet for untracked, and others may still have to judge it.
func commits() []openflow.Flow {
	zone := brint.Zone.Bits(0, 15)
	remember := openflow.Do(openflow.Clone(openflow.CT{Commit: true, ZoneFrom: &zone}))
	isNew := []openflow.Term{brint.Tracked.Is(1), openflow.CTState.Masked(openflow.CTNew|openflow.CTTracked, openflow.CTNew|openflow.CTTracked)}
	return []openflow.Flow{
		{Table: brint.Commit, Priority: prioPlain, Match: openflow.IPv4(isNew...), Actions: remember},
		{Table: brint.Commit, Priority: prioPlain, Match: openflow.IPv6(isNew...), Actions: remember},
	}
}
