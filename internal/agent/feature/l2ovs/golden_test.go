package l2ovs

import (
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"isospin/internal/agent/feature/brint"
	"isospin/internal/dataplane/openflow"
	"isospin/internal/dataplane/vswitch"
	"isospin/internal/wire"
)

var update = flag.Bool("update", false, "write the golden files and the reference page anew")

func TestGolden(t *testing.T) {
	cases := map[string]func(w *world){
		"nothing": func(*world) {},
		"no-local-interface": func(w *world) {
			w.network(1, segment("vxlan", "", 100))
			w.port(1, 1, "vxlan", "192.0.2.1")
			w.forward(2, 1, "vxlan", "10.0.0.2", "192.0.2.2")
		},
		"vxlan":    func(w *world) { two(w, segment("vxlan", "", 100)) },
		"gre":      func(w *world) { two(w, segment("gre", "", 100)) },
		"geneve":   func(w *world) { two(w, segment("geneve", "", 100)) },
		"vlan":     func(w *world) { two(w, segment("vlan", "physnet1", 100)) },
		"flat":     func(w *world) { two(w, segment("flat", "public", 0)) },
		"local":    func(w *world) { two(w, segment("local", "", 0)) },
		"unmapped": func(w *world) { two(w, segment("vlan", "elsewhere", 100)) },
		"multi-segment": func(w *world) {
			w.network(1, segment("vlan", "physnet1", 100), segment("vxlan", "", 200), segment("vlan", "elsewhere", 300), segment("geneve", "", 400))
			w.port(1, 1, "vlanphysnet1", "192.0.2.1")
			w.plug("tap1", portID(1), 1)
			w.forward(2, 1, "vlanphysnet1", "10.0.0.2", "192.0.2.2")
			w.forward(3, 1, "vxlan", "10.0.0.3", "192.0.2.3")
			w.forward(4, 1, "vlanelsewhere", "10.0.0.4", "192.0.2.4")
			w.forward(5, 1, "geneve", "10.0.0.5", "192.0.2.5")
			w.forward(6, 1, "vxlan", "10.0.0.3", "192.0.2.6") // the same host: one copy of a flood
			w.forward(7, 1, "vxlan", "", "192.0.2.7")         // a host without tunnels
			w.forward(8, 1, "vxlan", "2001:db8::8", "192.0.2.8")
		},
		"ipv6": func(w *world) {
			w.network(1, segment("vxlan", "", 100))
			w.port(1, 1, "vxlan", "192.0.2.1", "2001:db8::1")
			w.plug("tap1", portID(1), 1)
			w.forward(2, 1, "vxlan", "10.0.0.2", "2001:db8::2")
		},
		"ipv6-kernel": func(w *world) {
			w.cfg.DatapathType = "system"
			w.start()
			w.network(1, segment("vxlan", "", 100))
			w.port(1, 1, "vxlan", "192.0.2.1", "2001:db8::1")
			w.plug("tap1", portID(1), 1)
			w.forward(2, 1, "vxlan", "10.0.0.2", "2001:db8::2")
		},
		"hardware": func(w *world) { // a function of a card: reached as another host's port is
			w.network(1, segment("vlan", "physnet1", 100))
			w.port(1, 1, "vlanphysnet1", "192.0.2.1")
			w.plug("tap1", portID(1), 1)
			p := w.port(2, 1, "vlanphysnet1", "192.0.2.2")
			p.VifType = "hw_veb"
			w.put(wire.KindPort, p.Id, p)
			w.forwardTo("here", 2, 1, "vlanphysnet1", "10.0.0.1", "192.0.2.2")
		},
		"waiting": func(w *world) {
			w.network(1, segment("vlan", "physnet1", 100), segment("vxlan", "", 200))
			w.port(1, 1, "vlanphysnet1", "192.0.2.1")
			w.plug("tap1", portID(1), 1)
			w.waits(2, 1, "vxlan", "192.0.2.2", "2001:db8::2")
			w.plug("tap2", portID(2), 2)
			w.forward(2, 1, "vxlan", "10.0.0.2", "192.0.2.2", "2001:db8::2")
			w.waits(3, 1, "vxlan", "192.0.2.3") // its guest is not there yet
			w.forward(3, 1, "vxlan", "10.0.0.3", "192.0.2.3")
		},
		"states-of-ports": func(w *world) {
			w.network(1, segment("vxlan", "", 100))
			w.port(1, 1, "vxlan", "192.0.2.1")
			w.plug("tap1", portID(1), 1)
			down := w.port(2, 1, "vxlan", "192.0.2.2")
			down.AdminStateUp = false
			w.put(wire.KindPort, down.Id, down)
			w.plug("tap2", portID(2), 2)
			w.port(3, 1, "vxlan", "192.0.2.3") // not plugged
			w.port(4, 1, "vxlan", "192.0.2.4")
			w.plug("tap4", portID(4), 0)                      // no number yet
			w.plug("tap5", portID(5), 5)                      // no document
			w.forward(1, 1, "vxlan", "10.0.0.2", "192.0.2.1") // it has just come from there
			w.plug("tap6", portID(6), 6)                      // its network's document has not come
			w.port(6, 2, "vxlan", "192.0.2.6")                //
			w.plug("tap1-too", portID(1), 7)                  // a second interface with one's iface-id
			w.put(wire.KindPort, "bad", &wire.Port{Id: "bad", NetworkId: netID(1), MacAddress: "none", AdminStateUp: true, SegmentId: "vxlan"})
			w.plug("tap8", "bad", 8)
		},
		"trunk": func(w *world) {
			w.network(1, segment("vxlan", "", 100))
			w.network(2, segment("vlan", "physnet1", 200))
			w.network(3, segment("geneve", "", 300))
			parent := w.port(1, 1, "vxlan", "192.0.2.1")
			w.plug("tap1", portID(1), 1)
			w.port(2, 2, "vlanphysnet1", "192.0.2.2", "2001:db8::2")
			w.port(3, 1, "vxlan", "192.0.2.3") // on the network of the one that carries it
			w.port(4, 1, "vxlan", "192.0.2.4") // not inside, beside them
			w.plug("tap4", portID(4), 4)
			w.trunk(parent, 2, 3, 9) // 9 has no document here
			far := w.port(5, 3, "geneve", "192.0.2.5")
			w.trunk(far, 6) // not plugged
			w.port(6, 3, "geneve", "192.0.2.6")
		},
		"transparent": func(w *world) {
			n := w.network(1, segment("vxlan", "", 100), segment("vlan", "physnet1", 100))
			n.VlanTransparent = true
			w.put(wire.KindNetwork, n.Id, n)
			w.port(1, 1, "vxlan", "192.0.2.1", "2001:db8::1")
			w.plug("tap1", portID(1), 1)
			parent := w.port(2, 1, "vxlan", "192.0.2.2")
			w.plug("tap2", portID(2), 2)
			w.trunk(parent, 3)
			w.port(3, 1, "vxlan", "192.0.2.3")
			w.forward(4, 1, "vxlan", "10.0.0.2", "192.0.2.4")
		},
		"transparent-flat": func(w *world) {
			n := w.network(1, segment("flat", "public", 0))
			n.VlanTransparent = true
			w.put(wire.KindNetwork, n.Id, n)
			w.port(1, 1, "flatpublic", "192.0.2.1")
			w.plug("tap1", portID(1), 1)
		},
		"network-down": func(w *world) {
			two(w, segment("vxlan", "", 100))
			n := w.network(1, segment("vxlan", "", 100))
			n.AdminStateUp = false
			w.put(wire.KindNetwork, n.Id, n)
		},
	}
	for name, build := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, hostConfig())
			build(w)
			w.sync()
			if err := openflow.Conflicts(w.allFlows()); err != nil {
				t.Error(err)
			}
			for _, f := range w.allFlows() {
				if err := f.Check(); err != nil {
					t.Error(err)
				}
			}
			compare(t, filepath.Join("testdata", name+".txt"), w.golden())
		})
	}
}

