package session

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"isospin/internal/change"
	"isospin/internal/clock"
	"isospin/internal/service/hostcred"
	"isospin/internal/wire"
)

// Job sizes: a burst or a herd is cut, so that one more change need not wait for all of it.
const (
	setsAtOnce = 128
	keysAtOnce = 4096
)

// hub owns what is held here. Its maps belong to the goroutine of run.
type hub struct {
	renderer *renderer
	clock    clock.Clock
	log      *slog.Logger
	presence *presence
	counters *counters
	inbox    chan any // opened, ended, newFacts
	over     chan struct{}
	// revisions counts changes of credentials, so that one which falls between a session's check and its opening is seen.
	revisions atomic.Int64

	sets  map[change.Set]*heldSet
	docs  map[change.Key]*doc // in any of sets
	hosts map[string]*host
	// What the next job is about.
	waiting map[change.Set]*host // hosts whose own set is not here yet
	dirty   map[change.Key]bool
	compare map[change.Set]bool // sets to read again, since changes may have been missed
	idle    map[change.Set]bool // sets without a holder
	// unread are changes that came while a job ran: it may load the sets that they concern.
	unread []change.Change
	active []*heldSet // sets that the result at work changed
}

// What sessions tell the hub.
type (
	opened struct {
		host      *host
		revisions int64 // of credentials when the certificate was checked
	}
	ended struct {
		host *host
		last time.Time
	}
	newFacts struct {
		host  *host
		facts *wire.Facts
	}
)

func newHub(c Config, p *presence, n *counters) *hub {
	return &hub{renderer: newRenderer(c.Store, c.Kinds), clock: c.Clock, log: c.Log, presence: p, counters: n, inbox: make(chan any, 64), over: make(chan struct{}),
		sets: map[change.Set]*heldSet{}, docs: map[change.Key]*doc{}, hosts: map[string]*host{}, waiting: map[change.Set]*host{},
		dirty: map[change.Key]bool{}, compare: map[change.Set]bool{}, idle: map[change.Set]bool{}}
}

// tell hands the hub a message; nobody listens any more once it is over.
func (h *hub) tell(m any) {
	select {
	case h.inbox <- m:
	case <-h.over:
	}
}

// run owns the state until ctx ends.
func (h *hub) run(ctx context.Context, f *feed) error {
	jobs, results := make(chan job), make(chan *result)
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.render(ctx, jobs, results)
	}()
	defer func() {
		close(h.over)
		close(jobs)
		<-done
	}()
	busy := false
	for {
		if !busy {
			if j := h.next(); !j.empty() {
				jobs <- j
				busy = true
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case m := <-h.inbox:
			h.message(m)
		case <-f.wake:
			changes, gap := f.take()
			h.changed(changes, gap)
		case r := <-results:
			busy = false
			if r != nil {
				h.apply(r)
			}
		}
	}
}

// render works on jobs, each until it succeeds.
func (h *hub) render(ctx context.Context, jobs <-chan job, results chan<- *result) {
	for j := range jobs {
		r, err := h.renderer.do(ctx, j)
		for pause := 100 * time.Millisecond; err != nil && ctx.Err() == nil; pause = min(2*pause, 5*time.Second) {
			h.log.Warn("documents could not be rendered", "err", err)
			select {
			case <-ctx.Done():
			case <-h.clock.After(pause):
				r, err = h.renderer.do(ctx, j)
			}
		}
		h.counters.jobs.Add(1)
		select {
		case <-ctx.Done():
		case results <- r:
		}
	}
}

func (h *hub) message(m any) {
	switch m := m.(type) {
	case opened:
		h.open(m.host)
		if m.revisions != h.revisions.Load() {
			poke(m.host.recheck)
		}
	case ended:
		h.end(m.host, m.last)
	case newFacts:
		if h.hosts[m.host.name] == m.host {
			m.host.facts = m.facts
			h.presence.connected(m.host.name, m.facts)
		}
	}
}

// open takes a session in; one that the host had before ends.
func (h *hub) open(s *host) {
	if before := h.hosts[s.name]; before != nil {
		before.out.end(status.Error(codes.Aborted, "another session of this host was opened"))
		h.release(before)
	}
	h.hosts[s.name] = s
	h.presence.connected(s.name, s.facts)
	if h.sets[s.root()] != nil {
		h.sync(s)
	} else {
		h.waiting[s.root()] = s
	}
}

