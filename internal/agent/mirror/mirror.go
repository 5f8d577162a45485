// Package mirror keeps a host's documents: decoded in memory for the features, and as a journal of frames on disk, so that
// an agent that starts with every server away still knows all that it knew. The agent's loop applies frames and
// reads; the link asks what is held. It never asks the server for anything and never interprets a document.
package mirror

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	"isospin/internal/agent"
	"isospin/internal/change"
	"isospin/internal/wire"
)

// ErrHash says that a set's hash after a frame is not the server's: the set is fetched anew with the next session.
var ErrHash = errors.New("mirror: the set differs from the server's")

// Mirror is the documents of one host. Apply and the View are for one goroutine, the loop's; Have may be called by any.
type Mirror struct {
	mu      sync.Mutex // sets, between Apply and Have
	sets    map[change.Set]*set
	kinds   map[string]map[string]proto.Message
	indexes map[index]map[string]struct{}
	journal *journal
	synced  bool
}

// set is one group of documents; staging holds what a complete transfer has put so far, nil outside one.
type set struct {
	docs    map[change.Key]*wire.Document
	hash    uint64
	whole   bool
	staging map[change.Key]struct{}
}

type index struct{ kind, name, id string }

// Result is what a replayed or applied frame did.
type Result struct {
	Dirty []change.Key
	// Unreadable are documents that this build cannot read; they are set aside and stop no other.
	Unreadable map[change.Key]error
}

// Memory makes a mirror without a journal.
func Memory() *Mirror {
	return &Mirror{sets: map[change.Set]*set{}, kinds: map[string]map[string]proto.Message{}, indexes: map[index]map[string]struct{}{}}
}

// Open reads the journal below dir and goes on writing it. A journal that ends in a torn record is cut there; what
// it lost is fetched again, since hashes no longer agree.
func Open(dir string) (*Mirror, Result, error) {
	m := Memory()
	all := Result{Unreadable: map[change.Key]error{}}
	j, err := openJournal(dir, func(r record) {
		if r.synced {
			m.synced = true
			return
		}
		res, err := m.apply(r.frame)
		if err != nil {
			return // the set is no longer whole, which is all that matters
		}
		maps.Copy(all.Unreadable, res.Unreadable)
	})
	if err != nil {
		return nil, all, err
	}
	m.journal = j
	return m, all, m.compact()
}

// Close flushes and closes the journal.
func (m *Mirror) Close() error {
	if m.journal == nil {
		return nil
	}
	return m.journal.close()
}

// Apply takes one frame into memory and journal. An ErrHash means that the session must end; what the frame did holds all the same.
func (m *Mirror) Apply(f *wire.Frame) (dirty []change.Key, unreadable map[change.Key]error, err error) {
	res, err := m.apply(f)
	if m.journal != nil {
		if jerr := m.journal.write(record{frame: f}); jerr != nil {
			err = errors.Join(err, jerr)
		}
	}
	return res.Dirty, res.Unreadable, err
}

// Flush writes what is buffered to the file and makes the journal short again when it has grown; called when a burst is over.
func (m *Mirror) Flush() error {
	if m.journal == nil {
		return nil
	}
	if m.journal.size > 1<<20 && m.journal.size > 4*m.live() {
		return m.compact()
	}
	return m.journal.flush()
}

// SetSynced notes that every set which this host must hold is whole.
func (m *Mirror) SetSynced() error {
	if m.synced {
		return nil
	}
	m.synced = true
	if m.journal == nil {
		return nil
	}
	return errors.Join(m.journal.write(record{synced: true}), m.journal.flush())
}

// Synced implements agent.View.
func (m *Mirror) Synced() bool { return m.synced }

// Have lists the sets that are whole, with their hashes.
func (m *Mirror) Have() []*wire.SetHash {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]*wire.SetHash, 0, len(m.sets))
	for name, s := range m.sets {
		if s.whole {
			out = append(out, &wire.SetHash{Set: string(name), Hash: s.hash})
		}
	}
	slices.SortFunc(out, func(a, b *wire.SetHash) int {
		if a.Set < b.Set {
			return -1
		}
		return 1
	})
	return out
}

