// Package postgres is the backend for PostgreSQL: READ COMMITTED, run again when the database gives a
// transaction up, NOTIFY to wake the other servers. open makes one for postgresql:// URLs. It imports pgx, and
// nobody else does.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"isospin/internal/clock"
	"isospin/internal/store"
	"isospin/internal/store/engine"
	"isospin/internal/store/migrate"
	"isospin/internal/store/remote"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

const (
	// sweep is the safety net below NOTIFY, for announcements that are lost with their server.
	sweep = 500 * time.Millisecond
	// idleLimit ends sessions that leave a transaction open, well before the engine stops looking for their changes.
	idleLimit = "SET idle_in_transaction_session_timeout = '60s'"
	// channel is where servers tell of commits.
	channel = "isospin"
	// again is the pause before a lost connection is made anew.
	again = time.Second
	// upgradeLock is an arbitrary number that only upgrades lock.
	upgradeLock = 0x69736f7370696e
)

// DB is a database on a server.
type DB struct {
	remote.DB
	self     string // names this server in announcements
	log      *slog.Logger
	announce chan struct{}
	stop     context.CancelFunc
	running  sync.WaitGroup
}

var _ engine.Backend = (*DB)(nil)

// Open prepares connections to url, whose scheme may name a driver of SQLAlchemy; it fails when none can be made.
// self is an identifier that no other server has.
func Open(ctx context.Context, url, self string, clk clock.Clock, log *slog.Logger) (*DB, error) {
	_, rest, _ := strings.Cut(url, "://")
	cfg, err := pgx.ParseConfig("postgresql://" + rest)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	pool := stdlib.OpenDB(*cfg, stdlib.OptionAfterConnect(func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, idleLimit)
		return err
	}))
	if err := pool.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("postgres: %w", err), pool.Close())
	}
	life, stop := context.WithCancel(context.Background())
	db := &DB{
		DB: remote.New(pool, clk, remote.Traits{
			Dialect: dialect{rebound: new(sync.Map)}, Retryable: retryable, Lost: lost, Duplicate: duplicate,
			Aborts: true, Returning: true,
		}),
		self: self, log: log, announce: make(chan struct{}, 1), stop: stop,
	}
	db.running.Go(func() { db.notify(life) })
	return db, nil
}

func retryable(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (e.Code == "40001" || e.Code == "40P01")
}

// lost: the server shuts down or the session was ended (57P01 to 57P05, 25P03), or the connection broke (08...).
func lost(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return strings.HasPrefix(e.Code, "57P") || strings.HasPrefix(e.Code, "08") || e.Code == "25P03"
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || pgconn.SafeToRetry(err)
}

func duplicate(err error, _ string) *store.Duplicate {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || e.Code != "23505" {
		return nil
	}
	return &store.Duplicate{Index: strings.ToLower(e.ConstraintName), Cause: err}
}

// Moved cannot be told cheaper than by looking.
func (db *DB) Moved(context.Context) (bool, error) { return true, nil }

// Sweep is how often to look.
func (db *DB) Sweep() time.Duration { return sweep }

// Announce wakes the goroutine that tells the other servers.
func (db *DB) Announce() {
	select {
	case db.announce <- struct{}{}:
	default: // one that comes will tell of this commit too
	}
}

// notify announces commits after they happened and several at once: inside a transaction NOTIFY takes a lock of
// the whole database at the commit, so that no two could commit side by side.
func (db *DB) notify(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-db.announce:
		}
		if _, err := db.SQL.ExecContext(ctx, "SELECT pg_notify($1, $2)", channel, db.self); err != nil && ctx.Err() == nil {
			db.log.Warn("telling the other servers of a commit failed", "err", err)
		}
	}
}

// Listen calls woke for every announcement of another server, and after each time that some may have been lost.
func (db *DB) Listen(ctx context.Context, woke func()) error {
	for {
		err := db.listen(ctx, woke)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		db.log.Warn("listening for other servers was interrupted", "err", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-db.Clock.After(again):
			woke()
		}
	}
}

func (db *DB) listen(ctx context.Context, woke func()) error {
	c, err := db.SQL.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	// The connection is not for others afterwards: it listens.
	return c.Raw(func(raw any) error {
		conn := raw.(*stdlib.Conn).Conn()
		defer conn.Close(context.WithoutCancel(ctx))
		if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
			return err
		}
		woke()
		for {
			n, err := conn.WaitForNotification(ctx)
			if err != nil {
				return err
			}
			if n.Payload != db.self {
				woke()
			}
		}
	})
}

// Upgrade brings the schema to the versions of src, once, however many servers start.
func (db *DB) Upgrade(ctx context.Context, src migrate.Source) (applied int, err error) {
	c, err := db.SQL.Conn(ctx)
	if err != nil {
		return 0, fmt.Errorf("postgres: %w", err)
	}
	defer c.Close()
	if _, err := c.ExecContext(ctx, "SELECT pg_advisory_lock($1)", int64(upgradeLock)); err != nil {
		return 0, fmt.Errorf("postgres: lock for the upgrade: %w", err)
	}
	defer func() {
		_, unlock := c.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", int64(upgradeLock))
		err = errors.Join(err, unlock)
	}()
	return src.Up(ctx, db.SQL, "postgres")
}

// Versions are the schema's version and the newest one of src.
func (db *DB) Versions(ctx context.Context, src migrate.Source) (have, want int64, err error) {
	return src.Versions(ctx, db.SQL, "postgres")
}

// Close ends the goroutine and the connections.
func (db *DB) Close() error {
	db.stop()
	db.running.Wait()
	return db.SQL.Close()
}
