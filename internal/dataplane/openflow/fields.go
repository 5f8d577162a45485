package openflow

import (
	"fmt"
	"net"
	"net/netip"
)

// Field is any field, for the places that take every type of it.
type Field interface {
	// ID numbers the field.
	ID() FieldID
	// Whole is the field as operand of Load, Move, OutputTo and CT.
	Whole() Subfield
	// Bits is a part of it, from bit lo to bit hi, both included; bit 0 is the lowest.
	Bits(lo, hi uint8) Subfield
}

type (
	// IntField holds a number.
	IntField FieldID
	// MACField holds an Ethernet address.
	MACField FieldID
	// IPv4Field holds an IPv4 address.
	IPv4Field FieldID
	// IPv6Field holds an IPv6 address.
	IPv6Field FieldID
	// PortField holds an OpenFlow port number.
	PortField FieldID
)

// Fields of metadata: what Open vSwitch knows beside the packet.
const (
	InPort     = PortField(idInPort)
	ConjID     = IntField(idConjID)
	CTState    = IntField(idCTState)
	CTZone     = IntField(idCTZone)
	CTMark     = IntField(idCTMark)
	Metadata   = IntField(idMetadata)
	Reg0       = IntField(idReg0)
	Reg1       = IntField(idReg1)
	Reg2       = IntField(idReg2)
	Reg3       = IntField(idReg3)
	Reg4       = IntField(idReg4)
	Reg5       = IntField(idReg5)
	Reg6       = IntField(idReg6)
	Reg7       = IntField(idReg7)
	Reg8       = IntField(idReg8)
	Reg9       = IntField(idReg9)
	Reg10      = IntField(idReg10)
	Reg11      = IntField(idReg11)
	Reg12      = IntField(idReg12)
	Reg13      = IntField(idReg13)
	Reg14      = IntField(idReg14)
	Reg15      = IntField(idReg15)
	TunID      = IntField(idTunID)
	TunSrc     = IPv4Field(idTunSrc)
	TunDst     = IPv4Field(idTunDst)
	TunIPv6Src = IPv6Field(idTunIPv6Src)
	TunIPv6Dst = IPv6Field(idTunIPv6Dst)
	PktMark    = IntField(idPktMark)
)

// Fields of the packet. VLANVID has bit 12 set when there is a tag: Tagged, Untagged and VLAN are made for it.
const (
	VLANTCI       = IntField(idVLANTCI)
	VLANVID       = IntField(idVLANVID)
	VLANPCP       = IntField(idVLANPCP)
	EthSrc        = MACField(idEthSrc)
	EthDst        = MACField(idEthDst)
	EthType       = IntField(idEthType)
	ARPOp         = IntField(idARPOp)
	ARPSPA        = IPv4Field(idARPSPA)
	ARPTPA        = IPv4Field(idARPTPA)
	ARPSHA        = MACField(idARPSHA)
	ARPTHA        = MACField(idARPTHA)
	IPv4Src       = IPv4Field(idIPv4Src)
	IPv4Dst       = IPv4Field(idIPv4Dst)
	IPv6Src       = IPv6Field(idIPv6Src)
	IPv6Dst       = IPv6Field(idIPv6Dst)
	IPProto       = IntField(idIPProto)
	IPDSCP        = IntField(idIPDSCP)
	IPECN         = IntField(idIPECN)
	IPTTL         = IntField(idIPTTL)
	IPFrag        = IntField(idIPFrag) // 1: any fragment, 3: a later one; match with mask 3
	TCPSrc        = IntField(idTCPSrc)
	TCPDst        = IntField(idTCPDst)
	TCPFlags      = IntField(idTCPFlags)
	UDPSrc        = IntField(idUDPSrc)
	UDPDst        = IntField(idUDPDst)
	SCTPSrc       = IntField(idSCTPSrc)
	SCTPDst       = IntField(idSCTPDst)
	ICMPType      = IntField(idICMPType)
	ICMPCode      = IntField(idICMPCode)
	ICMPv6Type    = IntField(idICMPv6Type)
	ICMPv6Code    = IntField(idICMPv6Code)
	NDTarget      = IPv6Field(idNDTarget)
	NDSLL         = MACField(idNDSLL)
	NDTLL         = MACField(idNDTLL)
	NDReserved    = IntField(idNDReserved)
	NDOptionsType = IntField(idNDOptionsType)
)

