package mirror

import (
	"iter"
	"maps"

	"google.golang.org/protobuf/proto"

	"isospin/internal/agent"
	"isospin/internal/change"
	"isospin/internal/wire"
)

// documents are what features see: decoded, by kind and by what they refer to.
type documents struct {
	kinds   map[string]map[string]proto.Message
	indexes map[index]map[string]struct{}
}

type index struct{ kind, name, id string }

func newDocuments() documents {
	return documents{kinds: map[string]map[string]proto.Message{}, indexes: map[index]map[string]struct{}{}}
}

// Get implements agent.View.
func (d documents) Get(kind, id string) (proto.Message, bool) {
	msg, ok := d.kinds[kind][id]
	return msg, ok
}

// All implements agent.View.
func (d documents) All(kind string) iter.Seq2[string, proto.Message] {
	return maps.All(d.kinds[kind])
}

// In implements agent.View.
func (d documents) In(kind, name, id string) iter.Seq2[string, proto.Message] {
	return func(yield func(string, proto.Message) bool) {
		for doc := range d.indexes[index{kind, name, id}] {
			if !yield(doc, d.kinds[kind][doc]) {
				return
			}
		}
	}
}

func (d documents) remember(k change.Key, msg proto.Message) {
	byID := d.kinds[k.Kind]
	if byID == nil {
		byID = map[string]proto.Message{}
		d.kinds[k.Kind] = byID
	}
	byID[k.ID] = msg
	for _, i := range indexesOf(k.Kind, msg) {
		if d.indexes[i] == nil {
			d.indexes[i] = map[string]struct{}{}
		}
		d.indexes[i][k.ID] = struct{}{}
	}
}

func (d documents) forget(k change.Key) {
	msg, ok := d.kinds[k.Kind][k.ID]
	if !ok {
		return
	}
	delete(d.kinds[k.Kind], k.ID)
	for _, i := range indexesOf(k.Kind, msg) {
		delete(d.indexes[i], k.ID)
		if len(d.indexes[i]) == 0 {
			delete(d.indexes, i)
		}
	}
}

// indexesOf says under which references a document is found.
func indexesOf(kind string, msg proto.Message) []index {
	switch d := msg.(type) {
	case *wire.Port:
		out := []index{{kind, agent.ByNetwork, d.GetNetworkId()}}
		for _, g := range d.GetSecurityGroups() {
			out = append(out, index{kind, agent.ByGroup, g})
		}
		return out
	case interface{ GetNetworkId() string }: // forwards, reservations, subnets, DHCP networks
		return []index{{kind, agent.ByNetwork, d.GetNetworkId()}}
	case interface{ GetSecurityGroupId() string }: // rules, members
		return []index{{kind, agent.ByGroup, d.GetSecurityGroupId()}}
	}
	return nil
}
