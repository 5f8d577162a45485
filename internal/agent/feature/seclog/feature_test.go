package seclog

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"isospin/internal/agent"
	"isospin/internal/agent/feature/brint"
	"isospin/internal/agent/feature/featuretest"
	"isospin/internal/change"
	"isospin/internal/dataplane/openflow"
	"isospin/internal/reconcile"
	"isospin/internal/wire"
)

var update = flag.Bool("update", false, "write the golden files anew")

type numbers map[string]uint32

func (n numbers) Of(use string) (uint32, error) {
	if id, ok := n[use]; ok {
		return id, nil
	}
	return 0, errors.New("all are in use")
}

// writes counts what is replaced by something else.
type writes struct {
	featuretest.Target[openflow.Key, openflow.Flow]
	n int
}

func (w *writes) Replace(o reconcile.Owner, want map[openflow.Key]openflow.Flow) {
	before := len(w.Target[o])
	same := before == len(want)
	for k := range want {
		_, had := w.Target[o][k]
		same = same && had
	}
	if !same {
		w.n++
	}
	w.Target.Replace(o, want)
}

// host is a host with the feature.
type host struct {
	*featuretest.Host
	t       featuretest.Failer
	numbers numbers
	flows   *writes
	meters  featuretest.Target[uint32, openflow.Meter]
	book    *Book
	feature *Feature
}

func newHost(t featuretest.Failer) *host {
	h := &host{Host: featuretest.New(t), t: t, numbers: numbers{"log/accept": 0x1001, "log/drop": 0x1002}}
	h.start()
	return h
}

func (h *host) start() {
	h.Restart()
	h.flows, h.meters, h.book = &writes{Target: featuretest.Target[openflow.Key, openflow.Flow]{}}, featuretest.Target[uint32, openflow.Meter]{}, NewBook()
	h.feature = New(Config{Rate: 100, Burst: 25}, Targets{Meters: h.meters, Flows: h.flows}, h.Watch, h.numbers, h.book)
	h.feature.Sync(h.Docs, nil, true)
}

func (h *host) sync() agent.Result {
	return h.feature.Sync(h.Docs, h.Dirty(h.feature.Kinds()), false)
}

func (h *host) port(n int, project string, change func(*wire.Port)) {
	p := &wire.Port{Id: fmt.Sprint("p", n), NetworkId: "n", ProjectId: project, AdminStateUp: true, PortSecurityEnabled: true, SecurityGroups: []string{"g1"}}
	if change != nil {
		change(p)
	}
	h.Put(wire.KindPort, p.Id, p)
	h.Plug(fmt.Sprint("tap", n), p.Id, n)
}

func (h *host) order(id, project, event, group, port string) {
	h.Put(wire.KindLog, id, &wire.Log{Id: id, ProjectId: project, Event: event, SecurityGroupId: group, PortId: port})
}

// golden is all that is wanted and known.
func (h *host) golden() string {
	h.t.Helper()
	flows, err := featuretest.Flows(h.flows.Target)
	if err != nil {
		h.t.Errorf("%v", err)
	}
	out := brint.Pipeline().Golden(flows)
	if m := h.meters.Merged(); len(m) > 0 {
		out += fmt.Sprintf("meters %v\n", m)
	}
	for _, n := range []int{1, 2, 3} {
		if e, ok := h.book.ports[fmt.Sprint("p", n)]; ok {
			out += fmt.Sprintf("p%d of %s: accepted for %v, refused for %v\n", n, e.Project, e.Accept, e.Drop)
		}
	}
	return out
}

