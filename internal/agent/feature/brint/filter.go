package brint

import (
	"cmp"
	"slices"

	"isospin/internal/dataplane/openflow"
)

// The tables of security groups, beside Spoof and Ingress. Feature sgovs fills them; what logs hangs its flows into the two verdict tables, through
// which everything goes that was judged, and the two drop tables, through which everything goes that was refused.
const (
	Neighbour      = 11
	EgressFree     = 12
	EgressState    = 13
	EgressRules    = 14
	EgressVerdict  = 15
	EgressDrop     = 16
	Commit         = 65 // also resubmitted to by whoever sends a packet to the fabric
	IngressAlways  = 71
	IngressFree    = 72
	IngressState   = 73
	IngressRules   = 74
	IngressVerdict = 75
	IngressDrop    = 76
)

// Registers of security groups.
const (
	// Tracked is 1 where ct_state is that of the network's zone. Who sends a packet through another zone clears it.
	Tracked = openflow.Reg7
	// Verdict is what was found out of a packet in the direction that is being judged: see the constants.
	Verdict = openflow.Reg8
	// GroupHigh and GroupLow are the two halves of the number (see Network) of the group whose rules are being asked.
	GroupHigh = openflow.Reg10
	GroupLow  = openflow.Reg11
)

// Values of Verdict; all from Refused on are reasons for a drop.
const (
	Unjudged  = 0
	Accepted  = 1
	Refused   = 2 // no rule allows it
	Invalid   = 3 // it belongs to no connection and can begin none
	Forged    = 4 // sent with an address that is not the port's
	Forbidden = 5 // nothing that a guest may send or get: DHCP and router advertisements of its own, unknown protocols
)

// filterTables declares the tables above; they stand between those of the others.
func filterTables() []openflow.Table {
	return []openflow.Table{
		{ID: Neighbour, Name: "NEIGHBOUR", Doc: "Neighbour discovery of a port tells of its own addresses only. What passes is accepted.", Miss: Drop(EgressDrop, Forged)},
		{ID: EgressFree, Name: "EGRESS_FREE", Doc: "What a port may always send, and what its stateless groups allow.", Miss: openflow.Do(openflow.Resubmit(EgressVerdict))},
		{ID: EgressState, Name: "EGRESS_STATE", Doc: "A tracked packet is judged as the first one of its connection, by the rules of the direction in which that went.",
			Miss: Drop(EgressDrop, Refused)},
		{ID: EgressRules, Name: "EGRESS_RULES", Doc: "Whether a rule of one group allows a port to send the packet."},
		{ID: EgressVerdict, Name: "EGRESS_VERDICT", Doc: "What is accepted goes on, what is refused to EGRESS_DROP; what is not judged yet is tracked.",
			Miss: openflow.Do(openflow.Resubmit(EgressDrop))},
		{ID: EgressDrop, Name: "EGRESS_DROP", Doc: "The end of what a port may not send; register 8 tells why."},
		{ID: Commit, Name: "COMMIT", Doc: "A new connection that was accepted at its last judgement on this host is remembered."},
		{ID: IngressAlways, Name: "INGRESS_ALWAYS", Doc: "What a port may always get: ARP, neighbour discovery, router advertisements, DHCP answers.",
			Miss: Drop(IngressDrop, Forbidden)},
		{ID: IngressFree, Name: "INGRESS_FREE", Doc: "What a port's stateless groups allow.",
			Miss: openflow.Do(Verdict.Set(Unjudged), openflow.Resubmit(IngressVerdict))},
		{ID: IngressState, Name: "INGRESS_STATE", Doc: "As EGRESS_STATE.", Miss: Drop(IngressDrop, Refused)},
		{ID: IngressRules, Name: "INGRESS_RULES", Doc: "Whether a rule of one group allows a port to get the packet."},
		{ID: IngressVerdict, Name: "INGRESS_VERDICT", Doc: "As EGRESS_VERDICT.", Miss: openflow.Do(openflow.Resubmit(IngressDrop))},
		{ID: IngressDrop, Name: "INGRESS_DROP", Doc: "The end of what a port may not get; register 8 tells why."},
	}
}

// Drop sends a packet to a drop table with the reason.
func Drop(table uint8, why uint64) []openflow.Action {
	return openflow.Do(Verdict.Set(why), openflow.Resubmit(table))
}

// Pass sends on a packet that the verdict table of a direction accepts.
func Pass(egress bool) []openflow.Action {
	if egress {
		return openflow.Do(openflow.Resubmit(Answer))
	}
	return openflow.Do(openflow.Resubmit(Commit), openflow.Resubmit(Shape))
}

// inOrder joins tables in the order in which a packet meets them, which is that of their numbers.
func inOrder(a, b []openflow.Table) []openflow.Table {
	return slices.SortedFunc(slices.Values(slices.Concat(a, b)), func(x, y openflow.Table) int { return cmp.Compare(x.ID, y.ID) })
}
