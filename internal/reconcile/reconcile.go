// Package reconcile makes what features want and what the kernel has agree, one kind of object at a time.
// Features fill Targets, the agent's loop drives Stages, and drivers in the dataplane packages read and
// write. It knows all the time what is pending, writes nothing that is already right, and drops nothing
// before it was told that the desired state is whole. It never decides what is wanted, and never blocks a
// feature on the kernel.
package reconcile

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Driver makes one kind of kernel object real. It holds no desired state. A Reconciler calls it from one
// goroutine at a time.
type Driver[K comparable, V any] interface {
	// List reads back the objects that are ours, by mark, name or table: after a crash, with no memory.
	// The map is the caller's.
	List(ctx context.Context) (map[K]V, error)
	// Put creates or corrects. It takes a batch and reports per key in an Errors, so that one bad object
	// holds up no other; any other error speaks for the whole batch. A Put of what is there already is fine.
	Put(ctx context.Context, batch map[K]V) error
	// Drop removes; a missing object is not an error. The values are those last read or written. Errors as Put's.
	Drop(ctx context.Context, batch map[K]V) error
}

// Errors says which objects of a batch failed, and why; those not named succeeded.
type Errors[K comparable] map[K]error

// Error names at most three of the objects, in a stable order.
func (e Errors[K]) Error() string {
	texts := make([]string, 0, len(e))
	for k, err := range e {
		texts = append(texts, fmt.Sprintf("%v: %v", k, err))
	}
	slices.Sort(texts)
	if n := len(texts) - 3; n > 0 {
		texts = append(texts[:3], fmt.Sprintf("and %d more", n))
	}
	return strings.Join(texts, "; ")
}

// Unwrap lets errors.Is and errors.As look at every object's error.
func (e Errors[K]) Unwrap() []error {
	all := make([]error, 0, len(e))
	for _, err := range e {
		if err != nil {
			all = append(all, err)
		}
	}
	return all
}

// Err is e as an error, and nil when no object failed: what a driver returns at its end.
func (e Errors[K]) Err() error {
	for _, err := range e {
		if err != nil {
			return e
		}
	}
	return nil
}

// Owner is who wants an object: one feature, on behalf of one document.
type Owner struct{ Feature, Doc string }

// Target is a Driver's desired state as features see it; memory only. Replace states all that o wants of
// this kind; nil withdraws it. An object lives while any owner wants it (that is the reference count);
// where owners differ on a value, the first feature in priority order wins, and within a feature the
// document whose name sorts first. The map is read before Replace returns and stays the caller's.
type Target[K comparable, V any] interface {
	Replace(o Owner, want map[K]V)
}

// Stage is a Reconciler with its types erased, as the loop sees it. Grow and Shrink are for one goroutine;
// the other methods may be called by any.
type Stage interface {
	// Name is the kind of object, for logs, metrics and statuses.
	Name() string
	// Invalidate asks for a read-back before the next Grow, and for another try soon of what failed:
	// something has changed. Cheap, and for any goroutine: monitors call it.
	Invalidate(reason string)
	// SetInSync says whether the desired state is whole. Until it is, Shrink does nothing.
	SetInSync(whole bool)
	// Grow reads back when that is due and puts what is missing or differs; stages in order.
	Grow(ctx context.Context) error
	// Shrink drops what nobody wants; stages in reverse order; nothing before SetInSync(true).
	Shrink(ctx context.Context) error
	// Unsettled says who still waits for a put, and why: statuses come from here. An owner that
	// is not in it has all that it wants. What still has to be dropped keeps nobody waiting.
	Unsettled() map[Owner]error
	// Retry says when to call Grow and Shrink again if nothing else happens: at once (0) when there is
	// work, at the end of a backoff, or at the next read-back. pending: a put, a drop or a read-back is
	// owed. Drops that wait for SetInSync are not.
	Retry() (after time.Duration, pending bool)
	// Troubles are what was tried and failed, the same failure of many objects once; none when all goes well. What merely
	// waits for its turn is no trouble.
	Troubles() []Trouble
	// Stats are this stage's counters and gauges.
	Stats() Stats
}

// Trouble is something that a stage tried without success, and goes on trying.
type Trouble struct {
	// Object is one that it is about, and Others how many more there are. "" is the kind as a whole: the kernel cannot be read.
	Object string
	Others int
	Err    error
	// Since is when it failed for the first time.
	Since time.Time
}

// Stats counts what a stage did since it was made, and tells where it stands. Telemetry reads it.
type Stats struct {
	Puts, Drops           uint64 // objects written with success
	PutErrors, DropErrors uint64 // objects that failed, once each try
	ReadBacks             uint64
	ReadBackErrors        uint64
	// Drift is how many objects a read-back found changed, gone or come behind our back.
	Drift uint64

	Desired, Actual           int // objects wanted, and there at the last view
	PendingPuts, PendingDrops int
	Failing                   int // objects in backoff
}
