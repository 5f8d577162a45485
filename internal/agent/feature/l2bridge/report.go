package l2bridge

import (
	"slices"

	"isospin/internal/agent"
	"isospin/internal/wire"
)

// Report tells how far a port is: wired, or waiting for its device. Of a device without a document nothing can be said: its name holds
// only a part of a port's id.
func (f *Feature) Report(v agent.View, id string) (agent.Report, bool) {
	p, known := get[*wire.Port](v, wire.KindPort, id)
	if !known {
		return agent.Report{}, false
	}
	say := func(s wire.State, detail string) (agent.Report, bool) {
		return agent.Report{PortState: agent.PortState{Generation: p.GetWiring(), State: s, Detail: detail}}, true
	}
	_, plugged := f.plugged(id)
	switch {
	case !plugged:
		return say(wire.State_UNPLUGGED, f.unplugged(p))
	case !p.GetAdminStateUp():
		return say(wire.State_UNPLUGGED, "the port is administratively down")
	}
	n, ok := get[*wire.Network](v, wire.KindNetwork, p.GetNetworkId())
	switch {
	case !ok:
		return say(wire.State_PENDING, "the network's document has not come")
	case !n.GetAdminStateUp():
		return say(wire.State_UNPLUGGED, "the network is administratively down")
	}
	segment := p.SegmentAt(f.cfg.Host)
	at := slices.IndexFunc(n.GetSegments(), func(s *wire.Segment) bool { return s.GetId() == segment })
	if at < 0 {
		return say(wire.State_PENDING, "the network's document does not name the port's segment "+segment)
	}
	docs, lacks := f.standsOn(n.GetId(), n.GetSegments()[at])
	if lacks != "" {
		return say(wire.State_FAILED, lacks)
	}
	if f.cfg.Filter != nil {
		filter, lacks, err := f.cfg.Filter.Needs(v, id)
		if err != nil {
			return say(wire.State_FAILED, err.Error())
		}
		if lacks != "" {
			return say(wire.State_PENDING, lacks)
		}
		docs = append(docs, filter...)
	}
	r, _ := say(wire.State_DONE, "")
	r.Docs = append(docs, netOwner(n.GetId()))
	return r, true
}
