package dhcp

import (
	"bytes"
	"encoding/hex"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
)

func unhex(s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		panic(err)
	}
	return b
}

// sent is one expectation of an answer's options: code to hex; "-" is absent.
type sent map[uint8]string

func (s sent) check(t *testing.T, name string, a answer) {
	t.Helper()
	for code, want := range s {
		got, there := a.Options[code]
		switch {
		case want == "-" && there:
			t.Errorf("%s: option %d is % x, want none", name, code, got)
		case want != "-" && !there:
			t.Errorf("%s: option %d is missing", name, code)
		case want != "-" && !bytes.Equal(got, unhex(want)):
			t.Errorf("%s: option %d is % x, want %s", name, code, got, want)
		}
	}
}

func TestSubnetOptions(t *testing.T) {
	t.Parallel()
	all := asking(1, 3, 6, 12, 15, 26, 28, 119, 121, 249)
	for _, c := range []struct {
		name   string
		change func(n *Network, s *Subnet)
		ask    dhcpv4.Modifier
		want   sent
	}{
		{"everything", func(*Network, *Subnet) {}, all, sent{
			1: "ffffff00", 28: "0a0000ff", 3: "0a000001", 6: "08080808 09090909", 15: hex.EncodeToString([]byte("openstacklocal")),
			26: "05aa", 51: "00015180", 58: "0000a8c0", 59: "00012750", 12: hex.EncodeToString([]byte("host-10-0-0-5")),
			121: "0cac10 0a0000fe 00 0a000001", 249: "0cac10 0a0000fe 00 0a000001", 54: "0a000002", 119: "-"}},
		{"only what is asked for, and what is basic", func(*Network, *Subnet) {}, asking(6), sent{
			1: "ffffff00", 26: "05aa", 28: "0a0000ff", 3: "-", 6: "0808080809090909", 15: "-", 121: "-", 249: "-", 12: "-"}},
		{"no list", func(*Network, *Subnet) {}, func(*dhcpv4.DHCPv4) {}, sent{3: "0a000001", 121: "0cac100a0000fe000a000001", 249: "-"}},
		{"no gateway", func(_ *Network, s *Subnet) { s.Gateway = netip.Addr{} }, all, sent{3: "-", 121: "0cac10 0a0000fe"}},
		{"gateway from a host route", func(_ *Network, s *Subnet) {
			s.Gateway, s.Routes = netip.Addr{}, []Route{{prefix("0.0.0.0/0"), ip("10.0.0.7")}}
		}, all, sent{3: "0a000007", 121: "-"}},
		{"no routes", func(_ *Network, s *Subnet) { s.Routes = nil }, all, sent{3: "0a000001", 121: "-"}},
		{"metadata and connected", func(_ *Network, s *Subnet) {
			s.Metadata, s.Connected = ip("10.0.0.2"), []netip.Prefix{prefix("10.1.0.0/24"), prefix("10.0.0.0/24")}
		}, all, sent{121: "180a0100 00000000 0cac10 0a0000fe 20a9fea9fe 0a000002 00 0a000001"}},
		{"no name servers", func(_ *Network, s *Subnet) { s.DNS = nil }, all, sent{6: "-"}},
		{"the resolver", func(n *Network, s *Subnet) { s.DNS, n.Resolver = nil, true }, all, sent{6: "0a000002"}},
		{"name servers before the resolver", func(n *Network, _ *Subnet) { n.Resolver = true }, all, sent{6: "0808080809090909"}},
		{"announce none", func(n *Network, s *Subnet) { s.DNS, n.Resolver = []netip.Addr{netip.IPv4Unspecified()}, true }, all, sent{6: "-"}},
		{"no end", func(_ *Network, s *Subnet) { s.Lease = Infinite }, all, sent{51: "ffffffff", 58: "-", 59: "-"}},
		{"times", func(_ *Network, s *Subnet) {
			s.Lease, s.Renewal, s.Rebinding = 10*time.Minute, time.Minute, 2*time.Minute
		}, all, sent{51: "00000258", 58: "0000003c", 59: "00000078"}},
		{"search list", func(n *Network, _ *Subnet) { n.Search = []string{"a.example", "b"} }, all, sent{119: "0161076578616d706c6500 016200"}},
		{"nothing to tell", func(n *Network, s *Subnet) { n.MTU, n.Domain = 0, "" }, all, sent{26: "-", 15: "-"}},
	} {
		n := testNetwork()
		c.change(&n, &n.Subnets[0])
		b := newBench(t, n, map[ReservationKey]Reservation{key(testPort): testReservation()})
		a := b.mustAsk(message(t, discover, c.ask), offer)
		c.want.check(t, c.name, a)
		if a.ServerIPAddr.String() != "10.0.0.2" {
			t.Errorf("%s: siaddr %s", c.name, a.ServerIPAddr)
		}
	}
}

