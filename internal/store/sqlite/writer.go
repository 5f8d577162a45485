package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"isospin/internal/clock"
	"isospin/internal/store"
	"isospin/internal/store/engine"
)

const (
	// batchJobs and batchTime bound a group: the first of it waits for the last.
	batchJobs = 64
	batchTime = 5 * time.Millisecond
)

// States of a job.
const (
	queued int32 = iota
	started
	dropped
)

// job is one transaction that waits for the writer.
type job struct {
	fn      func(engine.Conn) error
	retried func()
	ctx     context.Context // the caller's, who waits for done
	state   atomic.Int32
	err     error
	done    chan struct{}
}

// writer owns the one connection that writes. Queued transactions run one after the other as savepoints of one
// transaction, are made durable by one fsync, and only then are answered:
//
//	BEGIN IMMEDIATE
//	  SAVEPOINT r   job 1   RELEASE r
//	  SAVEPOINT r   job 2   ROLLBACK TO r, RELEASE r      (it failed: only its own work is undone)
//	  SAVEPOINT r   job 3   RELEASE r
//	COMMIT          one fsync
//	answer 1, 2, 3
type writer struct {
	c       *conn
	clock   clock.Clock
	jobs    chan *job
	stop    chan struct{}
	running sync.WaitGroup
	batch   []*job // being worked on
}

func newWriter(c *conn, clk clock.Clock) *writer {
	w := &writer{c: c, clock: clk, jobs: make(chan *job, 4*batchJobs), stop: make(chan struct{})}
	w.running.Go(w.loop)
	return w
}

// write hands fn to the writer and waits for the commit. A caller that gives up while its job is queued leaves
// it undone; once it has begun its outcome is waited for.
func (w *writer) write(ctx context.Context, retried func(), fn func(engine.Conn) error) error {
	j := &job{fn: fn, retried: retried, ctx: ctx, done: make(chan struct{})}
	select {
	case w.jobs <- j:
	case <-ctx.Done():
		return ctx.Err()
	case <-w.stop:
		return store.ErrClosed
	}
	select {
	case <-j.done:
		return j.err
	case <-ctx.Done():
		if j.state.CompareAndSwap(queued, dropped) {
			return ctx.Err()
		}
	case <-w.stop:
		if j.state.CompareAndSwap(queued, dropped) {
			return store.ErrClosed
		}
	}
	<-j.done
	return j.err
}

// close ends the loop after the batch that runs; jobs that still wait are refused.
func (w *writer) close() error {
	close(w.stop)
	w.running.Wait()
	return w.c.close()
}

func (w *writer) loop() {
	finished := false
	defer func() {
		if !finished {
			// A function ended this goroutine (runtime.Goexit, which testing's Fatal calls): another one goes on.
			w.fail(errors.New("store: the transaction's function ended its goroutine"))
			w.running.Go(w.loop)
		}
	}()
	for {
		select {
		case <-w.stop:
			finished = true
			return
		case j := <-w.jobs:
			if j.state.CompareAndSwap(queued, started) {
				w.group(j)
			}
		}
	}
}

// group runs a batch that begins with j.
func (w *writer) group(j *job) {
	begun := w.clock.Now()
	if err := w.begin(j); err != nil {
		j.err = err
		close(j.done)
		return
	}
	w.batch = append(w.batch, j)
	for j != nil {
		if err := w.one(j); err != nil {
			w.fail(err)
			return
		}
		j = w.next(begun)
	}
	if err := w.c.run("COMMIT"); err != nil {
		w.fail(fmt.Errorf("commit: %w", err))
		return
	}
	w.answer()
}

// next is another job that waits already, if the batch has room for it.
func (w *writer) next(begun time.Time) *job {
	for len(w.batch) < batchJobs && w.clock.Now().Sub(begun) < batchTime {
		select {
		case j := <-w.jobs:
			if j.state.CompareAndSwap(queued, started) {
				w.batch = append(w.batch, j)
				return j
			}
		default:
			return nil
		}
	}
	return nil
}

// begin waits for another process that writes for as long as the first job's caller does.
func (w *writer) begin(j *job) error {
	for {
		err := w.c.run("BEGIN IMMEDIATE")
		if err == nil {
			return nil
		}
		if !busy(err) {
			return fmt.Errorf("begin: %w", err)
		}
		if err := j.ctx.Err(); err != nil {
			return err
		}
		select {
		case <-w.stop:
			return store.ErrClosed
		default:
			j.retried()
		}
	}
}

// one runs a job in its savepoint. An error of the job goes into the job; the error returned is one of the
// database that leaves nothing of the batch.
func (w *writer) one(j *job) error {
	if err := w.c.run("SAVEPOINT r"); err != nil {
		return fmt.Errorf("savepoint: %w", err)
	}
	j.err = call(j.fn, w.c)
	w.c.finish()
	if j.err != nil {
		if err := w.c.run("ROLLBACK TO r"); err != nil {
			return fmt.Errorf("roll back after %w: %w", j.err, err)
		}
	}
	if err := w.c.run("RELEASE r"); err != nil {
		return fmt.Errorf("release: %w", err)
	}
	return nil
}

// call runs a transaction's function and makes a panic its error.
func call(fn func(engine.Conn) error, c engine.Conn) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &store.Panic{Value: v, Stack: debug.Stack()}
		}
	}()
	return fn(c)
}

// fail undoes the batch and tells everybody in it why.
func (w *writer) fail(err error) {
	w.c.finish()
	_ = w.c.run("ROLLBACK") // fails when the database has rolled back already
	for _, j := range w.batch {
		if j.err == nil {
			j.err = err
		}
	}
	w.answer()
}

func (w *writer) answer() {
	for i, j := range w.batch {
		close(j.done)
		w.batch[i] = nil
	}
	w.batch = w.batch[:0]
}
