package reconcile

import (
	"log/slog"
	"time"

	"isospin/internal/clock"
)

type options struct {
	clock     clock.Clock
	log       *slog.Logger
	priority  map[string]int
	readBack  time.Duration
	first     time.Duration
	limit     time.Duration
	batchSize int
}

// Option changes how a Reconciler works.
type Option func(*options)

// WithClock sets the clock of backoffs and read-backs; the machine's if not given.
func WithClock(c clock.Clock) Option { return func(o *options) { o.clock = c } }

// WithLogger sets where drift and failing read-backs are told; nowhere if not given.
func WithLogger(l *slog.Logger) Option { return func(o *options) { o.log = l } }

// WithPriority names features, the one whose values win first. Features not named come after, by name.
func WithPriority(features ...string) Option {
	return func(o *options) {
		for i, f := range features {
			o.priority[f] = i
		}
	}
}

// WithReadBack sets how often the kernel is read although nothing asked for it: 60 s if not given, 0 for never.
func WithReadBack(every time.Duration) Option { return func(o *options) { o.readBack = every } }

// WithBackoff sets the wait after a first failure and the longest one; it doubles in between. 100 ms and 30 s if not given.
func WithBackoff(first, limit time.Duration) Option {
	return func(o *options) { o.first, o.limit = first, limit }
}

// WithBatch bounds how many objects one Put or Drop carries; no bound if not given.
func WithBatch(objects int) Option { return func(o *options) { o.batchSize = objects } }

func settings(opts []Option) options {
	o := options{
		clock:    clock.System{},
		log:      slog.New(slog.DiscardHandler),
		priority: map[string]int{},
		readBack: time.Minute,
		first:    100 * time.Millisecond,
		limit:    30 * time.Second,
	}
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// wait is the backoff after so many failures in a row.
func (o *options) wait(failures int) time.Duration {
	d := o.first
	for i := 1; i < failures && d < o.limit; i++ {
		d *= 2
	}
	return min(d, o.limit)
}
