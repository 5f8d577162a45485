package openflow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"isospin/internal/clock"
	"isospin/internal/reconcile"
	"isospin/internal/reconcile/reconciletest"
)

func port(n int, as ...Action) Flow {
	return Flow{Table: 1, Priority: 10, Match: Any(Reg1.Is(uint64(n))), Actions: as}
}

// flowSubject is the suite's view of the driver of flows; empty makes the switch empty.
func flowSubject(tr Transport, empty func(t *testing.T), meddle func(Key), sequences int) reconciletest.Subject[Key, Flow] {
	tag := TagOf("suite")
	s := reconciletest.Subject[Key, Flow]{
		Equal: Same, Sequences: sequences, Objects: map[Key][]Flow{}, Bad: map[Key]Flow{},
		New: func(t *testing.T) reconciletest.World[Key, Flow] {
			empty(t)
			stranger := NewFlows(tr, TagOf("stranger"))
			theirs := stranger.tag.Want(Flow{Table: 1, Priority: 3, Match: IPv4(), Actions: Do(Output(1))})
			if err := stranger.Put(t.Context(), theirs); err != nil {
				t.Fatal(err)
			}
			return reconciletest.World[Key, Flow]{
				Open:   func() reconcile.Driver[Key, Flow] { return NewFlows(tr, tag) },
				Meddle: meddle,
				Stranger: func() {
					have, err := stranger.List(context.Background())
					if err != nil || len(have) != 1 {
						t.Errorf("the stranger has flows %v, %v", have, err)
					}
				},
			}
		},
	}
	for n := range 4 {
		f := port(n, Output(1))
		s.Objects[tag.Key(f)] = []Flow{f}
	}
	for _, f := range []Flow{port(9, ToGroup(999)), port(8, Metered(999)), {Table: 1, Match: Any(TCPDst.Is(1))}} {
		s.Bad[tag.Key(f)] = f
	}
	return s
}

func groupSubject(tr Transport, empty func(t *testing.T), meddle func(uint32)) reconciletest.Subject[uint32, Group] {
	flood := func(ports ...Port) Group {
		g := Group{}
		for _, p := range ports {
			g.Buckets = append(g.Buckets, Bucket{Actions: Do(SetTunnel(uint64(p)), Output(p))})
		}
		return g
	}
	return reconciletest.Subject[uint32, Group]{
		Equal: SameGroup, Sequences: 3,
		Objects: map[uint32][]Group{
			1: {flood(1, 2), flood(1, 2, 3), flood()},
			2: {flood(3), flood(2, 1)},
			3: {{Type: GroupSelect, Buckets: []Bucket{{Actions: Do(Output(1))}, {Weight: 3, Actions: Do(Output(2))}}},
				{Type: GroupIndirect, Buckets: []Bucket{{Actions: Do(Output(1))}}}},
		},
		Bad: map[uint32]Group{4: {Type: GroupIndirect}, 200: flood(1)},
		New: func(t *testing.T) reconciletest.World[uint32, Group] {
			empty(t)
			others := NewGroups(tr, IDs{500, 500})
			if err := others.Put(t.Context(), map[uint32]Group{500: flood(2)}); err != nil {
				t.Fatal(err)
			}
			return reconciletest.World[uint32, Group]{
				Open:   func() reconcile.Driver[uint32, Group] { return NewGroups(tr, IDs{1, 100}) },
				Meddle: meddle,
				Stranger: func() {
					if have, err := others.List(context.Background()); err != nil || len(have) != 1 {
						t.Errorf("the stranger has groups %v, %v", have, err)
					}
				},
			}
		},
	}
}

func meterSubject(tr Transport, empty func(t *testing.T), meddle func(uint32)) reconciletest.Subject[uint32, Meter] {
	return reconciletest.Subject[uint32, Meter]{
		Equal: SameMeter, Sequences: 3,
		Objects: map[uint32][]Meter{
			1: {{Rate: 1000, Burst: 100}, {Rate: 2000, Burst: 100}},
			2: {{Packets: true, Rate: 50}, {Rate: 50}},
		},
		Bad: map[uint32]Meter{3: {}, 200: {Rate: 1}},
		New: func(t *testing.T) reconciletest.World[uint32, Meter] {
			empty(t)
			return reconciletest.World[uint32, Meter]{
				Open:   func() reconcile.Driver[uint32, Meter] { return NewMeters(tr, IDs{1, 100}) },
				Meddle: meddle,
			}
		},
	}
}

func TestFakeSuites(t *testing.T) {
	t.Run("flows", func(t *testing.T) {
		f := NewFake()
		byKey := func(k Key) func(Flow) bool { return func(fl Flow) bool { return TagOf("suite").Key(fl) == k } }
		reconciletest.Run(t, flowSubject(f, func(*testing.T) { f.Restart() }, func(k Key) { f.DeleteByHand(byKey(k)) }, 0))
	})
	t.Run("groups", func(t *testing.T) {
		f := NewFake()
		reconciletest.Run(t, groupSubject(f, func(*testing.T) { f.Restart() }, func(id uint32) {
			if err := f.ApplyGroups(t.Context(), []GroupMod{{Op: Delete, ID: id}}); err != nil {
				t.Error(err)
			}
		}))
	})
	t.Run("meters", func(t *testing.T) {
		f := NewFake()
		reconciletest.Run(t, meterSubject(f, func(*testing.T) { f.Restart() }, func(id uint32) {
			if err := f.ApplyMeters(t.Context(), []MeterMod{{Op: Add, ID: id, Meter: Meter{Rate: 7}}}); err != nil {
				t.Error(err)
			}
		}))
	})
}

