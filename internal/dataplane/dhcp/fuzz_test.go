package dhcp

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/insomniacslk/dhcp/dhcpv4"
)

// seeds are real messages of every kind, and mistreated ones.
func seeds(t testing.TB) [][]byte {
	var out [][]byte
	for kind := dhcpv4.MessageTypeDiscover; kind <= dhcpv4.MessageTypeInform+2; kind++ {
		for _, change := range [][]dhcpv4.Modifier{
			{}, {addr4(50, "10.0.0.5")}, {addr4(54, "10.0.0.2"), addr4(50, "10.0.0.6")}, {ciaddr("10.0.0.5")}, {giaddr("10.0.0.1"), with(82, 1, 1, 9)},
			{asking(1, 3, 6, 12, 15, 26, 66, 67, 121, 249), with(61, 1, 0xaa, 0xbb), with(81, 5, 0, 0, 1, 'x', 0), with(57, 0, 1), with(175, 1)},
		} {
			out = append(out, wrap(message(t, kind, change...), netip.IPv4Unspecified(), broadcastAddress()))
		}
	}
	plain := out[0]
	short, long := plain[:100], append(append([]byte(nil), plain...), make([]byte, 500)...)
	relay := message(t, dhcpv4.MessageTypeDiscover, giaddr("10.0.0.1"), with(82, make([]byte, 900)...), with(61, make([]byte, 600)...), with(81, make([]byte, 200)...))
	return append(out, nil, short, long, wrap(relay, ip("10.0.0.1"), ip("10.0.0.2")))
}

// FuzzHandle looks for packets that crash the server, or make it send what it should not.
func FuzzHandle(f *testing.F) {
	for _, p := range seeds(f) {
		f.Add(p, false)
		f.Add(p, true)
	}
	b := newBench(f, testNetwork(), nil)
	r := testReservation(Option{"bootfile-name", "pxe.0"}, Option{"43", "01:02:03"}, Option{"tag:ipxe,67", "x"}, Option{"client-id", "01:aa:bb"})
	if err := (Reservations{b.server}).Put(f.Context(), map[ReservationKey]Reservation{key(testPort): r}); err != nil {
		f.Fatal(err)
	}
	config, err := compile(testNetwork())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, packet []byte, mend bool) {
		if mend {
			packet = mended(packet)
		}
		if len(packet) > 2048 {
			packet = packet[:2048]
		}
		n := &instance{server: b.server, table: b.server.tables[testNet], logger: quiet()}
		n.config.Store(config)
		out, to, ok := n.handle(packet, hwaddr(guestMAC()), true)
		if !ok {
			return
		}
		a := open(t, FakeFrame{out, to[:]})
		if a.OpCode != dhcpv4.OpcodeBootReply || a.src != ip("10.0.0.2") || a.size > 1500 || a.size < headers+leastMessage {
			t.Fatalf("odd answer: %s (%d bytes from %s)", a.Summary(), a.size, a.src)
		}
		if k := a.MessageType(); k != offer && k != ack && k != nak {
			t.Fatalf("answered with %s", k)
		}
		if y := a.YourIPAddr.String(); y != "0.0.0.0" && y != "10.0.0.5" {
			t.Fatalf("gave %s", y)
		}
	})
}

// mended makes the lengths and checksums right, so that the fuzzer gets behind them.
func mended(packet []byte) []byte {
	if len(packet) < headers || len(packet) > 1500 {
		return packet
	}
	p := append([]byte(nil), packet...)
	fillHeaders(p, netip.IPv4Unspecified(), broadcastAddress(), serverPort)
	binary.BigEndian.PutUint16(p[ipHeader:], clientPort)
	p[ipHeader+6], p[ipHeader+7] = 0, 0
	return p
}

// TestGarbage is refused without an answer, and counted.
func TestGarbage(t *testing.T) {
	t.Parallel()
	b := newBench(t, testNetwork(), map[ReservationKey]Reservation{key(testPort): testReservation()})
	good := func() []byte { return wrap(message(t, discover), netip.IPv4Unspecified(), broadcastAddress()) }
	if _, ok := b.send(good(), guestMAC()); !ok {
		t.Fatal("the good one was not answered")
	}
	for name, spoil := range map[string]func(p []byte) []byte{
		"short":            func(p []byte) []byte { return p[:40] },
		"version 6":        func(p []byte) []byte { p[0] = 0x65; return p },
		"long header":      func(p []byte) []byte { p[0] = 0x4f; return p },
		"header checksum":  func(p []byte) []byte { p[10]++; return p },
		"udp checksum":     func(p []byte) []byte { p[60]++; return p },
		"total length":     func(p []byte) []byte { p[2] = 0xff; return p },
		"udp length":       func(p []byte) []byte { p[ipHeader+4] = 0xff; return p },
		"fragment":         func(p []byte) []byte { p[6] = 0x20; return mendIP(p) },
		"tcp":              func(p []byte) []byte { p[9] = 6; return mendIP(p) },
		"other port":       func(p []byte) []byte { p[ipHeader+3] = 53; return p },
		"no cookie":        func(p []byte) []byte { p[headers+cookieAt] = 0; p[26], p[27] = 0, 0; return p },
		"hardware type":    func(p []byte) []byte { p[headers+1] = 32; p[26], p[27] = 0, 0; return p },
		"a reply":          func(p []byte) []byte { p[headers] = 2; p[26], p[27] = 0, 0; return p },
		"hops":             func(p []byte) []byte { p[headers+3] = 17; p[26], p[27] = 0, 0; return p },
		"option overflows": func(p []byte) []byte { p[headers+optionsAt+1] = 255; p[26], p[27] = 0, 0; return p },
		"huge":             func([]byte) []byte { return make([]byte, 60000) },
		"another's server": func([]byte) []byte { return wrap(message(t, discover), ip("10.0.0.5"), ip("10.0.0.77")) },
	} {
		if a, ok := b.send(spoil(good()), guestMAC()); ok {
			t.Errorf("%s: answered: %s", name, a.Summary())
		}
	}
	multicast := message(t, discover, dhcpv4.WithHwAddr(mac("01:00:5e:00:00:01")))
	if _, ok := b.ask(multicast); ok {
		t.Error("a multicast sender was answered")
	}
	if st := b.server.Stats(); st.Ignored != 1 || st.Spoofed != 1 || st.Malformed < 16 || st.Offer != 1 {
		t.Errorf("stats: %+v", st)
	}
}

func mendIP(p []byte) []byte {
	p[10], p[11] = 0, 0
	binary.BigEndian.PutUint16(p[10:], ^fold(sum(0, p[:ipHeader])))
	return p
}

func BenchmarkHandle(b *testing.B) {
	x := newBench(b, testNetwork(), map[ReservationKey]Reservation{key(testPort): testReservation()})
	p := wrap(message(b, discover, asking(1, 3, 6, 12, 15, 26, 28, 121)), netip.IPv4Unspecified(), broadcastAddress())
	n := x.server.serving[testNet]
	other := &instance{server: x.server, table: n.table, logger: quiet()}
	other.config.Store(n.config.Load())
	b.ReportAllocs()
	for b.Loop() {
		if _, _, ok := other.handle(p, hwaddr(guestMAC()), true); !ok {
			b.Fatal("no answer")
		}
	}
}
