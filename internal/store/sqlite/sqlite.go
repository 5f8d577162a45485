// Package sqlite is the embedded database: a writer goroutine that commits waiting transactions in groups, and a
// pool of connections that read beside it. open makes one for sqlite:// URLs. It expects to be the only server
// on its file; other processes (an operator's command) may write now and then and are noticed within 100 ms.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"
	"syscall"
	"time"

	"isospin/internal/clock"
	"isospin/internal/store"
	"isospin/internal/store/engine"
	"isospin/internal/store/migrate"

	sqlite "modernc.org/sqlite"
)

const (
	readers = 4
	sweep   = 100 * time.Millisecond
	// checkpointPages is how many pages of 4 KB the write-ahead log gathers before they go into the file.
	checkpointPages = 4000
	// lockTry is how often a lock that another process holds is tried for.
	lockTry = 20 * time.Millisecond
)

// DB is a database file.
type DB struct {
	path     string
	clock    clock.Clock
	ephemera string   // the folder to remove at Close
	mark     *os.File // in it; locked for as long as this process lives
	writeDB  *sql.DB
	readDB   *sql.DB
	writer   *writer
	gone     chan struct{} // closed by Close
	slots    chan struct{} // as many as connections may read
	watchMu  sync.Mutex
	watch    *conn // guarded by watchMu, as is version
	version  int64
	mu       sync.Mutex
	idle     []*conn // guarded by mu; the one used last comes first, since its pages are in memory
}

var _ engine.Backend = (*DB)(nil)

// Open opens the file, making it if need be. The empty path is a database that lives no longer than the DB: a
// file in a temporary folder that is never synced, since readers beside the writer need one.
func Open(ctx context.Context, path string, clk clock.Clock) (*DB, error) {
	// Commits need the data on disk, not the file's times.
	if _, err := sqlite.Fdatasync(true); err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	db := &DB{path: path, clock: clk, gone: make(chan struct{}), slots: make(chan struct{}, readers)}
	if path == "" {
		if err := db.makeFolder(); err != nil {
			return nil, fmt.Errorf("sqlite: %w", err)
		}
	}
	if err := createPrivate(db.path); err != nil {
		return nil, errors.Join(fmt.Errorf("sqlite: %w", err), db.Close())
	}
	if err := db.open(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// createPrivate makes a new file for its owner alone, since the key of the hosts' authority is in it: SQLite would
// go by the umask, and gives its journals the file's mode. A file that exists is not even opened: closing it would
// take away the locks that this process has on it.
func createPrivate(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	switch {
	case errors.Is(err, os.ErrExist):
		return nil
	case err != nil:
		return err
	}
	return f.Close()
}

func (db *DB) open(ctx context.Context) (err error) {
	if db.writeDB, err = sql.Open("sqlite", db.dsn(false)); err != nil {
		return fmt.Errorf("sqlite: open %s: %w", db.path, err)
	}
	if db.readDB, err = sql.Open("sqlite", db.dsn(true)); err != nil {
		return fmt.Errorf("sqlite: open %s: %w", db.path, err)
	}
	c, err := newConn(ctx, db.writeDB)
	if err != nil {
		return fmt.Errorf("sqlite: %s: %w", db.path, err)
	}
	db.writer = newWriter(c, db.clock)
	return nil
}

func (db *DB) dsn(readOnly bool) string {
	sync := "FULL"
	if db.ephemera != "" {
		sync = "OFF"
	}
	q := url.Values{"_pragma": {
		"busy_timeout(2000)", "journal_mode(WAL)", "synchronous(" + sync + ")", "temp_store(MEMORY)",
		"foreign_keys(ON)", fmt.Sprintf("wal_autocheckpoint(%d)", checkpointPages), "journal_size_limit(67108864)",
		"cache_size(-32768)",
	}}
	if readOnly {
		q.Add("_pragma", "query_only(ON)")
	}
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: db.path}).EscapedPath(), RawQuery: q.Encode()}
	return u.String()
}

// Dialect is SQLite's.
func (db *DB) Dialect() store.Dialect { return dialect{} }

