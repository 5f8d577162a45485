package session

import (
	"slices"

	"isospin/internal/change"
	"isospin/internal/wire"
)

// doc is one rendered document. It is never changed: a newer one takes its place.
type doc struct {
	key  change.Key
	wire *wire.Document
	hash uint64
	sets []change.Set // all that it is in, held here or not
	refs []change.Set
}

func (d *doc) in(s change.Set) bool { return d != nil && slices.Contains(d.sets, s) }

// heldSet is a set that some session here holds.
type heldSet struct {
	name    change.Set
	docs    map[change.Key]*doc
	hash    uint64
	refs    map[change.Set]int // how many of the documents refer to each set
	holders map[*host]struct{}

	frames []*wire.Down // the set whole; nil until somebody needs it and after each change

	// What one result changes, until it is sent.
	active bool
	fresh  bool                // loaded by this very result: nobody holds an older state of it
	delta  []edit              // in order
	moved  map[change.Set]bool // references touched: whether they were there before
}

// edit is one document put (now) or dropped (before only).
type edit struct{ before, now *doc }

// host is the hub's view of one session.
type host struct {
	name  string
	out   *outbox
	facts *wire.Facts
	have  map[change.Set]uint64 // what its Hello said, until it is synced
	// held counts, for each set that it holds, the held sets that refer to it; the set of its own is held once more.
	held   map[change.Set]int
	synced bool
	// touched are sets that it got or lost by the result at work: whether it held them before.
	touched map[change.Set]bool
	recheck chan struct{} // its credential may have changed
}

func (h *host) root() change.Set { return change.NewSet(wire.FamilyHost, h.name) }

// put places a document in a set.
func (s *heldSet) put(d *doc) {
	before := s.docs[d.key]
	if before == d {
		return
	}
	if before != nil {
		s.hash -= before.hash
		s.refer(before, -1)
	}
	s.docs[d.key] = d
	s.frames = nil
	s.hash += d.hash
	s.refer(d, +1)
	if before == nil || before.hash != d.hash {
		s.note(edit{before: before, now: d})
	}
}

// drop takes a document out of a set.
func (s *heldSet) drop(key change.Key) {
	before := s.docs[key]
	if before == nil {
		return
	}
	delete(s.docs, key)
	s.frames = nil
	s.hash -= before.hash
	s.refer(before, -1)
	s.note(edit{before: before})
}

func (s *heldSet) note(e edit) {
	if !s.fresh {
		s.delta = append(s.delta, e)
	}
}

func (s *heldSet) refer(d *doc, by int) {
	for _, r := range d.refs {
		if _, known := s.moved[r]; !known && !s.fresh {
			if s.moved == nil {
				s.moved = map[change.Set]bool{}
			}
			s.moved[r] = s.refs[r] > 0
		}
		if s.refs[r] += by; s.refs[r] == 0 {
			delete(s.refs, r)
		}
	}
}
