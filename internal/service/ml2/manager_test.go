package ml2_test

import (
	"errors"
	"fmt"
	"testing"

	"isospin/internal/clock"
	"isospin/internal/fault"
	"isospin/internal/ident"
	"isospin/internal/model"
	"isospin/internal/service/ml2"
	"isospin/internal/store"
)

// reserve asks for segments and rolls back when asked to fail.
func (w *world) reserve(wants ...model.Segment) ([]model.Segment, error) {
	w.t.Helper()
	var got []model.Segment
	err := w.st.Write(w.t.Context(), func(tx store.WriteTx) (err error) {
		got, err = w.types.ReserveAll(w.t.Context(), tx, ident.Random{}.UUID(), "", false, append([]model.Segment{}, wants...))
		return err
	})
	return got, err
}

// TestReserve: given whole, in part, not at all.
func TestReserve(t *testing.T) {
	w := newWorld(t, []string{"vlan", "vxlan"})
	for _, c := range []struct {
		want       model.Segment
		fault      string
		kind, phys string
		id         int64
	}{
		{want: model.Segment{NetworkType: "vlan", PhysicalNetwork: "physnet1", SegmentationID: 101}, kind: "vlan", phys: "physnet1", id: 101},
		{want: model.Segment{NetworkType: "vlan", PhysicalNetwork: "physnet1", SegmentationID: 101}, fault: "VlanIdInUse"},
		{want: model.Segment{NetworkType: "vlan", PhysicalNetwork: "physnet1", SegmentationID: 4000}, kind: "vlan", phys: "physnet1", id: 4000}, // outside the ranges
		{want: model.Segment{NetworkType: "vlan", PhysicalNetwork: "physnet1", SegmentationID: 4000}, fault: "VlanIdInUse"},
		{want: model.Segment{NetworkType: "vlan", PhysicalNetwork: "bare", SegmentationID: 101}, kind: "vlan", phys: "bare", id: 101},
		{want: model.Segment{NetworkType: "vlan", PhysicalNetwork: "physnet1"}, kind: "vlan", phys: "physnet1"},
		{want: model.Segment{NetworkType: "vlan"}, kind: "vlan", phys: "physnet1"},
		{want: model.Segment{NetworkType: "flat", PhysicalNetwork: "x"}, kind: "flat", phys: "x"},
		{want: model.Segment{NetworkType: "flat", PhysicalNetwork: "x"}, fault: "FlatNetworkInUse"},
		{want: model.Segment{NetworkType: "local"}, kind: "local"},
		{want: model.Segment{NetworkType: "vxlan", SegmentationID: 5}, kind: "vxlan", id: 5},
		{want: model.Segment{NetworkType: "vxlan", SegmentationID: 5}, fault: "TunnelIdInUse"},
		{want: model.Segment{NetworkType: "vxlan", SegmentationID: 16777215}, kind: "vxlan", id: 16777215},
		{want: model.Segment{NetworkType: "gre"}, fault: "NoNetworkAvailable"}, // it has no ranges
		{want: model.Segment{NetworkType: "gre", SegmentationID: 7}, kind: "gre", id: 7},
		{want: model.Segment{NetworkType: "nope"}, fault: "InvalidInput"},
	} {
		got, err := w.reserve(c.want)
		if c.fault != "" {
			if !fault.Named(err, c.fault) {
				t.Errorf("%+v: %v, want %s", c.want, err, c.fault)
			}
			continue
		}
		if err != nil || got[0].NetworkType != c.kind || got[0].PhysicalNetwork != c.phys || c.id != 0 && got[0].SegmentationID != c.id {
			t.Errorf("%+v: %+v, %v", c.want, got, err)
		}
	}
	// Two of the four VLANs are left at most: project networks get those, then VXLAN in the order of the types, then nothing.
	var kinds []string
	for {
		got, err := w.reserve()
		if fault.Named(err, "NoNetworkAvailable") {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, got[0].NetworkType)
	}
	if fmt.Sprint(kinds) != "[vlan vxlan vxlan vxlan vxlan vxlan vxlan vxlan vxlan vxlan]" {
		t.Errorf("%v", kinds)
	}
}

// TestReleaseGivesBack: what is released is free again, an id outside the ranges does not get into them.
func TestReleaseGivesBack(t *testing.T) {
	w := newWorld(t, []string{"vlan"})
	for _, id := range []int64{0, 102, 3000} {
		got, err := w.reserve(model.Segment{NetworkType: "vlan", PhysicalNetwork: "physnet1", SegmentationID: id})
		if err != nil {
			t.Fatal(err)
		}
		w.write(func(tx store.WriteTx) error { return w.types.Release(t.Context(), tx, got[0]) })
		w.write(func(tx store.WriteTx) error { return w.types.Release(t.Context(), tx, got[0]) }) // twice is no harm
		if free := w.free("segment:vlan:physnet1"); free != 4 {
			t.Errorf("after %d: %d free", id, free)
		}
	}
	// A transaction that fails gives back what it took.
	boom := errors.New("boom")
	err := w.st.Write(t.Context(), func(tx store.WriteTx) error {
		if _, err := w.types.ReserveAll(t.Context(), tx, "n", "", false, nil); err != nil {
			return err
		}
		return boom
	})
	if !errors.Is(err, boom) || w.free("segment:vlan:physnet1") != 4 {
		t.Errorf("%v, %d free", err, w.free("segment:vlan:physnet1"))
	}
}

