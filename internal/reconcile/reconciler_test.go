package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"isospin/internal/clock"
)

type rig struct {
	*Reconciler[string, int]
	mem *Memory[string, int]
	clk *clock.Manual
}

func newRig(t *testing.T, opts ...Option) *rig {
	t.Helper()
	g := &rig{mem: &Memory[string, int]{}, clk: clock.NewManual(time.Unix(1e9, 0))}
	g.Reconciler = New("things", g.mem, func(a, b int) bool { return a == b },
		append([]Option{WithClock(g.clk), WithPriority("first", "second")}, opts...)...)
	return g
}

func (g *rig) round(t *testing.T) error {
	t.Helper()
	return errors.Join(g.Grow(t.Context()), g.Shrink(t.Context()))
}

func (g *rig) expect(t *testing.T, want map[string]int) {
	t.Helper()
	have, err := g.mem.List(context.Background())
	if err != nil || !maps.Equal(have, want) {
		t.Errorf("objects are %v (%v), want %v", have, err, want)
	}
}

func (g *rig) retry(t *testing.T, after time.Duration, pending bool) {
	t.Helper()
	if a, p := g.Retry(); a != after || p != pending {
		t.Errorf("Retry is %v, %v; want %v, %v", a, p, after, pending)
	}
}

func owner(feature, doc string) Owner { return Owner{Feature: feature, Doc: doc} }

func TestAnObjectLivesWhileAnyOwnerWantsItAndThePriorityDecidesItsValue(t *testing.T) {
	g := newRig(t)
	g.SetInSync(true)
	a, b, c := owner("first", "x"), owner("second", "x"), owner("first", "y")
	steps := []struct {
		o          Owner
		want, then map[string]int
	}{
		{b, map[string]int{"k": 2}, map[string]int{"k": 2}},
		{c, map[string]int{"k": 3, "l": 1}, map[string]int{"k": 3, "l": 1}},
		{a, map[string]int{"k": 1}, map[string]int{"k": 1, "l": 1}},
		{owner("unnamed", "x"), map[string]int{"k": 9, "m": 9}, map[string]int{"k": 1, "l": 1, "m": 9}},
		{a, nil, map[string]int{"k": 3, "l": 1, "m": 9}},
		{c, map[string]int{"l": 1}, map[string]int{"k": 2, "l": 1, "m": 9}},
		{b, map[string]int{}, map[string]int{"k": 9, "l": 1, "m": 9}},
		{owner("unnamed", "x"), nil, map[string]int{"l": 1}},
		{c, nil, map[string]int{}},
	}
	for i, s := range steps {
		g.Replace(s.o, s.want)
		if err := g.round(t); err != nil {
			t.Fatal(err)
		}
		g.expect(t, s.then)
		if un := g.Unsettled(); len(un) != 0 {
			t.Errorf("step %d: unsettled %v", i, un)
		}
	}
}

func TestAWarmRestartWritesNothing(t *testing.T) {
	g := newRig(t)
	g.mem.Meddle(func(o map[string]int) { o["a"], o["b"], o["old"] = 1, 2, 3 })
	g.Replace(owner("first", "x"), map[string]int{"a": 1, "b": 2})
	if un := g.Unsettled(); !errors.Is(un[owner("first", "x")], ErrPending) {
		t.Errorf("unsettled before the first view: %v", un)
	}
	if err := g.round(t); err != nil {
		t.Fatal(err)
	}
	if g.mem.Writes() != 0 {
		t.Errorf("%d writes", g.mem.Writes())
	}
	g.retry(t, time.Minute, false) // the drop waits for SetInSync, not for time
	g.SetInSync(true)
	g.retry(t, 0, true)
	if err := g.round(t); err != nil {
		t.Fatal(err)
	}
	g.expect(t, map[string]int{"a": 1, "b": 2})
	s := g.Stats()
	if s.Drops != 1 || s.Puts != 0 || s.Drift != 0 || s.Desired != 2 || s.Actual != 2 || s.ReadBacks != 1 {
		t.Errorf("stats: %+v", s)
	}
}

func TestABadObjectIsRetriedWithBackoffAndHoldsUpNoOther(t *testing.T) {
	g := newRig(t, WithBackoff(time.Second, 3*time.Second))
	broken := true
	g.mem.Refuse = func(k string, _ int) error {
		if k == "bad" && broken {
			return errors.New("no room")
		}
		return nil
	}
	g.Replace(owner("first", "x"), map[string]int{"bad": 1})
	g.Replace(owner("first", "y"), map[string]int{"good": 1})
	for _, wait := range []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second} {
		err := g.Grow(t.Context())
		if err == nil || !strings.Contains(err.Error(), "things: putting: bad: no room") {
			t.Fatalf("error: %v", err)
		}
		g.expect(t, map[string]int{"good": 1})
		un := g.Unsettled()
		if len(un) != 1 || un[owner("first", "x")].Error() != "things bad: no room" {
			t.Errorf("unsettled: %v", un)
		}
		g.retry(t, wait, true)
		if err := g.Grow(t.Context()); err != nil {
			t.Errorf("a try before its time: %v", err)
		}
		g.clk.Advance(wait)
	}
	broken = false
	if err := g.Grow(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.expect(t, map[string]int{"good": 1, "bad": 1})
	if s := g.Stats(); s.PutErrors != 4 || s.Puts != 2 || s.Failing != 0 {
		t.Errorf("stats: %+v", s)
	}
}

