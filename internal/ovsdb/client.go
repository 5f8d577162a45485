package ovsdb

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"isospin/internal/clock"
)

// Client is a connection that heals itself while Run runs. All methods are safe for concurrent use.
type Client struct {
	endpoint    string
	log         *slog.Logger
	clock       clock.Clock
	first, last time.Duration // backoff
	patience    time.Duration // of one connection attempt
	probe       time.Duration

	building sync.Mutex // held while a snapshot is made; before mu

	mu       sync.Mutex
	sess     *session // nil while there is no connection
	state    State
	snap     *Snapshot // last one made; kept over a lost connection
	fresh    bool      // snap is what the monitor has
	watchers map[chan struct{}]struct{}
}

// State is how the connection does.
type State struct {
	Connected bool
	// Connects counts connections; one more than last time means that changes may have been missed.
	Connects int
	// Err is why there is no connection.
	Err error
}

// Option changes how a Client works.
type Option func(*Client)

// WithClock sets the clock of backoffs and probes; the machine's if not given.
func WithClock(c clock.Clock) Option { return func(o *Client) { o.clock = c } }

// WithLogger sets where connections gained and lost are told; nowhere if not given.
func WithLogger(l *slog.Logger) Option { return func(o *Client) { o.log = l } }

// WithBackoff sets the wait after a first failed attempt and the longest one; it doubles in between. 20 ms and 1 s if not given.
func WithBackoff(first, last time.Duration) Option {
	return func(o *Client) { o.first, o.last = first, last }
}

// New makes a client of unix:/path or tcp:host:port. It connects when Run runs.
func New(endpoint string, opts ...Option) (*Client, error) {
	if err := checkEndpoint(endpoint); err != nil {
		return nil, err
	}
	c := &Client{
		endpoint: endpoint,
		log:      slog.New(slog.DiscardHandler),
		clock:    clock.System{},
		first:    20 * time.Millisecond,
		last:     time.Second,
		patience: 5 * time.Second,
		probe:    5 * time.Second,
		state:    State{Err: ErrNotConnected},
		watchers: map[chan struct{}]struct{}{},
	}
	for _, opt := range opts {
		opt(c)
	}
	return c, nil
}

// Run connects, and connects again whenever the connection is lost, until ctx ends. It returns nil then.
func (c *Client) Run(ctx context.Context) error {
	wait := c.first
	for ctx.Err() == nil {
		s, err := c.connect(ctx)
		if err == nil {
			wait = c.first
			err = c.hold(ctx, s)
		}
		c.lost(err)
		if ctx.Err() != nil {
			break
		}
		select {
		case <-ctx.Done():
		case <-c.clock.After(wait):
		}
		wait = min(2*wait, c.last)
	}
	return nil
}

func (c *Client) connect(ctx context.Context) (*session, error) {
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	s, err := dial(ctx, c.endpoint, c.changed)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.sess, c.fresh = s, false
	c.state = State{Connected: true, Connects: c.state.Connects + 1}
	c.mu.Unlock()
	c.log.Info("connected to the database server", "endpoint", c.endpoint)
	c.tell()
	return s, nil
}

// hold returns when the session has ended; it ends it with ctx.
func (c *Client) hold(ctx context.Context, s *session) error {
	defer s.end()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.lost:
			return errors.New("connection lost")
		case <-c.clock.After(c.probe):
			// A dead peer behind TCP says nothing by itself.
			if err := c.echo(ctx, s); err != nil {
				return fmt.Errorf("probe: %w", err)
			}
		}
	}
}

func (c *Client) echo(ctx context.Context, s *session) error {
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	return s.lib.Echo(ctx)
}

func (c *Client) lost(err error) {
	c.mu.Lock()
	was := c.state
	c.sess = nil
	c.state.Connected, c.state.Err = false, err
	c.mu.Unlock()
	if was.Connected || was.Connects == 0 && errors.Is(was.Err, ErrNotConnected) {
		c.log.Info("no connection to the database server", "endpoint", c.endpoint, "err", err)
	}
	if was.Connected {
		c.tell()
	}
}

// State is how the connection does now. Watchers are told when it changes.
func (c *Client) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// Snapshot is the database as the monitor has it; nil before the first connection. While there is no
// connection it is the last one known.
func (c *Client) Snapshot() *Snapshot {
	c.building.Lock()
	defer c.building.Unlock()
	c.mu.Lock()
	s, fresh := c.sess, c.fresh
	if s == nil || fresh {
		defer c.mu.Unlock()
		return c.snap
	}
	c.fresh = true // a change from here on makes it stale again
	c.mu.Unlock()
	snap := s.snapshot()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.snap = snap
	return snap
}

// Watch gives a channel that receives after every change of the database or of the connection; changes that
// come faster than they are read are told once. stop ends it.
func (c *Client) Watch() (changes <-chan struct{}, stop func()) {
	ch := make(chan struct{}, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watchers[ch] = struct{}{}
	return ch, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.watchers, ch)
	}
}

// Ready waits until there is a connection, and so a Snapshot.
func (c *Client) Ready(ctx context.Context) error {
	return c.Until(ctx, "a connection", func(s *Snapshot) bool { return s != nil && c.State().Connected })
}

// Until waits until the monitor's snapshot (nil before the first connection) fulfils done; what names it in the error.
func (c *Client) Until(ctx context.Context, what string, done func(*Snapshot) bool) error {
	changes, stop := c.Watch()
	defer stop()
	for !done(c.Snapshot()) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, errors.Join(ctx.Err(), c.State().Err))
		case <-changes:
		}
	}
	return nil
}

func (c *Client) session() (*session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sess == nil {
		return nil, errors.Join(ErrNotConnected, c.state.Err)
	}
	return c.sess, nil
}

// changed is called after each change that the monitor saw.
func (c *Client) changed() {
	c.mu.Lock()
	c.fresh = false
	c.mu.Unlock()
	c.tell()
}

func (c *Client) tell() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for ch := range c.watchers {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}
