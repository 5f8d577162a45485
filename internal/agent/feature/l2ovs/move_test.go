package l2ovs

import (
	"fmt"
	"strings"
	"testing"

	"isospin/internal/agent/feature/brint"
	"isospin/internal/dataplane/openflow"
	"isospin/internal/wire"
)

// table is flows by their slot (table, priority, match): what a switch has one of each of.
type table map[string]openflow.Flow

func tableOf(flows []openflow.Flow) table {
	out := table{}
	for _, f := range flows {
		slot, _, _ := strings.Cut(f.String(), " actions=")
		out[slot] = f
	}
	return out
}

// leads tells where frames of network 1 for a MAC address are led, those from a port of this host and those from the fabric: "here",
// "away" or "nowhere". Two flows of one priority that disagree are an error.
func (flows table) leads(t *testing.T, to string) string {
	t.Helper()
	find := func(other string) string {
		best, where := -1, "nowhere"
		for slot, f := range flows {
			if f.Table != brint.Forward || !strings.Contains(slot, "metadata=0x100000000,") || !strings.Contains(slot, "dl_dst="+to) || strings.Contains(slot, other) {
				continue
			}
			at := "away"
			if strings.Contains(f.String(), fmt.Sprint("resubmit(,", brint.Ingress, ")")) {
				at = "here"
			}
			switch p := int(f.Priority); {
			case p > best:
				best, where = p, at
			case p == best && at != where:
				t.Errorf("flows of one priority disagree on %s", to)
			}
		}
		return where
	}
	return find("reg0=0x1") + "/" + find("reg0=0x0")
}

// TestAMoveHasNoGap: on the host that a port leaves, on the one that it comes to and on a third one, in whatever order the two documents
// come, every set of flows that a switch goes through leads the port's frames to one place.
func TestAMoveHasNoGap(t *testing.T) {
	vxlan := segment("vxlan", "", 100)
	moved := func(w *world) { w.forwardTo("here", 2, 1, vxlan.Id, "10.0.0.1", "192.0.2.2") }
	left := func(w *world) { w.forwardTo("other", 2, 1, vxlan.Id, "10.0.0.2", "192.0.2.2") }
	ours := func(w *world) {
		p := w.port(2, 1, vxlan.Id, "192.0.2.2")
		p.Host, p.Wiring = "here", 2
		w.put(wire.KindPort, p.Id, p)
	}
	bystander := func(w *world) {
		w.network(1, vxlan)
		w.port(1, 1, vxlan.Id, "192.0.2.1")
		w.plug("tap1", portID(1), 1)
	}
	source := func(w *world) {
		bystander(w)
		p := w.port(2, 1, vxlan.Id, "192.0.2.2")
		p.Host, p.Waiting = "here", []*wire.WaitingBinding{{Host: "other", SegmentId: vxlan.Id}}
		w.put(wire.KindPort, p.Id, p)
		moved(w)
		w.plug("tap2", portID(2), 2)
	}
	target := func(w *world) {
		bystander(w)
		w.waits(2, 1, vxlan.Id, "192.0.2.2")
		left(w)
		w.plug("tap2", portID(2), 2)
	}
	gone := func(w *world) { w.drop(wire.KindPort, portID(2)) }
	cases := []struct {
		name         string
		build        func(w *world)
		steps        []func(w *world)
		backward     bool   // not in the order in which a server sends them
		before, then string // where its frames are led: from ports of this host/from the fabric
		writes       int    // flows put and dropped
	}{
		{"source, entry first", source, []func(*world){left, gone}, false, "here/here", "away/nowhere", 7},
		{"source, port first", source, []func(*world){gone, left}, true, "here/here", "away/nowhere", 8},
		{"target, entry first", target, []func(*world){moved, ours}, false, "away/here", "here/here", 5},
		{"target, port first", target, []func(*world){ours, moved}, true, "away/here", "here/here", 5},
		{"third", func(w *world) { bystander(w); w.forwardTo("first", 2, 1, vxlan.Id, "10.0.0.3", "192.0.2.2") }, []func(*world){left}, false, "away/nowhere", "away/nowhere", 2},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, hostConfig())
			c.build(w)
			w.sync()
			have := tableOf(w.allFlows())
			if got := have.leads(t, mac(2)); got != c.before {
				t.Fatalf("led %s, want %s", got, c.before)
			}
			writes := 0
			for i, step := range c.steps {
				step(w)
				w.sync()
				look := func(when string) {
					// With the last document, and with each of those that come as a server sends them, there is always a place.
					if got := have.leads(t, mac(2)); strings.HasPrefix(got, "nowhere") && (i == len(c.steps)-1 || !c.backward) {
						t.Errorf("step %d, %s: led %s", i, when, got)
					}
				}
				want := tableOf(w.allFlows())
				for slot, f := range want {
					if old, ok := have[slot]; !ok || old.String() != f.String() {
						have[slot] = f
						writes++
					}
				}
				look("all put")
				for slot := range have {
					if _, ok := want[slot]; !ok {
						delete(have, slot)
						writes++
					}
				}
				look("all dropped")
			}
			if got := have.leads(t, mac(2)); got != c.then {
				t.Errorf("led %s, want %s", got, c.then)
			}
			if writes != c.writes {
				t.Errorf("the move took %d writes, %d are its own", writes, c.writes)
			}
		})
	}
}
