package qos

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

func texts(m map[openflow.Key]openflow.Flow) (out []string) {
	for f := range maps.Values(m) {
		out = append(out, f.String())
	}
	slices.Sort(out)
	return out
}

// drawRules draws a policy's rules.
func drawRules(r *rapid.T) (out []*wire.QoSRule) {
	for _, kind := range []string{"bandwidth_limit", "packet_rate_limit", "dscp_marking", "minimum_bandwidth", "new_kind"} {
		for _, direction := range []string{"egress", "ingress"} {
			if rapid.IntRange(0, 2).Draw(r, kind+direction) == 0 {
				out = append(out, rule(kind, direction, rapid.SampledFrom([]int64{0, 8, 40, 5000}).Draw(r, "value"), rapid.SampledFrom([]int64{0, 4000}).Draw(r, "burst")))
			}
		}
	}
	return out
}

// drawn are what can happen to the documents of a host.
func drawn(ports int) []func(r *rapid.T, d *documents, n int) {
	policy := func(r *rapid.T) string { return rapid.SampledFrom([]string{"", "q1", "q2", "q3"}).Draw(r, "policy") }
	return []func(r *rapid.T, d *documents, n int){
		func(r *rapid.T, d *documents, _ int) { d.network("net", policy(r)) },
		func(_ *rapid.T, d *documents, _ int) { d.drop(wire.KindNetwork, "net") },
		func(r *rapid.T, d *documents, n int) { d.policy(fmt.Sprint("q", n%3+1), drawRules(r)...) },
		func(_ *rapid.T, d *documents, n int) { d.drop(wire.KindQoS, fmt.Sprint("q", n%3+1)) },
		func(r *rapid.T, d *documents, n int) {
			d.port(n, policy(r), func(p *wire.Port) {
				p.AdminStateUp = rapid.IntRange(0, 4).Draw(r, "up") > 0
				p.SegmentId = rapid.SampledFrom([]string{"vlan", "vxlan"}).Draw(r, "segment")
				p.DeviceOwner = rapid.SampledFrom([]string{"", "network:dhcp"}).Draw(r, "owner")
				if rapid.IntRange(0, 6).Draw(r, "broken") == 0 {
					p.MacAddress = "none"
				}
			})
		},
		func(_ *rapid.T, d *documents, n int) { d.drop(wire.KindPort, portID(n)) },
	}
}

// TestSequences draws what happens to a host, in bursts, with restarts of the agent, and compares what is wanted in the end, and what is said of
// every port, with a feature that only sees the end. A port whose report changed must have been named.
func TestSequences(t *testing.T) {
	const ports = 6
	rapid.Check(t, func(r *rapid.T) {
		w := newWorld(r)
		said := map[string]agent.Report{}
		look := func(named []string, all bool) {
			for n := range ports {
				id, now := portID(n), w.report(portID(n))
				if !all && !slices.Contains(named, id) && !cmp.Equal(said[id], now) {
					r.Fatalf("the report of %s changed unnamed: %v, now %v", id, said[id], now)
				}
				said[id] = now
			}
			if err := openflow.Conflicts(w.allFlows()); err != nil {
				r.Fatalf("%v", err)
			}
			for _, f := range w.allFlows() {
				if err := f.Check(); err != nil {
					r.Fatalf("%v", err)
				}
			}
		}
		for range rapid.IntRange(1, 12).Draw(r, "bursts") {
			for range rapid.IntRange(1, 4).Draw(r, "events") {
				n := rapid.IntRange(0, ports-1).Draw(r, "n")
				switch rapid.IntRange(0, 4).Draw(r, "what") {
				case 0:
					w.plug(portID(n), rapid.SampledFrom([]int{0, 10 + n, 30 + n}).Draw(r, "number"))
				case 1:
					delete(w.plugs, "tap"+portID(n))
				default:
					rapid.SampledFrom(drawn(ports)).Draw(r, "event")(r, w.documents, n)
				}
			}
			if rapid.IntRange(0, 5).Draw(r, "restart") == 0 {
				w.start()
				look(nil, true)
				continue
			}
			look(w.sync().Ports, false)
		}
		flows, meters, queues, reports := texts(w.flows.merged()), w.meters.merged(), w.guaranteed(), map[string]agent.Report{}
		for n := range ports {
			reports[portID(n)] = w.report(portID(n))
		}
		uses := slices.Sorted(slices.Values(w.book.Uses("")))
		w.start()
		same(r, "flows", texts(w.flows.merged()), flows)
		same(r, "queues", w.guaranteed(), queues)
		same(r, "meters", w.meters.merged(), meters)
		same(r, "uses", slices.Sorted(slices.Values(w.book.Uses(""))), uses)
		for id, before := range reports {
			same(r, "report of "+id, w.report(id), before)
		}
	})
}

func same(t failer, what string, scratch, got any) {
	t.Helper()
	if d := cmp.Diff(scratch, got); d != "" {
		t.Fatalf("%s differ from those of a start: %s", what, d)
	}
}
