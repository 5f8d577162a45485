package sgnft

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"isospin/internal/change"
	"isospin/internal/wire"
)

func ctx() context.Context { return context.Background() }

// update is given as -update to write the golden files anew.
func update() bool { f := flag.Lookup("update"); return f != nil && f.Value.String() == "true" }

func TestMain(m *testing.M) {
	flag.Bool("update", false, "write golden files")
	os.Exit(m.Run())
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if update() {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s: %s", path, d)
	}
}

func full() Config { return Config{Tracks: true, Ethertypes: []uint16{0x88cc}} }

// TestGolden draws scenes and compares all that is wanted with what a person has read.
func TestGolden(t *testing.T) {
	scenes := map[string]func(w *world){
		"bare": func(*world) {},
		"stateful": func(w *world) {
			w.network(1, "vxlan", false)
			w.group(1, true)
			w.rule("r1", 1, "ingress", "IPv4", proto2("tcp", 80, 443))
			w.rule("r2", 1, "ingress", "IPv6", of(1))
			w.rule("r3", 1, "ingress", "IPv4", of(2, proto2("udp", 53, 53)))
			w.rule("r4", 1, "egress", "IPv4", nil)
			w.rule("r5", 1, "ingress", "IPv4", proto2("icmp", 8, -1))
			w.rule("r6", 1, "ingress", "IPv6", proto2("icmp", 128, 0))
			w.rule("r7", 1, "egress", "IPv6", func(d *wire.SecurityGroupRule) { d.RemoteIpPrefix = "2001:db8::/32" })
			w.rule("r8", 1, "egress", "IPv4", func(d *wire.SecurityGroupRule) { d.RemoteAddressGroupId = "ag" })
			w.member(1, "p", "192.0.2.1", "2001:db8::1")
			w.member(2, "q", "198.51.100.1", "203.0.113.0/24", "203.0.113.128/25")
			w.entry("ag", "10.0.0.0/8")
			w.entry("ag", "192.0.2.9/32")
			w.port(1, 1, []string{"192.0.2.1", "2001:db8::1"}, 1)
		},
		"stateless": func(w *world) {
			w.network(1, "vlan", true)
			w.group(1, false)
			w.rule("r1", 1, "ingress", "IPv4", proto2("sctp", 1, 65535))
			w.rule("r2", 1, "ingress", "IPv4", proto2("icmp", 3, 4))
			w.rule("r3", 1, "egress", "IPv6", proto2("47", -1, -1))
			w.rule("r4", 1, "egress", "IPv4", of(1))
			w.member(1, "p", "192.0.2.1")
			w.port(1, 1, []string{"192.0.2.1"}, 1)
		},
		"pairs": func(w *world) {
			w.network(1, "flat", true)
			p := w.port(1, 1, []string{"192.0.2.1"})
			p.AllowedAddressPairs = []*wire.AddressPair{{IpAddress: "198.51.100.0/24"}, {IpAddress: "198.51.100.64/26"}, {IpAddress: "0.0.0.0/0", MacAddress: mac(9)}, {IpAddress: "2001:db8::/64"}}
			w.Put(wire.KindPort, p.Id, p)
		},
		"open": func(w *world) {
			p := w.port(1, 1, []string{"192.0.2.1"}, 1)
			p.PortSecurityEnabled = false
			w.Put(wire.KindPort, p.Id, p)
			p = w.port(2, 1, []string{"192.0.2.2"})
			p.DeviceOwner = "network:dhcp"
			w.Put(wire.KindPort, p.Id, p)
			p = w.port(3, 1, []string{"192.0.2.3"})
			p.AdminStateUp = false
			w.Put(wire.KindPort, p.Id, p)
		},
		"mixed": func(w *world) {
			w.group(1, true)
			w.group(2, false)
			w.rule("r1", 1, "ingress", "IPv4", nil)
			w.rule("r2", 2, "egress", "IPv4", nil)
			w.port(1, 1, []string{"192.0.2.1"}, 1, 2, 3) // the third's document has not come
		},
	}
	for name, scene := range scenes {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, full())
			scene(w)
			w.sync()
			w.check()
			if name == "bare" {
				golden(t, name, strings.Join(texts(w.all()), "\n")+"\n")
				return
			}
			golden(t, name, w.ports())
		})
	}
}

