package ml2_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"

	"isospin/internal/model"
	"isospin/internal/service/ml2"
)

// fabric is the driver of an imaginary physical switch: it carries VXLAN networks to racks, whose hosts know VLANs only.
// It must be asked, which takes as long as hold is open, and leaves the host's part to the level below.
type fabric struct {
	mu     sync.Mutex
	fails  int // so many calls fail
	asked  int
	hold   chan struct{}              // nil: answers at once
	inside chan string                // told of each port that is asked for; nil: nobody listens
	told   map[string][]string        // port → drivers of its levels when Postcommit told last
	calls  map[string]int             // port → calls of Postcommit
	refuse func(ml2.BindRequest) bool // nil: takes all
}

func newFabric() *fabric { return &fabric{told: map[string][]string{}, calls: map[string]int{}} }

func (*fabric) Name() string { return "fabric" }

// Bind is never asked of a remote driver.
func (*fabric) Bind(ml2.BindRequest) (ml2.Binding, bool) { panic("Bind of a remote driver") }

// Claims takes level 0 of racks' ports on VXLAN networks.
func (*fabric) Claims(r ml2.BindRequest) bool {
	return r.Level == 0 && strings.HasPrefix(r.Host.Name, "rack") && r.Segments[0].NetworkType == model.TypeVXLAN
}

func (f *fabric) BindRemote(ctx context.Context, r ml2.BindRequest) (ml2.Binding, bool, error) {
	f.mu.Lock()
	f.asked++
	fail := f.fails > 0
	f.fails--
	hold, inside := f.hold, f.inside
	f.mu.Unlock()
	if inside != nil {
		inside <- r.Port.ID
	}
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return ml2.Binding{}, false, ctx.Err()
		}
	}
	if fail {
		return ml2.Binding{}, false, errors.New("the switch does not answer")
	}
	if f.refuse != nil && f.refuse(r) {
		return ml2.Binding{}, false, nil
	}
	return ml2.Binding{Segment: r.Segments[0], Next: []model.Segment{{NetworkType: model.TypeVLAN, PhysicalNetwork: "physnet1"}}}, true, nil
}

func (f *fabric) Postcommit(_ context.Context, p model.Port, levels []model.BindingLevel) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[p.ID]++
	if f.calls[p.ID] == 1 {
		return errors.New("the first time is lost")
	}
	f.told[p.ID] = nil
	for _, l := range levels {
		f.told[p.ID] = append(f.told[p.ID], l.Driver)
	}
	return nil
}

func (f *fabric) drivers(port string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.told[port], " ")
}

var _ ml2.Remote = (*fabric)(nil)

func vxlan() model.Segment { return model.Segment{NetworkType: model.TypeVXLAN} }

// TestTwoLevels: the switch carries VXLAN, the rack's host a VLAN of the network's own that all its ports share and that
// goes with the last of them.
func TestTwoLevels(t *testing.T) {
	f := newFabric()
	w := newWorld(t, []string{"vxlan"}, f)
	n := w.network(vxlan())
	first := w.port(n.ID, "rack1")
	if first.VIFType != model.VIFUnbound {
		t.Errorf("before the switch was asked the port is %s", first.VIFType)
	}
	second := w.port(n.ID, "rack2")
	for _, id := range []string{first.ID, second.ID} {
		w.until("bound", func() bool { p, _ := w.state(id); return p.VIFType == model.VIFOVS })
		p, levels := w.state(id)
		if len(levels) != 2 || levels[0].Driver != "fabric" || levels[1].Driver != "openvswitch" || levels[0].Level != 0 || levels[1].Level != 1 {
			t.Errorf("levels %+v", levels)
		}
		if !maps.Equal(p.VIFDetails["bound_drivers"].(map[string]any), map[string]any{"0": "fabric", "1": "openvswitch"}) { //nolint:errcheck // a test may panic
			t.Errorf("%v", p.VIFDetails)
		}
		if p.Wiring != 2 || p.Revision != 2 {
			t.Errorf("generation %d, revision %d", p.Wiring, p.Revision)
		}
		w.until("told", func() bool { return f.drivers(id) == "fabric openvswitch" })
	}
	segments := w.segments(n.ID)
	if len(segments) != 2 || segments[0].Dynamic || !segments[1].Dynamic || segments[1].NetworkType != model.TypeVLAN {
		t.Fatalf("segments %+v", segments)
	}
	if free := w.free("segment:vlan:physnet1"); free != 3 {
		t.Errorf("%d VLANs are free", free)
	}
	w.drop(first.ID)
	if len(w.segments(n.ID)) != 2 {
		t.Error("the segment went although a port uses it")
	}
	w.adjust(second.ID, func(p *model.Port) { p.HostID = "" })
	if len(w.segments(n.ID)) != 1 || w.free("segment:vlan:physnet1") != 4 {
		t.Errorf("segments %+v, %d free", w.segments(n.ID), w.free("segment:vlan:physnet1"))
	}
	w.until("told that it is unbound", func() bool { return f.drivers(second.ID) == "" && f.drivers(first.ID) == "" })
	w.until("nothing is owed", func() bool { return w.tasks() == 0 })
}