func TestPortOptions(t *testing.T) {
	t.Parallel()
	ask := func(codes ...uint8) []dhcpv4.Modifier {
		return []dhcpv4.Modifier{asking(append(codes, 3, 6, 12, 121)...)}
	}
	ipxe := with(175, 1)
	for _, c := range []struct {
		name   string
		opts   []Option
		change []dhcpv4.Modifier
		want   sent
		siaddr string
		file   string
		sname  string
	}{
		{"replaced", opt("dns-server", "1.1.1.1,1.0.0.1"), ask(), sent{6: "01010101 01000001"}, "", "", ""},
		{"replaced, not asked for", opt("42", "1.1.1.1"), ask(), sent{42: "-"}, "", "", ""},
		{"router moves the default route", opt("router", "10.0.0.9"), ask(), sent{3: "0a000009", 121: "0cac100a0000fe000a000009"}, "", "", ""},
		{"router moves the default route, asked for 121 alone", opt("router", "10.0.0.9"), []dhcpv4.Modifier{asking(121)}, sent{3: "-", 121: "0cac100a0000fe000a000009"}, "", "", ""},
		{"router suppressed", opt("router", ""), ask(), sent{3: "-", 121: "0cac100a0000fe"}, "", "", ""},
		{"routes suppressed", opt("classless-static-route", ""), ask(), sent{3: "0a000001", 121: "-"}, "", "", ""},
		{"routes replaced", opt("121", "10.0.0.0/8,10.0.0.3"), ask(), sent{121: "080a0a000003"}, "", "", ""},
		{"by number", opt("option:42", "10.0.0.8"), ask(42), sent{42: "0a000008"}, "", "", ""},
		{"lease time is basic", opt("lease-time", "1h"), ask(), sent{51: "00000e10"}, "", "", ""},
		{"mtu is basic", opt("mtu", "9000"), ask(), sent{26: "2328"}, "", "", ""},
		{"host name", opt("hostname", "web"), ask(), sent{12: "776562"}, "", "", ""},
		{"boot, asked for", append(opt("bootfile-name", "pxe.0"), Option{"tftp-server", "10.0.0.8"}, Option{"server-ip-address", "10.0.0.8"}),
			ask(66, 67), sent{67: "7078652e30", 66: "31302e302e302e38"}, "10.0.0.8", "", ""},
		{"boot, in the header", append(opt("bootfile-name", "pxe.0"), Option{"tftp-server", "10.0.0.8"}),
			ask(), sent{67: "-", 66: "-"}, "10.0.0.2", "pxe.0", "10.0.0.8"},
		{"iPXE", append(opt("tag:!ipxe,67", "undionly.kpxe"), Option{"tag:ipxe,67", "http://boot/x"}), append(ask(67), ipxe), sent{67: hex.EncodeToString([]byte("http://boot/x"))}, "", "", ""},
		{"not iPXE", append(opt("tag:ipxe,67", "http://boot/x"), Option{"tag:!ipxe,67", "undionly.kpxe"}), ask(67), sent{67: hex.EncodeToString([]byte("undionly.kpxe"))}, "", "", ""},
		{"unknown tag", opt("tag:blue,42", "1.1.1.1"), ask(42), sent{42: "-"}, "", "", ""},
		{"long, in two parts", opt("43", `"`+strings.Repeat("z", 300)+`"`), append(ask(43), with(57, 5, 220)), sent{43: strings.Repeat("7a", 300)}, "", "", ""},
		{"full name", nil, append(ask(), with(81, 0, 0, 0, 'x')), sent{81: "03ffff" + hex.EncodeToString([]byte("host-10-0-0-5.openstacklocal"))}, "", "", ""},
		{"full name, encoded", nil, append(ask(), with(81, 5, 0, 0)), sent{81: "05ffff0d" + hex.EncodeToString([]byte("host-10-0-0-5")) + "0e" + hex.EncodeToString([]byte("openstacklocal")) + "00"}, "", "", ""},
	} {
		b := newBench(t, testNetwork(), map[ReservationKey]Reservation{key(testPort): testReservation(c.opts...)})
		a := b.mustAsk(message(t, discover, c.change...), offer)
		c.want.check(t, c.name, a)
		if c.siaddr != "" && a.ServerIPAddr.String() != c.siaddr || a.BootFileName != c.file || a.ServerHostName != c.sname {
			t.Errorf("%s: siaddr %s, file %q, sname %q", c.name, a.ServerIPAddr, a.BootFileName, a.ServerHostName)
		}
	}
}