// TestWithoutTracking has ports in groups with state fail, and the others served without anything that such kernels lack.
func TestWithoutTracking(t *testing.T) {
	w := newWorld(t, Config{})
	w.group(1, true)
	w.group(2, false)
	w.rule("r1", 1, "ingress", "IPv4", nil)
	w.rule("r2", 2, "ingress", "IPv4", nil)
	w.port(1, 1, []string{"192.0.2.1"}, 1)
	w.port(2, 1, []string{"192.0.2.2"}, 2)
	res := w.sync()
	w.check()
	if err := res.Faults[change.Key{Kind: wire.KindPort, ID: portID(1)}]; err == nil {
		t.Error("a port in a group with state has no fault")
	}
	if err := res.Faults[change.Key{Kind: wire.KindPort, ID: portID(2)}]; err != nil {
		t.Errorf("a port in a group without has the fault %v", err)
	}
	if _, _, err := w.feature.Needs(w.Docs, portID(1)); err == nil {
		t.Error("a port in a group with state needs nothing that it cannot have")
	}
	text := strings.Join(texts(w.all()), "\n")
	for _, lacked := range []string{" ct ", "notrack", "brname"} {
		if strings.Contains(text, lacked) {
			t.Errorf("%q is wanted: %s", lacked, text)
		}
	}
	if strings.Contains(text, "out-"+portID(1)) || !strings.Contains(text, "out-"+portID(2)) {
		t.Errorf("wanted: %s", text)
	}
}

// TestAChangeCostsItsOwnSize has 300 ports in a group of 20 rules and 5,000 members.
func TestAChangeCostsItsOwnSize(t *testing.T) {
	w := newWorld(t, full())
	w.network(1, "vxlan", false)
	w.group(1, true)
	for n := range 20 {
		w.rule(fmt.Sprintf("r%02d", n), 1, "ingress", "IPv4", of(1, proto2("tcp", int32(n), int32(n))))
	}
	for n := range 300 {
		w.port(n, 1, []string{fmt.Sprintf("10.1.%d.%d", n/256, n%256)}, 1)
	}
	for n := range 5000 {
		w.member(1, fmt.Sprint("m", n), fmt.Sprintf("10.2.%d.%d", n/256, n%256))
	}
	w.sync()
	w.check()
	cost := func(what string, came, went int, do func()) {
		t.Helper()
		c, g := w.writes(do)
		if len(c) != came || len(g) != went {
			t.Errorf("%s: %d came, %d went, want %d and %d: %q, %q", what, len(c), len(g), came, went, c, g)
		}
	}
	cost("a member more", 1, 0, func() { w.member(1, "one", "10.3.0.1") })
	cost("a member with another address", 1, 1, func() { w.member(1, "one", "10.3.0.2") })
	cost("a member less", 0, 1, func() { w.Drop(wire.KindMember, groupID(1)+"/one") })
	cost("a rule more", 1, 0, func() { w.rule("s", 1, "ingress", "IPv4", nil) })
	cost("a rule less", 1, 0, func() { w.Drop(wire.KindRule, "s") })
	// Two maps, its MAC with its device and its bridge, its address, its link-local address, four chains.
	cost("a port more", 10, 0, func() { w.port(999, 1, []string{"10.1.9.9"}, 1) })
	p := w.port(998, 1, []string{"10.1.9.8"}, 1)
	w.sync()
	cost("an address pair more", 1, 0, func() {
		p.AllowedAddressPairs = []*wire.AddressPair{{IpAddress: "10.1.9.7"}}
		w.Put(wire.KindPort, p.Id, p)
	})
	cost("a port less", 0, 10, func() { w.Drop(wire.KindPort, portID(999)) })
	cost("a prefix among members", 3, 0, func() { w.member(1, "wide", "10.9.0.0/16") }) // its set, and it, and the rules that ask
	cost("a second prefix", 1, 0, func() { w.member(1, "wider", "10.10.0.0/16") })
}