// inTrunk is a port inside a trunk that another port carries, which is not plugged in.
func inTrunk(w *world) {
	s := segment("vxlan", "", 1)
	w.network(1, s)
	p := w.port(1, 1, s.Id, "192.0.2.1")
	p.DeviceOwner = "trunk:subport"
	w.put(wire.KindPort, p.Id, p)
	w.trunk(w.port(2, 1, s.Id, "192.0.2.2"), 1)
}

// two is a network with two ports here and one elsewhere.
func two(w *world, s *wire.Segment) {
	w.network(1, s)
	w.port(1, 1, s.Id, "192.0.2.1")
	w.port(2, 1, s.Id, "192.0.2.2")
	w.plug("tap1", portID(1), 1)
	w.plug("tap2", portID(2), 2)
	w.forward(3, 1, s.Id, "10.0.0.2", "192.0.2.3")
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

func TestPipeline(t *testing.T) {
	if err := brint.Pipeline().Check(); err != nil {
		t.Error(err)
	}
	compare(t, filepath.Join("..", "..", "..", "..", "docs", "reference", "ovs-pipeline.md"), openflow.Markdown(brint.Pipeline()))
}

func TestReports(t *testing.T) {
	noTunnels, few := hostConfig(), hostConfig()
	noTunnels.LocalIP = netip.Addr{}
	few.TunnelTypes = []string{"gre"}
	cases := []struct {
		name   string
		cfg    Config
		build  func(w *world)
		state  wire.State
		detail string
		docs   string
	}{
		{name: "wired over a tunnel", cfg: hostConfig(), build: func(w *world) { two(w, segment("vxlan", "", 1)) }, state: wire.State_DONE, docs: "tunnel/vxlan network/" + netID(1) + " host"},
		{name: "wired over a bridge", cfg: hostConfig(), build: func(w *world) { two(w, segment("flat", "public", 0)) }, state: wire.State_DONE, docs: "bridge/br-public network/" + netID(1) + " host"},
		{name: "local", cfg: noTunnels, build: func(w *world) { two(w, segment("local", "", 0)) }, state: wire.State_DONE, docs: "network/" + netID(1) + " host"},
		{name: "no mapping", cfg: hostConfig(), build: func(w *world) { two(w, segment("vlan", "elsewhere", 1)) }, state: wire.State_FAILED, detail: "bridge_mappings"},
		{name: "tunnels off", cfg: noTunnels, build: func(w *world) { two(w, segment("vxlan", "", 1)) }, state: wire.State_FAILED, detail: "local_ip"},
		{name: "tunnel type off", cfg: few, build: func(w *world) { two(w, segment("vxlan", "", 1)) }, state: wire.State_FAILED, detail: "tunnel_types"},
		{name: "hardware", cfg: hostConfig(), build: func(w *world) {
			two(w, segment("flat", "public", 0))
			p := w.port(1, 1, "flatpublic")
			p.VifType = "hostdev_physical"
			w.put(wire.KindPort, p.Id, p)
			delete(w.source.now, "tap1")
		}},
		{name: "waits", cfg: hostConfig(), build: func(w *world) { two(w, segment("vxlan", "", 1)); w.waits(1, 1, "vxlan") }, state: wire.State_DONE, docs: "tunnel/vxlan network/" + netID(1) + " host"},
		{name: "waits in vain", cfg: noTunnels, build: func(w *world) { two(w, segment("vxlan", "", 1)); w.waits(1, 1, "vxlan") }, state: wire.State_FAILED, detail: "local_ip"},
		{name: "waits for a cable", cfg: hostConfig(), build: func(w *world) {
			two(w, segment("vxlan", "", 1))
			w.waits(9, 1, "vxlan")
			w.waits(1, 1, "vxlan")
			delete(w.source.now, "tap1")
		}, state: wire.State_UNPLUGGED, detail: "iface-id=p1"},
		{name: "no network yet", cfg: hostConfig(), build: func(w *world) { w.port(1, 1, "vxlan"); w.plug("tap", portID(1), 1) }, state: wire.State_PENDING, detail: "has not come"},
		{name: "another segment", cfg: hostConfig(), build: func(w *world) { two(w, segment("vxlan", "", 1)); w.port(1, 1, "gone") }, state: wire.State_PENDING, detail: "segment gone"},
		{name: "not plugged", cfg: hostConfig(), build: func(w *world) { two(w, segment("vxlan", "", 1)); delete(w.source.now, "tap1") }, state: wire.State_UNPLUGGED, detail: "iface-id=p1"},
		{name: "no document", cfg: hostConfig(), build: func(w *world) { w.plug("tap1", portID(1), 1) }, state: wire.State_PLUGGED, detail: "tap1"},
		{name: "network down", cfg: hostConfig(), build: func(w *world) {
			two(w, segment("vxlan", "", 1))
			n := w.network(1, segment("vxlan", "", 1))
			n.AdminStateUp = false
			w.put(wire.KindNetwork, n.Id, n)
		}, state: wire.State_UNPLUGGED, detail: "network is administratively down"},
		{name: "a small interface", cfg: hostConfig(), build: func(w *world) {
			two(w, segment("vxlan", "", 1))
			w.source.now["tap1"] = vswitch.Interface{Name: "tap1", IfaceID: portID(1), OFPort: 1, MTU: 1449}
		}, state: wire.State_DONE, detail: "MTU is 1450"},
		{name: "in a trunk", cfg: hostConfig(), build: func(w *world) { inTrunk(w); w.plug("tap2", portID(2), 2) }, state: wire.State_DONE, docs: "tunnel/vxlan network/" + netID(1) + " host"},
		{name: "in a trunk that is not plugged", cfg: hostConfig(), build: inTrunk, state: wire.State_UNPLUGGED, detail: "iface-id=" + portID(2)},
		{name: "in no trunk of this host", cfg: hostConfig(), build: func(w *world) { inTrunk(w); w.drop(wire.KindPort, portID(2)) }, state: wire.State_UNPLUGGED, detail: "no port of this host carries"},
		{name: "in a trunk without a document", cfg: hostConfig(), build: func(w *world) {
			inTrunk(w)
			w.plug("tap2", portID(2), 2)
			w.drop(wire.KindPort, portID(1))
		}},
		{name: "no number", cfg: hostConfig(), build: func(w *world) { two(w, segment("vxlan", "", 1)); w.plug("tap1", portID(1), 0) }, state: wire.State_PENDING, detail: "number"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, c.cfg)
			c.build(w)
			w.sync()
			r := w.report(portID(1))
			if r.State != c.state || !strings.Contains(r.Detail, c.detail) || c.docs != "" && strings.Join(r.Docs, " ") != c.docs {
				t.Errorf("%v", r)
			}
		})
	}
}

func TestDatabaseAwayMeansNothingIsGone(t *testing.T) {
	w := newWorld(t, hostConfig())
	two(w, segment("vxlan", "", 1))
	w.sync()
	before := len(w.allFlows())
	w.source.connected, w.source.now = false, nil
	w.sync()
	if got := len(w.allFlows()); got != before {
		t.Errorf("%d flows, before %d", got, before)
	}
	// A start without the database has seen nothing yet.
	w.start()
	if w.feature.Observed() {
		t.Error("observed without a look")
	}
	w.source.connected = true
	if keys, tell := w.feature.watch.Look(); keys != nil || !tell || !w.feature.Observed() {
		t.Errorf("first look: %v %v", keys, tell)
	}
}
