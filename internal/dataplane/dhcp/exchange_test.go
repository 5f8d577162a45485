package dhcp

import (
	"bytes"
	"net/netip"
	"testing"

	"github.com/insomniacslk/dhcp/dhcpv4"
)

const (
	discover = dhcpv4.MessageTypeDiscover
	requests = dhcpv4.MessageTypeRequest
	offer    = dhcpv4.MessageTypeOffer
	ack      = dhcpv4.MessageTypeAck
	nak      = dhcpv4.MessageTypeNak
	none     = dhcpv4.MessageTypeNone
)

func ciaddr(a string) dhcpv4.Modifier { return dhcpv4.WithClientIP(ip(a).AsSlice()) }
func giaddr(a string) dhcpv4.Modifier { return dhcpv4.WithGatewayIP(ip(a).AsSlice()) }

// twoSubnets is a port with an address on each of two served subnets, and one on a third that is not served.
func twoSubnets() (Network, Reservation) {
	n, r := testNetwork(), testReservation()
	n.Subnets = append(n.Subnets, Subnet{CIDR: prefix("10.1.0.0/24"), Server: ip("10.1.0.2")})
	r.IPs = []netip.Addr{ip("10.9.0.5"), ip("2001:db8::5"), ip("10.0.0.5"), ip("10.1.0.5")}
	return n, r
}

func TestWhatIsAnswered(t *testing.T) {
	t.Parallel()
	n, r := twoSubnets()
	b := newBench(t, n, map[ReservationKey]Reservation{key(testPort): r})
	stranger := dhcpv4.WithHwAddr(mac("fa:16:3e:00:00:99"))
	for _, c := range []struct {
		name   string
		kind   dhcpv4.MessageType
		change []dhcpv4.Modifier
		want   dhcpv4.MessageType
		yiaddr string
		server string
		to     string
		dst    string
	}{
		{"discover", discover, nil, offer, "10.0.0.5", "10.0.0.2", "fa:16:3e:00:00:05", "10.0.0.5"},
		{"discover, broadcast flag", discover, []dhcpv4.Modifier{dhcpv4.WithBroadcast(true)}, offer, "10.0.0.5", "10.0.0.2", "ff:ff:ff:ff:ff:ff", "255.255.255.255"},
		{"discover, other own address wanted", discover, []dhcpv4.Modifier{addr4(50, "10.1.0.5")}, offer, "10.1.0.5", "10.1.0.2", "fa:16:3e:00:00:05", "10.1.0.5"},
		{"discover, foreign address wanted", discover, []dhcpv4.Modifier{addr4(50, "10.0.0.77")}, offer, "10.0.0.5", "10.0.0.2", "fa:16:3e:00:00:05", "10.0.0.5"},
		{"discover by a stranger", discover, []dhcpv4.Modifier{stranger}, none, "", "", "", ""},
		{"selecting", requests, []dhcpv4.Modifier{addr4(54, "10.0.0.2"), addr4(50, "10.0.0.5")}, ack, "10.0.0.5", "10.0.0.2", "fa:16:3e:00:00:05", "10.0.0.5"},
		{"selecting the second", requests, []dhcpv4.Modifier{addr4(54, "10.1.0.2"), addr4(50, "10.1.0.5")}, ack, "10.1.0.5", "10.1.0.2", "fa:16:3e:00:00:05", "10.1.0.5"},
		{"selecting, wrong address", requests, []dhcpv4.Modifier{addr4(54, "10.0.0.2"), addr4(50, "10.0.0.6")}, nak, "0.0.0.0", "10.0.0.2", "ff:ff:ff:ff:ff:ff", "255.255.255.255"},
		{"selecting another server", requests, []dhcpv4.Modifier{addr4(54, "10.0.0.3"), addr4(50, "10.0.0.5")}, none, "", "", "", ""},
		{"init-reboot", requests, []dhcpv4.Modifier{addr4(50, "10.0.0.5")}, ack, "10.0.0.5", "10.0.0.2", "fa:16:3e:00:00:05", "10.0.0.5"},
		{"init-reboot from elsewhere", requests, []dhcpv4.Modifier{addr4(50, "192.168.1.7")}, nak, "0.0.0.0", "10.0.0.2", "ff:ff:ff:ff:ff:ff", "255.255.255.255"},
		{"init-reboot by a stranger", requests, []dhcpv4.Modifier{stranger, addr4(50, "192.168.1.7")}, none, "", "", "", ""},
		{"init-reboot, own address not served", requests, []dhcpv4.Modifier{addr4(50, "10.9.0.5")}, nak, "0.0.0.0", "10.0.0.2", "ff:ff:ff:ff:ff:ff", "255.255.255.255"},
		{"renewal", requests, []dhcpv4.Modifier{ciaddr("10.0.0.5")}, ack, "10.0.0.5", "10.0.0.2", "fa:16:3e:00:00:05", "10.0.0.5"},
		{"renewal of what is no longer its own", requests, []dhcpv4.Modifier{ciaddr("10.0.0.6")}, nak, "0.0.0.0", "10.0.0.2", "ff:ff:ff:ff:ff:ff", "255.255.255.255"},
		{"request without an address", requests, nil, none, "", "", "", ""},
		{"inform", dhcpv4.MessageTypeInform, []dhcpv4.Modifier{ciaddr("10.0.0.5")}, ack, "0.0.0.0", "10.0.0.2", "fa:16:3e:00:00:05", "10.0.0.5"},
		{"inform from elsewhere", dhcpv4.MessageTypeInform, []dhcpv4.Modifier{ciaddr("192.168.0.5")}, none, "", "", "", ""},
		{"release", dhcpv4.MessageTypeRelease, []dhcpv4.Modifier{ciaddr("10.0.0.5")}, none, "", "", "", ""},
		{"decline", dhcpv4.MessageTypeDecline, []dhcpv4.Modifier{addr4(50, "10.0.0.5")}, none, "", "", "", ""},
		{"a server's message", offer, nil, none, "", "", "", ""},
		{"lease query", dhcpv4.MessageType(10), nil, none, "", "", "", ""},
	} {
		a, ok := b.ask(message(t, c.kind, c.change...))
		switch {
		case !ok && c.want != none:
			t.Errorf("%s: no answer", c.name)
		case ok && a.MessageType() != c.want:
			t.Errorf("%s: %s, want %s", c.name, a.MessageType(), c.want)
		case ok && (a.YourIPAddr.String() != c.yiaddr || a.ServerIdentifier().String() != c.server || a.src.String() != c.server):
			t.Errorf("%s: %s from %s (source %s), want %s from %s", c.name, a.YourIPAddr, a.ServerIdentifier(), a.src, c.yiaddr, c.server)
		case ok && (a.to != c.to || a.dst.String() != c.dst || a.port != clientPort):
			t.Errorf("%s: sent to %s, %s:%d, want %s, %s", c.name, a.to, a.dst, a.port, c.to, c.dst)
		case ok && a.TransactionID != (dhcpv4.TransactionID{1, 2, 3, 4}):
			t.Errorf("%s: transaction %s", c.name, a.TransactionID)
		}
	}
	st := b.server.Stats()
	if st.Discover != 5 || st.Offer != 4 || st.Nak != 4 || st.Ack != 5 || st.Release != 1 || st.Decline != 1 || st.Inform != 2 || st.Unknown != 2 {
		t.Errorf("stats: %+v", st)
	}
}