// TestMTUs: the smallest of a network's segments; path_mtu counts when it is smaller.
func TestMTUs(t *testing.T) {
	w := newWorld(t, []string{"vxlan"})
	for _, c := range []struct {
		segments []model.Segment
		want     int64
	}{
		{[]model.Segment{{NetworkType: "vxlan"}}, 1450},
		{[]model.Segment{{NetworkType: "gre"}}, 1438},
		{[]model.Segment{{NetworkType: "vlan", PhysicalNetwork: "physnet1"}}, 1490},
		{[]model.Segment{{NetworkType: "vlan", PhysicalNetwork: "other"}}, 1500},
		{[]model.Segment{{NetworkType: "flat", PhysicalNetwork: "x"}}, 1500},
		{[]model.Segment{{NetworkType: "local"}}, 1500},
		{[]model.Segment{{NetworkType: "vlan", PhysicalNetwork: "physnet1"}, {NetworkType: "vxlan"}}, 1450},
		{nil, 0},
	} {
		if got := w.types.MTU(c.segments); got != c.want {
			t.Errorf("%+v: %d, want %d", c.segments, got, c.want)
		}
	}
}

// TestManagerRefuses a configuration that cannot work.
func TestManagerRefuses(t *testing.T) {
	if _, err := ml2.NewTypeManager(typeDrivers(), []string{"geneve"}, "", ident.Random{}, clock.System{}); err == nil {
		t.Error("a project type without a driver")
	}
	if _, err := ml2.NewTypeManager(typeDrivers(), []string{"vxlan"}, "geneve", ident.Random{}, clock.System{}); err == nil {
		t.Error("an external type without a driver")
	}
}

// TestBinding: drivers in their order, live agents, bridge mappings, tunnel types, several segments.
func TestBinding(t *testing.T) {
	w := newWorld(t, []string{"vxlan"})
	overlay, tagged, far := w.network(vxlan()), w.network(model.Segment{NetworkType: "vlan", PhysicalNetwork: "physnet1"}), w.network(model.Segment{NetworkType: "flat", PhysicalNetwork: "far"})
	both := w.network(vxlan(), model.Segment{NetworkType: "vlan", PhysicalNetwork: "physnet1", Index: 1})
	loose := w.network(model.Segment{NetworkType: "local"})
	for _, c := range []struct {
		name, network, host, vif string
		segment                  string // type of the segment bound
	}{
		{"overlay", overlay.ID, "h1", "ovs", "vxlan"}, {"overlay on a host without tunnels", overlay.ID, "rack1", "binding_failed", ""},
		{"tagged", tagged.ID, "rack1", "ovs", "vlan"}, {"no mapping", far.ID, "h1", "binding_failed", ""},
		{"no agent", overlay.ID, "nowhere", "binding_failed", ""}, {"first segment", both.ID, "h1", "ovs", "vxlan"},
		{"second segment", both.ID, "rack1", "ovs", "vlan"}, {"local", loose.ID, "h1", "ovs", "local"}, {"no host", overlay.ID, "", "unbound", ""},
	} {
		p, levels := w.state(w.port(c.network, c.host).ID)
		if p.VIFType != c.vif {
			t.Errorf("%s: %s", c.name, p.VIFType)
		}
		if c.segment == "" {
			if len(levels) != 0 {
				t.Errorf("%s: %+v", c.name, levels)
			}
			continue
		}
		kind := ""
		for _, s := range w.segments(c.network) {
			if len(levels) == 1 && s.ID == levels[0].SegmentID {
				kind = s.NetworkType
			}
		}
		if kind != c.segment || p.VIFDetails["bridge_name"] != "br-int" || p.VIFDetails["connectivity"] != "l2" {
			t.Errorf("%s: %s %+v %v", c.name, kind, levels, p.VIFDetails)
		}
	}
	// Moved to another host: the levels follow, the generation grows.
	p := w.port(overlay.ID, "h1")
	w.adjust(p.ID, func(p *model.Port) { p.HostID = "h2" })
	got, levels := w.state(p.ID)
	if len(levels) != 1 || levels[0].Host != "h2" || got.Wiring != 2 || got.Status != model.StatusDown {
		t.Errorf("%+v %+v", got, levels)
	}
	// A host whose agent comes later.
	late := w.port(overlay.ID, "nowhere")
	w.write(func(tx store.WriteTx) error { return w.plugin.HostReady(t.Context(), tx, "nowhere") })
	w.write(func(tx store.WriteTx) error { return w.plugin.Plugged(t.Context(), tx, late.ID, "nowhere") })
	w.write(func(tx store.WriteTx) error {
		return w.plugin.Plugged(t.Context(), tx, ident.Random{}.UUID(), "nowhere")
	})
	if got, _ := w.state(late.ID); got.VIFType != model.VIFBindingFailed || got.Revision != 1 {
		t.Errorf("%s %d", got.VIFType, got.Revision)
	}
}