// TestSmallClient asks for more than 576 bytes can hold: the rest goes into the header's unused fields.
func TestSmallClient(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		opts     []Option
		overload string
		trimmed  uint64
	}{
		{"fits", opt("root-path", strings.Repeat("a", 100)), "-", 0},
		{"file field", append(opt("root-path", strings.Repeat("a", 180)), Option{"40", strings.Repeat("b", 100)}), "01", 0},
		{"both fields", append(opt("root-path", strings.Repeat("a", 200)), Option{"40", strings.Repeat("b", 100)}, Option{"64", strings.Repeat("c", 61)}), "03", 0},
		{"too much", append(opt("root-path", strings.Repeat("a", 180)), Option{"40", strings.Repeat("b", 140)}), "-", 1},
	} {
		b := newBench(t, testNetwork(), map[ReservationKey]Reservation{key(testPort): testReservation(c.opts...)})
		a := b.mustAsk(message(t, discover, asking(17, 40, 64), with(82, 9, 9)), offer)
		sent{52: c.overload, 1: "ffffff00", 82: "0909"}.check(t, c.name, a)
		if st := b.server.Stats(); st.Trimmed != c.trimmed {
			t.Errorf("%s: trimmed %d, want %d", c.name, st.Trimmed, c.trimmed)
		}
		if a.size > 576 {
			t.Errorf("%s: %d bytes for a client that takes 576", c.name, a.size)
		}
		if c.overload == "-" {
			continue
		}
		header := make(dhcpv4.Options)
		if err := header.FromBytes(append(b.fileField(t), optEnd)); err != nil || len(header[40]) != 100 {
			t.Errorf("%s: file field: %v %v", c.name, err, header)
		}
	}
}

func (b *bench) fileField(t *testing.T) []byte {
	m := message(t, discover, asking(17, 40, 64))
	f, ok := b.fake.Exchange("ns", "tap", wrap(m, netip.IPv4Unspecified(), broadcastAddress()), m.ClientHWAddr)
	if !ok {
		t.Fatal("no answer")
	}
	return f.Packet[headers+fileAt : headers+fileAt+fileLen]
}

func TestParseOption(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, value, want string }{
		{"router", "10.0.0.1, 10.0.0.2", "0a000001 0a000002"},
		{"time-offset", "-3600", "fffff1f0"},
		{"default-ttl", "64", "40"},
		{"mtu", "1500", "05dc"},
		{"tcp-keepalive", "0x10", "00000010"},
		{"ip-forward-enable", "1", "01"},
		{"domain-name", "example.org", "6578616d706c652e6f7267"},
		{"domain-search", "a.b,c", "01610162 00 0163 00"},
		{"T1", "30m", "00000708"},
		{"lease-time", "infinite", "ffffffff"},
		{"static-route", "10.0.0.0,10.0.0.1", "0a000000 0a000001"},
		{"policy-filter", "10.0.0.0/8", "0a000000 ff000000"},
		{"249", "0.0.0.0/0,10.0.0.1", "00 0a000001"},
		{"classless-static-route", "18:0a:00:01:0a:00:00:01", "180a00010a000001"},
		{"224", "01:02:ff", "0102ff"},
		{"224", "10.0.0.1", "0a000001"},
		{"224", "7", "07"},
		{"224", "300", "012c"},
		{"224", "70000", "00011170"},
		{"224", "hello", "68656c6c6f"},
		{"224", `"12"`, "3132"},
		{"tftp-server-address", "10.0.0.1,10.0.0.2", "0a000001 0a000002"},
		{"option:ntp-server", "10.0.0.1", "0a000001"},
		{"vendor-class", "PXEClient", "505845436c69656e74"},
		{"router", "nowhere", "error"},
		{"router", "2001:db8::1", "error"},
		{"mtu", "70000", "error"},
		{"mtu", "big", "error"},
		{"no-such-option", "1", "error"},
		{"0", "1", "error"},
		{"256", "1", "error"},
		{"message-type", "5", "error"},
		{"54", "10.0.0.1", "error"},
		{"domain-search", strings.Repeat("x", 64), "error"},
		{"121", "10.0.0.0/8", "error"},
		{"lease-time", "soon", "error"},
		{"224", `"` + strings.Repeat("x", 2000) + `"`, "error"},
	} {
		p, err := parseOption(Option{c.name, c.value})
		if c.want == "error" {
			if err == nil {
				t.Errorf("%s=%s: % x, want an error", c.name, c.value, p.data)
			}
			continue
		}
		if err != nil || !bytes.Equal(p.data, unhex(c.want)) {
			t.Errorf("%s=%s: % x, %v; want %s", c.name, c.value, p.data, err, c.want)
		}
	}
}
