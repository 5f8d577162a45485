package l2bridge

import (
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"isospin/internal/wire"
)

var update = flag.Bool("update", false, "write the golden files anew")

// two is a network with two ports here and one elsewhere.
func two(w *world, s *wire.Segment) {
	w.network(1, s)
	w.port(1, 1, s.Id, "192.0.2.1")
	w.port(2, 1, s.Id, "192.0.2.2")
	w.plug(1, 11)
	w.plug(2, 12)
	w.forward(3, 1, s.Id, "10.0.0.2", "192.0.2.3", "2001:db8::3")
}

func TestGolden(t *testing.T) {
	answers := func(c *Config) { c.ARPResponder = true }
	six := func(c *Config) { c.LocalIP, c.TTL, c.TOS = netip.MustParseAddr("2001:db8:1::1"), 64, 1 }
	cases := []struct {
		name  string
		cfg   func(*Config)
		build func(w *world)
	}{
		{"nothing", nil, func(*world) {}},
		{"no-local-device", nil, func(w *world) { two(w, segment("vxlan", "", 100)); w.source.now = map[string]int{} }},
		{"vxlan", nil, func(w *world) { two(w, segment("vxlan", "", 100)) }},
		{"vxlan-answers", answers, func(w *world) { two(w, segment("vxlan", "", 100)) }},
		{"vxlan-ipv6", six, func(w *world) {
			two(w, segment("vxlan", "", 16777215))
			w.forward(4, 1, "vxlan", "2001:db8:1::2", "192.0.2.4")
		}},
		{"vlan", nil, func(w *world) { two(w, segment("vlan", "physnet1", 100)) }},
		{"vlan-on-a-bridge", nil, func(w *world) { two(w, segment("vlan", "mapped", 4094)) }},
		{"flat", nil, func(w *world) { two(w, segment("flat", "public", 0)) }},
		{"flat-on-a-bridge", nil, func(w *world) { two(w, segment("flat", "mapped", 0)) }},
		{"local", nil, func(w *world) { two(w, segment("local", "", 0)) }},
		{"unmapped", nil, func(w *world) { two(w, segment("vlan", "elsewhere", 100)) }},
		{"gre", nil, func(w *world) { two(w, segment("gre", "", 100)) }},
		{"transparent", nil, func(w *world) {
			s := segment("vlan", "physnet1", 100)
			two(w, s)
			w.put(wire.KindNetwork, netID(1), &wire.Network{Id: netID(1), AdminStateUp: true, Mtu: 1450, Segments: []*wire.Segment{s}, VlanTransparent: true})
		}},
		{"network-down", nil, func(w *world) {
			s := segment("vxlan", "", 100)
			two(w, s)
			w.put(wire.KindNetwork, netID(1), &wire.Network{Id: netID(1), Mtu: 1450, Segments: []*wire.Segment{s}})
		}},
		{"multi-segment", answers, func(w *world) {
			w.network(1, segment("vlan", "physnet1", 100), segment("vxlan", "", 200), segment("vlan", "elsewhere", 300), segment("geneve", "", 400))
			w.port(1, 1, "vlanphysnet1", "192.0.2.1")
			w.plug(1, 11)
			w.forward(2, 1, "vlanphysnet1", "10.0.0.2", "192.0.2.2") // met on the VLAN: no copy by the tunnel
			w.forward(3, 1, "vxlan", "10.0.0.3", "192.0.2.3")
			w.forward(4, 1, "vlanelsewhere", "10.0.0.4", "192.0.2.4")
			w.forward(5, 1, "geneve", "10.0.0.5", "192.0.2.5")
			w.forward(6, 1, "vxlan", "10.0.0.3", "192.0.2.6") // the same host: one copy of a flood
			w.forward(7, 1, "vxlan", "", "192.0.2.7")         // a host without tunnels
			w.forward(8, 1, "vxlan", "2001:db8::8", "192.0.2.8")
		}},
		{"trunk", nil, func(w *world) {
			w.network(1, segment("vxlan", "", 100))
			w.network(2, segment("vlan", "physnet1", 200))
			parent := w.port(1, 1, "vxlan", "192.0.2.1")
			w.plug(1, 11)
			w.port(2, 2, "vlanphysnet1", "192.0.2.2")
			w.plug(2, 12) // the device has been made
			w.port(3, 1, "vxlan", "192.0.2.3")
			w.trunk(parent, 2, 3, 9)
			away := w.port(4, 1, "vxlan", "192.0.2.4") // not plugged
			w.trunk(away, 5)
			down := w.port(6, 1, "vxlan", "192.0.2.6")
			w.plug(6, 16)
			down.AdminStateUp = false
			w.trunk(down, 7)
		}},
		{"states-of-ports", nil, func(w *world) {
			w.network(1, segment("vxlan", "", 100))
			w.port(1, 1, "vxlan", "192.0.2.1")
			w.plug(1, 11)
			down := w.port(2, 1, "vxlan", "192.0.2.2")
			down.AdminStateUp = false
			w.put(wire.KindPort, down.Id, down)
			w.plug(2, 12)
			w.port(3, 1, "vxlan", "192.0.2.3")                // not plugged
			w.plug(5, 15)                                     // no document
			w.forward(1, 1, "vxlan", "10.0.0.2", "192.0.2.1") // it has just come from there
			w.port(6, 2, "vxlan", "192.0.2.6")                // its network's document has not come
			w.plug(6, 16)
			waits := w.port(7, 1, "", "192.0.2.7")
			waits.Host, waits.Waiting = "other", []*wire.WaitingBinding{{Host: "here", SegmentId: "vxlan"}}
			w.put(wire.KindPort, waits.Id, waits)
			w.plug(7, 17)
			w.forward(7, 1, "vxlan", "10.0.0.7", "192.0.2.7") // it is still there
			w.put(wire.KindForward, "bad", &wire.Forward{PortId: "bad", NetworkId: netID(1), MacAddress: "none", SegmentId: "vxlan", TunnelIp: "10.0.0.9"})
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			cfg := hostConfig()
			if c.cfg != nil {
				c.cfg(&cfg)
			}
			w := newWorld(t, cfg)
			c.build(w)
			w.sync()
			for device, m := range w.members.merged() {
				if !cfg.Owns(device, m.Bridge) {
					t.Errorf("%s in %s would not be known after a restart", device, m.Bridge)
				}
			}
			compare(t, filepath.Join("testdata", c.name+".txt"), w.golden())
		})
	}
}

