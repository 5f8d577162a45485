// Package featuretest is a host without a kernel for tests of features: a mirror that the test fills document by document, interfaces on the integration
// bridge, and targets that remember what is wanted. Tests of features on Open vSwitch hosts use it; nothing else does.
package featuretest

import (
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"isospin/internal/agent/feature/brint"
	"isospin/internal/agent/mirror"
	"isospin/internal/change"
	"isospin/internal/dataplane/openflow"
	"isospin/internal/dataplane/vswitch"
	"isospin/internal/reconcile"
	"isospin/internal/wire"
)

// Failer is what a test and a drawn one have in common.
type Failer interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// Host is a host's documents and interfaces.
type Host struct {
	Docs  *mirror.Mirror
	Watch *brint.Watch

	t       Failer
	hash    uint64
	held    map[change.Key]*wire.Document
	dirty   []change.Key
	plugged interfaces
}

// interfaces is what is on the bridge, by name.
type interfaces map[string]vswitch.Interface

func (i interfaces) Changed() <-chan struct{} { return nil }
func (i interfaces) Snapshot() (map[string]vswitch.Interface, bool) {
	return maps.Clone(i), true
}

// New makes a host that has nothing.
func New(t Failer) *Host {
	h := &Host{Docs: mirror.Memory(), t: t, held: map[change.Key]*wire.Document{}, plugged: interfaces{}}
	if _, _, err := h.Docs.Apply(&wire.Frame{Set: "all", Begin: true, Complete: true}); err != nil {
		t.Fatalf("%v", err)
	}
	h.Restart()
	return h
}

// Restart forgets what an agent forgets: all but the mirror. Features are made anew by the test, with the new Watch.
func (h *Host) Restart() {
	h.Watch = brint.NewWatch(h.plugged)
	h.Watch.Look()
	h.dirty = nil
}

// Put has a document come, or come anew: a drop and a put in one burst.
func (h *Host) Put(kind, id string, m proto.Message) {
	h.t.Helper()
	d, err := wire.Encode(kind, id, m)
	if err != nil {
		h.t.Fatalf("%v", err)
	}
	h.Drop(kind, id)
	h.held[change.Key{Kind: kind, ID: id}] = d
	h.hash += d.Hash()
	h.frame(&wire.Frame{Put: []*wire.Document{d}})
}

// Drop has a document go; one that is not there stays so.
func (h *Host) Drop(kind, id string) {
	h.t.Helper()
	k := change.Key{Kind: kind, ID: id}
	d := h.held[k]
	if d == nil {
		return
	}
	delete(h.held, k)
	h.hash -= d.Hash()
	h.frame(&wire.Frame{Drop: []*wire.Key{{Kind: kind, Id: id}}})
}

func (h *Host) frame(f *wire.Frame) {
	h.t.Helper()
	f.Set, f.Hash = "all", h.hash
	dirty, _, err := h.Docs.Apply(f)
	if err != nil {
		h.t.Fatalf("%v", err)
	}
	h.dirty = append(h.dirty, dirty...)
}

// Plug puts an interface of a port on the bridge; 0 is one without a number yet.
func (h *Host) Plug(name, port string, number int) {
	h.plugged[name] = vswitch.Interface{Name: name, IfaceID: port, OFPort: number}
}

// Unplug takes an interface away.
func (h *Host) Unplug(name string) { delete(h.plugged, name) }

// Dirty is what changed since the last call, as the loop tells features, of the kinds that one reads.
func (h *Host) Dirty(kinds []string) []change.Key {
	keys, _ := h.Watch.Look()
	all := append(h.dirty, keys...)
	h.dirty = nil
	return slices.DeleteFunc(all, func(k change.Key) bool { return !slices.Contains(kinds, k.Kind) })
}

// Target is a reconcile.Target that only remembers.
type Target[K comparable, V any] map[reconcile.Owner]map[K]V

// Replace implements reconcile.Target.
func (t Target[K, V]) Replace(o reconcile.Owner, want map[K]V) {
	delete(t, o)
	if len(want) > 0 {
		t[o] = maps.Clone(want)
	}
}

// Merged is all that is wanted.
func (t Target[K, V]) Merged() map[K]V {
	out := map[K]V{}
	for _, want := range t {
		maps.Copy(out, want)
	}
	return out
}

// Flows are a target's flows, in no order, and an error where two want one place or Open vSwitch would refuse one.
func Flows(t Target[openflow.Key, openflow.Flow]) ([]openflow.Flow, error) {
	out := slices.Collect(maps.Values(t.Merged()))
	for _, f := range out {
		if err := f.Check(); err != nil {
			return out, err
		}
	}
	return out, openflow.Conflicts(out)
}
