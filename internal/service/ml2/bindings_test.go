package ml2_test

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/store"
)

// guest makes a port of an instance on a host, or on none.
func (w *world) guest(n model.Network, host string) model.Port {
	w.t.Helper()
	var p model.Port
	w.write(func(tx store.WriteTx) (err error) {
		p, err = w.plugin.CreatePort(w.t.Context(), tx, model.Port{NetworkID: n.ID, DeviceOwner: "compute:nova", HostID: host})
		return err
	})
	return p
}

// read reads a port and the hosts of its levels.
func (w *world) read(id string) (p model.Port, hosts []string) {
	w.t.Helper()
	err := w.st.Read(w.t.Context(), func(tx store.Tx) (err error) {
		hosts = nil
		if p, err = w.plugin.Ports.Get(w.t.Context(), tx, id); err != nil {
			return err
		}
		return store.Each(w.t.Context(), tx, store.Q("SELECT host FROM binding_levels WHERE port_id = ? ORDER BY host", id), func(scan func(...any) error) error {
			var h string
			err := scan(&h)
			hosts = append(hosts, h)
			return err
		})
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return p, hosts
}

func (w *world) add(id, host string) (b model.PortBinding, err error) {
	err = w.st.Write(w.t.Context(), func(tx store.WriteTx) (err error) {
		b, err = w.plugin.AddBinding(w.t.Context(), tx, id, model.PortBinding{Host: host, VNICType: model.VNICNormal, Profile: map[string]any{"migrating_to": host}})
		return err
	})
	return b, err
}

func (w *world) activate(id, host string) (b model.PortBinding, err error) {
	err = w.st.Write(w.t.Context(), func(tx store.WriteTx) (err error) {
		b, err = w.plugin.ActivateBinding(w.t.Context(), tx, id, host)
		return err
	})
	return b, err
}

func named(err error) string {
	var f *fault.Fault
	if errors.As(err, &f) {
		return f.Name
	}
	return ""
}

func TestMoveByBindings(t *testing.T) {
	w := newWorld(t, []string{"vxlan"})
	n := w.network(model.Segment{NetworkType: model.TypeVXLAN, SegmentationID: 7})
	p := w.guest(n, "h1")
	b, err := w.add(p.ID, "h2")
	if err != nil || b.VIFType != model.VIFOVS || b.Status != model.BindingInactive {
		t.Fatalf("%+v, %v", b, err)
	}
	got, levels := w.read(p.ID)
	if got.HostID != "h1" || got.VIFType != model.VIFOVS || len(got.Bindings) != 1 || got.Revision != p.Revision || !slices.Equal(levels, []string{"h1", "h2"}) {
		t.Errorf("%+v on %v", got, levels)
	}
	for host, want := range map[string]string{"h1": "PortBindingAlreadyExists", "h2": "PortBindingAlreadyExists", "nowhere": "PortBindingError", "": "InvalidInput"} {
		if _, err := w.add(p.ID, host); named(err) != want {
			t.Errorf("add %q: %v", host, err)
		}
	}
	if _, err := w.activate(p.ID, "h3"); named(err) != "PortBindingNotFound" {
		t.Error(err)
	}
	// Of those who activate at once one wins.
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { _, errs[i] = w.activate(p.ID, "h2") })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		switch {
		case err == nil:
			won++
		case named(err) != "PortBindingAlreadyActive":
			t.Error(err)
		}
	}
	got, levels = w.read(p.ID)
	if won != 1 || got.HostID != "h2" || got.VIFType != model.VIFOVS || got.Status != model.StatusDown || got.Wiring != p.Wiring+1 ||
		got.Profile["migrating_to"] != "h2" || !slices.Equal(levels, []string{"h2"}) {
		t.Errorf("%d won: %+v on %v", won, got, levels)
	}
	if len(got.Bindings) != 1 || got.Bindings[0].Host != "h1" || got.Bindings[0].VIFType != model.VIFUnbound || got.Bindings[0].Status != model.BindingInactive {
		t.Errorf("%+v", got.Bindings)
	}
	// And back: what was unbound is bound again.
	if b, err := w.activate(p.ID, "h1"); err != nil || b.VIFType != model.VIFOVS || b.Status != model.BindingActive {
		t.Errorf("%+v, %v", b, err)
	}
	if got, levels = w.read(p.ID); got.HostID != "h1" || !slices.Equal(levels, []string{"h1"}) {
		t.Errorf("%+v on %v", got, levels)
	}
	w.write(func(tx store.WriteTx) error { return w.plugin.DropBinding(t.Context(), tx, p.ID, "h1") })
	if got, levels = w.read(p.ID); got.HostID != "" || got.VIFType != model.VIFUnbound || len(levels) != 0 || len(got.Bindings) != 1 {
		t.Errorf("%+v on %v", got, levels)
	}
}

