package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// readBack takes a new view when one is due.
func (r *Reconciler[K, V]) readBack(ctx context.Context) error {
	reason, due := r.readBackDue()
	if !due {
		return nil
	}
	have, err := r.driver.List(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.opts.clock.Now()
	r.stats.ReadBacks++
	if err != nil {
		r.stats.ReadBackErrors++
		v := &r.view
		v.err = err
		if v.stale == "" {
			v.stale = reason
		}
		if ctx.Err() == nil { // a call cut short says nothing about the kernel
			if v.failures == 0 {
				v.since = now
			}
			v.failures++
			v.next = now.Add(r.opts.wait(v.failures))
		}
		return fmt.Errorf("reading back: %w", err)
	}
	if have == nil {
		have = map[K]V{}
	}
	first := !r.view.known
	drift := r.state.readBack(have)
	r.forgetSettled()
	// An Invalidate during the List stands: the driver may have read before the change.
	r.view = view{known: true, readAt: now, stale: r.view.stale}
	if !first && drift > 0 {
		r.stats.Drift += uint64(drift)
		r.opts.log.Info("found objects changed by others", "stage", r.name, "objects", drift, "reason", reason)
	}
	return nil
}

// readBackDue takes the staleness that the coming List answers.
func (r *Reconciler[K, V]) readBackDue() (reason string, due bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.opts.clock.Now()
	v := &r.view
	switch {
	case v.stale != "" && !now.Before(v.next):
		reason = v.stale
		v.stale = ""
		return reason, true
	case v.stale == "" && r.opts.readBack > 0 && !now.Before(v.readAt.Add(r.opts.readBack)):
		return "period", true
	}
	return "", false
}

// forgetSettled drops failures of objects that a read-back found as they should be.
func (r *Reconciler[K, V]) forgetSettled() {
	for k, f := range r.failures {
		pending := r.state.puts
		if f.drop {
			pending = r.state.drops
		}
		if _, still := pending[k]; !still {
			delete(r.failures, k)
		}
	}
}

// write puts or drops all that is due, in batches.
func (r *Reconciler[K, V]) write(ctx context.Context, drop bool) error {
	due := r.due(drop)
	if len(due) == 0 {
		return nil
	}
	if r.opts.batchSize <= 0 || len(due) <= r.opts.batchSize {
		return r.writeBatch(ctx, due, drop)
	}
	var errs []error
	batch := make(map[K]V, r.opts.batchSize)
	for k, v := range due {
		batch[k] = v
		if len(batch) == r.opts.batchSize {
			errs = append(errs, r.writeBatch(ctx, batch, drop))
			batch = make(map[K]V, r.opts.batchSize)
		}
	}
	if len(batch) > 0 {
		errs = append(errs, r.writeBatch(ctx, batch, drop))
	}
	return errors.Join(errs...)
}

// due is what may be written now. Nothing before the first view, and no drop before InSync.
func (r *Reconciler[K, V]) due(drop bool) map[K]V {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.view.known || drop && !r.inSync {
		return nil
	}
	now := r.opts.clock.Now()
	pending := r.state.puts
	if drop {
		pending = r.state.drops
	}
	due := make(map[K]V, len(pending))
	for k := range pending {
		if now.Before(r.notBefore(k, drop)) {
			continue
		}
		if drop {
			due[k] = r.state.last(k)
		} else {
			due[k] = r.state.desired[k]
		}
	}
	return due
}

func (r *Reconciler[K, V]) writeBatch(ctx context.Context, batch map[K]V, drop bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	op, call := "putting", r.driver.Put
	if drop {
		op, call = "dropping", r.driver.Drop
	}
	err := call(ctx, batch)
	var each Errors[K]
	whole := err
	if errors.As(err, &each) {
		whole = nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.opts.clock.Now()
	cut := ctx.Err() != nil
	var succeeded int
	for k, v := range batch {
		bad := whole
		if e := each[k]; e != nil {
			bad = e
		}
		if bad != nil {
			r.failed(k, v, bad, drop, now, cut)
			continue
		}
		succeeded++
		delete(r.failures, k)
		if drop {
			r.state.dropped(k)
		} else {
			r.state.written(k, v)
		}
	}
	r.state.compact(len(batch))
	r.count(drop, succeeded, len(batch)-succeeded)
	if drop && succeeded > 0 {
		r.forgive(now)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return nil
}

// failed notes a write that failed. A write cut short by its context is in doubt too, but not to blame.
func (r *Reconciler[K, V]) failed(k K, v V, err error, drop bool, now time.Time, cut bool) {
	r.state.tried(k, v)
	if cut {
		return
	}
	f := r.failures[k]
	if f.drop != drop || f.tries == 0 {
		f.tries, f.since = 0, now
	}
	f = failure[V]{drop: drop, value: v, err: err, tries: f.tries + 1, since: f.since, tried: now}
	f.next = now.Add(r.opts.wait(f.tries))
	if want, wanted := r.state.desired[k]; wanted == drop || wanted && !r.state.equal(want, v) {
		f.next = time.Time{} // the wish changed while the write ran
	}
	r.failures[k] = f
}

// forgive lets puts that failed try again at once: what was dropped just now may have been in their way.
func (r *Reconciler[K, V]) forgive(now time.Time) {
	for k, f := range r.failures {
		if !f.drop && f.next.After(now) {
			f.next = now
			r.failures[k] = f
		}
	}
}

func (r *Reconciler[K, V]) count(drop bool, good, bad int) {
	if drop {
		r.stats.Drops += uint64(good)
		r.stats.DropErrors += uint64(bad)
		return
	}
	r.stats.Puts += uint64(good)
	r.stats.PutErrors += uint64(bad)
}
