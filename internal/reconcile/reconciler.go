package reconcile

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"
)

// ErrPending is why an owner is unsettled when nothing has failed: its turn has not come yet.
var ErrPending = errors.New("not done yet")

// Never is what Retry returns when nothing is pending and no read-back is due, ever.
const Never = time.Duration(math.MaxInt64)

// Reconciler joins desired and actual for one kind of object: pending sets, owners, retries with backoff,
// periodic read-back. io is held through a Grow or Shrink; mu only for memory, and inside io.
type Reconciler[K comparable, V any] struct {
	name   string
	driver Driver[K, V]
	opts   options

	io sync.Mutex
	mu sync.Mutex

	claims   claims[K, V]
	state    tracker[K, V]
	failures map[K]failure[V]
	inSync   bool
	stats    Stats
	view     view
}

// view is how well the actual side is known.
type view struct {
	known    bool      // it was read at least once
	stale    string    // why it must be read again; "" when it need not
	readAt   time.Time // of the last one that succeeded
	err      error     // of the last one, if that failed
	since    time.Time // of the first one that failed
	failures int       // in a row
	next     time.Time // not before
}

// failure is an object whose last write failed.
type failure[V any] struct {
	drop  bool
	value V
	err   error
	tries int
	since time.Time // of the first try
	tried time.Time
	next  time.Time
}

// New makes a Reconciler that has read nothing yet. equal says whether what is there is what is wanted; it
// is asked with the desired value first.
func New[K comparable, V any](name string, d Driver[K, V], equal func(want, have V) bool, opts ...Option) *Reconciler[K, V] {
	o := settings(opts)
	return &Reconciler[K, V]{
		name:     name,
		driver:   d,
		opts:     o,
		claims:   newClaims[K, V](o.priority),
		state:    newTracker[K](equal),
		failures: map[K]failure[V]{},
		view:     view{stale: "start"},
	}
}

// Name is the kind of object.
func (r *Reconciler[K, V]) Name() string { return r.name }

// Replace implements Target.
func (r *Reconciler[K, V]) Replace(o Owner, want map[K]V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.claims.replace(o, want, func(k K) {
		v, wanted := r.claims.winner(k)
		r.state.want(k, v, wanted)
		// Another wish deserves a try of its own, now.
		if f, failed := r.failures[k]; failed && (f.drop == wanted || wanted && !r.state.equal(v, f.value)) {
			delete(r.failures, k)
		}
	})
}

// Invalidate implements Stage.
func (r *Reconciler[K, V]) Invalidate(reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.view.stale = reason
	r.view.next = time.Time{}
	// What failed may succeed now. Not at once, though: a failing write may itself be the news.
	for k, f := range r.failures {
		if soon := f.tried.Add(r.opts.first); soon.Before(f.next) {
			f.next = soon
			r.failures[k] = f
		}
	}
}

// SetInSync implements Stage.
func (r *Reconciler[K, V]) SetInSync(whole bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inSync = whole
}

// Grow implements Stage. It goes on with the last view when a read-back fails, and writes nothing as long
// as there never was one.
func (r *Reconciler[K, V]) Grow(ctx context.Context) error {
	r.io.Lock()
	defer r.io.Unlock()
	err := r.readBack(ctx)
	return r.wrap(errors.Join(err, r.write(ctx, false)))
}

// Shrink implements Stage.
func (r *Reconciler[K, V]) Shrink(ctx context.Context) error {
	r.io.Lock()
	defer r.io.Unlock()
	return r.wrap(r.write(ctx, true))
}

// Unsettled implements Stage.
func (r *Reconciler[K, V]) Unsettled() map[Owner]error {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[Owner]error{}
	if !r.view.known {
		why := r.view.err
		if why == nil {
			why = ErrPending
		}
		for o := range r.claims.byOwner {
			out[o] = fmt.Errorf("%s: %w", r.name, why)
		}
		return out
	}
	chosen := map[Owner]string{}
	for k := range r.state.puts {
		why, rank := ErrPending, "1"
		if f, failed := r.failures[k]; failed {
			why, rank = f.err, "0"
		}
		// One reason an owner, and the same one each time: statuses travel only when they change.
		text := fmt.Sprint(k)
		rank += text
		for _, c := range r.claims.byKey[k] {
			if best, has := chosen[c.owner]; !has || rank < best {
				chosen[c.owner] = rank
				out[c.owner] = fmt.Errorf("%s %s: %w", r.name, text, why)
			}
		}
	}
	return out
}

// Retry implements Stage.
func (r *Reconciler[K, V]) Retry() (after time.Duration, pending bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.opts.clock.Now()
	after = Never
	sooner := func(at time.Time) { after = min(after, max(0, at.Sub(now))) }
	if r.view.stale != "" {
		sooner(r.view.next)
		pending = true
	} else if r.opts.readBack > 0 {
		sooner(r.view.readAt.Add(r.opts.readBack))
	}
	if !r.view.known {
		return after, pending
	}
	owed := func(keys map[K]struct{}, drop bool) {
		for k := range keys {
			pending = true
			sooner(r.notBefore(k, drop))
			if after == 0 {
				return
			}
		}
	}
	owed(r.state.puts, false)
	if r.inSync && after > 0 {
		owed(r.state.drops, true)
	}
	return after, pending
}

// Stats implements Stage.
func (r *Reconciler[K, V]) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.stats
	s.Desired, s.Actual = len(r.state.desired), len(r.state.actual)
	s.PendingPuts, s.PendingDrops = len(r.state.puts), len(r.state.drops)
	s.Failing = len(r.failures)
	return s
}

// Pending is what would be put and dropped next, backoffs aside; nothing before the first read-back.
func (r *Reconciler[K, V]) Pending() (puts, drops map[K]V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	puts, drops = map[K]V{}, map[K]V{}
	if !r.view.known {
		return puts, drops
	}
	for k := range r.state.puts {
		puts[k] = r.state.desired[k]
	}
	for k := range r.state.drops {
		drops[k] = r.state.last(k)
	}
	return puts, drops
}

func (r *Reconciler[K, V]) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", r.name, err)
}

// notBefore is when k may be written; the zero time for now.
func (r *Reconciler[K, V]) notBefore(k K, drop bool) time.Time {
	if f, failed := r.failures[k]; failed && f.drop == drop {
		return f.next
	}
	return time.Time{}
}

var (
	_ Target[string, int] = (*Reconciler[string, int])(nil)
	_ Stage               = (*Reconciler[string, int])(nil)
)
