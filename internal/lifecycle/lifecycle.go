// Package lifecycle runs the parts of a process: started in order, each ready before the next begins; stopped
// in reverse; the first error ends them all. assemble makes a Group of the parts that it constructs, main runs
// it until a signal comes. It knows nothing of what the parts do and never ends the process itself.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Part is something that lives as long as the process. Any of its functions may be nil.
type Part struct {
	// Name is for logs and errors.
	Name string
	// Start makes the part ready and returns; what it starts must end with Stop. ctx ends when the group is
	// told to stop while it still starts.
	Start func(ctx context.Context) error
	// Run works until ctx ends, in a goroutine of the group's. To return before that with an error stops the
	// group; to return nil means that the part's work is done.
	Run func(ctx context.Context) error
	// Stop ends what Start began. It is called after Run was told to end and before Run is waited for, so it
	// may also be what makes Run end. ctx bounds it.
	Stop func(ctx context.Context) error
}

// Group is parts in the order in which they start. The zero value is empty. It is built by one goroutine and run once.
type Group struct {
	// Log tells of parts that start and stop, at debug level; nil: no log.
	Log   *slog.Logger
	parts []Part
}

// Add appends parts.
func (g *Group) Add(parts ...Part) { g.parts = append(g.parts, parts...) }

// running is a part that was started.
type running struct {
	Part
	cancel context.CancelFunc
	ended  chan struct{} // closed when Run has returned; nil without Run
}

// Run starts the parts, waits until ctx ends or a part fails, and stops those that were started, in reverse
// order, within the grace time altogether (and a tenth of it more for each part behind a stuck one). The answer is the first error: of a start, a run or, when nothing
// else went wrong, of the stops (joined). A part that outlives the grace time is an error that names it, and
// only then may goroutines be left. The end of ctx is no error.
func (g *Group) Run(ctx context.Context, grace time.Duration) error {
	var (
		live   []running
		failed = make(chan error, len(g.parts))
		first  error
	)
	for _, p := range g.parts {
		if first = ctx.Err(); first != nil {
			break
		}
		select {
		case first = <-failed:
		default:
		}
		if first != nil {
			break
		}
		r, err := g.start(ctx, p, failed)
		if err != nil {
			first = err
			break
		}
		live = append(live, r)
	}
	if first == nil {
		select {
		case first = <-failed:
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil && errors.Is(first, ctx.Err()) {
		first = nil // to be told to stop is no failure, neither of the group nor of a start cut short
	}
	stopErr := g.stop(context.WithoutCancel(ctx), live, grace)
	if first == nil {
		select {
		case first = <-failed: // it failed while it was stopped, or just before
		default:
			first = stopErr
		}
	}
	return first
}

// start makes one part ready and sets it running.
func (g *Group) start(ctx context.Context, p Part, failed chan<- error) (running, error) {
	g.debug(ctx, "starting", p.Name)
	if p.Start != nil {
		if err := p.Start(ctx); err != nil {
			return running{}, fmt.Errorf("start %s: %w", p.Name, err)
		}
	}
	// Each Run has a context of its own, so that stopping can go in order; the end of ctx must not reach all at once.
	runCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r := running{Part: p, cancel: cancel}
	if p.Run == nil {
		return r, nil
	}
	r.ended = make(chan struct{})
	go func() {
		defer close(r.ended)
		if err := p.Run(runCtx); err != nil && !(runCtx.Err() != nil && errors.Is(err, context.Canceled)) {
			failed <- fmt.Errorf("%s: %w", p.Name, err)
		}
	}()
	return r, nil
}

// stop ends the parts in reverse order; all of them are tried.
func (g *Group) stop(ctx context.Context, live []running, grace time.Duration) error {
	all, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	var errs []error
	for i := len(live) - 1; i >= 0; i-- {
		g.debug(ctx, "stopping", live[i].Name)
		errs = append(errs, live[i].stop(all, grace))
	}
	return errors.Join(errs...)
}

// stop ends one part. When those before it have used up the time it gets a tenth of it, so that a stuck part
// does not keep the others from ending well.
func (r running) stop(all context.Context, grace time.Duration) error {
	ctx := all
	if all.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(all), grace/10)
		defer cancel()
	}
	r.cancel()
	var err error
	if r.Stop != nil {
		if err = r.Stop(ctx); err != nil {
			err = fmt.Errorf("stop %s: %w", r.Name, err)
		}
	}
	if r.ended == nil {
		return err
	}
	select {
	case <-r.ended:
	case <-ctx.Done():
		select {
		case <-r.ended: // both were so; the part is not to blame
		default:
			err = errors.Join(err, fmt.Errorf("stop %s: it still runs after %s", r.Name, grace))
		}
	}
	return err
}

func (g *Group) debug(ctx context.Context, msg, part string) {
	if g.Log != nil {
		g.Log.DebugContext(ctx, msg, "part", part)
	}
}
