package brint

import (
	"encoding/hex"
	"slices"
	"strings"

	"isospin/internal/dataplane/openflow"
	"isospin/internal/wire"
)

// The tables of the integration bridge, in the order in which a packet meets them. Numbers leave room for what comes between; who fills a
// table stands beside it.
const (
	Classify = 0  // l2ovs
	Inside   = 1  // Standing
	Police   = 5  // qos
	Mark     = 6  // qos
	Spoof    = 10 // sgovs; see filter.go for more of its tables
	Answer   = 20 // l2ovs
	LocalIP  = 30 // localip
	Forward  = 40 // l2ovs
	Flood    = 50 // l2ovs
	Advert   = 60 // Standing
	Return   = 61 // Standing
	Ingress  = 70 // sgovs
	Shape    = 80 // qos; 81 and 82 are its own too
	Bits     = 81 // qos
	Packets  = 82 // qos
	Deliver  = 90 // l2ovs
)

// Registers. The network is in metadata: see Network.
const (
	// Origin is FromFabric for packets that came from another host or a physical network; else 0.
	Origin = openflow.Reg0
	// Zone is the conntrack zone of the network.
	Zone = openflow.Reg3
	// Source is the Number of the port of this host that sent the packet; 0 for packets from the fabric.
	Source = openflow.Reg5
	// Target is the Number of the port of this host that the packet is for, from FORWARD and FLOOD on.
	Target = openflow.Reg6
)

// FromFabric is set in Origin for packets that go to ports of this host only, which is what keeps loops out.
const FromFabric = 1

// Owner is the name that the flows' cookies carry.
const Owner = "isospin l2"

// Pipeline declares the integration bridge.
func Pipeline() openflow.Pipeline {
	return openflow.Pipeline{
		Bridge: "br-int",
		Doc: "The integration bridge: ports of this host, tunnels to other hosts and patches to physical networks. " +
			"A packet is given its network and its port, judged, answered here, forwarded to where the network's port is known to be, or flooded, and judged again " +
			"before a port of this host gets it.",
		Tables: inOrder([]openflow.Table{
			{ID: Classify, Name: "CLASSIFY", Doc: "Which network a packet belongs to, by the port, tunnel key or VLAN that it came with. What belongs to none is dropped."},
			{ID: Inside, Name: "INSIDE", Doc: "What had its tag taken off, inside a trunk or on a physical network, must not have another one: here tags of guests do not pass.",
				Miss: openflow.Do(openflow.Resubmit(Police))},
			{ID: Police, Name: "POLICE", Doc: "What a port of this host sends is held to its limit of bandwidth.", Miss: openflow.Do(openflow.Resubmit(Mark))},
			{ID: Mark, Name: "MARK", Doc: "What a port of this host sends is held to its limit of packets and marked.", Miss: openflow.Do(openflow.Resubmit(Spoof))},
			{ID: Spoof, Name: "SPOOF", Doc: "A port of this host sends with its own addresses only. One whose flows are not there yet sends nothing.", Miss: Drop(EgressDrop, Forged)},
			{ID: Answer, Name: "ANSWER", Doc: "ARP requests and neighbour solicitations of local ports for addresses that are known are answered here.",
				Miss: openflow.Do(openflow.Resubmit(LocalIP))},
			{ID: LocalIP, Name: "LOCAL_IP", Doc: "Local IPs are translated to the port of this host that stands for them.", Miss: openflow.Do(openflow.Resubmit(Forward))},
			{ID: Forward, Name: "FORWARD", Doc: "Unicast to known ports: to the local port, by the tunnel to the port's host, or to the physical network.",
				Miss: openflow.Do(openflow.Resubmit(Flood))},
			{ID: Flood, Name: "FLOOD", Doc: "Broadcast, multicast and unicast to unknown addresses, to all of the network that can be reached; from the fabric to local ports only."},
			{ID: Advert, Name: "ADVERT", Doc: "Neighbour advertisements that ANSWER made are finished."},
			{ID: Return, Name: "RETURN", Doc: "What was answered here goes back to the port that asked, by DELIVER.",
				Miss: openflow.Do(openflow.Move(Source.Whole(), Target.Whole()), Source.Set(0), openflow.InPort.Set(openflow.PortNone), openflow.Resubmit(Deliver))},
			{ID: Ingress, Name: "INGRESS", Doc: "Whether a port of this host may have the packet. One whose flows are not there yet gets nothing.", Miss: Drop(IngressDrop, Refused)},
			{ID: Shape, Name: "SHAPE", Doc: "What a port of this host is sent is held to limits if it has any. What others get too is counted as a packet of its own, " +
				"so that what one may not have the others do.", Miss: openflow.Do(openflow.Resubmit(Deliver))},
			{ID: Bits, Name: "BITS", Doc: "The limit of bandwidth of what a port of this host is sent.", Miss: openflow.Do(openflow.Resubmit(Packets))},
			{ID: Packets, Name: "PACKETS", Doc: "The limit of packets of what a port of this host is sent.", Miss: openflow.Do(openflow.Resubmit(Deliver))},
			{ID: Deliver, Name: "DELIVER", Doc: "Out of the port."},
		}, filterTables()),
	}
}

