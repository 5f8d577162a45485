package brint

import (
	"isospin/internal/dataplane/openflow"
	"isospin/internal/dataplane/vswitch"
)

// Present are the interfaces that are on the bridge, by the id of their port, as at one look.
type Present map[string]vswitch.Interface

// Place is where a port of this host is on the bridge.
type Place struct {
	// Number tells the port from all others of the host: Source and Target hold it.
	Number uint32
	// Port is the OpenFlow port that its frames come and go by.
	Port openflow.Port
}

// Place finds a port's; ok is false while flows cannot name it.
func (p Present) Place(id string) (at Place, ok bool) {
	i, plugged := p[id]
	if !plugged || !i.Ready() {
		return Place{}, false
	}
	return Place{Number: uint32(i.OFPort), Port: openflow.Port(i.OFPort)}, true
}

// Comes matches what the port's guest sends.
func (p Place) Comes() []openflow.Term {
	// A tag of the guest's own would reach other networks where this one is untagged on its wire.
	return []openflow.Term{openflow.InPort.Is(p.Port), openflow.Untagged()}
}

// To sends a packet on to a port of this host, by way of all that judges it: INGRESS, SHAPE, DELIVER.
func (p Place) To() []openflow.Action {
	return openflow.Do(Target.Set(uint64(p.Number)), openflow.Resubmit(Ingress))
}

// Flows enter a port's packets into the pipeline as those of a network, and deliver those that are for it.
func (p Place) Flows(network uint64) []openflow.Flow {
	return []openflow.Flow{
		{Table: Classify, Priority: 100, Match: openflow.Any(p.Comes()...),
			Actions: openflow.Do(openflow.Metadata.Set(network), Source.Set(uint64(p.Number)), openflow.Resubmit(Police))},
		{Table: Deliver, Priority: 100, Match: openflow.Any(Target.Is(uint64(p.Number))), Actions: openflow.Do(openflow.Output(p.Port))},
	}
}
