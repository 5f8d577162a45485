// Package tasks runs work that is owed after commits: it claims tasks and hands each to its handler. assemble runs one Runner
// a process; servers share the work through the database. It never decides how often a task is tried: the store does.
package tasks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"isospin/internal/change"
	"isospin/internal/service"
)

// Source is the part of store.Store that hands out tasks.
type Source interface {
	Claim(ctx context.Context, names []string) (t change.Task, done func(error) error, err error)
}

// Runner works until it is told to stop.
type Runner struct {
	source   Source
	handlers map[string]service.TaskHandler
	names    []string
	workers  int
	log      *slog.Logger
}

// New makes a runner with so many tasks at once.
func New(s Source, log *slog.Logger, workers int, handlers ...service.TaskHandler) *Runner {
	r := &Runner{source: s, handlers: map[string]service.TaskHandler{}, workers: workers, log: log}
	for _, h := range handlers {
		r.handlers[h.Name()] = h
		r.names = append(r.names, h.Name())
	}
	return r
}

// Run works until ctx ends. A task that is being done then is put back and done again.
func (r *Runner) Run(ctx context.Context) error {
	if len(r.names) == 0 {
		<-ctx.Done()
		return nil
	}
	var wg sync.WaitGroup
	errs := make([]error, r.workers)
	for i := range r.workers {
		wg.Go(func() { errs[i] = r.work(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (r *Runner) work(ctx context.Context) error {
	for {
		t, done, err := r.source.Claim(ctx, r.names)
		if ctx.Err() != nil {
			if err == nil {
				return done(ctx.Err())
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("claim a task: %w", err)
		}
		err = r.one(ctx, t)
		if err != nil {
			r.log.Warn("task failed", slog.String("task", t.Name), slog.Int("tries", t.Tries+1), slog.Any("err", err))
		}
		if err := done(err); err != nil {
			r.log.Error("task cannot be put down", slog.String("task", t.Name), slog.Any("err", err))
		}
	}
}

// one keeps a handler's panic from ending the process: the task fails with it.
func (r *Runner) one(ctx context.Context, t change.Task) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the handler panicked: %v", p)
		}
	}()
	return r.handlers[t.Name].Handle(ctx, t.Payload)
}
