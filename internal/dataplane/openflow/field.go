package openflow

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
)

// FieldID numbers the fields of a packet and its metadata. Their order is the order of terms in canonical text.
type FieldID uint8

// A format says how a value of a field is written.
type format uint8

const (
	decimal format = iota
	hexadecimal
	macAddress
	ipv4Address
	ipv6Address
	portNumber
	connState
	fragment
)

// fieldSpec is what is known of a field: its name for ovs-ofctl, its width and its OXM (or NXM) code.
type fieldSpec struct {
	name     string
	bits     uint8
	format   format
	class    uint16
	code     uint8
	maskable bool
	needs    need
}

// A need is the prerequisite of a field: what a match must say beside it.
type need uint8

const (
	needNothing need = iota
	needARP
	needIPv4
	needIPv6
	needIP
	needTCP
	needUDP
	needSCTP
	needICMP
	needICMPv6
	needND
	needNS
	needNA
	needVLAN
)

const (
	classNXM0     = 0x0000
	classNXM1     = 0x0001
	classEricsson = 0x1000
	classBasic    = 0x8000
)

// The fields. See ovs-fields(7) for what each means.
const (
	idInPort FieldID = iota
	idConjID
	idCTState
	idCTZone
	idCTMark
	idMetadata
	idReg0
	idReg1
	idReg2
	idReg3
	idReg4
	idReg5
	idReg6
	idReg7
	idReg8
	idReg9
	idReg10
	idReg11
	idReg12
	idReg13
	idReg14
	idReg15
	idTunID
	idTunSrc
	idTunDst
	idTunIPv6Src
	idTunIPv6Dst
	idPktMark
	idVLANTCI
	idVLANVID
	idVLANPCP
	idEthSrc
	idEthDst
	idEthType
	idARPOp
	idARPSPA
	idARPTPA
	idARPSHA
	idARPTHA
	idIPv4Src
	idIPv4Dst
	idIPv6Src
	idIPv6Dst
	idIPProto
	idIPDSCP
	idIPECN
	idIPTTL
	idIPFrag
	idTCPSrc
	idTCPDst
	idTCPFlags
	idUDPSrc
	idUDPDst
	idSCTPSrc
	idSCTPDst
	idICMPType
	idICMPCode
	idICMPv6Type
	idICMPv6Code
	idNDTarget
	idNDSLL
	idNDTLL
	idNDReserved
	idNDOptionsType
	fieldCount
)

func basic(name string, code, bits uint8, f format, maskable bool, n need) fieldSpec {
	return fieldSpec{name: name, bits: bits, format: f, class: classBasic, code: code, maskable: maskable, needs: n}
}

func nicira(name string, code, bits uint8, f format, maskable bool, n need) fieldSpec {
	return fieldSpec{name: name, bits: bits, format: f, class: classNXM1, code: code, maskable: maskable, needs: n}
}

func ericsson(name string, code, bits uint8, n need) fieldSpec {
	return fieldSpec{name: name, bits: bits, format: hexadecimal, class: classEricsson, code: code, needs: n}
}

// spec tells of a field; registers are computed, all others tabled.
func (id FieldID) spec() fieldSpec {
	if id >= idReg0 && id <= idReg15 {
		n := uint8(id - idReg0)
		return nicira("reg"+strconv.Itoa(int(n)), n, 32, hexadecimal, true, needNothing)
	}
	if id >= idARPOp {
		return id.packetSpec()
	}
	switch id {
	case idInPort:
		return fieldSpec{name: "in_port", bits: 16, format: portNumber, class: classNXM0, code: 0}
	case idConjID:
		return nicira("conj_id", 37, 32, decimal, false, needNothing)
	case idCTState:
		return nicira("ct_state", 105, 32, connState, true, needNothing)
	case idCTZone:
		return nicira("ct_zone", 106, 16, decimal, false, needNothing)
	case idCTMark:
		return nicira("ct_mark", 107, 32, hexadecimal, true, needNothing)
	case idMetadata:
		return basic("metadata", 2, 64, hexadecimal, true, needNothing)
	case idTunID:
		return basic("tun_id", 38, 64, hexadecimal, true, needNothing)
	case idTunSrc:
		return nicira("tun_src", 31, 32, ipv4Address, true, needNothing)
	case idTunDst:
		return nicira("tun_dst", 32, 32, ipv4Address, true, needNothing)
	case idTunIPv6Src:
		return nicira("tun_ipv6_src", 109, 128, ipv6Address, true, needNothing)
	case idTunIPv6Dst:
		return nicira("tun_ipv6_dst", 110, 128, ipv6Address, true, needNothing)
	case idPktMark:
		return nicira("pkt_mark", 33, 32, hexadecimal, true, needNothing)
	case idVLANTCI:
		return fieldSpec{name: "vlan_tci", bits: 16, format: hexadecimal, class: classNXM0, code: 4, maskable: true}
	case idVLANVID:
		return basic("vlan_vid", 6, 13, hexadecimal, true, needNothing)
	case idVLANPCP:
		return basic("vlan_pcp", 7, 3, decimal, false, needVLAN)
	case idEthSrc:
		return basic("dl_src", 4, 48, macAddress, true, needNothing)
	case idEthDst:
		return basic("dl_dst", 3, 48, macAddress, true, needNothing)
	case idEthType:
		return basic("dl_type", 5, 16, hexadecimal, false, needNothing)
	}
	return fieldSpec{name: fmt.Sprintf("field%d", id), bits: 1}
}

