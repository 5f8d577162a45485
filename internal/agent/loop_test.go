package agent_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"isospin/internal/agent"
	"isospin/internal/agent/mirror"
	"isospin/internal/change"
	"isospin/internal/clock"
	"isospin/internal/reconcile"
	"isospin/internal/wire"
)

// feature is a Feature that says what the test says.
type feature struct {
	name    string
	reports map[string]agent.Report
	results []agent.Result // of the next Syncs
	syncs   []string
	log     *[]string
}

func (f *feature) Name() string    { return f.name }
func (f *feature) Kinds() []string { return []string{wire.KindPort} }

func (f *feature) Sync(_ agent.View, dirty []change.Key, all bool) agent.Result {
	text := "all"
	if !all {
		text = fmt.Sprint(dirty)
	}
	f.syncs = append(f.syncs, text)
	*f.log = append(*f.log, "sync")
	r := agent.Result{}
	if len(f.results) > 0 {
		r, f.results = f.results[0], f.results[1:]
	}
	for _, k := range dirty {
		r.Ports = append(r.Ports, k.ID)
	}
	return r
}

func (f *feature) Report(_ agent.View, id string) (agent.Report, bool) {
	r, ok := f.reports[id]
	return r, ok
}

// eyes is a feature that observes.
type eyes struct {
	feature
	keys chan []change.Key
	open bool
}

func (e *eyes) Changed() <-chan []change.Key { return e.keys }
func (e *eyes) Observed() bool               { return e.open }

// stage is a Stage whose debts the test sets.
type stage struct {
	mu     sync.Mutex
	owed   map[reconcile.Owner]error
	inSync []bool
	after  time.Duration
	ails   []reconcile.Trouble
}

func (s *stage) Name() string                  { return "stage" }
func (s *stage) Invalidate(string)             {}
func (s *stage) SetInSync(whole bool)          { s.inSync = append(s.inSync, whole) }
func (s *stage) Grow(context.Context) error    { return nil }
func (s *stage) Shrink(context.Context) error  { return nil }
func (s *stage) Stats() reconcile.Stats        { return reconcile.Stats{} }
func (s *stage) Troubles() []reconcile.Trouble { return s.ails }
func (s *stage) Retry() (time.Duration, bool)  { return s.after, false }
func (s *stage) Unsettled() map[reconcile.Owner]error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.owed
}

func (s *stage) owe(what map[reconcile.Owner]error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owed = what
}

// documents is a mirror that writes down when it is flushed.
type documents struct {
	*mirror.Mirror
	log *[]string
}

func (d documents) Flush() error {
	*d.log = append(*d.log, "flush")
	return d.Mirror.Flush()
}

// bed is a loop that runs in a bubble of synthetic time.
type bed struct {
	t        *testing.T
	loop     *agent.Loop
	stage    *stage
	log      []string
	statuses []string
	hold     chan struct{} // a server that does not answer
}

func newBed(t *testing.T, features ...agent.Feature) *bed {
	b := &bed{t: t, stage: &stage{after: reconcile.Never}}
	b.loop = &agent.Loop{Features: features, Stages: []reconcile.Stage{b.stage}, Clock: clock.System{}, Log: slog.New(slog.DiscardHandler),
		Documents: documents{mirror.Memory(), &b.log}, Report: b.report}
	for _, f := range features {
		switch f := f.(type) {
		case *feature:
			f.log = &b.log
		case *eyes:
			f.log = &b.log
		}
	}
	b.loop.Init()
	return b
}

