package nft_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"isospin/internal/dataplane/nft"
	"isospin/internal/reconcile"
)

// TestDriftIsMendedAtOnce has a stranger change each kind of object while a reconciler runs by the watch alone.
func TestDriftIsMendedAtOnce(t *testing.T) {
	ns := space(t)
	d := driver(t, ns)
	r := reconcile.New("nft", d, nft.Equal, reconcile.WithReadBack(0))
	r.SetInSync(true)
	want := everything()
	r.Replace(reconcile.Owner{Feature: "a"}, want)
	ctx, cancel := context.WithCancel(t.Context())
	told := make(chan string, 1000)
	ended := make(chan error, 1)
	go func() { ended <- d.Watch(ctx, func(reason string) { told <- reason }) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	<-told // it begins
	if err := r.Grow(ctx); err != nil {
		t.Fatal(err)
	}
	compare(t, driver(t, ns), want)
	for _, meddle := range [][]string{
		{"delete", "element", "bridge", "isospin", "macs", "{ tap1 . fa:16:3e:00:00:01 }"},
		{"add", "element", "bridge", "isospin", "prefixes", "{ 100.0.0.0/8 }"},
		{"delete", "element", "bridge", "isospin", "verdicts", "{ tap1 }"},
		{"flush", "chain", "bridge", "isospin", "rules"},
		{"insert", "rule", "bridge", "isospin", "forward", "accept"},
		{"add", "chain", "bridge", "isospin", "stray"},
		{"delete", "table", "bridge", "isospin"},
	} {
		t.Run(fmt.Sprint(meddle), func(t *testing.T) {
			begin := time.Now()
			run(t, ns, meddle...)
			select {
			case <-told:
			case <-time.After(10 * time.Second):
				t.Fatal("nothing was told")
			}
			r.Invalidate("told")
			if err := r.Grow(ctx); err != nil {
				t.Fatal(err)
			}
			if err := r.Shrink(ctx); err != nil {
				t.Fatal(err)
			}
			compare(t, driver(t, ns), want)
			if took := time.Since(begin); took > 2*time.Second {
				t.Errorf("mended after %s", took)
			}
			for len(told) > 0 {
				<-told
			}
		})
	}
	if n := r.Stats().Drift; n == 0 {
		t.Error("no drift was counted")
	}
	// What is not ours is not told, nor what is our own doing: the one that comes is the stranger's.
	run(t, ns, "add table bridge theirs; add chain bridge theirs c; delete table bridge theirs; add table ip isospin")
	k, o := macs().Element("macs", nft.Name("tap7"), mac(7))
	if err := d.Put(ctx, map[nft.Key]nft.Object{k: o}); err != nil {
		t.Fatal(err)
	}
	run(t, ns, "add chain bridge isospin stray")
	<-told
	if n := len(told); n != 0 {
		t.Errorf("%d more were told", n)
	}
}

// TestTheWatchEnds with its context, and with a namespace that is not there.
func TestTheWatchEnds(t *testing.T) {
	if err := driver(t, "isospin-nowhere").Watch(t.Context(), func(string) {}); err == nil {
		t.Error("a namespace that is not there was watched")
	}
}
