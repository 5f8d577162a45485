// Package remote runs transactions on a database server through database/sql: what the PostgreSQL and MariaDB
// backends have in common, which is when a transaction is run again. It knows neither's SQL.
package remote

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"isospin/internal/clock"
	"isospin/internal/store"
	"isospin/internal/store/engine"
)

// Traits are how one database behaves.
type Traits struct {
	Dialect store.Dialect
	// Retryable tells whether err means that the database gave the transaction up and running it again may help.
	Retryable func(err error) bool
	// Lost tells whether err means that the connection is gone: nothing was committed, unless it was the commit that failed.
	Lost func(err error) bool
	// Duplicate finds the violation of a unique index in err; text is the statement.
	Duplicate func(err error, text string) *store.Duplicate
	// Aborts tells that an error inside a transaction makes every further statement fail (PostgreSQL).
	Aborts bool
	// Returning tells that a serial id comes from a RETURNING clause, not from the driver.
	Returning bool
}

const (
	// attempts bounds the runs of one transaction; between them grows a pause, so that those who met meet no more.
	attempts   = 40
	firstPause = time.Millisecond
	lastPause  = 50 * time.Millisecond
	// begins bounds the connections tried for one run: those of the pool may all be stale after the server restarted.
	begins = connections + 1
	// connections is how many the pool may hold, and idle how many it keeps when there is nothing to do.
	connections = 32
	idle        = 16
)

// DB is a pool of connections.
type DB struct {
	SQL    *sql.DB
	Clock  clock.Clock
	Traits Traits
}

// Dialect tells how SQL differs.
func (db *DB) Dialect() store.Dialect { return db.Traits.Dialect }

// New wraps a pool and sets its limits.
func New(pool *sql.DB, clk clock.Clock, traits Traits) DB {
	pool.SetMaxOpenConns(connections)
	pool.SetMaxIdleConns(idle)
	return DB{SQL: pool, Clock: clk, Traits: traits}
}

// Read runs fn in a transaction that sees one state.
func (db *DB) Read(ctx context.Context, fn func(engine.Conn) error) error {
	return db.repeat(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}, func() {}, fn)
}

// Write runs fn until the database does not give it up.
func (db *DB) Write(ctx context.Context, retried func(), fn func(engine.Conn) error) error {
	return db.repeat(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted}, retried, fn)
}

func (db *DB) repeat(ctx context.Context, o *sql.TxOptions, retried func(), fn func(engine.Conn) error) error {
	careful := false
	pause := firstPause
	for try := 1; ; try++ {
		verdict, err := db.attempt(ctx, o, careful, fn)
		switch {
		case verdict == settled || ctx.Err() != nil:
			return err
		case try == attempts:
			return fmt.Errorf("given up after %d runs: %w", attempts, err)
		}
		retried()
		if verdict == carefully {
			careful = true
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-db.Clock.After(pause):
			pause = min(2*pause, lastPause)
		}
	}
}

// verdict is what follows from a run.
type verdict int

const (
	settled   verdict = iota
	again             // the database gave it up
	carefully         // it went on after a uniqueness violation: run it with savepoints
)

func (db *DB) attempt(
	ctx context.Context, o *sql.TxOptions, careful bool, fn func(engine.Conn) error,
) (v verdict, err error) {
	pooled, tx, err := db.begin(ctx, o)
	if err != nil {
		return settled, err
	}
	defer pooled.Close()
	done := false
	defer func() {
		if !done { // also when fn ends its goroutine
			_ = tx.Rollback()
		}
	}()
	c := &conn{tx: tx, traits: db.Traits, careful: careful}
	err = call(fn, c)
	switch {
	case c.lost != nil:
		return again, c.lost
	case c.violated != nil && (err == nil || c.wentOn):
		return carefully, c.violated
	case err != nil:
		if db.Traits.Retryable(err) {
			return again, err
		}
		return settled, err
	case ctx.Err() != nil:
		return settled, ctx.Err()
	}
	done = true
	if err := tx.Commit(); err != nil {
		if db.Traits.Retryable(err) {
			return again, err
		}
		return settled, fmt.Errorf("commit: %w", err)
	}
	return settled, nil
}

