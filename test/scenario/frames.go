package scenario

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"isospin/internal/lab"
)

// wire is a packet socket on a guest's eth0: what is written leaves as it is, and whatever comes is read.
type wire struct{ fd int }

// Wire opens one; it ends with the test.
func (s *Stage) Wire(t *testing.T, g *lab.Guest) *wire {
	t.Helper()
	w := &wire{}
	must(t, s.Within(g.Name, func() (err error) {
		if w.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, int(binary.NativeEndian.Uint16([]byte{0, unix.ETH_P_ALL}))); err != nil {
			return err
		}
		device, err := net.InterfaceByName("eth0")
		if err != nil {
			return err
		}
		tick := unix.NsecToTimeval(int64(50 * time.Millisecond))
		return errors.Join(
			unix.Bind(w.fd, &unix.SockaddrLinklayer{Protocol: binary.NativeEndian.Uint16([]byte{0, unix.ETH_P_ALL}), Ifindex: device.Index}),
			unix.SetsockoptTimeval(w.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tick))
	}))
	t.Cleanup(func() { _ = unix.Close(w.fd) })
	return w
}

// Send sends frames.
func (w *wire) Send(t *testing.T, frames ...[]byte) {
	t.Helper()
	for _, f := range frames {
		_, err := unix.Write(w.fd, f)
		must(t, err)
	}
}

// Sees tells whether a frame with this in it comes in time; what is not it is thrown away.
func (w *wire) Sees(t *testing.T, mark []byte, within time.Duration) bool {
	t.Helper()
	b := make([]byte, 65536)
	for limit := time.Now().Add(within); time.Now().Before(limit); {
		n, err := unix.Read(w.fd, b)
		if err != nil && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			must(t, err)
		}
		if n > 0 && bytes.Contains(b[:n], mark) {
			return true
		}
	}
	return false
}

// party is one end of a frame.
type party struct {
	mac net.HardwareAddr
	ip  netip.Addr
}

// party is a guest as it is: its own addresses.
func (s *Stage) party(t *testing.T, g *lab.Guest) party {
	t.Helper()
	mac, err := net.ParseMAC(g.MAC)
	must(t, err)
	return party{mac, s.Address(t, g)}
}

func ethernet(from, to net.HardwareAddr, kind uint16, payload []byte) []byte {
	return append(binary.BigEndian.AppendUint16(append(bytes.Clone(to), from...), kind), payload...)
}

// packet is an IP packet in a frame, of either family, with the checksum of what it carries set at an offset.
func packet(from, to party, protocol byte, hops byte, body []byte, sumAt int) []byte {
	pseudo := append(from.ip.AsSlice(), to.ip.AsSlice()...)
	pseudo = binary.BigEndian.AppendUint32(pseudo, uint32(len(body)))
	pseudo = append(pseudo, 0, 0, 0, protocol)
	binary.BigEndian.PutUint16(body[sumAt:], checksum(append(pseudo, body...)))
	if from.ip.Is6() {
		head := []byte{0x60, 0, 0, 0, 0, 0, protocol, hops}
		binary.BigEndian.PutUint16(head[4:], uint16(len(body)))
		head = append(append(head, from.ip.AsSlice()...), to.ip.AsSlice()...)
		return ethernet(from.mac, to.mac, unix.ETH_P_IPV6, append(head, body...))
	}
	head := []byte{0x45, 0, 0, 0, 0, 0, 0x40, 0, hops, protocol, 0, 0}
	binary.BigEndian.PutUint16(head[2:], uint16(20+len(body)))
	head = append(append(head, from.ip.AsSlice()...), to.ip.AsSlice()...)
	binary.BigEndian.PutUint16(head[10:], checksum(head))
	return ethernet(from.mac, to.mac, unix.ETH_P_IP, append(head, body...))
}

func checksum(b []byte) uint16 {
	var sum uint32
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(b[i])<<8 | uint32(b[i+1])
	}
	if len(b)%2 == 1 {
		sum += uint32(b[len(b)-1]) << 8
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

// datagram is UDP with a mark in it.
func datagram(from, to party, source, target uint16, mark []byte) []byte {
	body := binary.BigEndian.AppendUint16(nil, source)
	body = binary.BigEndian.AppendUint16(body, target)
	body = binary.BigEndian.AppendUint16(body, uint16(8+len(mark)))
	return packet(from, to, unix.IPPROTO_UDP, 64, append(append(body, 0, 0), mark...), 6)
}

// arpReply says to somebody that the sender has an address.
func arpReply(from, to party, saysMAC net.HardwareAddr, saysIP netip.Addr) []byte {
	body := []byte{0, 1, 8, 0, 6, 4, 0, 2}
	body = append(append(body, saysMAC...), saysIP.AsSlice()...)
	body = append(append(body, to.mac...), to.ip.AsSlice()...)
	return ethernet(from.mac, to.mac, unix.ETH_P_ARP, body)
}

// advertisement is the same of IPv6: a neighbour advertisement.
func advertisement(from, to party, saysMAC net.HardwareAddr, saysIP netip.Addr) []byte {
	body := append([]byte{136, 0, 0, 0, 0x60, 0, 0, 0}, saysIP.AsSlice()...)
	return packet(from, to, unix.IPPROTO_ICMPV6, 255, append(append(body, 2, 1), saysMAC...), 2)
}

// routerAdvertisement says that the sender is a router; the mark is in an option.
func routerAdvertisement(from, to party, mark net.HardwareAddr) []byte {
	body := []byte{134, 0, 0, 0, 64, 0, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1}
	return packet(from, to, unix.IPPROTO_ICMPV6, 255, append(body, mark...), 2)
}
