package l2ovs

import (
	"maps"
	"testing"

	"isospin/internal/change"
	"isospin/internal/dataplane/openflow"
	"isospin/internal/wire"
)

// differences counts the flows that would be written and deleted.
func differences(before, after map[openflow.Key]openflow.Flow) (n int) {
	for k := range after {
		if _, there := before[k]; !there {
			n++
		}
	}
	for k := range before {
		if _, there := after[k]; !there {
			n++
		}
	}
	return n
}

// TestAPortInsideCostsItself: of a trunk of a hundred ports, one that comes and goes costs flows of its own and the floods of its network, and no other is
// looked at.
func TestAPortInsideCostsItself(t *testing.T) {
	const many = 100
	w := newWorld(t, hostConfig())
	w.network(1, segment("vxlan", "", 100))
	parent := w.port(0, 1, "vxlan", "192.0.2.1")
	w.plug("tap0", portID(0), 1)
	var inside []int
	for n := 1; n <= many; n++ {
		w.port(n, 1, "vxlan", "192.0.2.2")
		inside = append(inside, n)
	}
	w.network(2, segment("vxlan", "", 200))
	w.port(many+1, 2, "vxlan", "198.51.100.1")
	w.trunk(parent, inside...)
	w.sync()
	before := maps.Clone(w.flows.merged())

	w.trunk(parent, append(inside, many+1)...)
	dirty := w.trunks.Sync(w.docs, w.dirty, false).Dirty
	if len(dirty) != 1 || dirty[0] != (change.Key{Kind: wire.KindPort, ID: portID(many + 1)}) {
		t.Errorf("dirty are %v", dirty)
	}
	w.dirty = append(w.dirty, dirty...)
	w.sync()
	came := maps.Clone(w.flows.merged())
	// In, out, not to itself, forward, an answer and a probe; the network comes into use: in from the tunnel and two floods.
	if n := differences(before, came); n != 9 {
		t.Errorf("a port that came cost %d flows", n)
	}

	w.trunk(parent, inside...)
	w.sync()
	if n := differences(came, w.flows.merged()); n != 9 {
		t.Errorf("a port that went cost %d flows", n)
	}
	if n := differences(before, w.flows.merged()); n != 0 {
		t.Errorf("%d flows are not what they were", n)
	}

	// The one that carries them has another number: all are elsewhere.
	w.plug("tap0", portID(0), 7)
	keys, _ := w.feature.watch.Look()
	if got := w.trunks.Sync(w.docs, keys, false).Dirty; len(got) != many {
		t.Errorf("%d of %d ports are elsewhere", len(got), many)
	}
}
