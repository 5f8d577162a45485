package qos

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"isospin/internal/agent"
	"isospin/internal/dataplane/nft"
	"isospin/internal/wire"
)

// bridgeWorld is a host of Linux bridges.
type bridgeWorld struct {
	*documents
	feature *Bridge
	objects target[nft.Key, nft.Object]
}

func newBridgeWorld(t failer) *bridgeWorld {
	w := &bridgeWorld{documents: newDocuments(t)}
	w.start()
	return w
}

func (w *bridgeWorld) start() {
	w.objects = target[nft.Key, nft.Object]{}
	w.feature, w.dirty = NewBridge(w.objects), nil
	w.feature.Sync(w.docs, nil, true)
}

func (w *bridgeWorld) sync() agent.Result {
	defer func() { w.dirty = nil }()
	return w.feature.Sync(w.docs, w.dirty, false)
}

func (w *bridgeWorld) golden() (out string) {
	all := w.objects.merged()
	keys := slices.SortedFunc(maps.Keys(all), func(a, b nft.Key) int {
		return int(a.Kind) - int(b.Kind) + 10*cmpText(nft.Show(a, all[a]), nft.Show(b, all[b]))
	})
	for _, k := range keys {
		out += nft.Show(k, all[k]) + "\n"
	}
	return out
}

func cmpText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func TestBridgeGolden(t *testing.T) {
	w := newBridgeWorld(t)
	w.policy("q", everything()...)
	w.policy("nets", rule("bandwidth_limit", "egress", 1000, 0))
	w.network("net", "nets")
	w.port(1, "q")
	w.port(2, "")
	w.port(3, "bare")
	w.sync()
	// The kernel would take it: what is referred to is there.
	if err := nft.NewFake().Put(context.Background(), w.objects.merged()); err != nil {
		t.Error(err)
	}
	compare(t, filepath.Join("testdata", "bridge.txt"), w.golden())
	if r, _ := w.feature.Report(w.docs, portID(1)); r.State != wire.State_DONE {
		t.Errorf("a port with a policy: %v", r)
	}
	w.port(1, "")
	w.network("net", "")
	w.sync()
	if got := w.objects.merged(); len(got) != len(hooks()) {
		t.Errorf("without policies: %s", w.golden())
	}
}

// TestBridgeSequences is TestSequences for Linux bridges.
func TestBridgeSequences(t *testing.T) {
	const ports = 5
	rapid.Check(t, func(r *rapid.T) {
		w := newBridgeWorld(r)
		for range rapid.IntRange(1, 10).Draw(r, "bursts") {
			for range rapid.IntRange(1, 4).Draw(r, "events") {
				rapid.SampledFrom(drawn(ports)).Draw(r, "event")(r, w.documents, rapid.IntRange(0, ports-1).Draw(r, "n"))
			}
			if rapid.IntRange(0, 5).Draw(r, "restart") == 0 {
				w.start()
			} else {
				w.sync()
			}
			if err := nft.NewFake().Put(context.Background(), w.objects.merged()); err != nil {
				r.Fatalf("%v", err)
			}
		}
		got, said := w.golden(), fmt.Sprint(w.said(ports))
		w.start()
		same(r, "objects", w.golden(), got)
		if d := cmp.Diff(fmt.Sprint(w.said(ports)), said); d != "" {
			r.Fatalf("reports differ from those of a start: %s", d)
		}
	})
}

func (w *bridgeWorld) said(ports int) (out []agent.Report) {
	for n := range ports {
		r, _ := w.feature.Report(w.docs, portID(n))
		out = append(out, r)
	}
	return out
}
