package brint

import (
	"maps"
	"testing"

	"isospin/internal/dataplane/vswitch"
)

// plugged shows interfaces by name.
type plugged map[string]vswitch.Interface

func (p plugged) Changed() <-chan struct{}                       { return nil }
func (p plugged) Snapshot() (map[string]vswitch.Interface, bool) { return maps.Clone(p), true }

// TestPortsInsideTrunks: they are where the port is that carries them, and numbers of all ports differ.
func TestPortsInsideTrunks(t *testing.T) {
	on := func(port string, number int) vswitch.Interface {
		return vswitch.Interface{Name: "tap-" + port, IfaceID: port, OFPort: number}
	}
	source := plugged{"a": on("a", 1), "b": on("b", 101), "c": on("c", 3)}
	w := NewWatch(source)
	w.Look()
	w.Carry(Trunks{"a": {101: "in", 102: "shared", 103: "c"}, "b": {101: "shared", 7: "b", 8: "other"}, "away": {1: "lost"}})
	got := map[string]Place{}
	numbers := map[uint32]string{}
	for id := range w.Present() {
		at, ok := w.Present().Place(id)
		if !ok {
			t.Errorf("%s has no place", id)
		}
		if who, taken := numbers[at.Number]; taken {
			t.Errorf("%s and %s have one number", id, who)
		}
		numbers[at.Number], got[id] = id, at
	}
	want := map[string]Place{
		"a": {Number: 1, Port: 1, Trunk: true}, "b": {Number: 101, Port: 101, Trunk: true},
		"in": {Number: 1<<16 | 101, Port: 1, VLAN: 101}, "shared": {Number: 1<<16 | 102, Port: 1, VLAN: 102}, // of two that say so, one has it
		"c":     {Number: 1<<16 | 103, Port: 1, VLAN: 103}, // though it has an interface of its own
		"other": {Number: 101<<16 | 8, Port: 101, VLAN: 8},
	}
	if !maps.Equal(got, want) {
		t.Errorf("places are %+v\nwant %+v", got, want)
	}
	for id, carrier := range map[string]string{"in": "a", "shared": "a", "lost": "away", "a": ""} {
		if c, ok := w.Carrier(id); c != carrier || ok != (carrier != "") {
			t.Errorf("%s is carried by %q", id, c)
		}
	}

	delete(source, "a")
	if keys, tell := w.Look(); !tell || len(keys) != 1 || keys[0].ID != "a" {
		t.Errorf("told of %v", keys)
	}
	if _, there := w.Present()["in"]; there {
		t.Error("a port is inside a trunk that nobody carries")
	}
	w.Carry(Trunks{})
	if at, _ := w.Present().Place("c"); at != (Place{Number: 3, Port: 3}) {
		t.Errorf("out of its trunk the port is at %+v", at)
	}
}
