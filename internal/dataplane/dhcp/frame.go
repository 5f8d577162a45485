package dhcp

import (
	"encoding/binary"
	"net/netip"
)

// Ports of BOOTP and DHCP.
const (
	serverPort = 67
	clientPort = 68
)

const (
	ipHeader  = 20
	udpHeader = 8
	headers   = ipHeader + udpHeader
)

// datagram is a UDP datagram to the server port, as it came in an IPv4 packet.
type datagram struct {
	src, dst netip.Addr
	srcPort  uint16
	payload  []byte // shares memory with the packet
}

// parsePacket takes an IPv4 packet apart. It refuses what no DHCP client sends: fragments, other protocols and ports,
// wrong lengths and checksums. summed false: the sender left the UDP checksum to hardware that is not there, as on
// the way out of a guest on the same host, so that only a wrong one can be expected.
func parsePacket(b []byte, summed bool) (datagram, bool) {
	var d datagram
	if len(b) < headers || b[0]>>4 != 4 {
		return d, false
	}
	hlen := int(b[0]&15) * 4
	total := int(binary.BigEndian.Uint16(b[2:]))
	if hlen < ipHeader || total < hlen+udpHeader || total > len(b) {
		return d, false
	}
	if b[9] != 17 || binary.BigEndian.Uint16(b[6:])&0x3fff != 0 || fold(sum(0, b[:hlen])) != 0xffff {
		return d, false
	}
	d.src, d.dst = netip.AddrFrom4([4]byte(b[12:16])), netip.AddrFrom4([4]byte(b[16:20]))
	udp := b[hlen:total]
	length := int(binary.BigEndian.Uint16(udp[4:]))
	if length < udpHeader || length > len(udp) || binary.BigEndian.Uint16(udp[2:]) != serverPort {
		return d, false
	}
	udp = udp[:length]
	if summed && binary.BigEndian.Uint16(udp[6:]) != 0 && fold(sum(pseudo(b[12:20], length), udp)) != 0xffff {
		return d, false
	}
	d.srcPort, d.payload = binary.BigEndian.Uint16(udp), udp[udpHeader:]
	return d, true
}

// fillHeaders writes the IP and UDP headers, with both checksums, in front of the payload that begins at packet[headers].
func fillHeaders(packet []byte, src, dst netip.Addr, dstPort uint16) {
	ip, udp := packet[:ipHeader], packet[ipHeader:]
	clear(packet[:headers])
	ip[0], ip[1] = 0x45, 0x10 // low delay, as BOOTP servers do
	binary.BigEndian.PutUint16(ip[2:], uint16(len(packet)))
	ip[6] = 0x40 // don't fragment: with it the identification may be 0
	ip[8], ip[9] = 64, 17
	s, d := src.As4(), dst.As4()
	copy(ip[12:], s[:])
	copy(ip[16:], d[:])
	binary.BigEndian.PutUint16(ip[10:], ^fold(sum(0, ip)))
	binary.BigEndian.PutUint16(udp, serverPort)
	binary.BigEndian.PutUint16(udp[2:], dstPort)
	binary.BigEndian.PutUint16(udp[4:], uint16(len(udp)))
	c := ^fold(sum(pseudo(ip[12:20], len(udp)), udp))
	if c == 0 {
		c = 0xffff // zero would mean: none
	}
	binary.BigEndian.PutUint16(udp[6:], c)
}

// pseudo is the sum of UDP's pseudo header.
func pseudo(addrs []byte, length int) uint32 { return sum(17+uint32(length), addrs) }

// sum adds 16-bit words; at most 64 KiB of them cannot overflow it.
func sum(s uint32, b []byte) uint32 {
	for len(b) >= 2 {
		s += uint32(b[0])<<8 | uint32(b[1])
		b = b[2:]
	}
	if len(b) == 1 {
		s += uint32(b[0]) << 8
	}
	return s
}

func fold(s uint32) uint16 {
	for s > 0xffff {
		s = s>>16 + s&0xffff
	}
	return uint16(s)
}
