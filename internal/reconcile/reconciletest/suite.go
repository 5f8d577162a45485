// Package reconciletest is the suite that every reconcile.Driver must pass, on its fake and on the real
// thing. Tests of the dataplane packages call Run. It judges a driver only through its interface and
// through a Reconciler, and knows nothing of any kernel.
package reconciletest

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"isospin/internal/clock"
	"isospin/internal/reconcile"

	"pgregory.net/rapid"
)

// World is one place where a driver's objects live: a map, a network namespace, an Open vSwitch. It starts empty.
type World[K comparable, V any] struct {
	// Open makes a driver as a restarted process would: it may know nothing but the world.
	Open func() reconcile.Driver[K, V]
	// Meddle, if set, changes or removes object k, which is there, as a stranger would, so that it differs
	// from what was put. It returns when a List would show it.
	Meddle func(k K)
	// Stranger, if set, fails the test when something in the world that is not the driver's was touched.
	// The world's maker plants it.
	Stranger func()
}

// Subject is a driver under test.
type Subject[K comparable, V any] struct {
	// New makes a world; its cleanup is the test's. It is called a few times a Run. Worlds may be one and the
	// same place: each is emptied of the driver's objects at its end.
	New func(t *testing.T) World[K, V]
	// Equal is what the driver's stage uses.
	Equal func(want, have V) bool
	// Objects are what the suite plays with: two keys at least; every value of a key can be put at any time,
	// whatever other objects are there. Keys with several values test correction.
	Objects map[K][]V
	// Bad are objects that Put must refuse; they must not hold up others.
	Bad map[K]V
	// Sequences is how many sequences of states are played; 0 leaves it to rapid (100, shrinking failures),
	// which suits fakes.
	Sequences int
}

// Run plays all of the suite.
func Run[K comparable, V any](t *testing.T, s Subject[K, V]) {
	t.Helper()
	if len(s.Objects) < 2 {
		t.Fatal("the suite needs two objects at least")
	}
	t.Run("Contract", func(t *testing.T) { s.contract(t) })
	t.Run("OneBadObjectHoldsUpNoOther", func(t *testing.T) { s.bad(t) })
	t.Run("DriftIsMended", func(t *testing.T) { s.drift(t) })
	t.Run("NothingIsDroppedBeforeInSync", func(t *testing.T) { s.inSync(t) })
	t.Run("Sequences", func(t *testing.T) { s.sequences(t) })
}

// world is a new world, emptied when the test ends.
func (s Subject[K, V]) world(t *testing.T) World[K, V] {
	w := s.New(t)
	t.Cleanup(func() { s.empty(t, w) })
	return w
}

// contract calls the driver itself.
func (s Subject[K, V]) contract(t *testing.T) {
	w := s.world(t)
	d := w.Open()
	s.expect(t, d, "a new world", map[K]V{})
	all := s.pick(0)
	must(t, d.Drop(t.Context(), all), "dropping what is not there")
	must(t, d.Put(t.Context(), all), "putting")
	s.expect(t, d, "put", all)
	must(t, d.Put(t.Context(), all), "putting again")
	s.expect(t, w.Open(), "put again, after a restart", all)
	for i := 1; i < s.most(); i++ {
		must(t, d.Put(t.Context(), s.pick(i)), "correcting")
		s.expect(t, d, "corrected", s.pick(i))
	}
	must(t, d.Put(t.Context(), all), "correcting back")
	for k, v := range all {
		must(t, d.Drop(t.Context(), map[K]V{k: v}), "dropping one")
		delete(all, k)
		break
	}
	s.expect(t, d, "one dropped", all)
	must(t, d.Drop(t.Context(), s.pick(0)), "dropping all")
	must(t, d.Drop(t.Context(), s.pick(0)), "dropping again")
	s.expect(t, w.Open(), "all dropped", map[K]V{})
	must(t, d.Put(t.Context(), nil), "putting nothing")
	must(t, d.Drop(t.Context(), nil), "dropping nothing")
	w.check()
}

// bad mixes objects that must be refused with good ones.
func (s Subject[K, V]) bad(t *testing.T) {
	w := s.world(t)
	d := w.Open()
	good := s.pick(0)
	batch := maps.Clone(good)
	maps.Copy(batch, s.Bad)
	err := d.Put(t.Context(), batch)
	if (err != nil) != (len(s.Bad) > 0) {
		t.Fatalf("%d bad objects: %v", len(s.Bad), err)
	}
	have, err := d.List(t.Context())
	must(t, err, "reading back")
	for k, v := range good {
		if got, there := have[k]; !there || !s.Equal(v, got) {
			t.Errorf("%v is %v (there: %v), want %v", k, got, there, v)
		}
	}
	must(t, d.Drop(t.Context(), batch), "dropping, with the bad ones")
	s.expect(t, d, "all dropped", map[K]V{})
	w.check()
}