// TestBindingsAndHost: a host that waits and gets the port by its host_id, a changed binding, and a port that goes.
func TestBindingsAndHost(t *testing.T) {
	w := newWorld(t, []string{"vxlan"})
	n := w.network(model.Segment{NetworkType: model.TypeVXLAN, SegmentationID: 8})
	p := w.guest(n, "h1")
	if _, err := w.add(p.ID, "h2"); err != nil {
		t.Fatal(err)
	}
	w.write(func(tx store.WriteTx) error {
		_, err := w.plugin.AdjustPort(t.Context(), tx, p.ID, func(p *model.Port) { p.HostID = "h2" })
		return err
	})
	if got, levels := w.read(p.ID); got.HostID != "h2" || len(got.Bindings) != 0 || !slices.Equal(levels, []string{"h2"}) {
		t.Errorf("%+v on %v", got, levels)
	}
	if _, err := w.add(p.ID, "h1"); err != nil {
		t.Fatal(err)
	}
	change := func(from, to string) error {
		return w.st.Write(t.Context(), func(tx store.WriteTx) error {
			_, err := w.plugin.ChangeBinding(t.Context(), tx, p.ID, from, func(b *model.PortBinding) error { b.Host = to; return nil })
			return err
		})
	}
	for _, c := range [][3]string{{"h1", "h2", "PortBindingAlreadyExists"}, {"h9", "h1", "PortBindingNotFound"}, {"h1", "nowhere", "PortBindingError"}, {"h1", "h1", ""}} {
		if err := change(c[0], c[1]); named(err) != c[2] || c[2] == "" && err != nil {
			t.Errorf("%v: %v", c, err)
		}
	}
	w.write(func(tx store.WriteTx) error { return w.plugin.DeletePort(t.Context(), tx, p.ID) })
	err := w.st.Read(t.Context(), func(tx store.Tx) error {
		n, _, err := store.Int(t.Context(), tx, store.Q("SELECT COUNT(*) FROM binding_levels"))
		if n != 0 {
			t.Errorf("%d levels are left", n)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.add(p.ID, "h1"); named(err) != "PortNotFound" {
		t.Error(err)
	}
}

// TestWhatCannotBeActivated: a host that cannot have the port any more is refused, and nothing of the port is another than before.
func TestWhatCannotBeActivated(t *testing.T) {
	w := newWorld(t, []string{"vxlan"})
	n := w.network(model.Segment{NetworkType: model.TypeVXLAN, SegmentationID: 9})
	p := w.guest(n, "nowhere") // no agent: the binding in force failed
	if p.VIFType != model.VIFBindingFailed {
		t.Fatalf("the port is %s", p.VIFType)
	}
	if _, err := w.add(p.ID, "h2"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.activate(p.ID, "h2"); err != nil {
		t.Fatal(err)
	}
	before, levels := w.read(p.ID)
	if before.HostID != "h2" || before.VIFType != model.VIFOVS || !slices.Equal(levels, []string{"h2"}) {
		t.Fatalf("%+v on %v", before, levels)
	}
	if _, err := w.activate(p.ID, "nowhere"); named(err) != "PortBindingError" {
		t.Error(err)
	}
	after, levels := w.read(p.ID)
	if after.HostID != "h2" || after.Wiring != before.Wiring || after.Revision != before.Revision || len(after.Bindings) != 1 || !slices.Equal(levels, []string{"h2"}) {
		t.Errorf("%+v on %v", after, levels)
	}
	// Without the binding in force the one that waits can still be activated: the guest was saved from its host.
	if _, err := w.add(p.ID, "h1"); err != nil {
		t.Fatal(err)
	}
	w.write(func(tx store.WriteTx) error { return w.plugin.DropBinding(t.Context(), tx, p.ID, "h2") })
	if got, levels := w.read(p.ID); got.HostID != "" || !slices.Equal(levels, []string{"h1"}) {
		t.Errorf("%+v on %v", got, levels)
	}
	if b, err := w.activate(p.ID, "h1"); err != nil || b.VIFType != model.VIFOVS {
		t.Errorf("%+v, %v", b, err)
	}
	if got, levels := w.read(p.ID); got.HostID != "h1" || got.VIFType != model.VIFOVS || !slices.Equal(levels, []string{"h1"}) {
		t.Errorf("%+v on %v", got, levels)
	}
}

// TestAwait: a port waits on the hosts that another plugin names, and on no others; one that cannot have it is passed over.
func TestAwait(t *testing.T) {
	w := newWorld(t, []string{"vxlan"})
	p := w.guest(w.network(model.Segment{NetworkType: model.TypeVXLAN, SegmentationID: 6}), "h1")
	for _, c := range []struct {
		hosts, levels []string
	}{
		{[]string{"h2", "nowhere", "h1"}, []string{"h1", "h2"}},
		{[]string{"h2"}, []string{"h1", "h2"}},
		{nil, []string{"h1"}},
	} {
		w.write(func(tx store.WriteTx) error { return w.plugin.Await(t.Context(), tx, p.ID, c.hosts) })
		if got, levels := w.read(p.ID); got.HostID != "h1" || len(got.Bindings) != len(c.levels)-1 || !slices.Equal(levels, c.levels) {
			t.Errorf("%v: %+v on %v", c.hosts, got.Bindings, levels)
		}
	}
}