// TestLostRace: the port changes while the switch is asked; the answer is for nothing and its segment is given back.
func TestLostRace(t *testing.T) {
	for name, change := range map[string]func(w *world, id string){
		"unbound": func(w *world, id string) { w.adjust(id, func(p *model.Port) { p.HostID = "" }) },
		"moved":   func(w *world, id string) { w.adjust(id, func(p *model.Port) { p.HostID = "nowhere" }) },
		"deleted": func(w *world, id string) { w.drop(id) },
		"down":    func(w *world, id string) { w.adjust(id, func(p *model.Port) { p.AdminStateUp = false }) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFabric()
			f.hold, f.inside = make(chan struct{}), make(chan string, 8)
			w := newWorld(t, []string{"vxlan"}, f)
			n := w.network(vxlan())
			p := w.port(n.ID, "rack1")
			<-f.inside
			change(w, p.ID)
			close(f.hold)
			w.until("nothing is owed", func() bool { return w.tasks() == 0 })
			if name == "down" { // bound at the generation that it has now
				got, levels := w.state(p.ID)
				if got.VIFType != model.VIFOVS || len(levels) != 2 {
					t.Errorf("%s %+v", got.VIFType, levels)
				}
				return
			}
			if segments := w.segments(n.ID); len(segments) != 1 || w.free("segment:vlan:physnet1") != 4 {
				t.Errorf("segments %+v", segments)
			}
			if name != "deleted" {
				if got, levels := w.state(p.ID); len(levels) != 0 || got.VIFType == model.VIFOVS {
					t.Errorf("%s %+v", got.VIFType, levels)
				}
			}
		})
	}
}

// TestSwitchFails: an error is tried again, a refusal is not.
func TestSwitchFails(t *testing.T) {
	f := newFabric()
	f.fails = 2
	w := newWorld(t, []string{"vxlan"}, f)
	n := w.network(vxlan())
	p := w.port(n.ID, "rack1")
	w.until("bound", func() bool { got, _ := w.state(p.ID); return got.VIFType == model.VIFOVS })
	if f.asked != 3 {
		t.Errorf("asked %d times", f.asked)
	}
	g := newFabric()
	g.refuse = func(ml2.BindRequest) bool { return true }
	w = newWorld(t, []string{"vxlan"}, g)
	n = w.network(vxlan())
	p = w.port(n.ID, "rack1")
	w.until("failed", func() bool { got, _ := w.state(p.ID); return got.VIFType == model.VIFBindingFailed })
	w.until("nothing is owed", func() bool { return w.tasks() == 0 })
}

// TestNoVLANLeft: the level below finds no segment: the port's binding fails and nothing is kept.
func TestNoVLANLeft(t *testing.T) {
	w := newWorld(t, []string{"vxlan"}, newFabric())
	for range 4 {
		w.network(model.Segment{NetworkType: model.TypeVLAN})
	}
	n := w.network(vxlan())
	p := w.port(n.ID, "rack1")
	w.until("failed", func() bool { got, _ := w.state(p.ID); return got.VIFType == model.VIFBindingFailed })
	if _, levels := w.state(p.ID); len(levels) != 0 || len(w.segments(n.ID)) != 1 {
		t.Errorf("%+v %+v", levels, w.segments(n.ID))
	}
}

// TestManyAtOnce: ports of one network bind at once; the network has one dynamic segment.
func TestManyAtOnce(t *testing.T) {
	w := newWorld(t, []string{"vxlan"}, newFabric())
	n := w.network(vxlan())
	var ids []string
	for range 12 {
		ids = append(ids, w.port(n.ID, "rack1").ID)
	}
	for _, id := range ids {
		w.until("bound", func() bool { got, _ := w.state(id); return got.VIFType == model.VIFOVS })
	}
	if len(w.segments(n.ID)) != 2 {
		t.Errorf("%+v", w.segments(n.ID))
	}
	for _, id := range ids {
		w.drop(id)
	}
	if len(w.segments(n.ID)) != 1 {
		t.Errorf("%+v", w.segments(n.ID))
	}
}