// end lets a session go.
func (h *hub) end(s *host, last time.Time) {
	if h.hosts[s.name] != s {
		return // another took its place
	}
	h.release(s)
	delete(h.hosts, s.name)
	h.presence.disconnected(s.name, last)
}

func (h *hub) release(s *host) {
	if h.waiting[s.root()] == s {
		delete(h.waiting, s.root())
	}
	if s.synced {
		s.synced = false
		h.counters.sessions.Add(-1)
	}
	for name := range s.held {
		h.leave(s, h.sets[name])
	}
	s.held = nil
}

func (h *hub) leave(s *host, set *heldSet) {
	delete(set.holders, s)
	if len(set.holders) == 0 {
		h.idle[set.name] = true
	}
}

// changed takes changes in. They are looked at when no job runs.
func (h *hub) changed(changes []change.Change, gap bool) {
	if gap {
		h.log.Info("changes may have been missed; everything is compared")
		for name := range h.sets {
			h.compare[name] = true
		}
		h.revisions.Add(1)
		for _, s := range h.hosts {
			poke(s.recheck)
		}
	}
	for _, c := range changes {
		if c.Key.Kind == hostcred.KindCredential {
			h.revisions.Add(1)
			if s := h.hosts[c.Key.ID]; s != nil {
				poke(s.recheck)
			}
			continue
		}
		h.unread = append(h.unread, c)
	}
}

// next gathers the next job. No job runs, so the hub's sets are what the renderer takes them for.
func (h *hub) next() job {
	var j job
	for name := range h.idle {
		if set := h.sets[name]; set != nil && len(set.holders) == 0 {
			h.forget(set)
			j.forget = append(j.forget, name)
		}
	}
	clear(h.idle)
	for _, c := range h.unread {
		if h.docs[c.Key] != nil || slices.ContainsFunc(c.Sets, func(s change.Set) bool { return h.sets[s] != nil }) {
			h.dirty[c.Key] = true
		}
	}
	h.unread = h.unread[:0]
	for key := range h.dirty {
		if len(j.keys) == keysAtOnce {
			break
		}
		j.keys = append(j.keys, key)
		delete(h.dirty, key)
	}
	for name := range h.waiting {
		if len(j.load) == setsAtOnce {
			break
		}
		j.load = append(j.load, name)
	}
	for name := range h.compare {
		if len(j.load) == setsAtOnce {
			break
		}
		delete(h.compare, name)
		if h.sets[name] != nil {
			j.load = append(j.load, name)
		}
	}
	return j
}

// forget drops a set that nobody holds, and the documents that are in no other.
func (h *hub) forget(set *heldSet) {
	delete(h.sets, set.name)
	for key, d := range set.docs {
		if !slices.ContainsFunc(d.sets, func(s change.Set) bool { return h.sets[s] != nil }) {
			delete(h.docs, key)
		}
	}
	h.count()
}

func (h *hub) count() {
	h.counters.sets.Store(int64(len(h.sets)))
	h.counters.documents.Store(int64(len(h.docs)))
}

// apply makes a result the hub's state and sends what that changes.
func (h *hub) apply(r *result) {
	h.active = h.active[:0]
	for name := range r.loaded {
		set := h.sets[name]
		if set == nil {
			h.sets[name] = &heldSet{name: name, docs: map[change.Key]*doc{}, refs: map[change.Set]int{}, holders: map[*host]struct{}{}, fresh: true}
			h.touch(h.sets[name])
			h.idle[name] = true // until somebody takes it
			continue
		}
		// Read again: what it held and no longer lists is gone.
		for key := range set.docs {
			if _, listed := r.docs[key]; !listed {
				h.touch(set).drop(key)
				h.dirty[key] = true // whether it is in others, or anywhere, is not known yet
			}
		}
	}
	for key, now := range r.docs {
		h.place(key, now)
	}
	h.counters.rendered.Add(int64(len(r.docs)))
	h.count()
	h.send()
}

// place puts a document into the held sets that it is in now, and takes it out of the others.
func (h *hub) place(key change.Key, now *doc) {
	before := h.docs[key]
	if before != nil {
		for _, s := range before.sets {
			if set := h.sets[s]; set != nil && !now.in(s) {
				h.touch(set).drop(key)
			}
		}
		if now != nil && now.hash == before.hash && slices.Equal(now.sets, before.sets) && slices.Equal(now.refs, before.refs) {
			now = before
		}
	}
	held := false
	if now != nil {
		for _, s := range now.sets {
			if set := h.sets[s]; set != nil {
				h.touch(set).put(now)
				held = true
			}
		}
	}
	if held {
		h.docs[key] = now
	} else {
		delete(h.docs, key)
	}
}

