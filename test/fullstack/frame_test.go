//go:build integration

package fullstack

import (
	"bytes"
	be "encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"isospin/internal/lab"
)

// nic is a guest's eth0 as a packet socket: what is written leaves the guest as it is.
type nic struct {
	name     string
	fd       int
	mac      net.HardwareAddr
	ip4, ip6 netip.Addr
	fence    uint32
}

// nic opens a guest's. It hears from now on.
func (s *stack) nic(t *testing.T, g *lab.Guest) *nic {
	t.Helper()
	n := &nic{name: g.Name}
	var err error
	n.mac, err = net.ParseMAC(g.MAC)
	must(t, err)
	for _, text := range g.IPs {
		if a := netip.MustParseAddr(text); a.Is4() {
			n.ip4 = a
		} else {
			n.ip6 = a
		}
	}
	must(t, s.Within(g.Name, func() error {
		i, err := net.InterfaceByName("eth0")
		if err != nil {
			return err
		}
		every := uint16(unix.ETH_P_ALL<<8 | unix.ETH_P_ALL>>8)
		n.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, int(every))
		if err != nil {
			return err
		}
		return errors.Join(unix.Bind(n.fd, &unix.SockaddrLinklayer{Protocol: every, Ifindex: i.Index}),
			unix.SetsockoptTimeval(n.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 500_000}))
	}))
	t.Cleanup(func() { _ = unix.Close(n.fd) })
	return n
}

func (n *nic) send(t *testing.T, frame []byte) {
	t.Helper()
	_, err := unix.Write(n.fd, frame)
	must(t, err)
}

// errSilence says that the fence did not arrive.
var errSilence = errors.New("nothing comes")

// arrives sends frames and tells which came to another guest. Behind them goes an ARP request, which every port may send and get: what has not come
// before it does not come.
func (n *nic) arrives(t *testing.T, to *nic, frames ...[]byte) []bool {
	t.Helper()
	for range 20 { // a tunnel that is new loses its first packet
		out, err := n.try(t, to, frames)
		if err == nil {
			return out
		}
	}
	t.Fatalf("%s hears nothing of %s", to.name, n.name)
	return nil
}

