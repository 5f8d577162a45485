package qos

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"isospin/internal/change"
	"isospin/internal/dataplane/openflow"
	"isospin/internal/wire"
)

var update = flag.Bool("update", false, "write the golden files anew")

// everything is one rule of each kind and direction.
func everything() []*wire.QoSRule {
	return []*wire.QoSRule{
		rule("bandwidth_limit", "egress", 5000, 0), rule("bandwidth_limit", "ingress", 10000, 8000), rule("dscp_marking", "", 46, 0),
		rule("packet_rate_limit", "egress", 1, 0), rule("packet_rate_limit", "ingress", 2, 1), rule("minimum_bandwidth", "egress", 1000, 0),
		rule("minimum_bandwidth", "ingress", 1000, 0), rule("minimum_packet_rate", "any", 1, 0),
	}
}

func TestGolden(t *testing.T) {
	cases := map[string]func(w *world){
		"none":       func(w *world) { w.network("net", ""); w.port(1, ""); w.plug(portID(1), 1) },
		"everything": func(w *world) { w.policy("q", everything()...); w.port(1, "q"); w.plug(portID(1), 1) },
		"egress":     func(w *world) { w.policy("q", everything()[0]); w.port(1, "q"); w.plug(portID(1), 1) },
		"ingress":    func(w *world) { w.policy("q", everything()[1]); w.port(1, "q"); w.plug(portID(1), 1) },
		"mark":       func(w *world) { w.policy("q", everything()[2]); w.port(1, "q"); w.plug(portID(1), 1) },
		"packets": func(w *world) {
			w.policy("q", everything()[3], everything()[4])
			w.port(1, "q")
			w.plug(portID(1), 1)
		},
		"whose-policy": func(w *world) {
			w.policy("own", rule("bandwidth_limit", "egress", 1000, 0))
			w.policy("nets", rule("bandwidth_limit", "egress", 2000, 0))
			w.network("net", "nets")
			w.port(1, "")
			w.port(2, "own")
			w.port(3, "bare") // a policy without rules is one, too
			w.port(4, "", func(p *wire.Port) { p.DeviceOwner = "network:dhcp" })
			w.port(5, "own", func(p *wire.Port) { p.DeviceOwner = "network:dhcp" })
			w.port(6, "", func(p *wire.Port) { p.DeviceOwner = "network:router_gateway" })
			w.port(7, "own", func(p *wire.Port) { p.AdminStateUp = false })
			w.port(8, "own") // not plugged
			for n := range 7 {
				w.plug(portID(n+1), n+1)
			}
		},
		"guarantees": func(w *world) {
			w.policy("q", rule("minimum_bandwidth", "egress", 3000, 0), rule("minimum_bandwidth", "ingress", 4000, 0))
			w.policy("marked", rule("minimum_bandwidth", "egress", 5000, 0), rule("dscp_marking", "", 10, 0), rule("packet_rate_limit", "egress", 1, 0))
			w.network("net", "")
			on := func(segment string) func(*wire.Port) { return func(p *wire.Port) { p.SegmentId = segment } }
			w.port(1, "q", on("vlan"))
			w.port(2, "marked", on("vlan"))
			w.port(3, "q", on("vxlan"))
			w.port(4, "q", on("elsewhere"))
			for n := range 4 {
				w.plug(portID(n+1), n+1)
			}
		},
		"in-part": func(w *world) { // what cannot be read stops nothing else
			w.policy("q", rule("bandwidth_limit", "egress", 1000, 0), rule("bandwidth_limit", "sideways", 1000, 0), rule("new_kind", "egress", 1, 0),
				rule("bandwidth_limit", "ingress", 0, 0), rule("dscp_marking", "", 64, 0))
			w.port(1, "q")
			w.plug(portID(1), 1)
		},
	}
	for name, build := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
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

func TestBursts(t *testing.T) {
	for _, c := range []struct {
		rate, burst, unit int64
		least             uint32
		want              Limit
	}{
		{5000, 0, 1, leastBits, Limit{5000, 4000}},
		{5000, 10000, 1, leastBits, Limit{5000, 10000}},
		{5000, 100, 1, leastBits, Limit{5000, 2000}}, // a bucket that TCP can live with
		{64, 1, 1, leastBits, Limit{64, 128}},
		{1<<31 - 1, 0, 1, leastBits, Limit{1<<31 - 1, 1717986917}},
		{1, 0, 1000, leastPackets, Limit{1000, 800}},
		{0, 100, 1, leastBits, Limit{}},
	} {
		if got, err := limit(c.rate, c.burst, c.unit, c.least); got != c.want || err != nil {
			t.Errorf("%d with burst %d: %v (%v), want %v", c.rate, c.burst, got, err, c.want)
		}
	}
	for _, rate := range []int64{-1, 1 << 40} {
		if _, err := limit(rate, 0, 1, 1); err == nil {
			t.Errorf("a rate of %d is one", rate)
		}
	}
}

// TestWhatIsSaid: of each port how its policy stands, with what cannot be kept of it.
func TestWhatIsSaid(t *testing.T) {
	w := newWorld(t)
	w.policy("q", rule("bandwidth_limit", "egress", 1000, 0))
	w.network("net", "")
	w.port(1, "q")
	w.port(2, "")
	w.plug(portID(2), 2)
	w.sync()
	if r := w.report(portID(1)); r.State != wire.State_UNPLUGGED {
		t.Errorf("not plugged in: %v", r)
	}
	w.plug(portID(1), 1)
	w.sync()
	if r := w.report(portID(1)); r.State != wire.State_DONE || r.Generation != 3 {
		t.Errorf("with a policy: %v", r)
	}
	if r := w.report(portID(2)); r.State != wire.State_UNPLUGGED {
		t.Errorf("without a policy: %v", r)
	}
	w.policy("q", rule("new_kind", "egress", 1000, 0))
	key := change.Key{Kind: wire.KindPort, ID: portID(1)}
	if err := w.sync().Faults[key]; err == nil || !strings.Contains(err.Error(), "new_kind") {
		t.Errorf("a rule of another age: %v", err)
	}
	w.port(1, "")
	if err, told := w.sync().Faults[key]; err != nil || !told {
		t.Errorf("without the policy: %v", err)
	}
	if r := w.report(portID(1)); r.State != wire.State_UNPLUGGED {
		t.Errorf("without the policy: %v", r)
	}
	if _, ok := w.feature.Report(w.docs, "stranger"); ok {
		t.Error("a port without a document is spoken of")
	}
}

// TestAChangeIsMadeInPlace: another rate is the same meter, and no flow is touched; another policy too.
func TestAChangeIsMadeInPlace(t *testing.T) {
	w := newWorld(t)
	w.policy("q", everything()...)
	w.policy("other", everything()...)
	w.port(1, "q")
	w.plug(portID(1), 1)
	w.sync()
	flows, meters := texts(w.flows.merged()), w.meters.merged()
	same := func(what string) {
		t.Helper()
		if d := cmp.Diff(flows, texts(w.flows.merged())); d != "" {
			t.Errorf("%s: flows were touched: %s", what, d)
		}
		for id := range meters {
			if _, there := w.meters.merged()[id]; !there {
				t.Errorf("%s: meter %d is gone", what, id)
			}
		}
	}
	rules := everything()
	for _, r := range rules[:2] {
		r.Value *= 2
	}
	w.policy("q", rules...)
	w.sync()
	same("another rate")
	if cmp.Equal(meters, w.meters.merged()) {
		t.Error("the rate is what it was")
	}
	w.port(1, "other")
	w.sync()
	same("another policy")
	w.network("net", "other")
	w.port(1, "")
	w.sync()
	same("the network's policy")
}

// TestGuaranteesWithoutQueues: where the datapath cannot queue, that is told, and the port's policy is kept for the rest.
func TestGuaranteesWithoutQueues(t *testing.T) {
	w := newWorld(t)
	w.cfg.Queues = false
	w.start()
	w.policy("q", rule("minimum_bandwidth", "egress", 3000, 0), rule("bandwidth_limit", "egress", 5000, 0))
	w.network("net", "")
	w.port(1, "q", func(p *wire.Port) { p.SegmentId = "vlan" })
	w.plug(portID(1), 1)
	w.sync()
	if r := w.report(portID(1)); r.State != wire.State_DONE || !strings.Contains(r.Detail, "no queues") || w.guaranteed() != "" {
		t.Errorf("%v %s", r, w.guaranteed())
	}
	w.policy("q", rule("bandwidth_limit", "egress", 5000, 0))
	w.sync()
	if r := w.report(portID(1)); r.State != wire.State_DONE || r.Detail != "" {
		t.Errorf("without the guarantee: %v", r)
	}
}
