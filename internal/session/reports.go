package session

import (
	"context"
	"log/slog"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"isospin/internal/clock"
	"isospin/internal/wire"
)

// report is one Report of one session.
type report struct {
	host     *host
	number   uint64
	statuses []*wire.Status
}

// reports writes what hosts report: what came while a write ran is the next write.
type reports struct {
	to    Statuses
	clock clock.Clock
	log   *slog.Logger
	queue chan report
}

// reportsAtOnce bounds the reports of one transaction, statusesAtOnce, roughly, the statuses in them.
const (
	reportsAtOnce  = 256
	statusesAtOnce = 2000
	tries          = 6
)

func newReports(to Statuses, c clock.Clock, log *slog.Logger) *reports {
	return &reports{to: to, clock: c, log: log, queue: make(chan report, reportsAtOnce)}
}

// run writes until ctx ends. What is not written then is not acknowledged, and the agents say it again.
func (r *reports) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case first := <-r.queue:
			r.write(ctx, r.batch(first))
		}
	}
}

func (r *reports) batch(first report) []report {
	all, n := []report{first}, len(first.statuses)
	for len(all) < reportsAtOnce && n < statusesAtOnce {
		select {
		case next := <-r.queue:
			all = append(all, next)
			n += len(next.statuses)
		default:
			return all
		}
	}
	return all
}

// write commits reports and acknowledges them. A batch that fails is tried one by one, so that it is known whose it is.
func (r *reports) write(ctx context.Context, all []report) {
	pause := 100 * time.Millisecond
	for try := 1; ctx.Err() == nil; try++ {
		byHost := map[string][]*wire.Status{}
		for _, one := range all {
			if one.host.out.reason() == nil { // what an ended session said its agent says again
				byHost[one.host.name] = append(byHost[one.host.name], one.statuses...)
			}
		}
		err := r.to.Report(ctx, byHost)
		if err == nil {
			for _, one := range all {
				one.host.out.push(&wire.Down{Message: &wire.Down_Ack{Ack: &wire.Ack{Number: one.number}}})
			}
			return
		}
		if len(all) > 1 {
			for i := range all {
				r.write(ctx, all[i:i+1])
			}
			return
		}
		r.log.Error("statuses could not be written", "host", all[0].host.name, "err", err)
		if try == tries { // it may be these statuses and not the database: others must not wait for them
			all[0].host.out.end(status.Error(codes.Unavailable, "the statuses could not be written"))
			return
		}
		select {
		case <-ctx.Done():
		case <-r.clock.After(pause):
			pause = min(2*pause, 5*time.Second)
		}
	}
}
