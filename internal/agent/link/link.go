// Package link keeps a host's session with a server open: it dials one of the enrolment's servers with the host's
// certificate, says what the mirror holds, hands on frames, sends heartbeats and reports, and dials again when the session
// ends. The agent's loop and the simulated agents run a Link each. It keeps no document and knows none.
package link

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"isospin/internal/clock"
	"isospin/internal/ident"
	"isospin/internal/wire"
)

// Handler is the agent's side of a session. Run calls its methods one at a time, from one goroutine; a method that blocks
// holds the stream back, which is how a slow host slows its server down.
type Handler interface {
	// Have lists the sets held whole, with their hashes, as the mirror has them now; asked at each opening of a session.
	Have() []*wire.SetHash
	// Opened says that a server accepted the session.
	Opened(server string)
	// Frame hands on one frame. An error ends the session, and the next one begins from what Have says then.
	Frame(f *wire.Frame) error
	// Synced says that every set which this host must hold has been sent whole.
	Synced() error
	// Closed says that the session that was Opened has ended and why. Documents stay good.
	Closed(err error)
}

// Options is what a Link is made of.
type Options struct {
	Enrolment wire.Enrolment
	// Renew, if set, is asked before each attempt for the enrolment as it is now: an operator may have enrolled the host anew, or
	// named other servers. One of another host, or that cannot be read, is told once and not used.
	Renew func() (wire.Enrolment, error)
	// Facts are what the host says of itself at first; see SetFacts.
	Facts *wire.Facts
	Clock clock.Clock
	IDs   ident.Source
	Log   *slog.Logger
	// Dial replaces TCP, for servers in the same process; nil is TCP.
	Dial func(ctx context.Context, address string) (net.Conn, error)
	// FirstWait and LongestWait bound the pause between attempts, which doubles and is spread at random over its
	// second half; zero is 500 ms and 3 s.
	FirstWait, LongestWait time.Duration
}

// Link is one host's session, again and again. All methods are safe for concurrent use.
type Link struct {
	o     Options
	host  string
	renew renewal

	mu      sync.Mutex
	facts   *wire.Facts
	told    *wire.Facts // what this session's server knows
	number  uint64
	pending []*report // oldest first, not acknowledged yet
	sent    uint64    // the last number sent in this session
	wake    chan struct{}
	state   State
}

type report struct {
	number   uint64
	statuses []*wire.Status
	done     chan struct{}
}

// State is how the link stands.
type State struct {
	Connected bool
	Server    string    // of the session that is open
	Since     time.Time // of the last change of Connected
	Err       error     // why there is no session
}

// New checks the enrolment's certificate and makes a Link; nothing is dialled before Run.
func New(o Options) (*Link, error) {
	if o.FirstWait == 0 {
		o.FirstWait = 500 * time.Millisecond
	}
	if o.LongestWait == 0 {
		o.LongestWait = 3 * time.Second
	}
	if o.Facts == nil {
		o.Facts = &wire.Facts{}
	}
	creds, err := credentialsOf(o.Enrolment)
	if err != nil {
		return nil, err
	}
	return &Link{o: o, host: o.Enrolment.Host, facts: o.Facts, wake: make(chan struct{}, 1), renew: renewal{enrolment: o.Enrolment, creds: creds}}, nil
}

// Host is the name that the enrolment is for.
func (l *Link) Host() string { return l.host }

// State is how the link stands now.
func (l *Link) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}

// SetFacts replaces what the host says of itself; the server hears of it now or when the next session opens.
func (l *Link) SetFacts(f *wire.Facts) {
	l.mu.Lock()
	l.facts = f
	l.mu.Unlock()
	l.nudge()
}

// reportSize is the most statuses that travel in one message.
const reportSize = 500

// Report hands statuses to the server and returns when it has committed them, in this session or a later one, or when
// ctx ends; those that ctx gave up on may have arrived all the same.
func (l *Link) Report(ctx context.Context, statuses []*wire.Status) error {
	var mine []*report
	l.mu.Lock()
	for len(statuses) > 0 {
		n := min(reportSize, len(statuses))
		l.number++
		r := &report{number: l.number, statuses: statuses[:n], done: make(chan struct{})}
		statuses = statuses[n:]
		l.pending = append(l.pending, r)
		mine = append(mine, r)
	}
	l.mu.Unlock()
	l.nudge()
	for i, r := range mine {
		select {
		case <-r.done:
		case <-ctx.Done():
			l.forget(mine[i:])
			return ctx.Err()
		}
	}
	return nil
}

func (l *Link) forget(gone []*report) {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := l.pending[:0]
	for _, r := range l.pending {
		drop := false
		for _, g := range gone {
			drop = drop || g == r
		}
		if !drop {
			kept = append(kept, r)
		}
	}
	clear(l.pending[len(kept):])
	l.pending = kept
}

func (l *Link) acknowledged(number uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, r := range l.pending {
		if r.number == number {
			close(r.done)
			l.pending = append(l.pending[:i:i], l.pending[i+1:]...)
			return
		}
	}
}

// nudge wakes the sender of the open session, if there is one.
func (l *Link) nudge() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Run keeps a session open until ctx ends, and returns ctx's error. A server that refuses the host is asked again
// too, with the longest pause: an operator may enrol the host anew.
func (l *Link) Run(ctx context.Context, h Handler) error {
	next := int(l.o.IDs.Uint64() % uint64(len(l.renew.enrolment.Servers)))
	wait := l.o.FirstWait
	for ctx.Err() == nil {
		l.look()
		servers := l.renew.enrolment.Servers
		opened, err := l.session(ctx, servers[next%len(servers)], h)
		if ctx.Err() != nil {
			break
		}
		next++
		if opened {
			wait = l.o.FirstWait
		}
		l.failed(servers[(next-1)%len(servers)], err)
		if refused(err) {
			wait = l.o.LongestWait
		}
		pause := wait/2 + time.Duration(l.o.IDs.Uint64()%uint64(wait/2+1))
		wait = min(2*wait, l.o.LongestWait)
		select {
		case <-ctx.Done():
		case <-l.o.Clock.After(pause):
		}
	}
	l.setState(State{Since: l.o.Clock.Now(), Err: ctx.Err()})
	return ctx.Err()
}

// failed notes why there is no session; each new reason is logged once.
func (l *Link) failed(server string, err error) {
	if err == nil {
		err = errors.New("the server closed the session")
	}
	before := l.State()
	l.setState(State{Since: l.o.Clock.Now(), Err: err})
	if before.Err == nil || before.Err.Error() != err.Error() {
		l.o.Log.Warn("no session with a server", "host", l.Host(), "server", server, "err", err)
	}
}

func (l *Link) setState(s State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.Connected == l.state.Connected && !l.state.Since.IsZero() {
		s.Since = l.state.Since
	}
	l.state = s
}

// refused: asking again soon would not help. Aborted says that another process opened a session of this host: two agents
// with one enrolment, of which each new session ends the other's.
func refused(err error) bool {
	switch status.Code(err) {
	case codes.PermissionDenied, codes.Unauthenticated, codes.FailedPrecondition, codes.Aborted:
		return true
	}
	return false
}
