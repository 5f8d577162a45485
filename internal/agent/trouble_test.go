package agent_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"isospin/internal/agent"
	"isospin/internal/change"
	"isospin/internal/reconcile"
	"isospin/internal/wire"
)

// TestTroublesAreTold: what fails for longer than it takes to be mended is told once, with its reason, and taken back.
func TestTroublesAreTold(t *testing.T) {
	l2 := &feature{name: "l2", reports: map[string]agent.Report{}}
	var told [][]agent.Reason
	set := func(t *testing.T) *bed {
		b := newBed(t, l2)
		b.loop.Troubled = func(rs []agent.Reason) { told = append(told, rs) }
		return b
	}
	run(t, set, func(b *bed) {
		expect := func(want ...agent.Reason) {
			t.Helper()
			for range 4 {
				b.settle()
			}
			if len(told) != 1 || !slices.Equal(told[0], want) {
				t.Errorf("told %v, want once %v", told, want)
			}
			told = nil
		}
		fail := func(ts ...reconcile.Trouble) {
			b.stage.mu.Lock()
			defer b.stage.mu.Unlock()
			for i := range ts {
				ts[i].Since = time.Now()
			}
			b.stage.ails = ts
			b.loop.Wake()
		}
		fail(reconcile.Trouble{Object: "bridges br-x", Err: errors.New("no such bridge")})
		b.settle()
		fail()
		b.settle()
		if len(told) != 0 {
			t.Errorf("a failure that passed was told: %v", told)
		}
		fail(reconcile.Trouble{Err: errors.New("flows cannot be read")}, reconcile.Trouble{Object: "bridges br-x", Others: 2, Err: errors.New("no such bridge")})
		expect(agent.Reason{Text: "flows cannot be read", Whole: true}, agent.Reason{Text: "bridges br-x and 2 more: no such bridge"})
		fail()
		expect()
		// Ports that fail by themselves, alike or not.
		bad := agent.Report{PortState: agent.PortState{Generation: 1, State: wire.State_FAILED, Detail: "no device"}}
		l2.reports["a"], l2.reports["b"], l2.reports["c"] = bad, bad, bad
		b.frame(portFrame(t, "a", "b", "c"))
		expect(agent.Reason{Text: "port a and 2 more: no device"})
		l2.reports["a"], l2.reports["b"] = done(1), done(1)
		delete(l2.reports, "c")
		b.frame(portFrame(t, "a", "b", "d"))
		b.loop.Wake()
		expect()
		// A document that can be read and not be made real.
		rule := change.Key{Kind: wire.KindRule, ID: "r"}
		l2.results = []agent.Result{{Faults: map[change.Key]error{rule: errors.New("no such protocol")}}}
		b.frame(portFrame(t, "a", "b"))
		expect(agent.Reason{Text: "document sgrule r: no such protocol"})
		l2.results = []agent.Result{{Faults: map[change.Key]error{rule: nil}}}
		b.frame(portFrame(t, "a", "b", "d"))
		expect()
		// One that cannot be read.
		d, err := wire.Encode(wire.KindPort, "n", &wire.Port{Id: "n"})
		if err != nil {
			t.Fatal(err)
		}
		d.Version = 9
		b.frame(&wire.Frame{Set: "host:h", Put: []*wire.Document{d}, Hash: portFrame(t, "a", "b", "d").Hash + d.Hash()})
		expect(agent.Reason{Text: "document port n is set aside: version 9 of a port document is newer than this agent reads (1)"})
		b.frame(portFrame(t, "a"))
		expect()
	})
}

// TestManyTroublesAreBounded: a person mends one after the other.
func TestManyTroublesAreBounded(t *testing.T) {
	l2 := &feature{name: "l2", reports: map[string]agent.Report{}}
	var told []agent.Reason
	set := func(t *testing.T) *bed {
		b := newBed(t, l2)
		b.loop.Troubled = func(rs []agent.Reason) { told = rs }
		return b
	}
	run(t, set, func(b *bed) {
		var ids []string
		for i := range 50 {
			id := fmt.Sprintf("p%02d", i)
			ids = append(ids, id)
			l2.reports[id] = agent.Report{PortState: agent.PortState{State: wire.State_FAILED, Detail: "reason " + id}}
		}
		b.frame(portFrame(t, ids...))
		b.settle()
		if len(told) != 21 || told[20].Text != "and 30 more" || !strings.HasPrefix(told[0].Text, "port p00: ") {
			t.Errorf("told %v", told)
		}
	})
}

// TestADiskThatFilledUp: the mirror's file is behind, which is told, and tried again without anything happening.
func TestADiskThatFilledUp(t *testing.T) {
	var told []agent.Reason
	full := errors.New("write the mirror journal: no space left on device")
	var docs *stuffed
	set := func(t *testing.T) *bed {
		b := newBed(t, &feature{name: "l2", reports: map[string]agent.Report{}})
		docs = &stuffed{Documents: b.loop.Documents, err: full}
		b.loop.Documents = docs
		b.loop.Troubled = func(rs []agent.Reason) { told = rs }
		return b
	}
	run(t, set, func(b *bed) {
		b.frame(portFrame(t, "a"))
		if len(told) != 1 || !strings.Contains(told[0].Text, "no space left on device") {
			t.Errorf("told %v", told)
		}
		docs.err = nil
		for range 12 {
			b.settle()
		}
		if len(told) != 0 {
			t.Errorf("with room again: %v", told)
		}
	})
}

// stuffed is a mirror whose disk is full while err says so.
type stuffed struct {
	agent.Documents
	err error
}

func (s *stuffed) Flush() error { return errors.Join(s.err, s.Documents.Flush()) }