func (m *Mirror) apply(f *wire.Frame) (Result, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	res := Result{Unreadable: map[change.Key]error{}}
	name := change.Set(f.GetSet())
	s := m.sets[name]
	if f.GetGone() {
		if s != nil {
			for k := range s.docs {
				m.remove(s, k, &res)
			}
			delete(m.sets, name)
		}
		return res, nil
	}
	if s == nil {
		s = &set{docs: map[change.Key]*wire.Document{}}
		m.sets[name] = s
	}
	if f.GetBegin() {
		s.staging = map[change.Key]struct{}{}
		s.whole = false
	}
	for _, d := range f.GetPut() {
		m.put(s, d, &res)
	}
	for _, k := range f.GetDrop() {
		m.remove(s, change.Key{Kind: k.GetKind(), ID: k.GetId()}, &res)
	}
	if f.GetComplete() && s.staging != nil {
		for k := range s.docs {
			if _, kept := s.staging[k]; !kept {
				m.remove(s, k, &res)
			}
		}
		s.staging = nil
		s.whole = true
	}
	if s.whole && s.hash != f.GetHash() {
		s.whole = false
		return res, fmt.Errorf("%w: %s", ErrHash, name)
	}
	return res, nil
}

func (m *Mirror) put(s *set, d *wire.Document, res *Result) {
	k := change.Key{Kind: d.GetKind(), ID: d.GetId()}
	if s.staging != nil {
		s.staging[k] = struct{}{}
	}
	if old := s.docs[k]; old != nil {
		if proto.Equal(old, d) {
			return
		}
		s.hash -= old.Hash()
		m.forget(k)
	}
	s.docs[k] = d
	s.hash += d.Hash()
	msg, err := decode(d)
	if err != nil {
		res.Unreadable[k] = err
		res.Dirty = append(res.Dirty, k)
		return
	}
	m.remember(k, msg)
	res.Dirty = append(res.Dirty, k)
}

func decode(d *wire.Document) (proto.Message, error) {
	reads, known := wire.Reads()[d.GetKind()]
	switch {
	case !known:
		return nil, fmt.Errorf("this agent knows no document of kind %s", d.GetKind())
	case d.GetVersion() > reads:
		return nil, fmt.Errorf("version %d of a %s document is newer than this agent reads (%d)", d.GetVersion(), d.GetKind(), reads)
	}
	msg := wire.New(d.GetKind())
	if err := proto.Unmarshal(d.GetBody(), msg); err != nil {
		return nil, fmt.Errorf("the %s document is damaged: %w", d.GetKind(), err)
	}
	return msg, nil
}

func (m *Mirror) remove(s *set, k change.Key, res *Result) {
	d := s.docs[k]
	if d == nil {
		return
	}
	delete(s.docs, k)
	s.hash -= d.Hash()
	m.forget(k)
	res.Dirty = append(res.Dirty, k)
}

// live is the size of the documents held, in bytes.
func (m *Mirror) live() int64 {
	var n int64
	for _, s := range m.sets {
		for _, d := range s.docs {
			n += int64(len(d.GetBody()) + len(d.GetId()) + 32)
		}
	}
	return n
}

// compact writes the journal anew as what is held.
func (m *Mirror) compact() error {
	var records []record
	for name, s := range m.sets {
		if !s.whole {
			continue // it is fetched again
		}
		f := &wire.Frame{Set: string(name), Begin: true, Complete: true, Hash: s.hash, Put: slices.Collect(maps.Values(s.docs))}
		records = append(records, record{frame: f})
	}
	if m.synced {
		records = append(records, record{synced: true})
	}
	return m.journal.replace(records)
}

// Get implements agent.View.
func (m *Mirror) Get(kind, id string) (proto.Message, bool) {
	msg, ok := m.kinds[kind][id]
	return msg, ok
}

// All implements agent.View.
func (m *Mirror) All(kind string) iter.Seq2[string, proto.Message] {
	return maps.All(m.kinds[kind])
}

// In implements agent.View.
func (m *Mirror) In(kind, name, id string) iter.Seq2[string, proto.Message] {
	return func(yield func(string, proto.Message) bool) {
		for doc := range m.indexes[index{kind, name, id}] {
			if !yield(doc, m.kinds[kind][doc]) {
				return
			}
		}
	}
}

func (m *Mirror) remember(k change.Key, msg proto.Message) {
	byID := m.kinds[k.Kind]
	if byID == nil {
		byID = map[string]proto.Message{}
		m.kinds[k.Kind] = byID
	}
	byID[k.ID] = msg
	for _, i := range indexesOf(k.Kind, msg) {
		if m.indexes[i] == nil {
			m.indexes[i] = map[string]struct{}{}
		}
		m.indexes[i][k.ID] = struct{}{}
	}
}

func (m *Mirror) forget(k change.Key) {
	msg, ok := m.kinds[k.Kind][k.ID]
	if !ok {
		return
	}
	delete(m.kinds[k.Kind], k.ID)
	for _, i := range indexesOf(k.Kind, msg) {
		delete(m.indexes[i], k.ID)
		if len(m.indexes[i]) == 0 {
			delete(m.indexes, i)
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

var _ agent.Documents = (*Mirror)(nil)