// begin starts a transaction on a connection that works. The statements end with ctx, the transaction does not: a
// commit that was cut off would have an unknown outcome.
func (db *DB) begin(ctx context.Context, o *sql.TxOptions) (*sql.Conn, *sql.Tx, error) {
	var last error
	for range begins {
		pooled, err := db.SQL.Conn(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("get a connection: %w", err)
		}
		tx, err := pooled.BeginTx(context.WithoutCancel(ctx), o)
		if err == nil {
			return pooled, tx, nil
		}
		last = err
		_ = pooled.Raw(func(any) error { return driver.ErrBadConn }) // not for others either
	}
	return nil, nil, fmt.Errorf("begin: %w", last)
}

func call(fn func(engine.Conn) error, c engine.Conn) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &store.Panic{Value: v, Stack: debug.Stack()}
		}
	}()
	return fn(c)
}

// conn is one run's connection. Uniqueness violations are rare, and where one aborts the transaction a savepoint
// before every write would make all others pay: a first run goes without, and only when its function does more
// after a violation than return is it run again with savepoints.
type conn struct {
	tx       *sql.Tx
	traits   Traits
	careful  bool
	lost     error            // the transaction is gone, or its connection; on MariaDB more statements would commit one by one
	violated *store.Duplicate // the transaction is aborted by it
	wentOn   bool             // there was a statement after the violation
}

func (c *conn) usable() error {
	if c.lost != nil {
		return c.lost
	}
	if c.violated != nil {
		c.wentOn = true
		return c.violated
	}
	return nil
}

func (c *conn) judge(err error, text string) error {
	if err == nil {
		return nil
	}
	if c.traits.Retryable(err) || c.traits.Lost(err) || errors.Is(err, driver.ErrBadConn) {
		c.lost = err
		return err
	}
	d := c.traits.Duplicate(err, text)
	if d == nil {
		return err
	}
	if c.traits.Aborts && !c.careful {
		c.violated = d
	}
	return d
}

// Query runs a statement that yields rows.
func (c *conn) Query(ctx context.Context, text string, args []any) (*sql.Rows, error) {
	if err := c.usable(); err != nil {
		return nil, err
	}
	rows, err := c.tx.QueryContext(ctx, c.traits.Dialect.Rebind(text), args...)
	return rows, c.judge(err, text)
}

// Exec runs a statement and tells how many rows it touched.
func (c *conn) Exec(ctx context.Context, text string, args []any) (n int64, err error) {
	err = c.guarded(ctx, text, func() error {
		r, err := c.tx.ExecContext(ctx, c.traits.Dialect.Rebind(text), args...)
		if err == nil {
			n, err = r.RowsAffected()
		}
		return err
	})
	return n, err
}

// Insert runs an insert and gives the new row's id.
func (c *conn) Insert(ctx context.Context, text string, args []any) (id int64, err error) {
	err = c.guarded(ctx, text, func() error {
		if c.traits.Returning {
			return c.tx.QueryRowContext(ctx, c.traits.Dialect.Rebind(text)+" RETURNING id", args...).Scan(&id)
		}
		r, err := c.tx.ExecContext(ctx, c.traits.Dialect.Rebind(text), args...)
		if err == nil {
			id, err = r.LastInsertId()
		}
		return err
	})
	return id, err
}

// guarded runs a write, in a savepoint where the run is a careful one.
func (c *conn) guarded(ctx context.Context, text string, write func() error) error {
	if err := c.usable(); err != nil {
		return err
	}
	if !c.careful || !c.traits.Aborts {
		return c.judge(write(), text)
	}
	if _, err := c.tx.ExecContext(ctx, "SAVEPOINT w"); err != nil {
		return c.judge(err, text)
	}
	err := c.judge(write(), text)
	if _, duplicate := store.AsDuplicate(err); duplicate {
		if _, undo := c.tx.ExecContext(ctx, "ROLLBACK TO SAVEPOINT w"); undo != nil {
			return errors.Join(err, undo)
		}
		return err
	}
	if err == nil {
		_, err = c.tx.ExecContext(ctx, "RELEASE SAVEPOINT w")
	}
	return err
}
