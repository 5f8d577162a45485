// Package dhcp is the DHCPv4 server of a host: one value in the agent's process serves all of its networks, each
// through a socket in the network's own namespace. The DHCP feature drives it through two reconcile drivers, one
// for networks and one for reservations; tests drive it the same way. It answers from reservations alone and keeps
// no leases, so that several hosts serve one network alike; it never answers a client that it has no reservation
// for, makes no namespace or interface, and starts no process.
package dhcp

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"isospin/internal/clock"
)

// Options is what a Server needs from outside. Logger and Clock must be set.
type Options struct {
	Logger *slog.Logger
	Clock  clock.Clock
	// Open opens a network's link; nil: OpenPacketLink.
	Open OpenLink
	// Lost, if set, is told when a network's interface has gone: a reason for reading back. It must not block.
	Lost func(network string)
}

// Server serves DHCPv4 on many networks. All methods are safe for concurrent use.
type Server struct {
	opts    Options
	mu      sync.Mutex // before a table's lock; never held during I/O
	serving map[string]*instance
	tables  map[string]*table
	retired Stats // of networks no longer served
	stopped bool
	running sync.WaitGroup
}

// New makes a server that serves nothing yet.
func New(opts Options) *Server {
	if opts.Open == nil {
		opts.Open = OpenPacketLink
	}
	return &Server{opts: opts, serving: map[string]*instance{}, tables: map[string]*table{}}
}

// Close ends all networks and waits for their goroutines. A closed server refuses new networks.
func (s *Server) Close() error {
	s.mu.Lock()
	s.stopped = true
	all := make([]*instance, 0, len(s.serving))
	for id, n := range s.serving {
		all = append(all, n)
		delete(s.serving, id)
	}
	s.mu.Unlock()
	err := closeAll(all)
	s.running.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range all {
		s.retired.add(n.counters.snapshot())
	}
	return err
}

// closeAll closes links side by side: the kernel waits for all processors with each packet socket it gives back.
func closeAll(all []*instance) error {
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, n := range all {
		wg.Go(func() { errs[i] = n.close() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// errStopped answers a Put after Close.
var errStopped = errors.New("dhcp: server is closed")

// instance is one network being served. Its goroutine owns the link's receiving side, in and answer; config is
// replaced whole by the driver, and the table has its own lock.
type instance struct {
	server *Server
	link   Link
	config atomic.Pointer[served]
	source Network // guarded by Server.mu
	table  *table
	dead   atomic.Bool
	// suspected: a goroutine looks whether the interface is being deleted.
	suspected atomic.Bool
	counters  counters
	logger    *slog.Logger
	in        [2048]byte
	answer    reply
	done      chan struct{}
}

func (n *instance) gone() bool { return n.dead.Load() || n.link.Gone() }

func (n *instance) close() error {
	err := n.link.Close()
	<-n.done
	return err
}

// tries is how many receive errors in a row are taken for a passing trouble.
const tries = 16

// serve answers until the link is closed or its interface has gone.
func (n *instance) serve() {
	defer close(n.done)
	failed := 0
	for {
		size, from, summed, err := n.link.Receive(n.in[:])
		switch {
		case err == nil:
			failed = 0
			n.exchange(n.in[:size], from, summed)
			continue
		case errors.Is(err, net.ErrClosed):
			return
		case errors.Is(err, ErrDown) && !n.link.Gone():
			n.suspect()
			continue
		}
		if failed++; failed < tries && !n.link.Gone() {
			continue
		}
		n.lose(err)
		return
	}
}

// suspect looks a few times whether an interface that went down is being deleted: the kernel tells the one before the
// other, and is silent afterwards. Only serve calls it.
func (n *instance) suspect() {
	if !n.suspected.CompareAndSwap(false, true) {
		return
	}
	n.server.running.Go(func() {
		defer n.suspected.Store(false)
		for _, pause := range [...]time.Duration{20 * time.Millisecond, 200 * time.Millisecond, 2 * time.Second} {
			select {
			case <-n.server.opts.Clock.After(pause):
			case <-n.done:
				return
			}
			if n.link.Gone() {
				n.lose(ErrGone)
				return
			}
		}
	})
}

// lose marks the network as one to be opened again, once.
func (n *instance) lose(err error) {
	if !n.dead.CompareAndSwap(false, true) {
		return
	}
	n.logger.Warn("dhcp network is no longer served", "err", err)
	if n.server.opts.Lost != nil {
		n.server.opts.Lost(n.table.network)
	}
}

// exchange answers one packet, if it deserves an answer.
func (n *instance) exchange(packet []byte, from hwaddr, summed bool) {
	out, to, ok := n.handle(packet, from, summed)
	if !ok {
		return
	}
	if err := n.link.Send(out, to); err != nil {
		n.counters.sendErrors.Add(1)
		n.logger.Debug("dhcp answer not sent", "err", err)
	}
}

// start opens a link for a network and begins to serve it.
func (s *Server) start(ctx context.Context, network Network, config *served) error {
	link, err := s.opts.Open(ctx, network.Namespace, network.Interface)
	if err != nil {
		return err
	}
	n := &instance{server: s, link: link, source: network, done: make(chan struct{}),
		logger: s.opts.Logger.With("network", network.ID)}
	n.config.Store(config)
	s.mu.Lock()
	if s.stopped {
		s.mu.Unlock()
		return errors.Join(errStopped, link.Close())
	}
	old := s.serving[network.ID]
	n.table = s.table(network.ID)
	s.serving[network.ID] = n
	s.running.Go(n.serve)
	s.mu.Unlock()
	if old == nil {
		return nil
	}
	return s.retire(old)
}

// retire closes an instance that has left the map, and keeps what it counted.
func (s *Server) retire(n *instance) error {
	err := n.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retired.add(n.counters.snapshot())
	return err
}

// table finds or makes a network's reservations; s.mu is held.
func (s *Server) table(network string) *table {
	t := s.tables[network]
	if t == nil {
		t = newTable(network)
		s.tables[network] = t
	}
	return t
}

// forget gives an empty table of a network that is not served back; s.mu is held.
func (s *Server) forget(network string) {
	if t := s.tables[network]; t != nil && s.serving[network] == nil && t.empty() {
		delete(s.tables, network)
	}
}