// Upgrade brings the schema to the versions of src and returns how many it applied.
func (db *DB) Upgrade(ctx context.Context, src migrate.Source) (int, error) {
	unlock, err := db.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	return src.Up(ctx, db.writeDB, "sqlite")
}

// Versions are the schema's version and the newest one of src.
func (db *DB) Versions(ctx context.Context, src migrate.Source) (have, want int64, err error) {
	return src.Versions(ctx, db.writeDB, "sqlite")
}

// lock keeps two processes from upgrading at once: SQLite's own locks end with each transaction.
func (db *DB) lock(ctx context.Context) (unlock func(), err error) {
	f, err := os.OpenFile(db.path+"-upgrade", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("sqlite: lock for the upgrade: %w", err)
	}
	for {
		err := flock(f)
		if err == nil {
			return func() { _ = f.Close() }, nil // which unlocks
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("sqlite: lock for the upgrade: %w", err), f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), f.Close())
		case <-db.clock.After(lockTry):
		}
	}
}

// Write queues fn for the writer.
func (db *DB) Write(ctx context.Context, retried func(), fn func(engine.Conn) error) error {
	return db.writer.write(ctx, retried, fn)
}

// Read runs fn on a connection of the pool, in a transaction that sees everything committed before its first statement.
func (db *DB) Read(ctx context.Context, fn func(engine.Conn) error) error {
	select {
	case db.slots <- struct{}{}:
		defer func() { <-db.slots }()
	case <-ctx.Done():
		return ctx.Err()
	case <-db.gone:
		return store.ErrClosed
	}
	c, err := db.reader(ctx)
	if err != nil {
		return err
	}
	if err := c.run("BEGIN"); err != nil {
		return errors.Join(fmt.Errorf("sqlite: begin: %w", err), c.close())
	}
	back := false
	defer func() {
		if !back { // the function ended its goroutine
			_ = c.close()
		}
	}()
	err = call(fn, c)
	c.finish()
	back = true
	if end := c.run("ROLLBACK"); end != nil {
		return errors.Join(err, fmt.Errorf("sqlite: end a read: %w", end), c.close())
	}
	db.mu.Lock()
	db.idle = append(db.idle, c)
	db.mu.Unlock()
	return err
}

func (db *DB) reader(ctx context.Context) (*conn, error) {
	db.mu.Lock()
	if n := len(db.idle); n > 0 {
		c := db.idle[n-1]
		db.idle = db.idle[:n-1]
		db.mu.Unlock()
		return c, nil
	}
	db.mu.Unlock()
	return newConn(ctx, db.readDB)
}

// Moved compares the counter that changes with every commit of any connection.
func (db *DB) Moved(ctx context.Context) (bool, error) {
	db.watchMu.Lock()
	defer db.watchMu.Unlock()
	if db.watch == nil {
		c, err := newConn(ctx, db.readDB)
		if err != nil {
			return false, err
		}
		db.watch = c
	}
	rows, err := db.watch.Query(ctx, "PRAGMA data_version", nil)
	if err != nil {
		return false, err
	}
	var now int64
	if rows.Next() {
		err = rows.Scan(&now)
	}
	db.watch.finish()
	if err != nil {
		return false, err
	}
	moved := now != db.version
	db.version = now
	return moved, nil
}

// Sweep is how often Moved is asked.
func (db *DB) Sweep() time.Duration { return sweep }

// Announce has nothing to do: Moved sees every commit.
func (db *DB) Announce() {}

// Listen cannot: SQLite tells nobody.
func (db *DB) Listen(context.Context, func()) error { return nil }

// Close ends the writer and the connections, after the transactions that run.
func (db *DB) Close() error {
	var errs []error
	close(db.gone)
	if db.writer != nil {
		errs = append(errs, db.writer.close())
	}
	for range readers { // wait for those who read
		db.slots <- struct{}{}
	}
	for _, c := range db.idle {
		errs = append(errs, c.close())
	}
	if db.watch != nil {
		errs = append(errs, db.watch.close())
	}
	for _, p := range []*sql.DB{db.readDB, db.writeDB} {
		if p != nil {
			errs = append(errs, p.Close())
		}
	}
	if db.ephemera != "" {
		errs = append(errs, os.RemoveAll(db.ephemera), db.mark.Close())
	}
	return errors.Join(errs...)
}