func TestRelay(t *testing.T) {
	t.Parallel()
	n, r := twoSubnets()
	b := newBench(t, n, map[ReservationKey]Reservation{key(testPort): r})
	relay := mac("fa:16:3e:00:00:01")
	send := func(change ...dhcpv4.Modifier) (answer, bool) {
		m := message(t, discover, append(change, with(82, 1, 2, 'x', 'y'))...)
		return b.send(wrap(m, m2addr(m), ip("10.1.0.2")), relay)
	}
	a, ok := send(giaddr("10.1.0.1"))
	if !ok || a.YourIPAddr.String() != "10.1.0.5" {
		t.Fatalf("through a relay on the second subnet: %v %v", ok, a.DHCPv4)
	}
	if a.port != serverPort || a.dst != ip("10.1.0.1") || a.to != relay.String() || !bytes.Equal(a.Options[82], []byte{1, 2, 'x', 'y'}) {
		t.Errorf("answer to a relay: %s %s:%d, option 82 % x", a.to, a.dst, a.port, a.Options[82])
	}
	for _, gi := range []string{"10.77.0.1", "10.1.0.2", "10.9.0.1"} {
		if _, ok := send(giaddr(gi)); ok {
			t.Errorf("a relay at %s was answered", gi)
		}
	}
	if _, ok := send(); ok {
		t.Error("a client was answered whose frame another sent")
	}
	if st := b.server.Stats(); st.Spoofed != 4 {
		t.Errorf("stats: %+v", st)
	}
}

func m2addr(m *dhcpv4.DHCPv4) netip.Addr { return netip.AddrFrom4([4]byte(m.GatewayIPAddr.To4())) }

func TestClientID(t *testing.T) {
	t.Parallel()
	byMAC := testReservation()
	byID := testReservation(Option{"client-id", "01:aa:bb"})
	byID.MAC, byID.IPs = mac("fa:16:3e:00:00:77"), []netip.Addr{ip("10.0.0.77")}
	b := newBench(t, testNetwork(), map[ReservationKey]Reservation{key("a"): byMAC, key("b"): byID})
	if a := b.mustAsk(message(t, discover, with(61, 1, 0xaa, 0xbb)), offer); a.YourIPAddr.String() != "10.0.0.77" || !bytes.Equal(a.Options[61], []byte{1, 0xaa, 0xbb}) {
		t.Errorf("client id: %s", a.Summary())
	}
	if a := b.mustAsk(message(t, discover, with(61, 1, 2, 3)), offer); a.YourIPAddr.String() != "10.0.0.5" {
		t.Errorf("another client id: %s", a.YourIPAddr)
	}
}

func TestOneMACMovesBetweenPorts(t *testing.T) {
	t.Parallel()
	d := func(b *bench) Reservations { return Reservations{b.server} }
	b := newBench(t, testNetwork(), map[ReservationKey]Reservation{key("old"): testReservation()})
	next := testReservation()
	next.IPs = []netip.Addr{ip("10.0.0.9")}
	if err := d(b).Put(t.Context(), map[ReservationKey]Reservation{key("new"): next}); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ drop, want string }{{"", "10.0.0.9"}, {"old", "10.0.0.9"}} {
		if err := d(b).Drop(t.Context(), map[ReservationKey]Reservation{key(step.drop): {}}); err != nil {
			t.Fatal(err)
		}
		if a := b.mustAsk(message(t, discover), offer); a.YourIPAddr.String() != step.want {
			t.Errorf("after dropping %q: %s, want %s", step.drop, a.YourIPAddr, step.want)
		}
	}
	if err := d(b).Drop(t.Context(), map[ReservationKey]Reservation{key("new"): {}}); err != nil {
		t.Fatal(err)
	}
	if _, ok := b.ask(message(t, discover)); ok {
		t.Error("a client without a port was answered")
	}
}
