package openflow

import (
	"net"
	"net/netip"
)

// ARPRequest matches questions for addr; Conditions such as the network are added by With.
func ARPRequest(addr netip.Addr) Match { return ARP(ARPOp.Is(1), ARPTPA.Is(addr)) }

// ARPReply turns the ARP request in hand into the answer that addr is at mac, and leaves it to a table that sends it back to
// where it came from. Registers and tags are as they were: a tag that was stripped for the pipeline is that table's to put back.
func ARPReply(mac net.HardwareAddr, addr netip.Addr, back uint8) []Action {
	return Do(
		Move(EthSrc.Whole(), EthDst.Whole()),
		EthSrc.Set(mac),
		ARPOp.Set(2),
		Move(ARPSHA.Whole(), ARPTHA.Whole()),
		Move(ARPSPA.Whole(), ARPTPA.Whole()),
		ARPSHA.Set(mac),
		ARPSPA.Set(addr),
		Resubmit(back),
	)
}

// NDSolicit matches neighbour solicitations for addr by a host that has an address. Those of duplicate address
// detection come from the unspecified address; NDProbe matches these.
func NDSolicit(addr netip.Addr) Match { return NeighbourSolicit(NDTarget.Is(addr)) }

// NDProbe matches solicitations of duplicate address detection for addr. Its priority must be above NDSolicit's.
func NDProbe(addr netip.Addr) Match {
	return NeighbourSolicit(IPv6Src.Is(netip.IPv6Unspecified()), NDTarget.Is(addr))
}

// Flags of a neighbour advertisement, as NDReserved holds them (RFC 4861 section 4.4).
const (
	NDRouter    = 0x80000000
	NDSolicited = 0x40000000
	NDOverride  = 0x20000000
)

// NDReply turns the neighbour solicitation in hand into the advertisement that addr is at mac, and leaves it to a table
// that holds NDAdvert and is reached by nothing else: Open vSwitch lets a flow write the target's link-layer address
// only if it matched an advertisement. flags are of NDRouter and NDOverride; NDSolicited is added.
//
// The link-layer option of the solicitation becomes the target link-layer option of the advertisement, so a
// solicitation without the option (a unicast probe) is answered without it, which RFC 4861 allows.
func NDReply(mac net.HardwareAddr, addr netip.Addr, flags uint32, advert uint8) []Action {
	return Sequence(
		Do(Move(EthSrc.Whole(), EthDst.Whole()), Move(IPv6Src.Whole(), IPv6Dst.Whole())),
		ndAdvertise(mac, addr, flags|NDSolicited, advert),
	)
}

// NDProbeReply answers duplicate address detection: to all nodes, and not as solicited (RFC 4861 section 7.2.4).
func NDProbeReply(mac net.HardwareAddr, addr netip.Addr, flags uint32, advert uint8) []Action {
	return Sequence(
		Do(
			EthDst.Set(net.HardwareAddr{0x33, 0x33, 0, 0, 0, 1}),
			IPv6Dst.Set(netip.IPv6LinkLocalAllNodes()),
		),
		ndAdvertise(mac, addr, flags&^NDSolicited, advert),
	)
}

func ndAdvertise(mac net.HardwareAddr, addr netip.Addr, flags uint32, advert uint8) []Action {
	return Do(
		EthSrc.Set(mac),
		IPv6Src.Set(addr),
		ICMPv6Type.Set(136),
		NDReserved.Set(uint64(flags)),
		NDOptionsType.Set(2),
		Resubmit(advert),
	)
}

// NDAdvert is the one flow of the table in which all that NDReply and NDProbeReply made is finished and left to the table that sends
// it back to where it came from.
func NDAdvert(advert, back uint8) Flow {
	return Flow{
		Table: advert, Priority: 1, Match: NeighbourAdvert(),
		Actions: Do(Move(EthSrc.Whole(), NDTLL.Whole()), Resubmit(back)),
	}
}
