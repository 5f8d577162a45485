package l2bridge

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"isospin/internal/agent"
	"isospin/internal/wire"
)

// TestSequences draws what happens to a host, in bursts, with restarts of the agent, and compares what is wanted in the end, and what
// is said of every port, with a feature that only sees the end. A port whose report changed must have been named.
func TestSequences(t *testing.T) {
	const networks, ports = 3, 8
	segments := func(r *rapid.T, n int) []*wire.Segment {
		all := []*wire.Segment{segment("vxlan", "", int64(n)), segment("vlan", "physnet1", int64(n)), segment("flat", "mapped", 0),
			segment("vlan", "elsewhere", int64(n)), segment("local", "", 0)}
		return slices.DeleteFunc(all, func(s *wire.Segment) bool { return rapid.Bool().Draw(r, s.Id) })
	}
	sampled := func(r *rapid.T, what string, of ...string) string { return rapid.SampledFrom(of).Draw(r, what) }
	events := []func(r *rapid.T, w *world, n int){
		func(r *rapid.T, w *world, n int) {
			d := w.network(n%networks, segments(r, n%networks+1)...)
			if rapid.IntRange(0, 4).Draw(r, "up") == 0 {
				d.AdminStateUp = false
				w.put(wire.KindNetwork, d.Id, d)
			}
		},
		func(_ *rapid.T, w *world, n int) { w.drop(wire.KindNetwork, netID(n%networks)) },
		func(r *rapid.T, w *world, n int) {
			p := w.port(n, rapid.IntRange(0, networks-1).Draw(r, "network"), sampled(r, "segment", "vxlan", "vlanphysnet1", "vlanelsewhere"), fmt.Sprint("192.0.2.", n))
			p.AdminStateUp = rapid.IntRange(0, 4).Draw(r, "up") > 0
			if rapid.IntRange(0, 4).Draw(r, "waits") == 0 {
				p.Host, p.Waiting = "other", []*wire.WaitingBinding{{Host: "here", SegmentId: "vxlan"}}
			}
			if rapid.IntRange(0, 2).Draw(r, "inside") == 0 {
				p.DeviceOwner = subport
			}
			w.put(wire.KindPort, p.Id, p)
			if rapid.Bool().Draw(r, "trunk") {
				w.trunk(p, rapid.SliceOfN(rapid.IntRange(0, ports), 0, 4).Draw(r, "of")...)
			}
		},
		func(_ *rapid.T, w *world, n int) { w.drop(wire.KindPort, portID(n)) },
		func(r *rapid.T, w *world, n int) {
			w.forward(n, rapid.IntRange(0, networks-1).Draw(r, "network"), sampled(r, "segment", "vxlan", "vlanphysnet1", "geneve"),
				sampled(r, "tunnel", "10.0.0.2", "10.0.0.3", ""), fmt.Sprint("192.0.2.", n))
		},
		func(_ *rapid.T, w *world, n int) { w.drop(wire.KindForward, portID(n)) },
		func(r *rapid.T, w *world, n int) { w.plug(n, 10+rapid.IntRange(1, 3).Draw(r, "index")) },
		func(_ *rapid.T, w *world, n int) { delete(w.source.now, TapName(portID(n))) },
		func(_ *rapid.T, w *world, n int) {
			if n%2 == 0 {
				delete(w.source.now, "eth1")
			} else {
				w.source.now["eth1"] = n
			}
		},
	}
	cfg := hostConfig()
	cfg.ARPResponder = true
	rapid.Check(t, func(r *rapid.T) {
		w := newWorld(r, cfg)
		said := map[int]agent.Report{}
		look := func(named []string, all bool) {
			for n := range ports + 1 {
				now := w.report(n)
				if !all && !slices.Contains(named, portID(n)) && !cmp.Equal(said[n], now) {
					r.Fatalf("the report of %d changed unnamed: %v, now %v", n, said[n], now)
				}
				said[n] = now
			}
		}
		for range rapid.IntRange(1, 12).Draw(r, "bursts") {
			for range rapid.IntRange(1, 4).Draw(r, "events") {
				rapid.SampledFrom(events).Draw(r, "event")(r, w, rapid.IntRange(0, ports).Draw(r, "n"))
			}
			if rapid.IntRange(0, 5).Draw(r, "restart") == 0 {
				w.start()
				look(nil, true)
				continue
			}
			// What a look at everything says of ports is said of all that were ever spoken of.
			eth1 := w.feature.present["eth1"]
			res := w.sync()
			look(res.Ports, eth1 != w.feature.present["eth1"])
		}
		w.sync()
		wanted, reports := w.lines(), map[int]agent.Report{}
		for n := range ports + 1 {
			reports[n] = w.report(n)
		}
		w.start()
		if d := cmp.Diff(w.lines(), wanted); d != "" {
			r.Fatalf("what is wanted differs from that of a start: %s", d)
		}
		for n, before := range reports {
			if d := cmp.Diff(w.report(n), before); d != "" {
				r.Fatalf("the report of %d differs from that of a start: %s", n, d)
			}
		}
	})
}
