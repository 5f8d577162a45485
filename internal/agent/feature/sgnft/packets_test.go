package sgnft

import (
	"bytes"
	"encoding/binary"
	"net"
	"net/netip"
)

// Frames of the tests, written by hand so that they can be wrong in every way. Each has a number by which it is known where it arrives: in
// IPv4's identification, in IPv6's flow label, else behind its end.

type frame struct {
	src, dst string
	tag      int // VLAN, 0 for none
	kind     uint16
	body     []byte
	number   uint16
}

const everybody = "ff:ff:ff:ff:ff:ff"

func (f frame) bytes() []byte {
	dst, _ := net.ParseMAC(f.dst)
	src, _ := net.ParseMAC(f.src)
	b := append(append([]byte{}, dst...), src...)
	if f.tag > 0 {
		b = binary.BigEndian.AppendUint16(b, tagInner)
		b = binary.BigEndian.AppendUint16(b, uint16(f.tag))
	}
	b = binary.BigEndian.AppendUint16(b, f.kind)
	body := bytes.Clone(f.body)
	switch f.kind {
	case protoIP:
		binary.BigEndian.PutUint16(body[4:], f.number)
		binary.BigEndian.PutUint16(body[10:], 0)
		binary.BigEndian.PutUint16(body[10:], checksum(0, body[:20]))
	case protoIP6:
		binary.BigEndian.PutUint16(body[2:], f.number)
	default:
		body = append(body, 0xca, 0xfe, byte(f.number>>8), byte(f.number))
	}
	return append(b, body...)
}

// numberOf is a frame's number.
func numberOf(b []byte) uint16 {
	if len(b) < 14 {
		return 0
	}
	kind, body := binary.BigEndian.Uint16(b[12:]), b[14:]
	if kind == tagInner && len(body) > 4 {
		kind, body = binary.BigEndian.Uint16(body[2:]), body[4:]
	}
	switch {
	case kind == protoIP && len(body) >= 20:
		return binary.BigEndian.Uint16(body[4:])
	case kind == protoIP6 && len(body) >= 40:
		return binary.BigEndian.Uint16(body[2:])
	}
	if at := bytes.LastIndex(body, []byte{0xca, 0xfe}); at >= 0 && at+4 <= len(body) {
		return binary.BigEndian.Uint16(body[at+2:])
	}
	return 0
}

// ip is a packet of either family.
func ip(src, dst string, protocol byte, payload []byte) (uint16, []byte) {
	s, d := netip.MustParseAddr(src), netip.MustParseAddr(dst)
	if s.Is4() {
		b := []byte{0x45, 0, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0}
		b = append(append(b, s.AsSlice()...), d.AsSlice()...)
		binary.BigEndian.PutUint16(b[2:], uint16(20+len(payload)))
		return protoIP, append(b, payload...)
	}
	b := []byte{0x60, 0, 0, 0, 0, 0, protocol, 255}
	b = append(append(b, s.AsSlice()...), d.AsSlice()...)
	binary.BigEndian.PutUint16(b[4:], uint16(len(payload)))
	return protoIP6, append(b, payload...)
}

// over puts a payload with a checksum at an offset into a packet.
func over(src, dst string, protocol byte, at int, payload []byte) (uint16, []byte) {
	pseudo := append(netip.MustParseAddr(src).AsSlice(), netip.MustParseAddr(dst).AsSlice()...)
	pseudo = binary.BigEndian.AppendUint32(pseudo, uint32(len(payload)))
	pseudo = append(pseudo, 0, 0, 0, protocol)
	if protocol == 1 {
		pseudo = nil
	}
	binary.BigEndian.PutUint16(payload[at:], 0)
	binary.BigEndian.PutUint16(payload[at:], checksum(sum(0, pseudo), payload))
	return ip(src, dst, protocol, payload)
}

func udpTo(src, dst string, from, to int) (uint16, []byte) {
	b := binary.BigEndian.AppendUint16(nil, uint16(from))
	b = binary.BigEndian.AppendUint16(b, uint16(to))
	return over(src, dst, 17, 6, append(b, 0, 12, 0, 0, 't', 'e', 's', 't'))
}

// TCP's flags.
const (
	syn, ack, rst = 2, 16, 4
)

func tcpTo(src, dst string, from, to, flags int, seq, acked uint32) (uint16, []byte) {
	b := binary.BigEndian.AppendUint16(nil, uint16(from))
	b = binary.BigEndian.AppendUint16(b, uint16(to))
	b = binary.BigEndian.AppendUint32(b, seq)
	b = binary.BigEndian.AppendUint32(b, acked)
	return over(src, dst, 6, 16, append(b, 0x50, byte(flags), 0xff, 0xff, 0, 0, 0, 0))
}

func icmp(src, dst string, kind, code byte, rest ...byte) (uint16, []byte) {
	protocol := byte(1)
	if netip.MustParseAddr(src).Is6() {
		protocol = 58
	}
	if len(rest) < 4 {
		rest = append(rest, 0, 7, 0, 1)
	}
	return over(src, dst, protocol, 2, append([]byte{kind, code, 0, 0}, rest...))
}

// nd is neighbour discovery about an address, with link-layer options (kind, MAC).
func nd(src, dst string, kind byte, about string, options ...string) (uint16, []byte) {
	rest := append([]byte{0, 0, 0, 0}, netip.MustParseAddr(about).AsSlice()...)
	for i := 0; i+1 < len(options); i += 2 {
		mac, _ := net.ParseMAC(options[i+1])
		rest = append(append(rest, options[i][0]-'0', 1), mac...)
	}
	return icmp(src, dst, kind, 0, rest...)
}

func arp(op byte, mac, addr, target string) (uint16, []byte) {
	b := []byte{0, 1, 8, 0, 6, 4, 0, op}
	m, _ := net.ParseMAC(mac)
	b = append(append(b, m...), netip.MustParseAddr(addr).AsSlice()...)
	b = append(append(b, make([]byte, 6)...), netip.MustParseAddr(target).AsSlice()...)
	return protoARP, append(b, make([]byte, 14)...)
}

func sum(n uint32, b []byte) uint32 {
	for ; len(b) > 1; b = b[2:] {
		n += uint32(binary.BigEndian.Uint16(b))
	}
	if len(b) == 1 {
		n += uint32(b[0]) << 8
	}
	return n
}

func checksum(n uint32, b []byte) uint16 {
	n = sum(n, b)
	for n>>16 > 0 {
		n = n>>16 + n&0xffff
	}
	return ^uint16(n)
}
