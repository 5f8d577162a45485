package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"

	"go.uber.org/goleak"

	"isospin/internal/change"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// queue hands out tasks of a test and remembers how each was put down.
type queue struct {
	due   chan change.Task
	ended chan error
}

func (q queue) Claim(ctx context.Context, _ []string) (change.Task, func(error) error, error) {
	select {
	case t := <-q.due:
		return t, func(err error) error { q.ended <- err; return nil }, nil
	case <-ctx.Done():
		return change.Task{}, nil, ctx.Err()
	}
}

type handler func(ctx context.Context, payload json.RawMessage) error

func (handler) Name() string { return "work" }

func (h handler) Handle(ctx context.Context, payload json.RawMessage) error { return h(ctx, payload) }

// TestRun: a task is done with its payload; one that fails or panics is put down with its reason, and the next one is done.
func TestRun(t *testing.T) {
	failure := errors.New("no")
	q := queue{due: make(chan change.Task), ended: make(chan error)}
	ctx, cancel := context.WithCancel(t.Context())
	r := New(q, slog.New(slog.DiscardHandler), 2, handler(func(_ context.Context, payload json.RawMessage) error {
		switch string(payload) {
		case `"fail"`:
			return failure
		case `"panic"`:
			panic("at the disco")
		}
		return nil
	}))
	over := make(chan error)
	go func() { over <- r.Run(ctx) }()
	for payload, ok := range map[string]func(error) bool{
		`"do"`:    func(err error) bool { return err == nil },
		`"fail"`:  func(err error) bool { return errors.Is(err, failure) },
		`"panic"`: func(err error) bool { return err != nil && !errors.Is(err, failure) },
	} {
		q.due <- change.Task{Name: "work", Payload: json.RawMessage(payload)}
		if err := <-q.ended; !ok(err) {
			t.Errorf("%s ended with %v", payload, err)
		}
	}
	cancel()
	if err := <-over; err != nil {
		t.Error(err)
	}
}

// TestNothingToDo: a runner without handlers claims nothing and waits for its end.
func TestNothingToDo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := New(nil, slog.New(slog.DiscardHandler), 1).Run(ctx); err != nil {
		t.Error(err)
	}
}