func compare(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
		t.Errorf("%s differs (-update writes it anew): %s", path, d)
	}
}

func TestReports(t *testing.T) {
	noTunnels := hostConfig()
	noTunnels.LocalIP = netip.Addr{}
	off := hostConfig()
	off.VXLAN = false
	on := func(kind, phys string) func(w *world) { return func(w *world) { two(w, segment(kind, phys, 1)) } }
	cases := []struct {
		name   string
		cfg    Config
		build  func(w *world)
		state  wire.State
		detail string
		docs   string
	}{
		{name: "wired over a tunnel", cfg: hostConfig(), build: on("vxlan", ""), state: wire.State_DONE, docs: "segment/" + netID(1) + "/vxlan network/" + netID(1)},
		{name: "wired over a device", cfg: hostConfig(), build: on("flat", "public"), state: wire.State_DONE, docs: "segment/" + netID(1) + "/flatpublic network/" + netID(1)},
		{name: "local", cfg: noTunnels, build: on("local", ""), state: wire.State_DONE, docs: "network/" + netID(1)},
		{name: "no mapping", cfg: hostConfig(), build: on("vlan", "elsewhere"), state: wire.State_FAILED, detail: "physical_interface_mappings"},
		{name: "no such device", cfg: hostConfig(), build: func(w *world) { two(w, segment("flat", "public", 0)); delete(w.source.now, "eth2") }, state: wire.State_FAILED, detail: "no device eth2"},
		{name: "no such bridge", cfg: hostConfig(), build: func(w *world) { two(w, segment("flat", "mapped", 0)); delete(w.source.now, "br-ext") }, state: wire.State_FAILED, detail: "bridge_mappings"},
		{name: "tunnels off", cfg: noTunnels, build: on("vxlan", ""), state: wire.State_FAILED, detail: "local_ip"},
		{name: "vxlan off", cfg: off, build: on("vxlan", ""), state: wire.State_FAILED, detail: "enable_vxlan"},
		{name: "gre", cfg: hostConfig(), build: on("gre", ""), state: wire.State_FAILED, detail: "type gre"},
		{name: "no network yet", cfg: hostConfig(), build: func(w *world) { w.port(1, 1, "vxlan"); w.plug(1, 11) }, state: wire.State_PENDING, detail: "has not come"},
		{name: "another segment", cfg: hostConfig(), build: func(w *world) { two(w, segment("vxlan", "", 1)); w.port(1, 1, "gone") }, state: wire.State_PENDING, detail: "segment gone"},
		{name: "not plugged", cfg: hostConfig(), build: func(w *world) { two(w, segment("vxlan", "", 1)); delete(w.source.now, TapName(portID(1))) }, state: wire.State_UNPLUGGED, detail: "tap00000001-aa"},
		{name: "no document", cfg: hostConfig(), build: func(w *world) { w.plug(1, 11) }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, c.cfg)
			c.build(w)
			w.sync()
			r := w.report(1)
			if r.State != c.state || !strings.Contains(r.Detail, c.detail) || c.docs != "" && strings.Join(r.Docs, " ") != c.docs {
				t.Errorf("%v", r)
			}
		})
	}
}