// Subfield is some bits of a field.
type Subfield struct {
	field  FieldID
	lo, hi uint8
}

func (s Subfield) bits() uint8 { return s.hi - s.lo + 1 }

func (s Subfield) whole() bool { return s.lo == 0 && s.hi == s.field.spec().bits-1 }

func (s Subfield) check() error {
	spec := s.field.spec()
	if s.lo > s.hi || s.hi >= spec.bits {
		return fmt.Errorf("%s has no bits %d to %d", spec.name, s.lo, s.hi)
	}
	return nil
}

func (s Subfield) appendText(b []byte) []byte {
	b = append(b, s.field.spec().name...)
	switch {
	case s.whole():
		return append(b, "[]"...)
	case s.lo == s.hi:
		return fmt.Appendf(b, "[%d]", s.lo)
	}
	return fmt.Appendf(b, "[%d..%d]", s.lo, s.hi)
}

func wholeOf(id FieldID) Subfield { return Subfield{id, 0, id.spec().bits - 1} }

// ID numbers the field.
func (f IntField) ID() FieldID { return FieldID(f) }

// Whole is all bits of the field.
func (f IntField) Whole() Subfield { return wholeOf(f.ID()) }

// Bits is the bits lo to hi of the field.
func (f IntField) Bits(lo, hi uint8) Subfield { return Subfield{f.ID(), lo, hi} }

// Is matches the value v.
func (f IntField) Is(v uint64) Term { return exact(f.ID(), value{lo: v}) }

// Masked matches packets that have v in the bits that mask has set.
func (f IntField) Masked(v, mask uint64) Term {
	return masked(f.ID(), value{lo: v}, value{lo: mask})
}

// Range gives the fewest terms of which one matches exactly when the field is from lo to hi, both included: a flow each,
// as for ranges of ports. It gives none if lo is above hi.
func (f IntField) Range(lo, hi uint64) []Term {
	all := ones(f.ID().spec().bits).lo
	var ts []Term
	for lo <= hi {
		// The largest block that begins at lo, has a power of two for its size, and ends by hi.
		size := lo & -lo
		if lo == 0 {
			size = 1 << 63
		}
		for size > 1 && (size-1 > all || lo+size-1 > hi) {
			size >>= 1
		}
		ts = append(ts, f.Masked(lo, all&^(size-1)))
		if lo+size-1 >= all {
			break
		}
		lo += size
	}
	return ts
}

// Set writes v into the field.
func (f IntField) Set(v uint64) Action { return setField{exact(f.ID(), value{lo: v})} }

// SetMasked writes the bits of v that mask has set.
func (f IntField) SetMasked(v, mask uint64) Action { return setField{f.Masked(v, mask)} }

// ID numbers the field.
func (f PortField) ID() FieldID { return FieldID(f) }

// Whole is all bits of the field.
func (f PortField) Whole() Subfield { return wholeOf(f.ID()) }

// Bits is the bits lo to hi of the field.
func (f PortField) Bits(lo, hi uint8) Subfield { return Subfield{f.ID(), lo, hi} }

// Is matches the port p.
func (f PortField) Is(p Port) Term {
	if p >= reserved16 && p < PortMax {
		return bad(f.ID(), "%d is no port of a bridge", p)
	}
	return exact(f.ID(), value{lo: uint64(uint16(p))})
}

// Set pretends that the packet came in by p; the zero port allows output to the port it did come from.
func (f PortField) Set(p Port) Action { return setField{f.Is(p)} }

// ID numbers the field.
func (f MACField) ID() FieldID { return FieldID(f) }

