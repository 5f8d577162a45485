// Package simulate is hosts that are not there: each opens a real session with its certificate, keeps a mirror in memory, checks
// every hash and reports what it is told to, and wires nothing. Tests and benchmarks of the server run thousands of
// them in one process; nothing else does.
package simulate

import (
	"context"
	"fmt"
	"sync"

	"google.golang.org/protobuf/proto"

	"isospin/internal/agent/link"
	"isospin/internal/change"
	"isospin/internal/wire"
)

// Options is what a Host is made of.
type Options struct {
	Link link.Options
	// Answers makes the host report every port and reservation as done, as soon as it holds the document.
	Answers bool
	// Frame, when set, sees every frame before it is applied.
	Frame func(*wire.Frame)
}

// Counts is what a host has received since its start.
type Counts struct {
	Sessions, Syncs, Frames int
	Documents               int // put or dropped
	Bytes                   int // of the frames
	Reported                int // statuses that a server has committed
}

// Host is one simulated host. All methods are safe for concurrent use.
type Host struct {
	o    Options
	link *link.Link

	mu      sync.Mutex
	sets    map[string]*mirrored
	synced  bool
	open    bool
	counts  Counts
	wrong   error
	changed chan struct{} // closed and made anew whenever something happens
	todo    []*wire.Status
	wake    chan struct{}
}

// mirrored is one set.
type mirrored struct {
	docs    map[change.Key]*wire.Document
	sum     uint64
	whole   bool
	arrived map[change.Key]bool // while a whole set arrives: what it puts
}

// New makes a host that does nothing before Run.
func New(o Options) (*Host, error) {
	l, err := link.New(o.Link)
	if err != nil {
		return nil, err
	}
	return &Host{o: o, link: l, sets: map[string]*mirrored{}, changed: make(chan struct{}), wake: make(chan struct{}, 1)}, nil
}

// Name is the host's name.
func (h *Host) Name() string { return h.link.Host() }

// Link is the host's session, for reports and facts of a test's own.
func (h *Host) Link() *link.Link { return h.link }

// Run keeps the session open until ctx ends.
func (h *Host) Run(ctx context.Context) error {
	var answering sync.WaitGroup
	answering.Go(func() { h.answer(ctx) })
	err := h.link.Run(ctx, handler{h})
	answering.Wait()
	return err
}

// answer reports what frames made due.
func (h *Host) answer(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.wake:
		}
		h.mu.Lock()
		todo := h.todo
		h.todo = nil
		h.mu.Unlock()
		if len(todo) == 0 {
			continue
		}
		if err := h.link.Report(ctx, todo); err != nil {
			return
		}
		h.mu.Lock()
		h.counts.Reported += len(todo)
		h.tell()
		h.mu.Unlock()
	}
}

// Counts is what it has received so far.
func (h *Host) Counts() Counts {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.counts
}

// Wrong is the first thing that a server did against the protocol, nil if none.
func (h *Host) Wrong() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.wrong
}

// View is what a host holds, for the time of one call of Wait's function.
type View struct{ h *Host }

// Synced tells whether its session is open and synced.
func (v View) Synced() bool { return v.h.open && v.h.synced }

// Counts is what it has received.
func (v View) Counts() Counts { return v.h.counts }

// Sets lists the sets that it holds whole, and how many documents are in each.
func (v View) Sets() map[string]int {
	out := map[string]int{}
	for name, s := range v.h.sets {
		if s.whole {
			out[name] = len(s.docs)
		}
	}
	return out
}

// Get finds a document in a set and decodes it into m.
func (v View) Get(set, kind, id string, m proto.Message) bool {
	s := v.h.sets[set]
	if s == nil || !s.whole {
		return false
	}
	d := s.docs[change.Key{Kind: kind, ID: id}]
	return d != nil && proto.Unmarshal(d.Body, m) == nil
}

// Wait waits until ready says so of what the host holds, or ctx ends.
func (h *Host) Wait(ctx context.Context, ready func(View) bool) error {
	for {
		h.mu.Lock()
		ok, wrong, next := ready(View{h}), h.wrong, h.changed
		h.mu.Unlock()
		if wrong != nil {
			return wrong
		}
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("host %s: %w", h.Name(), ctx.Err())
		case <-next:
		}
	}
}

// Forget empties the mirror, as a disk that was lost would.
func (h *Host) Forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sets = map[string]*mirrored{}
}

// tell wakes those that wait. Called with mu held.
func (h *Host) tell() {
	close(h.changed)
	h.changed = make(chan struct{})
}