func TestANewWishOrNewsShortenTheBackoff(t *testing.T) {
	g := newRig(t, WithBackoff(time.Second, time.Hour), WithReadBack(time.Hour))
	g.SetInSync(true)
	g.mem.Refuse = func(_ string, v int) error {
		if v < 10 {
			return errors.New("too small")
		}
		return nil
	}
	o := owner("first", "x")
	g.Replace(o, map[string]int{"k": 1})
	for range 5 {
		_ = g.Grow(t.Context()) // refused, as the table above says; only the wait matters here
		after, _ := g.Retry()
		g.clk.Advance(after)
	}
	_ = g.Grow(t.Context())
	g.retry(t, 32*time.Second, true)
	g.Invalidate("news")
	g.retry(t, 0, true) // the read-back
	if err := g.Grow(t.Context()); err != nil {
		t.Errorf("the put was tried too early: %v", err)
	}
	g.retry(t, time.Second, true)
	g.Replace(o, map[string]int{"k": 11})
	g.retry(t, 0, true)
	if err := g.round(t); err != nil {
		t.Fatal(err)
	}
	g.expect(t, map[string]int{"k": 11})
}

func TestADropMakesWayForAPutThatFailed(t *testing.T) {
	g := newRig(t, WithBackoff(time.Minute, time.Hour))
	g.SetInSync(true)
	g.mem.Meddle(func(o map[string]int) { o["old"] = 1 })
	g.mem.Refuse = func(string, int) error {
		if _, there := g.mem.objects["old"]; there {
			return errors.New("address in use")
		}
		return nil
	}
	g.Replace(owner("first", "x"), map[string]int{"new": 1})
	if err := g.Grow(t.Context()); err == nil {
		t.Fatal("the put went through")
	}
	if err := g.Shrink(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.retry(t, 0, true)
	if err := g.Grow(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.expect(t, map[string]int{"new": 1})
}

// half is a driver that does half of its work and then fails, as a crash or a timeout would have it.
type half struct{ *Memory[string, int] }

func (h half) Put(ctx context.Context, batch map[string]int) error {
	part := map[string]int{}
	for k := range batch {
		part[k] = -1 // a half-made object
	}
	return errors.Join(h.Memory.Put(ctx, part), errors.New("timeout"))
}

func TestAHalfMadeObjectIsNotForgotten(t *testing.T) {
	g := newRig(t)
	broken := New("things", half{g.mem}, func(a, b int) bool { return a == b }, WithClock(g.clk))
	broken.SetInSync(true)
	g.mem.Meddle(func(o map[string]int) { o["a"] = 1 })
	o := owner("first", "x")
	broken.Replace(o, map[string]int{"a": 1})
	if err := broken.Grow(t.Context()); err != nil {
		t.Fatal(err)
	}
	broken.Replace(o, map[string]int{"a": 2, "b": 2})
	if err := broken.Grow(t.Context()); err == nil {
		t.Fatal("no error")
	}
	// Back to what was there, as far as the last view knows; and b is not wanted any more.
	broken.Replace(o, map[string]int{"a": 1})
	puts, drops := broken.Pending()
	if !maps.Equal(puts, map[string]int{"a": 1}) || !maps.Equal(drops, map[string]int{"b": 2}) {
		t.Errorf("pending: %v and %v", puts, drops)
	}
	if err := broken.Shrink(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.expect(t, map[string]int{"a": -1})
	broken.Invalidate("look")
	_ = broken.Grow(t.Context()) // the put fails again; what counts is that its change is no drift
	if s := broken.Stats(); s.Drift != 0 {
		t.Errorf("our own half-made objects count as drift: %+v", s)
	}
}

func TestAFailingReadBackKeepsTheOldView(t *testing.T) {
	g := newRig(t)
	var down error
	g.mem.FailList = func() error { return down }
	down = errors.New("socket closed")
	o := owner("first", "x")
	g.Replace(o, map[string]int{"a": 1})
	if err := g.round(t); err == nil || g.mem.Writes() != 0 {
		t.Fatalf("without any view: %v, %d writes", err, g.mem.Writes())
	}
	if un := g.Unsettled(); !errors.Is(un[o], down) {
		t.Errorf("unsettled: %v", un)
	}
	g.retry(t, 100*time.Millisecond, true)
	down = nil
	g.Invalidate("connected")
	g.retry(t, 0, true)
	if err := g.round(t); err != nil {
		t.Fatal(err)
	}
	g.expect(t, map[string]int{"a": 1})
	down = errors.New("socket closed")
	g.Invalidate("news")
	g.Replace(o, map[string]int{"a": 1, "b": 2})
	if err := g.Grow(t.Context()); !errors.Is(err, down) {
		t.Errorf("error: %v", err)
	}
	if un := g.Unsettled(); len(un) != 0 || g.mem.Writes() != 2 {
		t.Errorf("with the old view: unsettled %v, %d writes", un, g.mem.Writes())
	}
	down = nil
	g.clk.Advance(100 * time.Millisecond)
	if err := g.Grow(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := g.Stats(); s.ReadBacks != 4 || s.ReadBackErrors != 2 || s.Drift != 0 || s.Puts != 2 {
		t.Errorf("stats: %+v", s)
	}
	g.retry(t, time.Minute, false)
}

func TestThePeriodFindsDrift(t *testing.T) {
	g := newRig(t, WithReadBack(10*time.Second))
	g.SetInSync(true)
	g.Replace(owner("first", "x"), map[string]int{"changed": 1, "gone": 1, "fine": 1})
	if err := g.round(t); err != nil {
		t.Fatal(err)
	}
	g.mem.Meddle(func(o map[string]int) { delete(o, "gone"); o["changed"], o["stray"] = 5, 5 })
	if err := g.round(t); err != nil || g.Stats().ReadBacks != 1 {
		t.Fatalf("read before its time: %v", err)
	}
	after, pending := g.Retry()
	if pending || after != 10*time.Second {
		t.Errorf("Retry is %v, %v", after, pending)
	}
	g.clk.Advance(after)
	if err := g.round(t); err != nil {
		t.Fatal(err)
	}
	g.expect(t, map[string]int{"changed": 1, "gone": 1, "fine": 1})
	if s := g.Stats(); s.Drift != 3 || s.Puts != 5 || s.Drops != 1 {
		t.Errorf("stats: %+v", s)
	}
}

func TestWithoutAPeriodNothingComesBackByItself(t *testing.T) {
	g := newRig(t, WithReadBack(0))
	if err := g.round(t); err != nil {
		t.Fatal(err)
	}
	g.retry(t, Never, false)
}

func TestACancelledWriteIsInDoubtButNotToBlame(t *testing.T) {
	g := newRig(t)
	if err := g.round(t); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	g.mem.FailPut = func() error { cancel(); return ctx.Err() }
	g.Replace(owner("first", "x"), map[string]int{"a": 1})
	if err := g.Grow(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error: %v", err)
	}
	g.mem.FailPut = nil
	g.retry(t, 0, true)
	if err := g.Grow(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.expect(t, map[string]int{"a": 1})
}

func TestBatchesAreBounded(t *testing.T) {
	g := newRig(t, WithBatch(10))
	calls := 0
	g.mem.FailPut = func() error { calls++; return nil }
	want := map[string]int{}
	for i := range 35 {
		want[fmt.Sprint(i)] = i
	}
	g.Replace(owner("first", "x"), want)
	if err := g.round(t); err != nil {
		t.Fatal(err)
	}
	g.expect(t, want)
	if calls != 4 {
		t.Errorf("%d calls, want 4", calls)
	}
}

func TestErrorsTellAFewAndUnwrapAll(t *testing.T) {
	one := errors.New("one")
	e := Errors[int]{4: one, 3: errors.New("x"), 2: errors.New("x"), 1: errors.New("x")}
	if got := e.Error(); got != "1: x; 2: x; 3: x; and 1 more" {
		t.Errorf("text: %s", got)
	}
	if !errors.Is(fmt.Errorf("wrapped: %w", e.Err()), one) {
		t.Error("an object's error is not found")
	}
	if err := (Errors[int]{1: nil}).Err(); err != nil {
		t.Errorf("no failure is %v", err)
	}
}

func BenchmarkOneChangeAmong100000(b *testing.B) {
	m := &Memory[int, int]{}
	r := New("things", m, func(a, b int) bool { return a == b }, WithReadBack(0))
	for doc := range 1000 {
		want := map[int]int{}
		for i := range 100 {
			want[doc*100+i] = i
		}
		r.Replace(owner("first", fmt.Sprint(doc)), want)
	}
	if err := r.Grow(b.Context()); err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		r.Replace(owner("second", "one"), map[int]int{-1: i})
		if err := r.Grow(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
