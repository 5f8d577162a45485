package vswitch_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"isospin/internal/dataplane/vswitch"
	"isospin/internal/dataplane/vswitch/ovstest"
	"isospin/internal/ovsdb"
	"isospin/internal/reconcile"
)

// BenchmarkPorts1000 is a cold and a warm start of the stage of ports; ovs-vswitchd stands still, so that the
// figures are ours.
func BenchmarkPorts1000(b *testing.B) {
	o := ovstest.Start(b)
	o.Vsctl("add-br", "br0", "--", "set", "Bridge", "br0", "datapath_type=netdev")
	o.StopVswitchd()
	c, err := ovsdb.New(o.DB)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = c.Run(ctx) })
	defer wg.Wait()
	defer cancel()
	if err := c.Ready(ctx); err != nil {
		b.Fatal(err)
	}
	want := map[string]vswitch.Port{}
	for i := range 1000 {
		want[fmt.Sprint("p", i)] = vswitch.Patch("br0", fmt.Sprint("q", i))
	}
	start := func() *reconcile.Reconciler[string, vswitch.Port] {
		r := reconcile.New("ports", vswitch.NewPorts(c, "bench"), vswitch.EqualPort)
		r.SetInSync(true)
		return r
	}
	round := func(r *reconcile.Reconciler[string, vswitch.Port]) {
		if err := r.Grow(ctx); err != nil {
			b.Fatal(err)
		}
		if err := r.Shrink(ctx); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("cold", func(b *testing.B) {
		for b.Loop() {
			r := start()
			r.Replace(reconcile.Owner{Feature: "bench"}, want)
			round(r)
			b.StopTimer()
			r.Replace(reconcile.Owner{Feature: "bench"}, nil)
			round(r)
			b.StartTimer()
		}
	})
	round(func() *reconcile.Reconciler[string, vswitch.Port] {
		r := start()
		r.Replace(reconcile.Owner{Feature: "bench"}, want)
		return r
	}())
	b.Run("warm", func(b *testing.B) {
		for b.Loop() {
			r := start()
			r.Replace(reconcile.Owner{Feature: "bench"}, want)
			round(r)
			if s := r.Stats(); s.Puts+s.Drops != 0 {
				b.Fatalf("%d writes", s.Puts+s.Drops)
			}
		}
	})
}