// Whole is all bits of the field.
func (f MACField) Whole() Subfield { return wholeOf(f.ID()) }

// Bits is the bits lo to hi of the field.
func (f MACField) Bits(lo, hi uint8) Subfield { return Subfield{f.ID(), lo, hi} }

// Is matches the address mac.
func (f MACField) Is(mac net.HardwareAddr) Term {
	if len(mac) != 6 {
		return bad(f.ID(), "an Ethernet address has 6 bytes, not %d", len(mac))
	}
	return exact(f.ID(), fromBytes(mac))
}

// Masked matches addresses that have mac's bits where mask has ones.
func (f MACField) Masked(mac, mask net.HardwareAddr) Term {
	if len(mac) != 6 || len(mask) != 6 {
		return bad(f.ID(), "an Ethernet address has 6 bytes, not %d and %d", len(mac), len(mask))
	}
	return masked(f.ID(), fromBytes(mac), fromBytes(mask))
}

// IsGroup matches broadcast and multicast addresses.
func (f MACField) IsGroup() Term {
	return f.Masked(net.HardwareAddr{1, 0, 0, 0, 0, 0}, net.HardwareAddr{1, 0, 0, 0, 0, 0})
}

// IsUnicast matches all other addresses.
func (f MACField) IsUnicast() Term {
	return f.Masked(make(net.HardwareAddr, 6), net.HardwareAddr{1, 0, 0, 0, 0, 0})
}

// Set writes mac into the field.
func (f MACField) Set(mac net.HardwareAddr) Action { return setField{f.Is(mac)} }

// ID numbers the field.
func (f IPv4Field) ID() FieldID { return FieldID(f) }

// Whole is all bits of the field.
func (f IPv4Field) Whole() Subfield { return wholeOf(f.ID()) }

// Bits is the bits lo to hi of the field.
func (f IPv4Field) Bits(lo, hi uint8) Subfield { return Subfield{f.ID(), lo, hi} }

// Is matches the address a.
func (f IPv4Field) Is(a netip.Addr) Term {
	if !a.Unmap().Is4() {
		return bad(f.ID(), "%s is no IPv4 address", a)
	}
	return exact(f.ID(), fromBytes(a.Unmap().AsSlice()))
}

// In matches the addresses of p.
func (f IPv4Field) In(p netip.Prefix) Term {
	if !p.Addr().Is4() {
		return bad(f.ID(), "%s is no IPv4 prefix", p)
	}
	return masked(f.ID(), fromBytes(p.Addr().AsSlice()), prefixMask(p.Bits(), 32))
}

// Set writes a into the field.
func (f IPv4Field) Set(a netip.Addr) Action { return setField{f.Is(a)} }

// ID numbers the field.
func (f IPv6Field) ID() FieldID { return FieldID(f) }

// Whole is all bits of the field.
func (f IPv6Field) Whole() Subfield { return wholeOf(f.ID()) }

// Bits is the bits lo to hi of the field.
func (f IPv6Field) Bits(lo, hi uint8) Subfield { return Subfield{f.ID(), lo, hi} }

// Is matches the address a.
func (f IPv6Field) Is(a netip.Addr) Term {
	if !a.Is6() {
		return bad(f.ID(), "%s is no IPv6 address", a)
	}
	b := a.As16()
	return exact(f.ID(), fromBytes(b[:]))
}

// In matches the addresses of p.
func (f IPv6Field) In(p netip.Prefix) Term {
	if !p.Addr().Is6() {
		return bad(f.ID(), "%s is no IPv6 prefix", p)
	}
	b := p.Addr().As16()
	return masked(f.ID(), fromBytes(b[:]), prefixMask(p.Bits(), 128))
}

// Set writes a into the field.
func (f IPv6Field) Set(a netip.Addr) Action { return setField{f.Is(a)} }

var (
	_ Field = IntField(0)
	_ Field = MACField(0)
	_ Field = IPv4Field(0)
	_ Field = IPv6Field(0)
	_ Field = PortField(0)
)
