package l2ovs

import "isospin/internal/dataplane/openflow"

// The tables of the integration bridge, in the order in which a packet meets them. Numbers leave room for what comes between.
const (
	tableClassify = 0
	tableAnswer   = 20
	tableForward  = 40
	tableFlood    = 50
	tableAdvert   = 60
)

// Registers. The network is in metadata: the first 64 bits of its id, so that a flow dump names it.
const (
	// fromFabric is set in reg0 for packets that came from another host or a physical network: they go to ports
	// of this host only, which is what keeps loops out.
	fromFabric = 1
)

// Owner is the name that the flows' cookies carry.
const Owner = "isospin l2"

// Pipeline declares the integration bridge.
func Pipeline() openflow.Pipeline {
	return openflow.Pipeline{
		Bridge: "br-int",
		Doc: "The integration bridge: ports of this host, tunnels to other hosts and patches to physical networks. " +
			"A packet is given its network, then answered here, forwarded to where the network's port is known to be, or flooded.",
		Tables: []openflow.Table{
			{ID: tableClassify, Name: "CLASSIFY", Doc: "Which network a packet belongs to, by the port, tunnel key or VLAN that it came with. What belongs to none is dropped."},
			{ID: tableAnswer, Name: "ANSWER", Doc: "ARP requests and neighbour solicitations of local ports for addresses that are known are answered here.",
				Miss: openflow.Do(openflow.Resubmit(tableForward))},
			{ID: tableForward, Name: "FORWARD", Doc: "Unicast to known ports: out of the local port, the tunnel to the port's host, or the physical network.",
				Miss: openflow.Do(openflow.Resubmit(tableFlood))},
			{ID: tableFlood, Name: "FLOOD", Doc: "Broadcast, multicast and unicast to unknown addresses, to all of the network that can be reached; from the fabric to local ports only."},
			{ID: tableAdvert, Name: "ADVERT", Doc: "Neighbour advertisements that ANSWER made are finished and sent back."},
		},
	}
}
