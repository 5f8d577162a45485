package seclog

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
)

// Types of Ethernet frames and protocols of IP that are told apart.
const (
	typeIPv4 = 0x0800
	typeARP  = 0x0806
	typeVLAN = 0x8100
	typeQinQ = 0x88a8
	typeIPv6 = 0x86dd

	protoICMP   = 1
	protoTCP    = 6
	protoUDP    = 17
	protoICMPv6 = 58
	protoSCTP   = 132
)

// describe says in short what a frame is: its addresses, protocols, ports. It takes whatever came; where a header is cut short it ends. Only numbers,
// addresses and words of its own are in it, nothing that a guest may choose freely.
func describe(frame []byte) string {
	if len(frame) < 14 {
		return fmt.Sprintf("short(len=%d)", len(frame))
	}
	kind, rest := binary.BigEndian.Uint16(frame[12:]), frame[14:]
	out := fmt.Appendf(nil, "eth(src=%s,dst=%s", net.HardwareAddr(frame[6:12]), net.HardwareAddr(frame[:6]))
	for range 2 {
		if kind != typeVLAN && kind != typeQinQ || len(rest) < 4 {
			break
		}
		out = fmt.Appendf(out, ",vlan=%d", binary.BigEndian.Uint16(rest)&0xfff)
		kind, rest = binary.BigEndian.Uint16(rest[2:]), rest[4:]
	}
	out = fmt.Appendf(out, ",type=0x%04x,len=%d)", kind, len(frame))
	switch kind {
	case typeARP:
		out = appendARP(out, rest)
	case typeIPv4:
		out = appendIPv4(out, rest)
	case typeIPv6:
		out = appendIPv6(out, rest)
	}
	return string(out)
}

func address(b []byte) netip.Addr {
	a, _ := netip.AddrFromSlice(b) // of 4 or 16 bytes
	return a
}

func appendARP(out, b []byte) []byte {
	if len(b) < 28 {
		return out
	}
	return fmt.Appendf(out, " arp(op=%d,sha=%s,spa=%s,tha=%s,tpa=%s)", binary.BigEndian.Uint16(b[6:]),
		net.HardwareAddr(b[8:14]), address(b[14:18]), net.HardwareAddr(b[18:24]), address(b[24:28]))
}

func appendIPv4(out, b []byte) []byte {
	if len(b) < 20 {
		return out
	}
	out = fmt.Appendf(out, " ipv4(src=%s,dst=%s,proto=%d,ttl=%d", address(b[12:16]), address(b[16:20]), b[9], b[8])
	offset := binary.BigEndian.Uint16(b[6:]) & 0x1fff
	if offset != 0 {
		out = fmt.Appendf(out, ",offset=%d", int(offset)*8)
	}
	out = append(out, ')')
	head := int(b[0]&0xf) * 4
	if offset != 0 || head < 20 || head > len(b) {
		return out
	}
	return appendTransport(out, b[9], b[head:])
}

func appendIPv6(out, b []byte) []byte {
	if len(b) < 40 {
		return out
	}
	next, rest, offset := b[6], b[40:], 0
	// Hop-by-hop options, routing, destination options and fragments stand before what is asked for.
	for range 8 {
		if len(rest) < 8 {
			break
		}
		size := 8
		switch next {
		case 0, 43, 60:
			size += int(rest[1]) * 8
		case 44:
			offset = int(binary.BigEndian.Uint16(rest[2:]) &^ 7)
		default:
			size = 0
		}
		if size == 0 || size > len(rest) {
			break
		}
		next, rest = rest[0], rest[size:]
	}
	out = fmt.Appendf(out, " ipv6(src=%s,dst=%s,proto=%d,hlim=%d", address(b[8:24]), address(b[24:40]), next, b[7])
	if offset != 0 {
		return fmt.Appendf(out, ",offset=%d)", offset)
	}
	return appendTransport(append(out, ')'), next, rest)
}

func appendTransport(out []byte, proto uint8, b []byte) []byte {
	name := map[uint8]string{protoTCP: "tcp", protoUDP: "udp", protoSCTP: "sctp", protoICMP: "icmp", protoICMPv6: "icmpv6"}[proto]
	switch {
	case name == "" || len(b) < 4:
		return out
	case proto == protoICMP || proto == protoICMPv6:
		return fmt.Appendf(out, " %s(type=%d,code=%d)", name, b[0], b[1])
	}
	out = fmt.Appendf(out, " %s(src=%d,dst=%d", name, binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:]))
	if proto == protoTCP && len(b) >= 14 {
		out = append(out, ",flags="...)
		for i, letter := range []byte("FSRPAUEC") {
			if b[13]>>i&1 != 0 {
				out = append(out, letter)
			}
		}
	}
	return append(out, ')')
}
