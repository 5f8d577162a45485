package l2ovs

import (
	"cmp"
	"fmt"
	"slices"

	"isospin/internal/agent"
	"isospin/internal/agent/feature/brint"
	"isospin/internal/agent/feature/secgroup"
	"isospin/internal/wire"
)

// subport is the device_owner of ports inside trunks (trunk_consts.TRUNK_SUBPORT_OWNER in neutron_lib/services/trunk/constants.py).
const subport = "trunk:subport"

// Report tells how far a port is: wired, waiting for its interface, or plugged in without a document.
func (f *Feature) Report(v agent.View, id string) (agent.Report, bool) {
	p, known := get[*wire.Port](v, wire.KindPort, id)
	i, plugged := f.present[id]
	say := func(s wire.State, detail string) (agent.Report, bool) {
		return agent.Report{PortState: agent.PortState{Generation: p.GetWiring(), State: s, Detail: detail}}, true
	}
	switch {
	case known && !plugged && !p.SwitchedAt(f.cfg.Host): // whoever programs the hardware speaks of it
		return agent.Report{}, false
	case !known && (!plugged || i.VLAN != 0): // inside a trunk, a port comes with its document
		return agent.Report{}, false
	case !known:
		return say(wire.State_PLUGGED, "interface "+i.Name+" is plugged in; no server says that this host has the port")
	case !plugged && p.GetDeviceOwner() == subport:
		carrier, ok := f.watch.Carrier(id)
		if !ok {
			return say(wire.State_UNPLUGGED, "no port of this host carries the port in its trunk")
		}
		return say(wire.State_UNPLUGGED, "no interface on "+f.cfg.Bridge+" has external_ids:iface-id="+carrier+", which carries the port in its trunk")
	case !plugged:
		return say(wire.State_UNPLUGGED, "no interface on "+f.cfg.Bridge+" has external_ids:iface-id="+id)
	case i.Error != "":
		return say(wire.State_FAILED, "Open vSwitch cannot open interface "+i.Name+": "+i.Error)
	case !i.Ready():
		return say(wire.State_PENDING, "Open vSwitch has not given interface "+i.Name+" a port number")
	case !p.GetAdminStateUp():
		return say(wire.State_UNPLUGGED, "the port is administratively down")
	}
	n, ok := get[*wire.Network](v, wire.KindNetwork, p.GetNetworkId())
	if !ok {
		return say(wire.State_PENDING, "the network's document has not come")
	}
	segment := p.SegmentAt(f.cfg.Host)
	if !n.GetAdminStateUp() {
		return say(wire.State_UNPLUGGED, "the network is administratively down")
	}
	at := slices.IndexFunc(n.GetSegments(), func(s *wire.Segment) bool { return s.GetId() == segment })
	if at < 0 {
		return say(wire.State_PENDING, "the network's document does not name the port's segment "+segment)
	}
	docs, lacks := f.fabric.standsOn(n.GetSegments()[at])
	if lacks != "" {
		return say(wire.State_FAILED, lacks)
	}
	var filter secgroup.Needs
	if f.cfg.Filter != nil {
		filter = f.cfg.Filter.Needs(v, id)
	}
	if filter.Broken != nil {
		return say(wire.State_FAILED, filter.Broken.Error())
	}
	if filter.Lacks != "" {
		return say(wire.State_PENDING, filter.Lacks)
	}
	docs = append(docs, filter.Docs...)
	r, _ := say(wire.State_DONE, cmp.Or(tight(i, n), filter.Note))
	r.Docs = append(docs, netOwner(p.GetNetworkId()), hostOwner)
	return r, true
}

// tight warns of an interface that cannot carry the network's largest packets: it was plugged in before the network's MTU was raised, and only who plugs
// it can change that.
func tight(i brint.Plug, n *wire.Network) string {
	if i.MTU == 0 || int64(i.MTU) >= n.GetMtu() {
		return ""
	}
	return fmt.Sprintf("interface %s takes packets of %d bytes, the network's MTU is %d: plug it in anew", i.Name, i.MTU, n.GetMtu())
}
