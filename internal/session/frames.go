package session

import (
	"cmp"
	"maps"
	"slices"

	"isospin/internal/change"
	"isospin/internal/wire"
)

// The bounds of a frame; a single document may be larger.
const (
	frameDocuments = 256
	frameBytes     = 64 << 10
)

// packer cuts documents into frames of one set.
type packer struct {
	set    string
	frames []*wire.Down
	open   *wire.Frame
	bytes  int
}

// room is a frame with space for n more bytes.
func (p *packer) room(n int) *wire.Frame {
	if p.open == nil || len(p.open.Put)+len(p.open.Drop) >= frameDocuments || p.bytes > 0 && p.bytes+n > frameBytes {
		p.open, p.bytes = &wire.Frame{Set: p.set}, 0
		p.frames = append(p.frames, &wire.Down{Message: &wire.Down_Frame{Frame: p.open}})
	}
	p.bytes += n
	return p.open
}

func size(d *wire.Document) int { return len(d.Body) + len(d.Id) + len(d.Kind) + 16 }

// whole is a set from nothing: begin on the first frame, complete on the last, the set's hash on all. All who need it
// share the frames.
func (s *heldSet) whole() []*wire.Down {
	if s.frames != nil {
		return s.frames
	}
	p := packer{set: string(s.name)}
	keys := slices.SortedFunc(maps.Keys(s.docs), func(a, b change.Key) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
	})
	for _, k := range keys {
		d := s.docs[k].wire
		f := p.room(size(d))
		f.Put = append(f.Put, d)
	}
	if p.open == nil {
		p.room(0) // an empty set is one empty frame
	}
	for _, m := range p.frames {
		m.GetFrame().Hash = s.hash
	}
	p.frames[0].GetFrame().Begin = true
	p.open.Complete = true
	s.frames = p.frames
	return p.frames
}

// differences are the frames that bring a holder of the set to its present state, each with the hash after it.
func differences(s *heldSet) []*wire.Down {
	p := packer{set: string(s.name)}
	hash := s.hash
	for _, e := range s.delta {
		if e.before != nil {
			hash += e.before.hash
		}
		if e.now != nil {
			hash -= e.now.hash
		}
	}
	for _, e := range s.delta { // hash is now the one that holders have
		if e.before != nil {
			hash -= e.before.hash
		}
		if e.now == nil {
			f := p.room(len(e.before.key.ID) + 16)
			f.Drop = append(f.Drop, &wire.Key{Kind: e.before.key.Kind, Id: e.before.key.ID})
			f.Hash = hash
			continue
		}
		hash += e.now.hash
		f := p.room(size(e.now.wire))
		f.Put = append(f.Put, e.now.wire)
		f.Hash = hash
	}
	return p.frames
}

// gone says that a host no longer holds a set.
func gone(set change.Set) *wire.Down {
	return &wire.Down{Message: &wire.Down_Frame{Frame: &wire.Frame{Set: string(set), Gone: true}}}
}

// byRank sorts sets so that what others refer to comes first.
func byRank(sets []change.Set) { slices.SortFunc(sets, compareRank) }

// compareRank puts a set before those whose documents may refer to it: hosts refer to networks and groups, groups to members.
func compareRank(a, b change.Set) int {
	rank := func(s change.Set) int {
		switch s.Family() {
		case wire.FamilyMembers, wire.FamilyAddresses:
			return 0
		case wire.FamilyGroup:
			return 1
		case wire.FamilyHost:
			return 3
		}
		return 2
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
}