func (n *nic) try(t *testing.T, to *nic, frames [][]byte) ([]bool, error) {
	t.Helper()
	for _, f := range frames {
		n.send(t, f)
	}
	// Open vSwitch puts packets of one batch in another order. What was sent before a fence that came is not in one batch with the next fence, on the first
	// host; nor with the one after that on the second.
	out := make([]bool, len(frames))
	for range 3 {
		if err := n.cross(t, to, frames, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// cross sends a fence and looks at all that comes before it.
func (n *nic) cross(t *testing.T, to *nic, frames [][]byte, came []bool) error {
	t.Helper()
	n.fence++
	var target [4]byte
	be.BigEndian.PutUint32(target[:], 0xf0000000|n.fence)
	fence := n.arp(1, broadcast, n.mac, n.ip4, make(net.HardwareAddr, 6), netip.AddrFrom4(target))
	n.send(t, fence)
	buf := make([]byte, 4096)
	for deadline := time.Now().Add(500 * time.Millisecond); time.Now().Before(deadline); {
		size, _, err := unix.Recvfrom(to.fd, buf, 0)
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
			break
		}
		must(t, err)
		got := buf[:size]
		if bytes.HasPrefix(got, fence) {
			return nil
		}
		for i, f := range frames {
			came[i] = came[i] || bytes.HasPrefix(got, f)
		}
	}
	return errSilence
}

var broadcast = net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

func ether(dst, src net.HardwareAddr, kind uint16, body []byte) []byte {
	out := append(append([]byte{}, dst...), src...)
	return append(be.BigEndian.AppendUint16(out, kind), body...)
}

// arp is an ARP packet from n's own MAC with any content.
func (n *nic) arp(op uint16, dst, sha net.HardwareAddr, spa netip.Addr, tha net.HardwareAddr, tpa netip.Addr) []byte {
	b := []byte{0, 1, 8, 0, 6, 4, byte(op >> 8), byte(op)}
	b = append(append(append(append(b, sha...), spa.AsSlice()...), tha...), tpa.AsSlice()...)
	return ether(dst, n.mac, 0x0806, b)
}

func sum(parts ...[]byte) uint16 {
	b := bytes.Join(parts, nil)
	if len(b)%2 == 1 {
		b = append(b, 0)
	}
	var s uint32
	for i := 0; i < len(b); i += 2 {
		s += uint32(be.BigEndian.Uint16(b[i:]))
	}
	for s > 0xffff {
		s = s>>16 + s&0xffff
	}
	return ^uint16(s)
}

// flow is one packet's addresses.
type flow struct {
	smac, dmac net.HardwareAddr
	src, dst   netip.Addr
}

// to are the genuine addresses of a packet to another guest, of one family.
func (n *nic) to(other *nic, v6 bool) flow {
	if v6 {
		return flow{n.mac, other.mac, n.ip6, other.ip6}
	}
	return flow{n.mac, other.mac, n.ip4, other.ip4}
}

// packet is an IP packet with a body whose checksum, where the protocol has one, is at an offset (-1: none).
func (f flow) packet(proto byte, body []byte, check int) []byte {
	length := be.BigEndian.AppendUint16(nil, uint16(len(body)))
	if check >= 0 {
		pseudo := bytes.Join([][]byte{f.src.AsSlice(), f.dst.AsSlice(), {0, 0}, length, {0, 0, 0, proto}}, nil)
		if proto == 1 {
			pseudo = nil
		}
		be.BigEndian.PutUint16(body[check:], sum(pseudo, body))
	}
	if f.src.Is4() {
		h := []byte{0x45, 0, 0, 0, 0, 1, 0, 0, 64, proto, 0, 0}
		h = append(append(h, f.src.AsSlice()...), f.dst.AsSlice()...)
		be.BigEndian.PutUint16(h[2:], uint16(20+len(body)))
		be.BigEndian.PutUint16(h[10:], sum(h))
		return ether(f.dmac, f.smac, 0x0800, append(h, body...))
	}
	h := append(append([]byte{0x60, 0, 0, 0}, length...), proto, 255)
	h = append(append(h, f.src.AsSlice()...), f.dst.AsSlice()...)
	return ether(f.dmac, f.smac, 0x86dd, append(h, body...))
}

// marked is so many bytes that no other packet of the tests has.
func marked() []byte {
	stamp := time.Now().UnixNano()
	return []byte(fmt.Sprintf("isospin %019d", stamp))
}

func ports(src, dst uint16) []byte {
	return be.BigEndian.AppendUint16(be.BigEndian.AppendUint16(nil, src), dst)
}

func (f flow) udp(src, dst uint16) []byte {
	data := marked()
	b := append(ports(src, dst), byte((8+len(data))>>8), byte(8+len(data)), 0, 0)
	return f.packet(17, append(b, data...), 6)
}

// syn opens a TCP connection.
func (f flow) syn(src, dst uint16) []byte {
	b := append(ports(src, dst), 0, 0, 0, 1, 0, 0, 0, 0, 5<<4, 2, 0x20, 0, 0, 0, 0, 0)
	return f.packet(6, append(b, marked()...), 16)
}

func (f flow) sctp(src, dst uint16) []byte {
	init := append([]byte{1, 0, 0, 20}, bytes.Repeat([]byte{1}, 16)...)
	b := append(append(ports(src, dst), 0, 0, 0, 0, 0, 0, 0, 0), init...)
	be.LittleEndian.PutUint32(b[8:], crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
	return f.packet(132, b, -1)
}

// icmp is a question: of a type and a code.
func (f flow) icmp(kind, code byte) []byte {
	proto := byte(1)
	if f.src.Is6() {
		proto = 58
	}
	return f.packet(proto, append([]byte{kind, code, 0, 0, byte(time.Now().UnixNano() >> 8), byte(time.Now().UnixNano()), 0, 1}, marked()...), 2)
}

// nd is a message of neighbour discovery about an address, with one option that names a MAC.
func (f flow) nd(kind byte, target netip.Addr, option byte, mac net.HardwareAddr) []byte {
	b := append([]byte{kind, 0, 0, 0, 0x20, 0, 0, 0}, target.AsSlice()...)
	if mac != nil {
		b = append(append(b, option, 1), mac...)
	}
	return f.packet(58, b, 2)
}

// other is a packet of a protocol that is known by its number alone.
func (f flow) other(proto byte) []byte {
	return f.packet(proto, append([]byte{0, 0, 0x65, 0x58, 0, 0, 0, 0, 0, 0, 0, 0}, marked()...), -1)
}
