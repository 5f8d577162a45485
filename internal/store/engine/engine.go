// Package engine is what the Stores of all databases have in common: the transaction that collects changes and
// tasks, the feed of changes and the queue of tasks. Each dialect package gives it a Backend and hands out the
// Engine as its store.Store. It never opens a connection and holds no SQL that one database alone understands.
package engine

import (
	"context"
	"database/sql"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"isospin/internal/clock"
	"isospin/internal/ident"
	"isospin/internal/store"
)

// Conn is one connection inside a transaction. The text has ? marks; the Backend rewrites them and keeps prepared statements.
type Conn interface {
	Query(ctx context.Context, text string, args []any) (*sql.Rows, error)
	// Exec answers a uniqueness violation with a *store.Duplicate and leaves the transaction usable.
	Exec(ctx context.Context, text string, args []any) (int64, error)
	// Insert is Exec for an insert into a table with a serial column id, whose value it returns.
	Insert(ctx context.Context, text string, args []any) (int64, error)
}

// Backend is one database. Its methods are safe for concurrent use.
type Backend interface {
	Dialect() store.Dialect
	// Read and Write run fn in a transaction, with the promises of store.Store; retried is called before each repetition.
	Read(ctx context.Context, fn func(Conn) error) error
	Write(ctx context.Context, retried func(), fn func(Conn) error) error
	// Moved tells whether anybody may have committed since the last call; true when it cannot be told cheaply.
	Moved(ctx context.Context) (bool, error)
	// Sweep is how often to look for other servers' commits.
	Sweep() time.Duration
	// Announce tells other servers of a commit; it does not block.
	Announce()
	// Listen calls woke whenever another server announces a commit, until ctx ends. It returns at once, with
	// nil, where a database cannot tell.
	Listen(ctx context.Context, woke func()) error
	Close() error
}

// Options are what an Engine takes from outside; the zero value of a field is its default.
type Options struct {
	Clock clock.Clock   // the machine's clock
	Ident ident.Source  // random
	Log   *slog.Logger  // none
	Keep  time.Duration // how long changes are kept: 1 h
	Lease time.Duration // after it a dead server's task is taken again: 9 s; those at work renew theirs every third of it
	Tries int           // after them a task is parked: 12
}

// Filled puts the defaults in place.
func (o Options) Filled() Options {
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	if o.Ident == nil {
		o.Ident = ident.Random{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Keep == 0 {
		o.Keep = time.Hour
	}
	if o.Lease == 0 {
		o.Lease = 9 * time.Second
	}
	if o.Tries == 0 {
		o.Tries = 12
	}
	return o
}

// Engine is a store.Store on a Backend.
type Engine struct {
	b       Backend
	d       store.Dialect
	o       Options
	feed    *feed
	queue   *queue
	stop    context.CancelFunc
	running sync.WaitGroup
	closing sync.Once
	closed  error

	statements, commits, retries atomic.Uint64
}

var (
	_ store.Store  = (*Engine)(nil)
	_ store.Parker = (*Engine)(nil)
)

// New starts an engine on a backend whose tables exist; Close ends both.
func New(b Backend, o Options) *Engine {
	o = o.Filled()
	ctx, stop := context.WithCancel(context.Background())
	e := &Engine{b: b, d: b.Dialect(), o: o, stop: stop}
	e.feed = newFeed(e)
	e.queue = newQueue(e)
	woke := make(chan struct{}, 1)
	e.running.Go(func() { e.watch(ctx, woke) })
	e.running.Go(func() {
		if err := b.Listen(ctx, func() { poke(woke) }); err != nil && ctx.Err() == nil {
			o.Log.Error("listening for other servers ended", "err", err)
		}
	})
	return e
}

// poke fills a channel of one; who reads it looks at everything that happened before.
func poke(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// Dialect tells how SQL differs.
func (e *Engine) Dialect() store.Dialect { return e.d }

// Stats counts what was done so far.
func (e *Engine) Stats() store.Stats {
	return store.Stats{Statements: e.statements.Load(), Commits: e.commits.Load(), Retries: e.retries.Load()}
}

// Read runs fn in a transaction that sees one state.
func (e *Engine) Read(ctx context.Context, fn func(store.Tx) error) error {
	return e.b.Read(ctx, func(c Conn) error { return fn(&tx{e: e, c: c}) })
}

// Write runs fn in a transaction and commits it with the changes and tasks that it declared.
func (e *Engine) Write(ctx context.Context, fn func(store.WriteTx) error) error {
	var t *tx
	err := e.b.Write(ctx, func() { e.retries.Add(1) }, func(c Conn) error {
		t = &tx{e: e, c: c}
		if err := fn(t); err != nil {
			return err
		}
		return t.flush(ctx)
	})
	if err != nil {
		return err
	}
	e.commits.Add(1)
	e.committed(t)
	return nil
}

// committed tells those who wait in this process and elsewhere.
func (e *Engine) committed(t *tx) {
	if t.changeID != 0 {
		e.feed.own(t.changeID, t.changes)
	}
	if len(t.tasks) > 0 {
		e.queue.wake()
	}
	if t.changeID != 0 || len(t.tasks) > 0 {
		e.b.Announce()
	}
}

// Close ends the goroutines, then the connections.
func (e *Engine) Close() error {
	e.closing.Do(func() {
		e.stop()
		e.running.Wait()
		e.feed.close()
		e.closed = e.b.Close()
	})
	return e.closed
}

// watch is the one goroutine that looks for what others committed, renews leases and prunes.
func (e *Engine) watch(ctx context.Context, woke <-chan struct{}) {
	for ctx.Err() == nil {
		announced := false
		select {
		case <-ctx.Done():
			return
		case <-woke:
			announced = true
		case <-e.o.Clock.After(e.b.Sweep()):
		}
		e.look(ctx, announced)
	}
}

func (e *Engine) look(ctx context.Context, announced bool) {
	moved := announced
	if !announced && (e.feed.wanted() || e.queue.wanted()) {
		var err error
		if moved, err = e.b.Moved(ctx); err != nil {
			e.complain(ctx, "looking for other servers' commits failed", err)
			return
		}
	}
	if err := e.feed.sweep(ctx, moved); err != nil {
		e.complain(ctx, "reading changes failed", err)
	}
	if err := e.queue.tick(ctx, announced); err != nil {
		e.complain(ctx, "looking for due tasks failed", err)
	}
	if err := e.prune(ctx); err != nil {
		e.complain(ctx, "pruning changes failed", err)
	}
}

func (e *Engine) complain(ctx context.Context, message string, err error) {
	if ctx.Err() == nil {
		e.o.Log.Warn(message, "err", err)
	}
}
