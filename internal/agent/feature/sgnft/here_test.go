package sgnft

import (
	"fmt"
	"testing"

	"isospin/internal/wire"
)

// TestHere: the addresses of tracked ports are here while the port is, in the zone of its network; those of ports that are not tracked are not told.
func TestHere(t *testing.T) {
	w := newWorld(t, Config{Tracks: true})
	w.network(1, "vxlan", false)
	w.group(1, true)
	w.group(2, false)
	zone, err := w.zones.Of(netID(1))
	if err != nil {
		t.Fatal(err)
	}
	w.port(1, 1, []string{"192.0.2.1", "2001:db8::1"}, 1)
	w.port(2, 1, []string{"192.0.2.2"}, 2)
	w.sync()
	link := "fe80::f816:3eff:fe00:1"
	if got, want := fmt.Sprint(w.here.Merged()), fmt.Sprintf("map[192.0.2.1 in zone %[1]d:{} 2001:db8::1 in zone %[1]d:{} %[2]s in zone %[1]d:{}]", zone, link); got != want {
		t.Errorf("here are %s, not %s", got, want)
	}
	w.Drop(wire.KindPort, portID(1))
	w.sync()
	if got := w.here.Merged(); len(got) != 0 {
		t.Errorf("here are still %v", got)
	}
}