func TestGolden(t *testing.T) {
	for name, build := range map[string]func(*host){
		"all":        func(h *host) { h.order("l1", "a", eventAll, "", "") },
		"drops":      func(h *host) { h.order("l1", "a", eventDrop, "", "") },
		"accepted":   func(h *host) { h.order("l1", "a", eventAccept, "", "") },
		"one port":   func(h *host) { h.order("l1", "a", eventDrop, "", "p2") },
		"two orders": func(h *host) { h.order("l1", "a", eventDrop, "g1", ""); h.order("l2", "a", eventAll, "", "p1") },
		"another's":  func(h *host) { h.order("l1", "b", eventAll, "", "p1") },
		"no such group": func(h *host) {
			h.order("l1", "a", eventAll, "g2", "")
		},
		"not filtered": func(h *host) {
			h.order("l1", "a", eventAll, "", "")
			h.port(1, "a", func(p *wire.Port) { p.PortSecurityEnabled = false })
			h.port(2, "a", func(p *wire.Port) { p.SecurityGroups = nil })
		},
		"down and away": func(h *host) {
			h.order("l1", "a", eventAll, "", "")
			h.port(1, "a", func(p *wire.Port) { p.AdminStateUp = false })
			h.Unplug("tap2")
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			h.port(1, "a", nil)
			h.port(2, "a", nil)
			build(h)
			for k, err := range h.sync().Faults {
				if err != nil {
					t.Errorf("%v: %v", k, err)
				}
			}
			path := filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(path, []byte(h.golden()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), h.golden()); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestAChangeCostsItsOwnSize: an order on one port is one port's flows, a second on the same port none, and what goes leaves nothing.
func TestAChangeCostsItsOwnSize(t *testing.T) {
	h := newHost(t)
	for n := range 3 {
		h.port(n+1, "a", nil)
	}
	h.sync()
	step := func(what string, want int) {
		t.Helper()
		h.flows.n = 0
		h.sync()
		if h.flows.n != want {
			t.Errorf("%s: %d ports written, want %d", what, h.flows.n, want)
		}
	}
	step("nothing", 0)
	h.order("l1", "a", eventAll, "", "p1")
	step("an order on a port", 1)
	h.order("l2", "a", eventDrop, "g1", "p1")
	step("a second one", 0)
	h.order("l3", "a", eventDrop, "", "")
	step("one on all", 2)
	h.Drop(wire.KindLog, "l3")
	step("which goes", 2)
	h.Drop(wire.KindLog, "l1")
	step("the first goes", 1)
	if project, orders := h.book.find(eventDrop, "p1"); project != "a" || len(orders) != 1 || orders[0] != "l2" {
		t.Errorf("left: %v of %s", orders, project)
	}
	h.Drop(wire.KindLog, "l2")
	step("the last goes", 1)
	if got := h.golden(); got != brint.Pipeline().Golden(nil) {
		t.Errorf("left: %s", got)
	}
}

// TestNoNumbers: where no meter is left nothing is told, since nothing would bound it, and the orders say so.
func TestNoNumbers(t *testing.T) {
	h := newHost(t)
	delete(h.numbers, "log/drop")
	h.port(1, "a", nil)
	h.order("l1", "a", eventAll, "", "")
	if h.sync().Faults[change.Key{Kind: wire.KindLog, ID: "l1"}] == nil {
		t.Error("no fault was told")
	}
	if len(h.flows.Merged()) != 0 || len(h.meters.Merged()) != 0 {
		t.Errorf("wanted: %s", h.golden())
	}
}

// TestSequences draws what happens, with restarts between, and compares with a start from nothing.
func TestSequences(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		h := newHost(r)
		draw := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(r, name) }
		for range rapid.IntRange(1, 10).Draw(r, "bursts") {
			for range rapid.IntRange(1, 4).Draw(r, "events") {
				n := rapid.IntRange(1, 3).Draw(r, "n")
				switch rapid.IntRange(0, 5).Draw(r, "event") {
				case 0:
					h.port(n, draw("project", "a", "b"), func(p *wire.Port) {
						p.AdminStateUp, p.PortSecurityEnabled = rapid.IntRange(0, 3).Draw(r, "up") > 0, rapid.IntRange(0, 3).Draw(r, "filtered") > 0
						p.SecurityGroups = []string{draw("group", "g1", "g2")}
					})
				case 1:
					h.Drop(wire.KindPort, fmt.Sprint("p", n))
				case 2:
					h.Plug(fmt.Sprint("tap", n), fmt.Sprint("p", n), n*rapid.IntRange(0, 2).Draw(r, "number"))
				case 3:
					h.Unplug(fmt.Sprint("tap", n))
				case 4:
					h.order(fmt.Sprint("l", n), draw("owner", "a", "b"), draw("kind", eventAll, eventAccept, eventDrop), draw("of", "", "g1", "g2"), draw("at", "", "p1", "p2"))
				case 5:
					h.Drop(wire.KindLog, fmt.Sprint("l", n))
				}
			}
			if rapid.IntRange(0, 4).Draw(r, "restart") == 0 {
				h.start()
			} else {
				h.sync()
			}
		}
		now := h.golden()
		h.start()
		if d := cmp.Diff(h.golden(), now); d != "" {
			r.Fatalf("not what a start from nothing gives: %s", d)
		}
	})
}