// Standing are the flows that are there whatever the documents say: every table's miss, and what is the same for all networks.
func Standing() []openflow.Flow {
	flows := append(Pipeline().Misses(), openflow.NDAdvert(Advert, Return))
	for _, second := range secondTags() {
		flows = append(flows, openflow.Flow{Table: Inside, Priority: 100, Match: openflow.Any(second), Actions: openflow.Drop()})
	}
	return append(append(flows, priorityTags()...), openflow.Flow{Table: Inside, Priority: 50, Match: openflow.Any(Origin.Is(FromFabric)), Actions: openflow.Do(openflow.Resubmit(Forward))})
}

// priorityTags take off tags of no VLAN, which only tell how urgent a frame is: it is of the network that it would be of without, as at an access port of Open
// vSwitch or a port of a bridge. With another tag below it is dropped: that one would not be looked at again.
func priorityTags() []openflow.Flow {
	none := openflow.VLAN(0)
	return []openflow.Flow{
		{Table: Classify, Priority: 60, Match: openflow.Any(none, openflow.EthType.Is(openflow.TypeVLAN)), Actions: openflow.Drop()},
		{Table: Classify, Priority: 60, Match: openflow.Any(none, openflow.EthType.Is(openflow.TypeQinQ)), Actions: openflow.Drop()},
		{Table: Classify, Priority: 50, Match: openflow.Any(none), Actions: openflow.Do(openflow.PopVLAN(), openflow.Resubmit(Classify))},
	}
}

// secondTags match frames with a tag. Open vSwitch reads one tag of a frame, or two if it is told so (vlan-limit): one that it did not
// read is the type of what follows.
func secondTags() []openflow.Term {
	return []openflow.Term{openflow.Tagged(), openflow.EthType.Is(openflow.TypeVLAN), openflow.EthType.Is(openflow.TypeQinQ)}
}

// Transparent tells whether tags of guests pass through a network. Not where it is untagged on a wire that carries other networks' VLANs: a guest would
// be on any of them.
func Transparent(n *wire.Network) bool {
	return n.GetVlanTransparent() && !slices.ContainsFunc(n.GetSegments(), func(s *wire.Segment) bool { return s.GetNetworkType() == "flat" })
}

// Network is a network in the metadata register: the first 64 bits of its id, so that a flow dump names it. Ids are random: two networks of
// one host with the same bits are as likely as any collision of random 64-bit numbers.
func Network(id string) uint64 {
	var n uint64
	raw, err := hex.DecodeString(strings.ReplaceAll(id, "-", ""))
	if err != nil || len(raw) < 8 {
		for _, c := range []byte(id) { // not a UUID: only in tests
			n = n*31 + uint64(c)
		}
		return n
	}
	for _, b := range raw[:8] {
		n = n<<8 | uint64(b)
	}
	return n
}