func (b *bed) report(ctx context.Context, ss []*wire.Status) error {
	if b.hold != nil {
		select {
		case <-b.hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for _, s := range ss {
		b.statuses = append(b.statuses, fmt.Sprintf("%s %s %s %d %s %s", s.Entity, s.Kind, s.Id, s.Generation, s.State, s.Detail))
	}
	return nil
}

// run runs the loop while f runs.
func run(t *testing.T, b func(t *testing.T) *bed, f func(b *bed)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		bed := b(t)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- bed.loop.Run(ctx, nil) }()
		synctest.Wait()
		f(bed)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// settle lets the loop gather and pass.
func (b *bed) settle() {
	<-time.After(time.Second) // of the bubble's time
	synctest.Wait()
}

func (b *bed) frame(f *wire.Frame) {
	b.t.Helper()
	if err := b.loop.Frame(b.t.Context(), f); err != nil {
		b.t.Fatal(err)
	}
	b.settle()
}

func (b *bed) synced() {
	b.t.Helper()
	if err := b.loop.Synced(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	b.settle()
}

// said compares and forgets what was said.
func (b *bed) said(want ...string) {
	b.t.Helper()
	slices.Sort(b.statuses)
	if d := cmp.Diff(want, b.statuses); d != "" {
		b.t.Errorf("said: %s", d)
	}
	b.statuses = nil
}

func portFrame(t *testing.T, ids ...string) *wire.Frame {
	t.Helper()
	f := &wire.Frame{Set: "host:h", Begin: true, Complete: true}
	for _, id := range ids {
		d, err := wire.Encode(wire.KindPort, id, &wire.Port{Id: id, Wiring: 7})
		if err != nil {
			t.Fatal(err)
		}
		f.Put = append(f.Put, d)
		f.Hash += d.Hash()
	}
	return f
}

func done(generation int64) agent.Report {
	return agent.Report{PortState: agent.PortState{Generation: generation, State: wire.State_DONE}}
}

func TestStatusesTravelWhenTheyDiffer(t *testing.T) {
	l2 := &feature{name: "l2", reports: map[string]agent.Report{"p": done(7)}}
	run(t, func(t *testing.T) *bed { return newBed(t, l2) }, func(b *bed) {
		owner := reconcile.Owner{Feature: "l2", Doc: "p"}
		b.stage.owe(map[reconcile.Owner]error{owner: fmt.Errorf("flows x: %w", reconcile.ErrPending)})
		b.frame(portFrame(t, "p"))
		b.said("l2 port p 7 PENDING flows x: not done yet")
		b.loop.Wake()
		b.settle()
		b.said()
		b.stage.owe(map[reconcile.Owner]error{owner: errors.New("the switch refuses")})
		b.loop.Wake()
		b.settle()
		b.said("l2 port p 7 FAILED the switch refuses")
		b.stage.owe(nil)
		b.loop.Wake()
		b.settle()
		b.said("l2 port p 7 DONE ")
		b.synced()
		b.frame(portFrame(t, "p"))
		b.said()
		l2.reports["p"] = done(8)
		b.frame(portFrame(t, "p", "q"))
		b.said() // q is none of the feature's business, and p was not touched
		b.frame(portFrame(t, "q"))
		b.said("l2 port p 8 DONE ")
	})
}

func TestSharedObjectsHoldPortsUp(t *testing.T) {
	r := done(1)
	r.Docs = []string{"network/n"}
	l2 := &feature{name: "l2", reports: map[string]agent.Report{"p": r, "q": r}}
	run(t, func(t *testing.T) *bed { return newBed(t, l2) }, func(b *bed) {
		b.frame(portFrame(t, "p", "q"))
		b.said("l2 port p 1 DONE ", "l2 port q 1 DONE ")
		b.stage.owe(map[reconcile.Owner]error{{Feature: "l2", Doc: "network/n"}: errors.New("no room")})
		b.loop.Wake()
		b.settle()
		b.said() // it may be mended before anybody need hear of it
		b.settle()
		b.settle()
		b.said("l2 port p 1 FAILED no room", "l2 port q 1 FAILED no room")
		b.stage.owe(nil)
		b.loop.Wake()
		b.settle()
		b.said("l2 port p 1 DONE ", "l2 port q 1 DONE ")
	})
}

func TestFaultsAreKeptUntilLookedAtAgain(t *testing.T) {
	r := done(1)
	network := change.Key{Kind: wire.KindDHCP, ID: "n"}
	r.Documents = []change.Key{network}
	f := &feature{name: "dhcp", reports: map[string]agent.Report{"p": r}}
	run(t, func(t *testing.T) *bed { return newBed(t, f) }, func(b *bed) {
		f.results = []agent.Result{
			{Faults: map[change.Key]error{network: errors.New("no MAC"), {Kind: wire.KindPort, ID: "p"}: nil}},
			{},
			{Faults: map[change.Key]error{network: nil}, Ports: []string{"p"}},
		}
		b.frame(portFrame(t, "p"))
		b.said("dhcp port p 1 FAILED no MAC")
		b.frame(portFrame(t, "p", "q"))
		b.said()
		b.frame(portFrame(t, "p", "r"))
		b.said("dhcp port p 1 DONE ")
	})
}

func TestOneEntityWaitsForAnother(t *testing.T) {
	pending := agent.Report{PortState: agent.PortState{State: wire.State_PENDING, Detail: "no number"}}
	l2 := &feature{name: "l2", reports: map[string]agent.Report{"server": pending}}
	r := done(1)
	r.After = "server"
	dhcp := &feature{name: "dhcp", reports: map[string]agent.Report{"p": r}}
	run(t, func(t *testing.T) *bed { return newBed(t, l2, dhcp) }, func(b *bed) {
		b.frame(portFrame(t, "p", "server"))
		b.said("dhcp port p 1 PENDING port server of this host is not wired yet", "l2 port server 0 PENDING no number")
		l2.reports["server"] = done(3)
		b.loop.Wake()
		b.settle()
		b.said("dhcp port p 1 DONE ", "l2 port server 3 DONE ")
	})
}

func TestNothingIsDeletedBeforeAllWasSeen(t *testing.T) {
	e := &eyes{feature: feature{name: "l2", reports: map[string]agent.Report{"p": done(1)}}}
	run(t, func(t *testing.T) *bed { e.keys = make(chan []change.Key); return newBed(t, e) }, func(b *bed) {
		b.frame(portFrame(t, "p"))
		b.synced()
		if slices.Contains(b.stage.inSync, true) {
			t.Errorf("in sync before the first look: %v", b.stage.inSync)
		}
		b.said() // nor is anything said
		e.open = true
		b.frame(portFrame(t, "p", "q")) // a Sync of some is not one of all
		if slices.Contains(b.stage.inSync, true) {
			t.Errorf("in sync before the Sync of all: %v", b.stage.inSync)
		}
		e.keys <- nil
		b.settle()
		if !b.stage.inSync[len(b.stage.inSync)-1] || e.syncs[len(e.syncs)-1] != "all" {
			t.Errorf("in sync: %v, syncs %v", b.stage.inSync, e.syncs)
		}
		b.said("l2 port p 1 DONE ")
	})
	// The other way round: seen at once, but no server has said what is whole.
	e = &eyes{feature: feature{name: "l2"}, open: true}
	run(t, func(t *testing.T) *bed { e.keys = make(chan []change.Key); return newBed(t, e) }, func(b *bed) {
		b.frame(portFrame(t, "p"))
		if slices.Contains(b.stage.inSync, true) {
			t.Errorf("in sync without a server's word: %v", b.stage.inSync)
		}
		b.synced()
		if !b.stage.inSync[len(b.stage.inSync)-1] {
			t.Error("not in sync although all is known")
		}
	})
}

func TestAnInterfaceThatLeavesIsToldOf(t *testing.T) {
	l2 := &feature{name: "l2", reports: map[string]agent.Report{"p": {PortState: agent.PortState{State: wire.State_PLUGGED, Detail: "tap0"}}}}
	run(t, func(t *testing.T) *bed { return newBed(t, l2) }, func(b *bed) {
		b.frame(portFrame(t, "p"))
		b.said("l2 port p 0 PLUGGED tap0")
		delete(l2.reports, "p")
		b.frame(portFrame(t))
		b.said("l2 port p 0 UNPLUGGED ")
	})
}

func TestUnreadableDocumentsAreReportedAndTakenBack(t *testing.T) {
	l2 := &feature{name: "l2"}
	run(t, func(t *testing.T) *bed { return newBed(t, l2) }, func(b *bed) {
		bad := portFrame(t, "p")
		bad.Put[0].Version = 2
		bad.Hash = bad.Put[0].Hash()
		b.frame(bad)
		b.said("mirror port p 0 FAILED version 2 of a port document is newer than this agent reads (1)")
		b.frame(portFrame(t, "p"))
		b.said("mirror port p 0 DONE ")
	})
}

func TestABadFrameEndsTheSessionOnly(t *testing.T) {
	l2 := &feature{name: "l2", reports: map[string]agent.Report{"p": done(1)}}
	run(t, func(t *testing.T) *bed { return newBed(t, l2) }, func(b *bed) {
		bad := portFrame(t, "p")
		bad.Hash++
		if err := b.loop.Frame(b.t.Context(), bad); !errors.Is(err, mirror.ErrHash) {
			t.Errorf("error %v", err)
		}
		b.settle()
		b.said("l2 port p 1 DONE ")
	})
}

func TestABurstCostsOnePassAndIsOnDiskBefore(t *testing.T) {
	l2 := &feature{name: "l2"}
	run(t, func(t *testing.T) *bed { return newBed(t, l2) }, func(b *bed) {
		b.log = nil
		for i := range 50 {
			if err := b.loop.Frame(b.t.Context(), portFrame(t, fmt.Sprint("p", i))); err != nil {
				t.Fatal(err)
			}
		}
		b.settle()
		if !slices.Equal(b.log, []string{"flush", "sync"}) {
			t.Errorf("log: %v", b.log)
		}
	})
}

func TestWhileNoServerAnswersOnlyTheLatestWaits(t *testing.T) {
	l2 := &feature{name: "l2", reports: map[string]agent.Report{"p": done(1), "q": done(1)}}
	run(t, func(t *testing.T) *bed { return newBed(t, l2) }, func(b *bed) {
		b.hold = make(chan struct{})
		b.frame(portFrame(t, "p"))
		for i := range int64(5) {
			l2.reports["p"], l2.reports["q"] = done(2+i), done(2+i)
			b.frame(portFrame(t, "p", fmt.Sprint("x", i)))
			b.loop.Wake()
			l2.results = []agent.Result{{Ports: []string{"p", "q"}}}
			b.frame(portFrame(t, "p", fmt.Sprint("y", i)))
		}
		close(b.hold)
		b.settle()
		b.said("l2 port p 1 DONE ", "l2 port p 6 DONE ", "l2 port q 6 DONE ")
	})
}