// keeper is a stage with its monitor, as the agent's loop has them.
type keeper struct {
	*reconcile.Reconciler[Key, Flow]
	flows *Flows
	drift chan string
}

// keep starts a monitor that ends with the test.
func keep(t *testing.T, tr Transport, tag Tag) *keeper {
	t.Helper()
	k := &keeper{flows: NewFlows(tr, tag), drift: make(chan string, 1000)}
	k.Reconciler = reconcile.New("flows", k.flows, Same, reconcile.WithReadBack(0), reconcile.WithBackoff(time.Millisecond, 10*time.Millisecond))
	k.flows.OnDrift(func(reason string) {
		k.Invalidate(reason)
		k.drift <- reason
	})
	k.SetInSync(true)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- NewMonitor(tr, clock.System{}, slog.New(slog.DiscardHandler), k.flows).Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("the monitor ended with %v", err)
		}
	})
	k.await(t, "began")
	return k
}

// await waits for a drift whose reason has this in it.
func (k *keeper) await(t *testing.T, reason string) time.Duration {
	t.Helper()
	from, limit := time.Now(), time.After(2*time.Second)
	for {
		select {
		case r := <-k.drift:
			if strings.Contains(r, reason) {
				return time.Since(from)
			}
		case <-limit:
			t.Fatalf("nothing told of %q within 2 s", reason)
		}
	}
}

func (k *keeper) want(fs ...Flow) {
	k.Replace(reconcile.Owner{Feature: "f"}, k.flows.Tag().Want(fs...))
}

// round is one Grow and Shrink; it gives how many objects were written.
func (k *keeper) round(t *testing.T) uint64 {
	t.Helper()
	before := k.Stats()
	if err := errors.Join(k.Grow(t.Context()), k.Shrink(t.Context())); err != nil {
		t.Fatal(err)
	}
	after := k.Stats()
	return after.Puts + after.Drops - before.Puts - before.Drops
}

// quiet fails if any drift was told: the driver's own doing must not count.
func (k *keeper) quiet(t *testing.T) {
	t.Helper()
	select {
	case r := <-k.drift:
		t.Errorf("told of drift without reason: %s", r)
	default:
	}
}

func TestFakeDrift(t *testing.T) {
	f := NewFake()
	f.AddByHand(0, Flow{Table: 0, Actions: Do(Output(PortNormal))})
	k := keep(t, f, TagOf("l2"))
	fs := []Flow{port(1, Output(1)), port(2, Output(2))}
	k.want(fs...)
	k.round(t)
	first := func(fl Flow) bool { return fl.Match.String() == "reg1=0x1" }
	for _, c := range []struct {
		reason string
		do     func()
	}{
		{"deleted by a stranger", func() { f.DeleteByHand(first) }},
		{"changed by a stranger", func() { f.AlterByHand(first, Output(3)) }},
		{"may have replaced", func() { f.AddByHand(0x99, port(1, Output(3))) }},
		{"added a flow with our tag", func() { f.AddByHand(TagOf("l2").Key(port(3)).Cookie, port(3, Output(3))) }},
		{"was lost", f.Restart},
	} {
		k.quiet(t)
		c.do()
		k.await(t, c.reason)
		if c.reason == "was lost" {
			k.await(t, "began")
		}
		if k.round(t) == 0 {
			t.Errorf("%s: nothing was written", c.reason)
		}
		if got, want := Golden(f.Flows()), Golden(fs); !strings.Contains(got, want) {
			t.Errorf("%s: the switch has\n%swant\n%s", c.reason, got, want)
		}
	}
	// What others do elsewhere, or what this driver does itself, is no drift.
	f.AddByHand(0x99, Flow{Table: 7})
	k.want(port(1, Output(2)))
	k.round(t)
	f.AddByHand(0x99, Flow{Table: 1, Priority: 99})
	k.await(t, "may have replaced")
	k.quiet(t)
}

func TestOneOfManyIsBad(t *testing.T) {
	f := NewFake()
	f.RefuseFlows(func(fl Flow) error {
		if fl.Match.String() == "reg1=0x32" {
			return errors.New("the switch does not like it")
		}
		return nil
	})
	d := NewFlows(f, TagOf("l2"))
	var fs []Flow
	for n := range 101 {
		fs = append(fs, port(n, Output(1)))
	}
	err := d.Put(t.Context(), d.Tag().Want(fs...))
	var each reconcile.Errors[Key]
	if !errors.As(err, &each) || len(each) != 1 || each[d.Tag().Key(fs[50])] == nil {
		t.Errorf("putting says %v", err)
	}
	if n := len(f.Flows()); n != 100 {
		t.Errorf("%d flows are there, want 100", n)
	}
}

