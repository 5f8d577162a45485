package agent

import (
	"context"
	"log/slog"
	"sync"

	"isospin/internal/wire"
)

// reporter sends statuses: of each document and entity the latest, in batches, each until a server has it.
type reporter struct {
	*reports
	send func(ctx context.Context, ss []*wire.Status) error
	log  *slog.Logger
}

type reports struct {
	mu     sync.Mutex
	queue  map[[3]string]*wire.Status
	order  [][3]string
	filled chan struct{}
}

func newReporter(send func(context.Context, []*wire.Status) error, log *slog.Logger) reporter {
	return reporter{reports: &reports{queue: map[[3]string]*wire.Status{}, filled: make(chan struct{}, 1)}, send: send, log: log}
}

// add queues a status; one of the same document and entity that was not sent yet is replaced.
func (r reporter) add(s *wire.Status) {
	k := [3]string{s.GetKind(), s.GetId(), s.GetEntity()}
	r.mu.Lock()
	if _, waits := r.queue[k]; !waits {
		r.order = append(r.order, k)
	}
	r.queue[k] = s
	r.mu.Unlock()
	select {
	case r.filled <- struct{}{}:
	default:
	}
}

// batchSize bounds how many statuses one report carries.
const batchSize = 500

func (r reporter) take() []*wire.Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := min(len(r.order), batchSize)
	out := make([]*wire.Status, n)
	for i, k := range r.order[:n] {
		out[i] = r.queue[k]
		delete(r.queue, k)
	}
	r.order = append([][3]string(nil), r.order[n:]...)
	return out
}

func (r reporter) run(ctx context.Context) {
	for {
		select {
		case <-r.filled:
		case <-ctx.Done():
			return
		}
		for {
			ss := r.take()
			if len(ss) == 0 {
				break
			}
			if err := r.send(ctx, ss); err != nil {
				if ctx.Err() != nil {
					return
				}
				r.log.Error("statuses could not be reported", slog.Int("statuses", len(ss)), slog.Any("err", err))
			}
		}
	}
}
