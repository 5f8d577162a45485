package l2ovs

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"isospin/internal/agent"
	"isospin/internal/dataplane/openflow"
	"isospin/internal/wire"
)

// TestSequences draws what happens to a host, in bursts, with restarts of the agent, and compares what is wanted in the end, and what
// is said of every port, with a feature that only sees the end. A port whose report changed must have been named.
func TestSequences(t *testing.T) {
	const networks, ports = 3, 8
	segments := func(r *rapid.T, n int) []*wire.Segment {
		all := []*wire.Segment{segment("vxlan", "", int64(n)), segment("vlan", "physnet1", int64(n)), segment("geneve", "", int64(n)),
			segment("vlan", "elsewhere", int64(n)), segment("local", "", 0)}
		return slices.DeleteFunc(all, func(s *wire.Segment) bool { return rapid.Bool().Draw(r, s.Id) })
	}
	events := []func(r *rapid.T, w *world, n int){
		func(r *rapid.T, w *world, n int) {
			net := w.network(n%networks, segments(r, n%networks+1)...)
			net.VlanTransparent, net.AdminStateUp = rapid.Bool().Draw(r, "tags"), rapid.IntRange(0, 4).Draw(r, "up") > 0
			w.put(wire.KindNetwork, net.Id, net)
		},
		func(_ *rapid.T, w *world, n int) { w.drop(wire.KindNetwork, netID(n%networks)) },
		func(r *rapid.T, w *world, n int) {
			p := w.port(n, n%networks, rapid.SampledFrom([]string{"vxlan", "vlanphysnet1", "vlanelsewhere"}).Draw(r, "segment"), fmt.Sprint("192.0.2.", n), fmt.Sprintf("2001:db8::%x", n))
			p.AdminStateUp = rapid.IntRange(0, 4).Draw(r, "up") > 0
			if rapid.IntRange(0, 6).Draw(r, "broken") == 0 {
				p.MacAddress = "none"
			}
			if rapid.IntRange(0, 2).Draw(r, "inside") == 0 {
				p.DeviceOwner = subport
			}
			p.Host = rapid.SampledFrom([]string{"here", "here", "other", ""}).Draw(r, "host")
			if rapid.Bool().Draw(r, "waits") {
				p.Waiting = []*wire.WaitingBinding{{Host: "here", SegmentId: "vxlan"}}
			}
			w.put(wire.KindPort, p.Id, p)
			if rapid.Bool().Draw(r, "trunk") {
				w.trunk(p, rapid.SliceOfN(rapid.IntRange(0, ports), 0, 4).Draw(r, "of")...)
			}
		},
		func(_ *rapid.T, w *world, n int) { w.drop(wire.KindPort, portID(n)) },
		func(r *rapid.T, w *world, n int) {
			w.forwardTo(rapid.SampledFrom([]string{"other", "here"}).Draw(r, "host"), n, n%networks, rapid.SampledFrom([]string{"vxlan", "vlanphysnet1", "geneve"}).Draw(r, "segment"),
				rapid.SampledFrom([]string{"10.0.0.2", "10.0.0.3", ""}).Draw(r, "tunnel"), fmt.Sprint("192.0.2.", n))
		},
		func(_ *rapid.T, w *world, n int) { w.drop(wire.KindForward, portID(n)) },
		func(r *rapid.T, w *world, n int) { // plugged, replugged with another number, two interfaces of one port
			number := rapid.SampledFrom([]int{0, 10 + n, 30 + n}).Draw(r, "number")
			w.plug(fmt.Sprint("tap", n), portID(rapid.IntRange(0, ports).Draw(r, "of")), number)
		},
		func(_ *rapid.T, w *world, n int) { delete(w.source.now, fmt.Sprint("tap", n)) },
		func(_ *rapid.T, w *world, n int) { w.source.connected = n%4 != 0 },
	}
	rapid.Check(t, func(r *rapid.T) {
		w := newWorld(r, hostConfig())
		said := map[string]agent.Report{}
		look := func(named []string, all bool) {
			for n := range ports + 1 {
				id := portID(n)
				now := w.report(id)
				if !all && !slices.Contains(named, id) && !cmp.Equal(said[id], now) {
					r.Fatalf("the report of %s changed unnamed: %v, now %v", id, said[id], now)
				}
				said[id] = now
			}
			if err := openflow.Conflicts(w.allFlows()); err != nil {
				r.Fatalf("%v", err)
			}
		}
		for range rapid.IntRange(1, 12).Draw(r, "bursts") {
			for range rapid.IntRange(1, 4).Draw(r, "events") {
				rapid.SampledFrom(events).Draw(r, "event")(r, w, rapid.IntRange(0, ports).Draw(r, "n"))
			}
			if rapid.IntRange(0, 5).Draw(r, "restart") == 0 {
				w.source.connected = true
				w.start()
				look(nil, true)
				continue
			}
			look(w.sync().Ports, false)
		}
		w.source.connected = true
		w.sync()
		wantedFlows, wantedPorts := w.flows.merged(), w.ports.merged()
		reports := map[string]agent.Report{}
		for n := range ports + 1 {
			reports[portID(n)] = w.report(portID(n))
		}
		w.start()
		same(r, "flows", texts(w.flows.merged()), texts(wantedFlows))
		same(r, "switch ports", fmt.Sprint(w.ports.merged()), fmt.Sprint(wantedPorts))
		for id, before := range reports {
			same(r, "report of "+id, fmt.Sprint(w.report(id)), fmt.Sprint(before))
		}
	})
}

func same(t failer, what string, scratch, got any) {
	t.Helper()
	if d := cmp.Diff(scratch, got); d != "" {
		t.Fatalf("%s differ from those of a start: %s", what, d)
	}
}

func texts(m map[openflow.Key]openflow.Flow) (out []string) {
	for f := range maps.Values(m) {
		out = append(out, f.String())
	}
	slices.Sort(out)
	return out
}
