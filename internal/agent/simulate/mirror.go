package simulate

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"isospin/internal/agent/link"
	"isospin/internal/change"
	"isospin/internal/wire"
)

// handler is the host as its link sees it.
type handler struct{ h *Host }

var _ link.Handler = handler{}

// Have lists what is held whole.
func (x handler) Have() []*wire.SetHash {
	x.h.mu.Lock()
	defer x.h.mu.Unlock()
	var out []*wire.SetHash
	for name, s := range x.h.sets {
		if s.whole {
			out = append(out, &wire.SetHash{Set: name, Hash: s.sum})
		}
	}
	return out
}

// Opened counts the session.
func (x handler) Opened(string) {
	x.h.mu.Lock()
	defer x.h.mu.Unlock()
	x.h.open, x.h.synced = true, false
	x.h.counts.Sessions++
	x.h.tell()
}

// Closed forgets half-sent sets' progress.
func (x handler) Closed(error) {
	x.h.mu.Lock()
	defer x.h.mu.Unlock()
	x.h.open, x.h.synced = false, false
	for _, s := range x.h.sets {
		s.arrived = nil
	}
	x.h.tell()
}

// Synced says that everything is here.
func (x handler) Synced() error {
	x.h.mu.Lock()
	defer x.h.mu.Unlock()
	x.h.synced = true
	x.h.counts.Syncs++
	x.h.tell()
	return nil
}

// Frame applies a frame and checks the set's hash.
func (x handler) Frame(f *wire.Frame) error {
	if x.h.o.Frame != nil {
		x.h.o.Frame(f)
	}
	x.h.mu.Lock()
	defer x.h.mu.Unlock()
	defer x.h.tell()
	x.h.counts.Frames++
	x.h.counts.Documents += len(f.Put) + len(f.Drop)
	x.h.counts.Bytes += proto.Size(f)
	if err := x.h.apply(f); err != nil {
		x.h.wrong = fmt.Errorf("host %s, set %s: %w", x.h.Name(), f.Set, err)
		return x.h.wrong
	}
	return nil
}

func (h *Host) apply(f *wire.Frame) error {
	if f.Gone {
		delete(h.sets, f.Set)
		return nil
	}
	s := h.sets[f.Set]
	if s == nil {
		s = &mirrored{docs: map[change.Key]*wire.Document{}}
		h.sets[f.Set] = s
	}
	switch {
	case f.Begin:
		s.arrived, s.whole = map[change.Key]bool{}, false
	case s.arrived == nil && !s.whole:
		return fmt.Errorf("a difference of a set that was never whole")
	}
	for _, d := range f.Put {
		key := change.Key{Kind: d.Kind, ID: d.Id}
		s.take(key)
		s.docs[key] = d
		s.sum += d.Hash()
		if s.arrived != nil {
			s.arrived[key] = true
		}
		h.due(d)
	}
	for _, k := range f.Drop {
		s.take(change.Key{Kind: k.Kind, ID: k.Id})
	}
	if f.Complete {
		for key := range s.docs {
			if !s.arrived[key] {
				s.take(key)
			}
		}
		s.arrived, s.whole = nil, true
	}
	if s.whole && s.sum != f.Hash {
		return fmt.Errorf("its hash is %x, the server says %x", s.sum, f.Hash)
	}
	return nil
}

func (s *mirrored) take(key change.Key) {
	if d := s.docs[key]; d != nil {
		s.sum -= d.Hash()
		delete(s.docs, key)
	}
}

// due notes what is to be reported of a document.
func (h *Host) due(d *wire.Document) {
	if !h.o.Answers {
		return
	}
	st := &wire.Status{Kind: d.Kind, Id: d.Id, State: wire.State_DONE}
	switch d.Kind {
	case wire.KindPort:
		var p wire.Port
		if proto.Unmarshal(d.Body, &p) != nil {
			return
		}
		st.Entity, st.Generation = wire.EntityL2, p.Wiring
	case wire.KindReservation:
		var r wire.Reservation
		if proto.Unmarshal(d.Body, &r) != nil {
			return
		}
		st.Entity, st.Generation = wire.EntityDHCP, r.Wiring
	default:
		return
	}
	h.todo = append(h.todo, st)
	select {
	case h.wake <- struct{}{}:
	default:
	}
}
