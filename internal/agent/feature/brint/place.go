package brint

import (
	"isospin/internal/dataplane/openflow"
	"isospin/internal/dataplane/vswitch"
)

// Present are the ports that are on the bridge, as at one look: those with an interface of their own, and those inside the trunk that such
// a port carries.
type Present map[string]Plug

// Plug is how a port is on the bridge.
type Plug struct {
	// Interface is the port's own or, inside a trunk, that of the port that carries it.
	vswitch.Interface
	// VLAN is the tag of a port inside a trunk; 0 for all others.
	VLAN uint16
	// Trunk says that others come by the same interface, inside the trunk that this port carries.
	Trunk bool
}

// Place is where a port of this host is on the bridge.
type Place struct {
	// Number tells the port from all others of the host: Source and Target hold it.
	Number uint32
	// Port is the OpenFlow port that its frames come and go by.
	Port openflow.Port
	// VLAN and Trunk are Plug's.
	VLAN  uint16
	Trunk bool
}

// Place finds a port's; ok is false while flows cannot name it.
func (p Present) Place(id string) (at Place, ok bool) {
	i, plugged := p[id]
	if !plugged || !i.Ready() {
		return Place{}, false
	}
	at = Place{Number: uint32(i.OFPort), Port: openflow.Port(i.OFPort), VLAN: i.VLAN, Trunk: i.Trunk}
	if at.VLAN != 0 { // OpenFlow's own numbers have 16 bits
		at.Number = at.Number<<16 | uint32(at.VLAN)
	}
	return at, true
}

// To sends a packet on to a port of this host, by way of all that judges it: INGRESS, SHAPE, DELIVER.
func (p Place) To() []openflow.Action {
	return openflow.Do(Target.Set(uint64(p.Number)), openflow.Resubmit(Ingress))
}

// Priorities of a place's flows: what is told more exactly comes first.
const (
	prioPort   = 100
	prioInside = 110
)

// Flows enter a port's packets into the pipeline as those of a network, and deliver those that are for it. tags says that the network lets
// tags of guests pass (see Transparent).
func (p Place) Flows(network uint64, tags bool) []openflow.Flow {
	enter := openflow.Do(openflow.Metadata.Set(network), Source.Set(uint64(p.Number)), openflow.Resubmit(Police))
	if p.VLAN != 0 {
		return p.inside(network, tags)
	}
	if p.Trunk {
		return p.carries(enter, tags)
	}
	comes := openflow.Any(openflow.InPort.Is(p.Port))
	if !tags {
		// A tag of the guest's own would reach other networks where this one is untagged on its wire.
		comes = comes.With(openflow.Untagged())
	}
	return []openflow.Flow{
		{Table: Classify, Priority: prioPort, Match: comes, Actions: enter},
		{Table: Deliver, Priority: prioPort, Match: openflow.Any(Target.Is(uint64(p.Number))), Actions: openflow.Do(openflow.Output(p.Port))},
	}
}

// inside are the flows of a port inside a trunk: its tag is taken off and put on.
func (p Place) inside(network uint64, tags bool) []openflow.Flow {
	next := uint8(Inside)
	if tags {
		next = Police
	}
	return append(p.apart(), openflow.Flow{Table: Classify, Priority: prioInside, Match: openflow.Any(openflow.InPort.Is(p.Port), openflow.VLAN(p.VLAN)),
		Actions: openflow.Do(openflow.PopVLAN(), openflow.Metadata.Set(network), Source.Set(uint64(p.Number)), openflow.Resubmit(next))},
		openflow.Flow{Table: Deliver, Priority: prioPort, Match: openflow.Any(Target.Is(uint64(p.Number))),
			Actions: openflow.Do(openflow.Clone(openflow.Sequence(openflow.TagVLAN(p.VLAN), p.out())...))})
}

// carries are the flows of a port that carries a trunk. To its guest a tag says which port inside is meant, so a guest of a transparent network that
// carries a trunk gets none of the others' tags.
func (p Place) carries(enter []openflow.Action, tags bool) []openflow.Flow {
	deliver := openflow.Any(Target.Is(uint64(p.Number)))
	flows := append(p.apart(),
		openflow.Flow{Table: Classify, Priority: prioPort, Match: openflow.Any(openflow.InPort.Is(p.Port), openflow.Untagged()), Actions: enter})
	if tags {
		for _, second := range secondTags() {
			flows = append(flows, openflow.Flow{Table: Deliver, Priority: prioInside, Match: deliver.With(second), Actions: openflow.Drop()})
		}
	}
	return append(flows, openflow.Flow{Table: Deliver, Priority: prioPort, Match: deliver, Actions: openflow.Do(openflow.Clone(p.out()...))})
}

// out leaves by the port, also for packets that came by it from another port of the trunk; the packet is a copy, since what comes after
// must see it as it was.
func (p Place) out() []openflow.Action {
	return openflow.Do(openflow.InPort.Set(openflow.PortNone), openflow.Output(p.Port))
}

// apart keeps a port's own flood from itself, where Open vSwitch cannot tell by the OpenFlow port.
func (p Place) apart() []openflow.Flow {
	return []openflow.Flow{{Table: Deliver, Priority: prioInside + 10,
		Match: openflow.Any(Source.Is(uint64(p.Number)), Target.Is(uint64(p.Number))), Actions: openflow.Drop()}}
}
