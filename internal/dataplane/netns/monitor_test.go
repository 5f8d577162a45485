package netns_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"isospin/internal/dataplane/netns"
)

func TestMonitorTellsOfChangesInAllOurNamespaces(t *testing.T) {
	p := prefix(t)
	old, young := p+"old", p+"young"
	if err := netns.Create(old); err != nil {
		t.Fatal(err)
	}
	seen := make(chan netns.Kind, 1000)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := netns.Monitor(ctx, netns.Prefixes(p), func(k netns.Kind) { seen <- k }); err != nil {
			t.Errorf("monitor: %v", err)
		}
	})
	defer wg.Wait()
	defer cancel()
	await := func(what string, want netns.Kind) {
		t.Helper()
		deadline := time.NewTimer(5 * time.Second)
		defer deadline.Stop()
		for {
			select {
			case k := <-seen:
				if k&want == want {
					return
				}
			case <-deadline.C:
				t.Fatalf("%s was not told", what)
			}
		}
	}
	drain := func() {
		for {
			select {
			case <-seen:
			default:
				return
			}
		}
	}
	await("the start", netns.Everything)
	if err := netns.Create(young); err != nil {
		t.Fatal(err)
	}
	await("a new namespace", netns.Namespaces)
	for _, n := range []string{old, young} {
		steps := []struct {
			kind netns.Kind
			args []string
		}{
			{netns.Links, []string{"link", "add", "d0", "type", "bridge"}},
			{netns.Links, []string{"link", "set", "d0", "up"}},
			{netns.Addresses, []string{"addr", "add", "192.0.2.1/24", "dev", "d0"}},
			{netns.Routes, []string{"route", "add", "198.51.100.0/24", "via", "192.0.2.2"}},
			{netns.Addresses, []string{"addr", "add", "2001:db8::1/64", "dev", "d0", "nodad"}},
			{netns.Addresses, []string{"addr", "del", "192.0.2.1/24", "dev", "d0"}},
			{netns.Links, []string{"link", "del", "d0"}},
		}
		for _, s := range steps {
			drain()
			ip(t, append([]string{"-n", n}, s.args...)...)
			await(n+": "+s.args[0]+" "+s.args[1], s.kind)
		}
	}
	drain()
	if err := netns.Delete(old); err != nil {
		t.Fatal(err)
	}
	await("a deleted namespace", netns.Namespaces)
}
