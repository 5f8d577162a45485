package trunk

import (
	"maps"

	"isospin/internal/agent"
	"isospin/internal/agent/feature/brint"
	"isospin/internal/change"
	"isospin/internal/wire"
)

// maxVLAN is the last tag that a port inside a trunk may have.
const maxVLAN = 4094

// Feature is the conversion. Sync is for the loop's goroutine. It comes before all that ask for places of ports.
type Feature struct {
	watch   *brint.Watch
	trunks  brint.Trunks  // as the watch has them: replaced, never changed
	present brint.Present // as at the last Sync
}

// New makes the feature.
func New(w *brint.Watch) *Feature { return &Feature{watch: w, trunks: brint.Trunks{}} }

// Name is the feature's name. It speaks for no port.
func (f *Feature) Name() string { return "trunk" }

// Kinds are what it reads: the document of a port tells of the trunk that it carries.
func (f *Feature) Kinds() []string { return []string{wire.KindPort} }

// Sync tells the watch of trunks that changed, and the features after it of the ports inside whose place is another: those that came and went,
// and all of a trunk whose interface changed.
func (f *Feature) Sync(v agent.View, dirty []change.Key, all bool) agent.Result {
	now := maps.Clone(f.trunks)
	looked := map[string]bool{}
	if all {
		now = brint.Trunks{}
		for id := range v.All(wire.KindPort) {
			looked[id] = true
		}
	}
	for _, k := range dirty {
		if k.Kind == wire.KindPort {
			looked[k.ID] = true
		}
	}
	changed := all
	touched, moved := map[string]bool{}, map[string]bool{}
	for id := range looked {
		inside := read(v, id)
		differ(f.trunks[id], inside, touched, moved)
		differ(inside, f.trunks[id], touched, moved)
		_, before := f.trunks[id]
		if before == (inside != nil) && maps.Equal(f.trunks[id], inside) && !all {
			continue
		}
		changed = true
		delete(now, id)
		if inside != nil {
			now[id] = inside
		}
	}
	if changed {
		f.trunks = now
		f.watch.Carry(now)
	}
	before := f.present
	f.present = f.watch.Present()
	var res agent.Result
	for id := range touched {
		was, there := before[id]
		if is, still := f.present[id]; moved[id] || there != still || was != is {
			res.Dirty = append(res.Dirty, change.Key{Kind: wire.KindPort, ID: id})
		}
	}
	return res
}

// differ adds all of a trunk to touched, and to moved those that another has not or has elsewhere.
func differ(a, b map[uint16]string, touched, moved map[string]bool) {
	for vlan, id := range a {
		touched[id] = true
		moved[id] = moved[id] || b[vlan] != id
	}
}

// read is what a port carries, by tags; nil for one that carries no trunk. A tag that is none, or another's already, is left out: the port has no place, and
// its report says so.
func read(v agent.View, id string) map[uint16]string {
	m, ok := v.Get(wire.KindPort, id)
	if !ok {
		return nil
	}
	p, ok := m.(*wire.Port)
	if !ok || p.GetTrunkId() == "" {
		return nil
	}
	out := map[uint16]string{}
	for _, s := range p.GetSubPorts() {
		vlan := s.GetSegmentationId()
		if s.GetSegmentationType() != "vlan" || vlan < 1 || vlan > maxVLAN || out[uint16(vlan)] != "" {
			continue
		}
		out[uint16(vlan)] = s.GetPortId()
	}
	return out
}

var _ agent.Feature = (*Feature)(nil)
