package cable

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"isospin/internal/lab/space"
)

// TestCables: two places, a switch between them, addresses and routes, and a cable that moves.
func TestCables(t *testing.T) {
	places := map[string]*Place{}
	for _, name := range []string{"a", "b", "c"} {
		s := space.Space{Name: fmt.Sprintf("cabletest-%s-%d", name, os.Getpid())}
		if err := s.Create(space.Plan{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Delete(); err != nil {
				t.Error(err)
			}
		})
		p, err := Open(s.NetPath())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Close)
		places[name] = p
	}
	a, b, c := places["a"], places["b"], places["c"]
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(b.Bridge("br"))
	must(b.Bridge("br"))
	mac, _ := net.ParseMAC("fa:16:3e:00:00:01")
	must(Pair(End{In: a, Name: "eth0", MAC: mac}, End{In: b, Name: "tap", Bridge: "br"}, 1400))
	must(a.Address("eth0", netip.MustParsePrefix("10.5.0.1/24"), netip.MustParsePrefix("fd00:5::1/64")))
	must(a.Address("eth0", netip.MustParsePrefix("10.5.0.1/24")))
	must(a.Route("eth0", netip.MustParsePrefix("0.0.0.0/0"), netip.MustParseAddr("192.0.2.1")))
	must(a.Route("eth0", netip.MustParsePrefix("10.6.0.0/16"), netip.Addr{}))
	l, err := a.link("eth0")
	must(err)
	if l.Attrs().MTU != 1400 || !bytes.Equal(l.Attrs().HardwareAddr, mac) {
		t.Errorf("mtu %d, mac %s", l.Attrs().MTU, l.Attrs().HardwareAddr)
	}
	must(b.Send("tap", c))
	if b.Has("tap") || !c.Has("tap") {
		t.Error("the cable's end has not moved")
	}
	have, err := a.Addresses("eth0")
	must(err)
	for _, want := range []string{"10.5.0.1/24", "fd00:5::1/64"} {
		if !slices.Contains(have, netip.MustParsePrefix(want)) {
			t.Errorf("addresses after the move: %v, want %s", have, want)
		}
	}
	must(a.Announce("eth0"))
	must(a.Remove("eth0"))
	must(a.Remove("eth0"))
	if c.Has("tap") {
		t.Error("the other end of a removed cable is left")
	}
	if err := a.Up("eth0"); err == nil || !strings.Contains(err.Error(), "eth0") {
		t.Errorf("up of a missing device: %v", err)
	}
}

func TestRARP(t *testing.T) {
	mac := net.HardwareAddr{2, 0, 0, 0, 0, 9}
	f := rarp(mac)
	if len(f) != 60 || !bytes.Equal(f[6:12], mac) || !bytes.Equal(f[12:22], []byte{0x80, 0x35, 0, 1, 8, 0, 6, 4, 0, 3}) ||
		!bytes.Equal(f[22:28], mac) || !bytes.Equal(f[32:38], mac) {
		t.Errorf("frame % x", f)
	}
}
