package trunk

import (
	"testing"

	"isospin/internal/agent/feature/brint"
	"isospin/internal/agent/mirror"
	"isospin/internal/change"
	"isospin/internal/dataplane/vswitch"
	"isospin/internal/wire"
)

// one is a bridge with one interface, of the port that carries the trunk.
type one struct{}

func (one) Changed() <-chan struct{} { return nil }
func (one) Snapshot() (map[string]vswitch.Interface, bool) {
	return map[string]vswitch.Interface{"tap": {Name: "tap", IfaceID: "parent", OFPort: 1}}, true
}

// TestTagsThatAreNone: a tag that cannot be, or is another's, gives its port no place and harms no other.
func TestTagsThatAreNone(t *testing.T) {
	docs := mirror.Memory()
	p := &wire.Port{Id: "parent", TrunkId: "t"}
	for _, s := range []struct {
		id, kind string
		tag      int64
	}{{"good", "vlan", 5}, {"same", "vlan", 5}, {"zero", "vlan", 0}, {"large", "vlan", 4095}, {"wraps", "vlan", 65536 + 6}, {"other", "inherit", 8}, {"last", "vlan", 4094}} {
		p.SubPorts = append(p.SubPorts, &wire.SubPort{PortId: s.id, SegmentationType: s.kind, SegmentationId: s.tag})
	}
	d, err := wire.Encode(wire.KindPort, p.Id, p)
	if err != nil {
		t.Fatal(err)
	}
	dirty, _, err := docs.Apply(&wire.Frame{Set: "all", Begin: true, Complete: true, Put: []*wire.Document{d}, Hash: d.Hash()})
	if err != nil {
		t.Fatal(err)
	}
	w := brint.NewWatch(one{})
	w.Look()
	f := New(w)
	got := map[string]bool{}
	for _, k := range f.Sync(docs, dirty, false).Dirty {
		got[k.ID] = k == change.Key{Kind: wire.KindPort, ID: k.ID}
	}
	if len(got) != 2 || !got["good"] || !got["last"] {
		t.Errorf("dirty are %v", got)
	}
	for id, want := range map[string]brint.Place{"good": {Number: 1<<16 | 5, Port: 1, VLAN: 5}, "last": {Number: 1<<16 | 4094, Port: 1, VLAN: 4094}, "parent": {Number: 1, Port: 1, Trunk: true}} {
		if at, ok := w.Present().Place(id); !ok || at != want {
			t.Errorf("%s is at %+v", id, at)
		}
	}
	if n := len(w.Present()); n != 3 {
		t.Errorf("%d ports have places", n)
	}
	// Looked at again, nothing is elsewhere.
	if res := f.Sync(docs, dirty, false); len(res.Dirty) != 0 {
		t.Errorf("dirty are %v", res.Dirty)
	}
}
