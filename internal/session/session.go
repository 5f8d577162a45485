// Package session is the server's end of host sessions: it knows which sets of documents each host that is connected here holds,
// renders a document once for all of them when it changes, and sends differences. assemble runs one Server a process;
// servers of one cloud meet in the database alone. It keeps nothing that cannot be rendered again, and heartbeats never
// leave its memory.
//
// One goroutine, the hub, owns what is held. One other, the renderer, reads the database on its behalf, a job at a time: what
// was asked for while a job ran is the next job, so bursts and herds of agents are rendered together, and a later
// job has always seen the later state.
//
//	changes ──┐                        ┌── sets that somebody needs, keys that changed
//	hellos  ──┼──▶ hub ───── job ──────▼ renderer (one read transaction)
//	ends    ──┘     ▲                  │
//	                └───── result ─────┘ whole sets, closed over their references
//	                hub ──frames──▶ outbox of each session that holds a set
package session

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"

	"isospin/internal/clock"
	"isospin/internal/document"
	"isospin/internal/store"
	"isospin/internal/wire"
)

// Credentials tells whether a host's certificate, by its serial number in hexadecimal, still opens its session.
type Credentials interface {
	Check(ctx context.Context, host, serial string) error
}

// Presence is told which hosts have a session here. Calls for one host come one after the other, and each is repeated
// until it succeeds or something newer is known of the host.
type Presence interface {
	// Connected says that the host has a session here and what it says of itself; again when the facts change.
	Connected(ctx context.Context, host string, facts *wire.Facts) error
	// Disconnected says that the host has none here any more; last is when it was last heard.
	Disconnected(ctx context.Context, host string, last time.Time) error
}

// Statuses takes what hosts report, of several hosts at once, in the order in which each host said it; it returns when
// that is committed. A failed call is repeated.
type Statuses interface {
	Report(ctx context.Context, reports map[string][]*wire.Status) error
}

// Config is what a Server is made of.
type Config struct {
	Store       store.Store
	Kinds       []document.Kind
	Credentials Credentials
	Presence    Presence
	Statuses    Statuses
	Clock       clock.Clock
	Log         *slog.Logger
	// Name is what agents are told, for people.
	Name string
	// HeartbeatEvery is how often agents are to be heard; zero is 10 s. DownTime is how long one may be silent
	// (agent_down_time); zero is 75 s.
	HeartbeatEvery, DownTime time.Duration
	// Backlog is how many messages may wait for a slow agent once it is synced; zero is 8192. With more its session ends,
	// and the agent comes back with hashes.
	Backlog int
}

// Server serves host sessions. All methods are safe for concurrent use.
type Server struct {
	Config
	hub      *hub
	presence *presence
	reports  *reports
	running  sync.WaitGroup // receivers and senders of sessions
	stopping chan struct{}
	counters counters

	wire.UnimplementedHostSessionServer
}

// New makes a Server that does nothing before Run.
func New(c Config) *Server {
	if c.HeartbeatEvery == 0 {
		c.HeartbeatEvery = 10 * time.Second
	}
	if c.DownTime == 0 {
		c.DownTime = 75 * time.Second
	}
	if c.Backlog == 0 {
		c.Backlog = 8192
	}
	s := &Server{Config: c, stopping: make(chan struct{})}
	s.presence = newPresence(c.Presence, c.Clock, c.Log)
	s.reports = newReports(c.Statuses, c.Clock, c.Log)
	s.hub = newHub(c, s.presence, &s.counters)
	return s
}

// Run serves sessions on a listener, with a configuration that demands and verifies the certificates of hosts, until ctx
// ends or the change feed does; it closes the listener. It is called once.
func (s *Server) Run(ctx context.Context, ln net.Listener, creds *tls.Config) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var parts sync.WaitGroup
	run := func(part func(context.Context) error) {
		parts.Go(func() {
			if err := part(ctx); err != nil && ctx.Err() == nil {
				cancel(err)
			}
		})
	}
	feed := newFeed()
	changes := s.Store.Changes(ctx) // from here on nothing is missed, and nothing has been rendered yet
	run(func(context.Context) error { return feed.read(ctx, changes) })
	run(func(ctx context.Context) error { return s.hub.run(ctx, feed) })
	run(s.presence.run)
	run(s.reports.run)
	g := grpc.NewServer(
		grpc.Creds(credentials.NewTLS(creds)),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 20 * time.Second, Timeout: 10 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
		// A thousand idle hosts hold a thousand connections: small buffers (write buffers are shared by those who write).
		grpc.ReadBufferSize(4<<10), grpc.WriteBufferSize(32<<10),
		grpc.ConnectionTimeout(20*time.Second),
	)
	wire.RegisterHostSessionServer(g, s)
	served := make(chan error, 1)
	parts.Go(func() { served <- g.Serve(ln) })
	var err error
	select {
	case <-ctx.Done():
		if err = context.Cause(ctx); errors.Is(err, context.Canceled) {
			err = nil
		}
	case err = <-served:
		cancel(err)
	}
	close(s.stopping)
	g.Stop()
	s.running.Wait()
	parts.Wait()
	return err
}

// counters are what Stats shows.
type counters struct {
	sessions, sets, documents            atomic.Int64
	jobs, rendered, frames, sent, closed atomic.Int64
	heard                                atomic.Int64
}

// Stats counts what a server holds and has done.
type Stats struct {
	Sessions  int64 // synced now
	Sets      int64 // held now
	Documents int64 // held now
	Jobs      int64 // read transactions for documents
	Rendered  int64 // documents rendered
	Frames    int64 // frames handed to sessions
	Sent      int64 // documents in them
	Overflows int64 // sessions ended because their agent was too slow
	Heard     int64 // messages from agents, heartbeats most of all
}

// Stats is how the server stands.
func (s *Server) Stats() Stats {
	c := &s.counters
	return Stats{Sessions: c.sessions.Load(), Sets: c.sets.Load(), Documents: c.documents.Load(), Jobs: c.jobs.Load(),
		Rendered: c.rendered.Load(), Frames: c.frames.Load(), Sent: c.sent.Load(), Overflows: c.closed.Load(), Heard: c.heard.Load()}
}