// TestAChangeCostsItsOwnSize: on a network with 50 ports here and 1,000 elsewhere, what one change makes be written.
func TestAChangeCostsItsOwnSize(t *testing.T) {
	w := newWorld(t, hostConfig())
	w.network(1, segment("vxlan", "", 100))
	for n := range 50 {
		w.port(n, 1, "vxlan", fmt.Sprint("192.0.2.", n))
		w.plug(n, 100+n)
	}
	for n := 50; n < 1050; n++ {
		w.forward(n, 1, "vxlan", fmt.Sprintf("10.0.1.%d", n%20+1))
	}
	w.sync()
	for _, c := range []struct {
		name   string
		writes int
		do     func()
	}{
		{"a guest comes", 1, func() { w.port(60000, 1, "vxlan"); w.plug(60000, 9) }},
		{"its device is made again", 1, func() { w.plug(60000, 10) }},
		{"it goes", 1, func() { w.drop(wire.KindPort, portID(60000)) }},
		{"a port elsewhere comes", 1, func() { w.forward(61000, 1, "vxlan", "10.0.1.1") }},
		{"it moves", 1, func() { w.forward(61000, 1, "vxlan", "10.0.1.2") }},
		{"to a host that has none yet", 2, func() { w.forward(61000, 1, "vxlan", "10.0.9.1") }},
		{"it goes too", 2, func() { w.drop(wire.KindForward, portID(61000)) }},
		{"nothing", 0, func() {}},
	} {
		before := w.writes()
		c.do()
		w.sync()
		if got := w.writes() - before; got != c.writes {
			t.Errorf("%s: %d objects written, want %d", c.name, got, c.writes)
		}
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct {
		got, want string
	}{
		{vlanName("eth1", 100), "eth1.100"},
		{vlanName("ethernet10", 4094), "ethernet10.4094"},
		{vlanName("long_interface", 1), "long240ea3.1"},
		{BridgeName(netID(1)), "brq00000001-00"},
		{TapName(portID(7)), "tap00000007-aa"},
	} {
		if c.got != c.want || len(c.got) > 15 {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
	c := hostConfig()
	c.Interfaces["long"] = "long_interface"
	for _, x := range []struct {
		device, in string
		want       bool
	}{
		{"tap00000007-aa", "brq00000001-00", true}, {"tap00000007-aa", "virbr0", false}, {"tap0", "brq00000001-00", false}, {"vxlan-5", "brq00000001-00", true},
		{"eth2", "brq00000001-00", true}, {"eth2", "br-ext", false}, {"eth1.100", "brq00000001-00", true}, {"eth9.100", "brq00000001-00", false},
		{vlanName("long_interface", 100), "brq00000001-00", true}, {"phy00000001-00", "br-ext", true}, {"vnet0", "br-ext", false}, {"dummy0", "brq00000001-00", false},
	} {
		if got := c.Owns(x.device, x.in); got != x.want {
			t.Errorf("%s in %s is ours: %v", x.device, x.in, got)
		}
	}
}

func TestTheFirstLook(t *testing.T) {
	w := newWorld(t, hostConfig())
	two(w, segment("vxlan", "", 1))
	w.source.seen = false
	w.start()
	if w.feature.Observed() {
		t.Error("observed without a look")
	}
	w.source.seen = true
	if keys, tell := w.feature.watch.look(); keys != nil || !tell || !w.feature.Observed() {
		t.Errorf("first look: %v %v", keys, tell)
	}
}

// TestAPortInsideCostsItself: of a trunk of fifty ports, one that comes and goes costs its own devices, and another device of the carrier costs
// nothing that the kernel has not lost.
func TestAPortInsideCostsItself(t *testing.T) {
	const many = 50
	w := newWorld(t, hostConfig())
	w.network(1, segment("local", "", 0))
	parent := w.port(0, 1, "local")
	w.plug(0, 10)
	var inside []int
	for n := 1; n <= many+1; n++ {
		w.port(n, 1, "local")
		inside = append(inside, n)
	}
	w.trunk(parent, inside[:many]...)
	w.sync()
	cost := func(what string, want, most int, do func()) {
		t.Helper()
		before := w.writes()
		do()
		res := w.sync()
		if n := w.writes() - before; n != want {
			t.Errorf("%s cost %d writes, want %d", what, n, want)
		}
		if len(res.Ports) > most {
			t.Errorf("%s concerned %d ports", what, len(res.Ports))
		}
	}
	cost("a port that came", 2, 4, func() { w.trunk(parent, inside...) })
	cost("a port that went", 2, 4, func() { w.trunk(parent, inside[:many]...) })
	cost("another device", 1, 2*many+2, func() { w.plug(0, 11) })
	if n := len(w.vlans.merged()); n != many {
		t.Errorf("%d devices for %d ports", n, many)
	}
}