// touch notes that the result at work changes a set.
func (h *hub) touch(set *heldSet) *heldSet {
	if !set.active {
		set.active = true
		h.active = append(h.active, set)
	}
	return set
}

// send tells the sessions what the applied result changed: first sets that they have got, whole, then differences, then
// the sets that they have lost. So an agent never sees a document before the sets that it refers to.
func (h *hub) send() {
	// Those that others refer to first: whoever gets a set below follows its references as they are now.
	slices.SortFunc(h.active, func(a, b *heldSet) int { return compareRank(a.name, b.name) })
	var touched, new []*host
	for _, set := range h.active {
		for target, was := range set.moved {
			if now := set.refs[target] > 0; now != was {
				for s := range set.holders {
					if s.touched == nil {
						s.touched = map[change.Set]bool{}
						touched = append(touched, s)
					}
					h.refer(s, target, now)
				}
			}
		}
	}
	for name, s := range h.waiting {
		if h.sets[name] != nil {
			delete(h.waiting, name)
			new = append(new, s)
		}
	}
	for _, s := range touched {
		h.push(s, h.acquired(s)...)
	}
	for _, set := range h.active {
		if len(set.delta) > 0 && len(set.holders) > 0 {
			frames := differences(set)
			for s := range set.holders {
				if was, got := s.touched[set.name]; !got || was {
					h.push(s, frames...)
				}
			}
		}
		set.active, set.fresh, set.delta, set.moved = false, false, nil, nil
	}
	for _, s := range touched {
		for name, was := range s.touched {
			if was && s.held[name] == 0 {
				h.push(s, gone(name))
			}
		}
		s.touched = nil
	}
	for _, s := range new { // the differences were not for them
		h.sync(s)
	}
}

// acquired are the frames of the sets that a session holds since the result at work.
func (h *hub) acquired(s *host) []*wire.Down {
	var names []change.Set
	for name, was := range s.touched {
		if !was && s.held[name] > 0 {
			names = append(names, name)
		}
	}
	byRank(names)
	var out []*wire.Down
	for _, name := range names {
		out = append(out, h.sets[name].whole()...)
	}
	return out
}

// refer counts one more (or less) reason for a session to hold a set, and follows what that set refers to.
func (h *hub) refer(s *host, name change.Set, more bool) {
	set := h.sets[name]
	if set == nil {
		// It cannot be: results are closed over their references. The agent comes back and everything is looked at anew.
		h.log.Error("a set is missing that documents refer to", "set", string(name), "host", s.name)
		s.out.end(status.Error(codes.Internal, "a set is missing"))
		return
	}
	before := s.held[name]
	if s.touched != nil {
		if _, known := s.touched[name]; !known {
			s.touched[name] = before > 0
		}
	}
	switch {
	case more:
		s.held[name] = before + 1
		if before > 0 {
			return
		}
		set.holders[s] = struct{}{}
	case before > 1:
		s.held[name] = before - 1
		return
	default:
		delete(s.held, name)
		h.leave(s, set)
	}
	for target := range set.refs {
		h.refer(s, target, more)
	}
}

// sync sends a new session what its agent lacks.
func (h *hub) sync(s *host) {
	s.held = map[change.Set]int{}
	h.refer(s, s.root(), true)
	names := slices.Collect(maps.Keys(s.held))
	byRank(names)
	for _, name := range names {
		set := h.sets[name]
		if hash, has := s.have[name]; !has || hash != set.hash {
			h.push(s, set.whole()...)
		}
	}
	for name := range s.have {
		if s.held[name] == 0 {
			h.push(s, gone(name))
		}
	}
	s.have, s.synced = nil, true
	h.push(s, &wire.Down{Message: &wire.Down_Synced{Synced: &wire.Synced{}}})
	s.out.synced()
	h.counters.sessions.Add(1)
}

// push hands messages to a session.
func (h *hub) push(s *host, ms ...*wire.Down) {
	if len(ms) == 0 {
		return
	}
	if !s.out.push(ms...) {
		h.counters.closed.Add(1)
		h.log.Warn("a host is too slow; its session ends", "host", s.name)
		return
	}
	for _, m := range ms {
		if f := m.GetFrame(); f != nil {
			h.counters.frames.Add(1)
			h.counters.sent.Add(int64(len(f.Put) + len(f.Drop)))
		}
	}
}
