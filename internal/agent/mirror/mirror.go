// Package mirror keeps a host's documents: decoded in memory for the features, and as a journal of frames on disk, so that
// an agent that starts with every server away still knows all that it knew. The agent's loop applies frames and
// reads; the link asks what is held. It never asks the server for anything and never interprets a document.
package mirror

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"isospin/internal/agent"
	"isospin/internal/change"
	"isospin/internal/clock"
	"isospin/internal/wire"
)

// ErrHash says that a set is not what the server has: it is fetched anew with the next session. What was known of it stays
// until then.
var ErrHash = errors.New("mirror: the set differs from the server's")

// Mirror is the documents of one host. Apply and the View are for one goroutine, the loop's; Have may be called by any.
type Mirror struct {
	mu      sync.Mutex // sets, between Apply and Have
	sets    map[change.Set]*set
	holders map[change.Key]int // in how many sets a document is
	bytes   int64              // of all documents, as they count for the journal's length

	documents
	unreadable map[change.Key]error

	journal *journal
	clock   clock.Clock
	retry   time.Time // a broken journal is not replaced sooner
	synced  bool
}

// set is one group of documents; staging holds what a complete transfer has put so far, nil outside one.
type set struct {
	docs    map[change.Key]*wire.Document
	hash    uint64
	whole   bool
	staging map[change.Key]uint64 // the documents' hashes
}

// Memory makes a mirror without a journal.
func Memory() *Mirror {
	return &Mirror{sets: map[change.Set]*set{}, holders: map[change.Key]int{}, documents: newDocuments(),
		unreadable: map[change.Key]error{}, clock: clock.System{}}
}

// Open reads the journal below dir and goes on writing it. A journal that ends in a torn record is cut there. Where
// it lacks something that was held once, the mirror is not synced: nothing is deleted until a server says what is whole.
// unreadable are documents that this build cannot read; they stop no other.
func Open(dir string, c clock.Clock) (m *Mirror, unreadable map[change.Key]error, err error) {
	m = Memory()
	m.clock = c
	j, found, err := openJournal(dir,
		// A frame that does not fit leaves its set not whole, as it did when it came.
		func(f *wire.Frame) { _, _ = m.apply(f) },
		func() { m.synced = true })
	if err != nil {
		return nil, nil, err
	}
	m.journal = j
	m.synced = m.synced && !found.lost
	for _, s := range m.sets {
		s.staging = nil // the session that sent it is over
		m.synced = m.synced && s.whole
	}
	if found.lost || m.long() {
		// A disk that is full is no reason not to start; Flush tells of it and tries again.
		if err := m.compact(); err != nil {
			m.journal.broke(err)
		}
	}
	return m, maps.Clone(m.unreadable), nil
}

// Close flushes and closes the journal.
func (m *Mirror) Close() error {
	if m.journal == nil {
		return nil
	}
	return m.journal.close()
}

// Apply takes one frame into memory and journal. An ErrHash means that the session must end.
func (m *Mirror) Apply(f *wire.Frame) (dirty []change.Key, unreadable map[change.Key]error, err error) {
	dirty, err = m.apply(f)
	if m.journal != nil {
		m.journal.frame(f)
	}
	for _, k := range dirty {
		if why := m.unreadable[k]; why != nil {
			if unreadable == nil {
				unreadable = map[change.Key]error{}
			}
			unreadable[k] = why
		}
	}
	return dirty, unreadable, err
}

// retryAfter is how long a journal that could not be written is left alone.
const retryAfter = 10 * time.Second

// Flush hands what was applied to the system, so that it outlives this process, and makes the journal short again when it
// has grown. The loop calls it before it acts on what was applied. While the disk is full it says so each time, and tries again now and then.
func (m *Mirror) Flush() error {
	if m.journal == nil {
		return nil
	}
	now := m.clock.Now()
	if m.journal.err == nil && !m.long() {
		if err := m.journal.flush(); err != nil {
			m.retry = now.Add(retryAfter)
			return err
		}
		return nil
	}
	if now.Before(m.retry) {
		if m.journal.err == nil {
			return m.journal.flush()
		}
		return m.journal.err
	}
	err := m.compact()
	if err != nil {
		m.retry = now.Add(retryAfter)
		if m.journal.err != nil {
			return m.journal.err
		}
		err = errors.Join(err, m.journal.flush()) // only too long
	}
	return err
}

// long says that most of the journal is past.
func (m *Mirror) long() bool { return m.journal.size > 1<<20+4*m.bytes }

// SetSynced notes that every set which this host must hold is whole. One that is not whole now was not sent, so the host does not
// hold it any more; its documents are gone.
func (m *Mirror) SetSynced() (dirty []change.Key) {
	var over []change.Set
	for name, s := range m.sets {
		if !s.whole {
			over = append(over, name)
		}
	}
	for _, name := range over {
		keys, _, _ := m.Apply(&wire.Frame{Set: string(name), Gone: true}) // to be gone is no error
		dirty = append(dirty, keys...)
	}
	if !m.synced {
		m.synced = true
		if m.journal != nil {
			m.journal.write(recordSynced, nil)
		}
	}
	return dirty
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
	slices.SortFunc(out, func(a, b *wire.SetHash) int { return strings.Compare(a.Set, b.Set) })
	return out
}

