package l2ovs

import (
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"isospin/internal/agent"
	"isospin/internal/dataplane/openflow"
	"isospin/internal/wire"
)

// Priorities within tables.
const (
	prioPlain  = 100
	prioBefore = 110 // for exceptions to what prioPlain says
	prioProbe  = 120
)

// metadata is a network in the metadata register: the first 64 bits of its id. Ids are random, so that two networks of
// one host with the same bits are as likely as any collision of random 64-bit numbers.
func metadata(network string) uint64 {
	var n uint64
	raw, err := hex.DecodeString(strings.ReplaceAll(network, "-", ""))
	if err != nil || len(raw) < 8 {
		for _, c := range []byte(network) { // not a UUID: only in tests
			n = n*31 + uint64(c)
		}
		return n
	}
	for _, b := range raw[:8] {
		n = n<<8 | uint64(b)
	}
	return n
}

// readable tells whether portFlows can do anything for a port.
func readable(p *wire.Port) bool {
	_, err := net.ParseMAC(p.GetMacAddress())
	return err == nil
}

// portFlows are the flows of one port of this host: in from it, answers for its addresses, out to it.
func portFlows(n *wire.Network, p *wire.Port, port openflow.Port) ([]openflow.Flow, error) {
	mac, err := net.ParseMAC(p.GetMacAddress())
	if err != nil {
		return nil, fmt.Errorf("the port's MAC address cannot be read: %w", err)
	}
	net64 := metadata(n.GetId())
	flows := []openflow.Flow{
		// A tag of the guest's own would reach other networks where this one is untagged on its wire.
		{Table: tableClassify, Priority: prioPlain, Match: openflow.Any(openflow.InPort.Is(port), openflow.Untagged()),
			Actions: openflow.Do(openflow.Metadata.Set(net64), openflow.Resubmit(tableAnswer))},
		{Table: tableForward, Priority: prioPlain, Match: openflow.Any(openflow.Metadata.Is(net64), openflow.EthDst.Is(mac)),
			Actions: openflow.Do(openflow.Output(port))},
	}
	for _, f := range p.GetFixedIps() {
		addr, err := netip.ParseAddr(f.GetIpAddress())
		if err != nil {
			return flows, fmt.Errorf("the address %q cannot be read: %w", f.GetIpAddress(), err)
		}
		flows = append(flows, answers(net64, mac, addr)...)
		// What a port asks of its own address is a probe or an announcement: others must hear it, and an answer
		// would tell the guest that somebody else has the address.
		own := openflow.ARPRequest(addr)
		if addr.Is6() {
			own = openflow.NeighbourSolicit(openflow.NDTarget.Is(addr))
		}
		flows = append(flows, openflow.Flow{Table: tableAnswer, Priority: prioProbe + 10,
			Match: own.With(openflow.InPort.Is(port), openflow.Metadata.Is(net64)), Actions: openflow.Do(openflow.Resubmit(tableForward))})
	}
	return flows, nil
}

// answers are the flows that answer for an address of the network, whoever has it.
func answers(net64 uint64, mac net.HardwareAddr, addr netip.Addr) []openflow.Flow {
	if addr.Is4() {
		return []openflow.Flow{{Table: tableAnswer, Priority: prioPlain,
			Match: openflow.ARPRequest(addr).With(openflow.Metadata.Is(net64)), Actions: openflow.ARPReply(mac, addr)}}
	}
	return []openflow.Flow{
		{Table: tableAnswer, Priority: prioPlain, Match: openflow.NDSolicit(addr).With(openflow.Metadata.Is(net64)),
			Actions: openflow.NDReply(mac, addr, openflow.NDOverride, tableAdvert)},
		{Table: tableAnswer, Priority: prioProbe, Match: openflow.NDProbe(addr).With(openflow.Metadata.Is(net64)),
			Actions: openflow.NDProbeReply(mac, addr, openflow.NDOverride, tableAdvert)},
	}
}

// networkFlows are the flows of a network as a whole: in from the fabric, and the flood.
func (f *Feature) networkFlows(v agent.View, n *wire.Network) []openflow.Flow {
	net64 := metadata(n.GetId())
	flows := f.fabric.entryFlows(n, net64)
	var local []openflow.Port
	for id := range v.In(wire.KindPort, agent.ByNetwork, n.GetId()) {
		p, ok := get[*wire.Port](v, wire.KindPort, id)
		if i, plugged := f.present[id]; ok && plugged && i.Ready() && p.GetAdminStateUp() && readable(p) {
			local = append(local, openflow.Port(i.OFPort))
		}
	}
	slices.Sort(local)
	var remotes []*wire.Forward
	for id := range v.In(wire.KindForward, agent.ByNetwork, n.GetId()) {
		if _, own := v.Get(wire.KindPort, id); own {
			continue
		}
		if p, ok := get[*wire.Forward](v, wire.KindForward, id); ok {
			remotes = append(remotes, p)
		}
	}
	inside := openflow.OutputEach(local...)
	flows = append(flows,
		openflow.Flow{Table: tableFlood, Priority: prioBefore, Match: openflow.Any(openflow.Metadata.Is(net64), openflow.Reg0.Is(fromFabric)), Actions: inside},
		openflow.Flow{Table: tableFlood, Priority: prioPlain, Match: openflow.Any(openflow.Metadata.Is(net64)),
			Actions: openflow.Sequence(inside, f.fabric.floodActions(n, remotes))})
	return flows
}