// drift lets a stranger change each object in turn.
func (s Subject[K, V]) drift(t *testing.T) {
	w := s.world(t)
	if w.Meddle == nil {
		return
	}
	p := s.start(t, w)
	want := s.pick(0)
	p.r.Replace(reconcile.Owner{Feature: "a"}, want)
	p.settle(t)
	n := uint64(0)
	for k := range want {
		w.Meddle(k)
		p.r.Invalidate("meddled")
		p.settle(t)
		if n++; p.r.Stats().Drift < n {
			t.Errorf("drift %d after meddling with %d objects, lastly %v", p.r.Stats().Drift, n, k)
		}
		s.expect(t, w.Open(), fmt.Sprintf("meddled with %v", k), want)
	}
	w.check()
}

// inSync restarts with less wanted.
func (s Subject[K, V]) inSync(t *testing.T) {
	w := s.world(t)
	want := s.pick(0)
	p := s.start(t, w)
	p.r.Replace(reconcile.Owner{Feature: "a"}, want)
	p.settle(t)
	p = s.start(t, w)
	p.r.SetInSync(false)
	must(t, p.r.Grow(t.Context()), "growing")
	must(t, p.r.Shrink(t.Context()), "shrinking before the state is whole")
	s.expect(t, w.Open(), "before the state is whole", want)
	if _, drops := p.r.Pending(); len(drops) != len(want) {
		t.Errorf("%d drops pending, want %d", len(drops), len(want))
	}
	p.r.SetInSync(true)
	p.settle(t)
	s.expect(t, w.Open(), "after the state is whole", map[K]V{})
	w.check()
}

// player is a process: a driver opened anew and a reconciler without memory.
type player[K comparable, V any] struct {
	r *reconcile.Reconciler[K, V]
	d *counting[K, V]
	c *clock.Manual
}

func (s Subject[K, V]) start(t failer, w World[K, V]) *player[K, V] {
	t.Helper()
	d := &counting[K, V]{Driver: w.Open()}
	c := clock.NewManual(time.Unix(1e9, 0))
	r := reconcile.New("suite", d, s.Equal, reconcile.WithClock(c), reconcile.WithPriority("a", "b"))
	r.SetInSync(true)
	return &player[K, V]{r: r, d: d, c: c}
}

// settle goes round as the loop does until nothing is owed.
func (p *player[K, V]) settle(t failer) {
	t.Helper()
	var errs []error
	for range 20 {
		err := p.r.Grow(context.Background())
		if err == nil {
			err = p.r.Shrink(context.Background())
		}
		if err != nil {
			errs = append(errs, err)
		}
		after, pending := p.r.Retry()
		if !pending {
			return
		}
		p.c.Advance(after)
	}
	puts, drops := p.r.Pending()
	t.Fatalf("does not settle: puts %v, drops %v, errors %v", puts, drops, errs)
}

// counting counts the objects written.
type counting[K comparable, V any] struct {
	reconcile.Driver[K, V]
	writes int
}

// Put counts and passes on.
func (c *counting[K, V]) Put(ctx context.Context, batch map[K]V) error {
	c.writes += len(batch)
	return c.Driver.Put(ctx, batch)
}

// Drop counts and passes on.
func (c *counting[K, V]) Drop(ctx context.Context, batch map[K]V) error {
	c.writes += len(batch)
	return c.Driver.Drop(ctx, batch)
}

// failer is what testing.T and rapid.T share.
type failer interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// expect compares what is there with want.
func (s Subject[K, V]) expect(t failer, d reconcile.Driver[K, V], when string, want map[K]V) {
	t.Helper()
	have, err := d.List(context.Background())
	if err != nil {
		t.Fatalf("%s: reading back: %v", when, err)
	}
	for k, v := range want {
		if got, there := have[k]; !there {
			t.Errorf("%s: %v is missing", when, k)
		} else if !s.Equal(v, got) {
			t.Errorf("%s: %v is %+v, want %+v", when, k, got, v)
		}
	}
	for k := range have {
		if _, wanted := want[k]; !wanted {
			t.Errorf("%s: %v is there and should not be", when, k)
		}
	}
}

// pick is every object with its i-th value, or its last.
func (s Subject[K, V]) pick(i int) map[K]V {
	out := map[K]V{}
	for k, vs := range s.Objects {
		out[k] = vs[min(i, len(vs)-1)]
	}
	return out
}

// most is the largest number of values that an object has.
func (s Subject[K, V]) most() int {
	n := 0
	for _, vs := range s.Objects {
		n = max(n, len(vs))
	}
	return n
}

func (w World[K, V]) check() {
	if w.Stranger != nil {
		w.Stranger()
	}
}

func must(t *testing.T, err error, what string) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

var _ failer = (*rapid.T)(nil)