// nameless is a switch that does not say which change it refuses.
type nameless struct{ *Fake }

func (n nameless) ApplyFlows(ctx context.Context, mods []FlowMod) error {
	err := n.Fake.ApplyFlows(ctx, mods)
	var r *Refused
	if errors.As(err, &r) {
		return &Refused{-1, r.Reason}
	}
	return err
}

func TestBadOneIsFoundByHalving(t *testing.T) {
	f := NewFake()
	d := NewFlows(nameless{f}, TagOf("l2"))
	var fs []Flow
	for n := range 101 {
		fs = append(fs, port(n, Output(1)))
	}
	fs[7], fs[60] = port(7, ToGroup(9)), port(60, ToGroup(9))
	var each reconcile.Errors[Key]
	if err := d.Put(t.Context(), d.Tag().Want(fs...)); !errors.As(err, &each) || len(each) != 2 {
		t.Errorf("putting says %v", err)
	}
	if n := len(f.Flows()); n != 99 {
		t.Errorf("%d flows are there, want 99", n)
	}
}

func TestReplacedInPlace(t *testing.T) {
	f := NewFake()
	k := keep(t, f, TagOf("l2"))
	k.want(port(1, Output(1)))
	k.round(t)
	k.want(port(1, Output(2)))
	if err := k.Grow(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := Golden(f.Flows()); got != "table 1\n  10 reg1=0x1 -> output:2\n" {
		t.Errorf("before the old key is dropped the switch has\n%s", got)
	}
	// Back to the first before the reconciler dropped it: it believes that it is there.
	k.want(port(1, Output(1)))
	k.round(t)
	k.await(t, "replaced another was dropped")
	k.round(t)
	if got := Golden(f.Flows()); got != "table 1\n  10 reg1=0x1 -> output:1\n" {
		t.Errorf("in the end the switch has\n%s", got)
	}
}

func TestTwoInOnePlace(t *testing.T) {
	f := NewFake()
	k := keep(t, f, TagOf("l2"))
	a, b := reconcile.Owner{Feature: "a"}, reconcile.Owner{Feature: "b"}
	k.Replace(a, k.flows.Tag().Want(port(1, Output(1))))
	k.round(t)
	k.Replace(b, k.flows.Tag().Want(port(1, Output(2))))
	k.round(t)
	k.Invalidate("test")
	if err := k.Grow(t.Context()); err == nil || !strings.Contains(err.Error(), "in its place") {
		t.Errorf("a second flow in one place: %v", err)
	}
	if us := k.Unsettled(); us[a] == nil || us[b] != nil {
		t.Errorf("unsettled are %v", us)
	}
	k.Replace(b, nil)
	for range 3 {
		_ = k.Grow(t.Context())
		_ = k.Shrink(t.Context())
	}
	if got := Golden(f.Flows()); got != "table 1\n  10 reg1=0x1 -> output:1\n" || len(k.Unsettled()) > 0 {
		t.Errorf("in the end the switch has\n%sand unsettled are %v", got, k.Unsettled())
	}
}

func TestTwoInOnePlaceAtOnce(t *testing.T) {
	f := NewFake()
	d := NewFlows(f, TagOf("l2"))
	first, second := port(1, Output(1)), port(1, Output(2))
	both := d.Tag().Want(first, second)
	var each reconcile.Errors[Key]
	for range 2 { // a try again changes nothing
		if err := d.Put(t.Context(), both); !errors.As(err, &each) || len(each) != 1 {
			t.Fatalf("putting says %v", err)
		}
		both = map[Key]Flow{}
		for k := range each {
			both[k] = map[Key]Flow{d.Tag().Key(first): first, d.Tag().Key(second): second}[k]
		}
	}
	if err := d.Drop(t.Context(), d.Tag().Want(f.Flows()...)); err != nil {
		t.Fatal(err)
	}
	if err := d.Put(t.Context(), both); err != nil || len(f.Flows()) != 1 {
		t.Errorf("after the first was dropped: %v, %v", err, f.Flows())
	}
}

func TestGroupMark(t *testing.T) {
	g := Group{Buckets: []Bucket{{Actions: Do(Output(1))}, {Actions: Do(Output(2))}}}
	h := Group{Buckets: []Bucket{{Actions: Do(Output(2))}, {Actions: Do(Output(1))}}}
	if SameGroup(g, h) || g.Mark() == 0 || !SameGroup(g, g) || (Group{}).Mark() != 0 {
		t.Errorf("marks %#x and %#x", g.Mark(), h.Mark())
	}
	want := fmt.Sprintf("group_id=7,type=all,bucket=bucket_id:%d,actions=output:1,bucket=bucket_id:%d,actions=output:2", g.Mark(), g.Mark()+1)
	if got := string(g.appendText(nil, 7, true)); got != want {
		t.Errorf("text is %q, want %q", got, want)
	}
}