// packetSpec tells of the fields above Ethernet, which have prerequisites.
func (id FieldID) packetSpec() fieldSpec {
	switch id {
	case idARPOp:
		return basic("arp_op", 21, 16, decimal, false, needARP)
	case idARPSPA:
		return basic("arp_spa", 22, 32, ipv4Address, true, needARP)
	case idARPTPA:
		return basic("arp_tpa", 23, 32, ipv4Address, true, needARP)
	case idARPSHA:
		return basic("arp_sha", 24, 48, macAddress, true, needARP)
	case idARPTHA:
		return basic("arp_tha", 25, 48, macAddress, true, needARP)
	case idIPv4Src:
		return basic("nw_src", 11, 32, ipv4Address, true, needIPv4)
	case idIPv4Dst:
		return basic("nw_dst", 12, 32, ipv4Address, true, needIPv4)
	case idIPv6Src:
		return basic("ipv6_src", 26, 128, ipv6Address, true, needIPv6)
	case idIPv6Dst:
		return basic("ipv6_dst", 27, 128, ipv6Address, true, needIPv6)
	case idIPProto:
		return basic("nw_proto", 10, 8, decimal, false, needIP)
	case idIPDSCP:
		return basic("ip_dscp", 8, 6, decimal, false, needIP)
	case idIPECN:
		return basic("ip_ecn", 9, 2, decimal, false, needIP)
	case idIPTTL:
		return nicira("nw_ttl", 29, 8, decimal, false, needIP)
	case idIPFrag:
		return nicira("ip_frag", 26, 2, fragment, true, needIP)
	case idTCPSrc:
		return basic("tcp_src", 13, 16, decimal, true, needTCP)
	case idTCPDst:
		return basic("tcp_dst", 14, 16, decimal, true, needTCP)
	case idTCPFlags:
		return basic("tcp_flags", 42, 12, hexadecimal, true, needTCP)
	case idUDPSrc:
		return basic("udp_src", 15, 16, decimal, true, needUDP)
	case idUDPDst:
		return basic("udp_dst", 16, 16, decimal, true, needUDP)
	case idSCTPSrc:
		return basic("sctp_src", 17, 16, decimal, true, needSCTP)
	case idSCTPDst:
		return basic("sctp_dst", 18, 16, decimal, true, needSCTP)
	case idICMPType:
		return basic("icmp_type", 19, 8, decimal, false, needICMP)
	case idICMPCode:
		return basic("icmp_code", 20, 8, decimal, false, needICMP)
	case idICMPv6Type:
		return basic("icmpv6_type", 29, 8, decimal, false, needICMPv6)
	case idICMPv6Code:
		return basic("icmpv6_code", 30, 8, decimal, false, needICMPv6)
	case idNDTarget:
		return basic("nd_target", 31, 128, ipv6Address, true, needND)
	case idNDSLL:
		return basic("nd_sll", 32, 48, macAddress, true, needNS)
	case idNDTLL:
		return basic("nd_tll", 33, 48, macAddress, true, needNA)
	case idNDReserved:
		return ericsson("nd_reserved", 1, 32, needND)
	case idNDOptionsType:
		return ericsson("nd_options_type", 2, 8, needND)
	}
	return fieldSpec{name: fmt.Sprintf("field%d", id), bits: 1}
}

// value is a field's value or mask as a number of 128 bits.
type value struct{ hi, lo uint64 }

func ones(bits uint8) value {
	switch {
	case bits >= 128:
		return value{^uint64(0), ^uint64(0)}
	case bits > 64:
		return value{1<<(bits-64) - 1, ^uint64(0)}
	case bits == 64:
		return value{0, ^uint64(0)}
	}
	return value{0, 1<<bits - 1}
}

func (v value) and(w value) value { return value{v.hi & w.hi, v.lo & w.lo} }

// prefix gives the length of v as a left-aligned mask of so many bits, or -1.
func (v value) prefix(bits uint8) int {
	for n := 0; n <= int(bits); n++ {
		if v == prefixMask(n, bits) {
			return n
		}
	}
	return -1
}

func prefixMask(n int, bits uint8) value {
	all, low := ones(bits), ones(bits-uint8(n))
	return value{all.hi &^ low.hi, all.lo &^ low.lo}
}

func fromBytes(b []byte) value {
	var v value
	for _, c := range b {
		v.hi = v.hi<<8 | v.lo>>56
		v.lo = v.lo<<8 | uint64(c)
	}
	return v
}

// bytes gives the low n bytes of v in network order.
func (v value) bytes(n int) []byte {
	b := make([]byte, n)
	for i := n - 1; i >= 0; i-- {
		b[i] = byte(v.lo)
		v.lo = v.lo>>8 | v.hi<<56
		v.hi >>= 8
	}
	return b
}

func (v value) addr6() netip.Addr { return netip.AddrFrom16([16]byte(v.bytes(16))) }
func (v value) addr4() netip.Addr { return netip.AddrFrom4([4]byte(v.bytes(4))) }

// In the field in_port a port has 16 bits, everywhere else 32; the reserved ones are the last of either.
const reserved16 = 0xff00

func widePort(n uint64) Port {
	if n >= reserved16 {
		return Port(n) | 0xffff0000
	}
	return Port(n)
}

// appendValue writes v as f has it.
func appendValue(b []byte, f format, v value) []byte {
	switch f {
	case macAddress:
		return append(b, net.HardwareAddr(v.bytes(6)).String()...)
	case ipv4Address:
		return v.addr4().AppendTo(b)
	case ipv6Address:
		return v.addr6().AppendTo(b)
	case portNumber:
		return appendPort(b, widePort(v.lo))
	case decimal:
		return strconv.AppendUint(b, v.lo, 10)
	}
	return strconv.AppendUint(append(b, "0x"...), v.lo, 16)
}
