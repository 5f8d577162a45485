package openflow

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"isospin/internal/dataplane/vswitch/ovstest"
	"isospin/internal/reconcile"
)

// of15 runs ovs-ofctl as a person would.
func of15(o *ovstest.OVS, args ...string) string {
	return o.Ofctl(append([]string{"-O", "OpenFlow15"}, args...)...)
}

// TestSwitchDrift meddles by hand with the flows of a running agent.
func TestSwitchDrift(t *testing.T) {
	o, br := bridge(t)
	for name, tr := range transports(t, o, br) {
		t.Run(name, func(t *testing.T) {
			of15(o, "del-flows", br)
			k := keep(t, tr, TagOf("l2"))
			fs := []Flow{port(1, Output(1)), port(2, Output(2))}
			k.want(fs...)
			k.round(t)
			dump := func() string { return of15(o, "--no-stats", "dump-flows", br) }
			want := dump()
			for _, c := range []struct {
				reason string
				do     func()
			}{
				{"deleted by a stranger", func() { of15(o, "del-flows", br, "table=1,reg1=1") }},
				{"changed by a stranger", func() { of15(o, "mod-flows", br, "table=1,reg1=1,actions=output:3") }},
				{"may have replaced", func() { of15(o, "add-flow", br, "table=1,priority=10,reg1=1,actions=output:3") }},
				{"deleted by a stranger", func() { of15(o, "del-flows", br) }},
			} {
				k.round(t)
				k.quiet(t)
				c.do()
				k.await(t, c.reason)
				for range 2 { // a whole table deleted is told flow by flow
					k.round(t)
				}
				for len(k.drift) > 0 {
					<-k.drift
				}
				if got := dump(); sortedLines(got) != sortedLines(want) {
					t.Errorf("%s: after the repair the switch has\n%swant\n%s", c.reason, got, want)
				}
			}
			o.StopVswitchd()
			k.await(t, "was lost")
			o.StartVswitchd()
			k.await(t, "began")
			k.round(t)
			if got := dump(); sortedLines(got) != sortedLines(want) {
				t.Errorf("after a restart of the switch it has\n%swant\n%s", got, want)
			}
		})
	}
}

// TestSwitchWarmRestart begins anew, without memory, over flows that are right.
func TestSwitchWarmRestart(t *testing.T) {
	o, br := bridge(t)
	for name, tr := range transports(t, o, br) {
		t.Run(name, func(t *testing.T) {
			of15(o, "del-flows", br)
			var fs []Flow
			for n := range 200 {
				fs = append(fs, port(n, Output(1)), Flow{Table: 2, Priority: defaultPriority, Match: IPv4(Reg1.Is(uint64(n)))})
			}
			k := keep(t, tr, TagOf("l2"))
			k.want(fs...)
			if n := k.round(t); n != 400 {
				t.Errorf("the first start wrote %d objects, want 400", n)
			}
			quietFor(t, tr, func() {
				again := keep(t, tr, TagOf("l2"))
				again.want(fs...)
				if n := again.round(t); n != 0 {
					t.Errorf("the second start wrote %d objects", n)
				}
				again.want(fs[1:]...)
				if n := again.round(t); n != 1 {
					t.Errorf("one flow less: %d objects were written", n)
				}
			}, 1)
		})
	}
}

// quietFor counts what the switch tells of while do runs.
func quietFor(t *testing.T, tr Transport, do func(), want int) {
	t.Helper()
	events := watch(t, tr)
	do()
	for range want {
		select {
		case <-events:
		case <-time.After(2 * time.Second):
			t.Fatal("the switch tells of less than was done")
		}
	}
	select {
	case e := <-events:
		t.Errorf("the switch tells of one more change: %v", e)
	default:
	}
}

// watch gives the events of the switch from now on.
func watch(t *testing.T, tr Transport) <-chan Event {
	t.Helper()
	events, ready := make(chan Event, 10000), make(chan struct{})
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { done <- tr.Watch(ctx, func() { close(ready) }, func(e Event) { events <- e }) }()
	select {
	case <-ready:
	case err := <-done:
		cancel()
		t.Fatalf("watching: %v", err)
	}
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return events
}

// TestSwitchBadAmongGood has one flow refused by the switch and one by the reader of the text among a hundred.
func TestSwitchBadAmongGood(t *testing.T) {
	o, br := bridge(t)
	for name, tr := range transports(t, o, br) {
		t.Run(name, func(t *testing.T) {
			of15(o, "del-flows", br)
			d := NewFlows(tr, TagOf("l2"))
			var fs []Flow
			for n := range 102 {
				fs = append(fs, port(n, Output(1)))
			}
			fs[10] = port(10, ToGroup(77))
			fs[20] = Flow{Table: 1, Priority: 10, Match: IPv4(), Actions: Do(CT{Commit: true, Exec: Do(Reg0.Set(1))})}
			var each reconcile.Errors[Key]
			err := d.Put(t.Context(), d.Tag().Want(fs...))
			if !errors.As(err, &each) || len(each) != 2 {
				t.Fatalf("putting says %v", err)
			}
			if why := each[d.Tag().Key(fs[10])]; why == nil || !strings.Contains(why.Error(), "OFPBAC_BAD_OUT_GROUP") {
				t.Errorf("the flow to a missing group: %v", why)
			}
			if why := each[d.Tag().Key(fs[20])]; why == nil {
				t.Error("the flow that writes a register at a commit is not refused")
			}
			have, err := d.List(t.Context())
			if err != nil || len(have) != 100 {
				t.Errorf("%d flows are there, want 100; %v", len(have), err)
			}
		})
	}
}

// TestSwitchReplacesWithoutGap changes a flow while the switch tells of all that happens.
func TestSwitchReplacesWithoutGap(t *testing.T) {
	o, br := bridge(t)
	for name, tr := range transports(t, o, br) {
		t.Run(name, func(t *testing.T) {
			of15(o, "del-flows", br)
			d := NewFlows(tr, TagOf("l2"))
			r := reconcile.New("flows", d, Same)
			r.SetInSync(true)
			owner := reconcile.Owner{Feature: "f"}
			events := watch(t, tr)
			for _, f := range []Flow{port(1, Output(1)), port(1, Output(2))} {
				r.Replace(owner, d.Tag().Want(f))
				if err := errors.Join(r.Grow(t.Context()), r.Shrink(t.Context())); err != nil {
					t.Fatal(err)
				}
			}
			got := of15(o, "--no-stats", "dump-flows", br)
			if !regexp.MustCompile(`reg1=0x1 actions=output:2\n?$`).MatchString(got) || strings.Count(got, "cookie=") != 1 {
				t.Errorf("the switch has %s", got)
			}
			for range 2 {
				if e := <-events; e.Kind != Added {
					t.Errorf("the switch tells of %v", e)
				}
			}
			select {
			case e := <-events:
				t.Errorf("the switch tells of one more: %v", e)
			default:
			}
		})
	}
}
