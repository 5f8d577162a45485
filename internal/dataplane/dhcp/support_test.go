package dhcp

import (
	"encoding/binary"
	"log/slog"
	"net"
	"net/netip"
	"testing"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"isospin/internal/clock"
)

const (
	testNet  = "6a1f8a9e-0000-4000-8000-000000000001"
	testPort = "0b2c0000-0000-4000-8000-000000000002"
)

func ip(s string) netip.Addr          { return netip.MustParseAddr(s) }
func prefix(s string) netip.Prefix    { return netip.MustParsePrefix(s) }
func mac(s string) net.HardwareAddr   { m, _ := net.ParseMAC(s); return m }
func guestMAC() net.HardwareAddr      { return mac("fa:16:3e:00:00:05") }
func quiet() *slog.Logger             { return slog.New(slog.DiscardHandler) }
func key(port string) ReservationKey  { return ReservationKey{testNet, port} }
func opt(name, value string) []Option { return []Option{{name, value}} }

func testNetwork() Network {
	return Network{ID: testNet, Namespace: "ns", Interface: "tap", MTU: 1450, Domain: "openstacklocal.", Subnets: []Subnet{{
		CIDR: prefix("10.0.0.0/24"), Server: ip("10.0.0.2"), Gateway: ip("10.0.0.1"),
		DNS: []netip.Addr{ip("8.8.8.8"), ip("9.9.9.9")}, Routes: []Route{{prefix("172.16.0.0/12"), ip("10.0.0.254")}},
	}}}
}

func testReservation(opts ...Option) Reservation {
	return Reservation{MAC: guestMAC(), IPs: []netip.Addr{ip("10.0.0.5")}, Options: opts}
}

// bench is one network served on a fake link.
type bench struct {
	t      testing.TB
	fake   *Fake
	server *Server
}

func newBench(t testing.TB, n Network, r map[ReservationKey]Reservation) *bench {
	t.Helper()
	b := &bench{t: t, fake: &Fake{}}
	b.server = New(Options{Logger: quiet(), Clock: clock.System{}, Open: b.fake.Open})
	t.Cleanup(func() {
		if err := b.server.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := (Networks{b.server}).Put(t.Context(), map[string]Network{n.ID: n}); err != nil {
		t.Fatal(err)
	}
	if err := (Reservations{b.server}).Put(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return b
}

// message is a client's: all that a real one carries, and what change adds.
func message(t testing.TB, kind dhcpv4.MessageType, change ...dhcpv4.Modifier) *dhcpv4.DHCPv4 {
	t.Helper()
	m, err := dhcpv4.New(append([]dhcpv4.Modifier{dhcpv4.WithHwAddr(guestMAC()), dhcpv4.WithMessageType(kind),
		dhcpv4.WithTransactionID(dhcpv4.TransactionID{1, 2, 3, 4})}, change...)...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func asking(codes ...uint8) dhcpv4.Modifier {
	return func(m *dhcpv4.DHCPv4) { m.Options[optParameters] = codes }
}

func with(code uint8, data ...byte) dhcpv4.Modifier {
	return func(m *dhcpv4.DHCPv4) { m.Options[code] = data }
}

func addr4(code uint8, a string) dhcpv4.Modifier { return with(code, ip(a).AsSlice()...) }

// wrap puts a message into an IPv4 packet as clients send it.
func wrap(m *dhcpv4.DHCPv4, src, dst netip.Addr) []byte {
	payload := m.ToBytes()
	p := append(make([]byte, headers), payload...)
	fillHeaders(p, src, dst, serverPort)
	binary.BigEndian.PutUint16(p[ipHeader:], clientPort)
	binary.BigEndian.PutUint16(p[ipHeader+6:], 0)
	c := ^fold(sum(pseudo(p[12:20], len(p)-ipHeader), p[ipHeader:]))
	binary.BigEndian.PutUint16(p[ipHeader+6:], c)
	return p
}

// answer is what came back, taken apart with the library, not with the code under test.
type answer struct {
	*dhcpv4.DHCPv4
	src, dst netip.Addr
	port     uint16
	to       string
	size     int
}

func (b *bench) ask(m *dhcpv4.DHCPv4) (answer, bool) {
	return b.send(wrap(m, netip.IPv4Unspecified(), broadcastAddress()), m.ClientHWAddr)
}

func (b *bench) send(packet []byte, from net.HardwareAddr) (answer, bool) {
	b.t.Helper()
	f, ok := b.fake.Exchange("ns", "tap", packet, from)
	if !ok {
		return answer{}, false
	}
	return open(b.t, f), true
}

func open(t testing.TB, f FakeFrame) answer {
	t.Helper()
	p := f.Packet
	if fold(sum(0, p[:ipHeader])) != 0xffff || int(binary.BigEndian.Uint16(p[2:])) != len(p) {
		t.Fatalf("bad IP header: % x", p[:ipHeader])
	}
	if fold(sum(pseudo(p[12:20], len(p)-ipHeader), p[ipHeader:])) != 0xffff || binary.BigEndian.Uint16(p[ipHeader+6:]) == 0 {
		t.Fatalf("bad UDP checksum: % x", p[:headers])
	}
	m, err := dhcpv4.FromBytes(p[headers:])
	if err != nil {
		t.Fatalf("answer does not parse: %v", err)
	}
	return answer{m, netip.AddrFrom4([4]byte(p[12:16])), netip.AddrFrom4([4]byte(p[16:20])),
		binary.BigEndian.Uint16(p[ipHeader+2:]), f.To.String(), len(p)}
}

func (b *bench) mustAsk(m *dhcpv4.DHCPv4, want dhcpv4.MessageType) answer {
	b.t.Helper()
	a, ok := b.ask(m)
	if !ok {
		b.t.Fatalf("no answer to %s", m.MessageType())
	}
	if a.MessageType() != want {
		b.t.Fatalf("%s answered with %s, want %s", m.MessageType(), a.MessageType(), want)
	}
	return a
}
