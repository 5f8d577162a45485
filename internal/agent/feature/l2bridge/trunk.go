package l2bridge

import (
	"isospin/internal/agent"
	"isospin/internal/dataplane/vlan"
	"isospin/internal/wire"
)

// A port inside a trunk is a VLAN device on the device of the port that carries it, by the name that the device of a port has
// (neutron/services/trunk/drivers/linuxbridge/agent/trunk_plumber.py). It is wanted together with its being in a bridge: a device outside would lead
// from the guest to the host itself.

// subport is the device_owner of ports inside trunks (trunk_consts.TRUNK_SUBPORT_OWNER in neutron_lib/services/trunk/constants.py).
const subport = "trunk:subport"

// trunk is what a port of this host carries.
type trunk struct {
	index int            // of the carrier's device; 0: there is none
	down  bool           // the carrier is administratively down, and so its device: the kernel sets up none on it
	tags  map[string]int // by the port inside
}

// trunkOf reads it. A tag that is none, or another's already, is left out: its port has no device, and says so.
func (f *Feature) trunkOf(v agent.View, id string) (out trunk) {
	p, ok := get[*wire.Port](v, wire.KindPort, id)
	if !ok || len(p.GetSubPorts()) == 0 {
		return out
	}
	out = trunk{index: f.present[TapName(id)], down: !p.GetAdminStateUp(), tags: map[string]int{}}
	taken := map[int64]bool{}
	for _, s := range p.GetSubPorts() {
		tag := s.GetSegmentationId()
		if s.GetSegmentationType() == "vlan" && tag >= 1 && tag <= 4094 && !taken[tag] && s.GetPortId() != id {
			out.tags[s.GetPortId()], taken[tag] = int(tag), true
		}
	}
	return out
}

// syncTrunk looks at what a port carries, and lists the ports inside whose device is another.
func (f *Feature) syncTrunk(v agent.View, id string, todo jobs, res *agent.Result) {
	was, now := f.trunks[id], f.trunkOf(v, id)
	delete(f.trunks, id)
	if now.tags != nil {
		f.trunks[id] = now
	}
	for _, pair := range [][2]trunk{{was, now}, {now, was}} {
		for in, tag := range pair[0].tags {
			if other, has := pair[1].tags[in]; !has || other != tag || was.index != now.index || was.down != now.down {
				f.member(v, todo, in)
				res.Ports = append(res.Ports, in)
			}
		}
	}
}

// carrier is the port that carries the trunk which a port is in; of two that say so always the same.
func (f *Feature) carrier(id string) (carrier string) {
	for c, t := range f.trunks {
		if _, in := t.tags[id]; in && (carrier == "" || c < carrier) {
			carrier = c
		}
	}
	return carrier
}

// plug is how a port is on the host: by a device that somebody plugged, or by one that the feature makes, inside a trunk.
type plug struct {
	index int // 0: made here
	vlans map[string]vlan.Device
}

// plugged finds it; ok is false for a port that is not there.
func (f *Feature) plugged(id string) (at plug, ok bool) {
	carrier := f.carrier(id)
	if carrier == "" {
		at.index = f.present[TapName(id)]
		return at, at.index != 0
	}
	t := f.trunks[carrier]
	at.vlans = map[string]vlan.Device{TapName(id): {Parent: TapName(carrier), ID: t.tags[id]}}
	return at, t.index != 0 && !t.down
}

// unplugged says why a port is not there.
func (f *Feature) unplugged(p *wire.Port) string {
	carrier := f.carrier(p.GetId())
	if carrier == "" {
		if p.GetDeviceOwner() == subport {
			return "no port of this host carries the port in its trunk"
		}
		return "this host has no device " + TapName(p.GetId())
	}
	if f.trunks[carrier].down {
		return "port " + carrier + ", which carries the port in its trunk, is administratively down"
	}
	return "this host has no device " + TapName(carrier) + " of the port that carries the port in its trunk"
}