func (m *Mirror) apply(f *wire.Frame) (dirty []change.Key, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name := change.Set(f.GetSet())
	s := m.sets[name]
	switch {
	case f.GetGone():
		if s != nil {
			for k := range s.docs {
				m.remove(s, k, &dirty)
			}
			delete(m.sets, name)
		}
		return dirty, nil
	case f.GetBegin():
		if s == nil {
			s = &set{docs: map[change.Key]*wire.Document{}}
			m.sets[name] = s
		}
		s.staging, s.whole = map[change.Key]uint64{}, false
	case s == nil || !s.whole && s.staging == nil:
		return nil, fmt.Errorf("%w: %s: a change of a set that is not whole", ErrHash, name)
	}
	for _, d := range f.GetPut() {
		m.put(s, d, &dirty)
	}
	for _, k := range f.GetDrop() {
		key := change.Key{Kind: k.GetKind(), ID: k.GetId()}
		delete(s.staging, key)
		m.remove(s, key, &dirty)
	}
	if s.staging != nil {
		if !f.GetComplete() {
			return dirty, nil
		}
		return dirty, m.complete(name, s, f.GetHash(), &dirty)
	}
	if s.hash != f.GetHash() {
		s.whole = false
		return dirty, fmt.Errorf("%w: %s", ErrHash, name)
	}
	return dirty, nil
}

// complete ends a transfer. What it did not put is gone, unless the transfer is not what the server meant to send.
func (m *Mirror) complete(name change.Set, s *set, hash uint64, dirty *[]change.Key) error {
	var sum uint64
	for _, h := range s.staging {
		sum += h
	}
	kept := s.staging
	s.staging = nil
	if sum != hash {
		return fmt.Errorf("%w: %s", ErrHash, name)
	}
	for k := range s.docs {
		if _, keep := kept[k]; !keep {
			m.remove(s, k, dirty)
		}
	}
	s.whole = true
	return nil
}

func (m *Mirror) put(s *set, d *wire.Document, dirty *[]change.Key) {
	k := change.Key{Kind: d.GetKind(), ID: d.GetId()}
	hash := d.Hash()
	if s.staging != nil {
		s.staging[k] = hash
	}
	if old := s.docs[k]; old != nil {
		if proto.Equal(old, d) {
			return
		}
		s.hash -= old.Hash()
		m.bytes -= weight(old)
	} else {
		m.holders[k]++
	}
	s.docs[k] = d
	s.hash += hash
	m.bytes += weight(d)
	m.learn(k, d)
	*dirty = append(*dirty, k)
}

func (m *Mirror) remove(s *set, k change.Key, dirty *[]change.Key) {
	d := s.docs[k]
	if d == nil {
		return
	}
	delete(s.docs, k)
	s.hash -= d.Hash()
	m.bytes -= weight(d)
	*dirty = append(*dirty, k)
	if m.holders[k]--; m.holders[k] > 0 {
		for _, other := range m.sets {
			if d := other.docs[k]; d != nil {
				m.learn(k, d)
				return
			}
		}
	}
	delete(m.holders, k)
	delete(m.unreadable, k)
	m.forget(k)
}

// learn makes a document the one that features see, or sets it aside.
func (m *Mirror) learn(k change.Key, d *wire.Document) {
	m.forget(k)
	delete(m.unreadable, k)
	msg, err := decode(d)
	if err != nil {
		m.unreadable[k] = err
		return
	}
	m.remember(k, msg)
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

// weight is about what a document takes in the journal.
func weight(d *wire.Document) int64 { return int64(len(d.GetBody()) + len(d.GetId()) + 32) }

// chunk is about how many bytes of documents one record of a compacted journal holds.
const chunk = 1 << 20

// compact writes the journal anew as what is held. A set that is not whole stays one: its documents are all that is known of
// it. One that is being sent begins twice, so that what its transfer has put so far is told apart from what was there before.
func (m *Mirror) compact() error {
	return m.journal.replace(func(put func(byte, []byte) error) error {
		for name, s := range m.sets {
			var before, now []*wire.Document
			for k, d := range s.docs {
				if _, sent := s.staging[k]; sent {
					now = append(now, d)
				} else {
					before = append(before, d)
				}
			}
			if err := putSet(put, &wire.Frame{Set: string(name), Complete: s.whole, Hash: s.hash}, before); err != nil {
				return err
			}
			if s.staging != nil {
				if err := putSet(put, &wire.Frame{Set: string(name)}, now); err != nil {
					return err
				}
			}
		}
		if m.synced {
			return put(recordSynced, nil)
		}
		return nil
	})
}

// putSet writes documents as a transfer that ends as last says.
func putSet(put func(byte, []byte) error, last *wire.Frame, docs []*wire.Document) error {
	f := &wire.Frame{Set: last.GetSet(), Begin: true}
	write := func() error {
		body, err := proto.Marshal(f)
		if err != nil {
			return err
		}
		return put(recordFrame, body)
	}
	size := int64(0)
	for _, d := range docs {
		if size > chunk {
			if err := write(); err != nil {
				return err
			}
			f, size = &wire.Frame{Set: last.GetSet()}, 0
		}
		f.Put = append(f.Put, d)
		size += weight(d)
	}
	f.Complete, f.Hash = last.GetComplete(), last.GetHash()
	return write()
}

var _ agent.Documents = (*Mirror)(nil)
