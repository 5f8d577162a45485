package openflow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"isospin/internal/reconcile"
)

// Flows is the driver of one owner's flows on one bridge. It keeps no desired state; what it remembers of its own
// writes serves to tell drift from its own doing, and two flows in one place from a replacement.
type Flows struct {
	transport Transport
	tag       Tag

	mu sync.Mutex
	// present is what was put or listed, by what an event names.
	present map[mark]presence
	tables  map[uint8]int // how many of present are in a table
	places  places
	onDrift func(reason string)
}

// mark is the part of a key that events carry.
type mark struct {
	cookie uint64
	table  uint8
}

func (k Key) mark() mark { return mark{k.Cookie, k.Table} }

// presence is what is known of a flow that is there.
type presence struct {
	owed    int  // Added events of our own adds that have not come yet
	altered bool // by a stranger: its cookie says what its actions no longer are
}

// NewFlows makes the driver of the flows with this tag.
func NewFlows(t Transport, tag Tag) *Flows {
	return &Flows{
		transport: t, tag: tag,
		present: map[mark]presence{}, tables: map[uint8]int{}, places: newPlaces(),
		onDrift: func(string) {},
	}
}

// Tag is the tag of the driver's flows.
func (d *Flows) Tag() Tag { return d.tag }

// OnDrift sets who is told that the flows are no longer what was put; usually the stage's Invalidate. It is called
// before the driver is used; f may be called by any goroutine and must not call the driver.
func (d *Flows) OnDrift(f func(reason string)) { d.onDrift = f }

// List implements reconcile.Driver. The flows it gives are known by their key only.
func (d *Flows) List(ctx context.Context) (map[Key]Flow, error) {
	keys, err := d.transport.ListFlows(ctx, d.tag)
	if err != nil {
		return nil, fmt.Errorf("listing flows: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	have := make(map[Key]Flow, len(keys))
	seen := make(map[mark]presence, len(keys))
	clear(d.tables)
	for _, k := range keys {
		p := d.present[k.mark()]
		seen[k.mark()] = p
		d.tables[k.Table]++
		have[k] = Flow{Table: k.Table, Priority: k.Priority, altered: p.altered}
	}
	d.present = seen
	return have, nil
}

// Put implements reconcile.Driver: one bundle for the batch, and one more for each flow that is refused.
func (d *Flows) Put(ctx context.Context, batch map[Key]Flow) error {
	errs := reconcile.Errors[Key]{}
	mods := make([]FlowMod, 0, len(batch))
	for _, k := range sortedKeys(batch) {
		if err := batch[k].Check(); err != nil {
			errs[k] = err
			continue
		}
		mods = append(mods, FlowMod{Op: Add, Key: k, Flow: batch[k]})
	}
	mods = d.begin(mods, errs)
	err := apply(mods, func(ms []FlowMod) error { return d.transport.ApplyFlows(ctx, ms) },
		func(m FlowMod, err error) { errs[m.Key] = err })
	d.end(mods, errs, err)
	if err != nil {
		return fmt.Errorf("adding flows: %w", err)
	}
	return errs.Err()
}

// begin notes what is about to be added, since events may come before the call returns, and sorts out
// flows whose place is another's.
func (d *Flows) begin(mods []FlowMod, errs reconcile.Errors[Key]) []FlowMod {
	d.mu.Lock()
	defer d.mu.Unlock()
	kept, fresh := mods[:0], make(map[Key]bool, len(mods))
	for _, m := range mods {
		if err := d.places.claim(m.Key, m.Flow, fresh); err != nil {
			errs[m.Key] = err
			continue
		}
		kept = append(kept, m)
		p, known := d.present[m.Key.mark()]
		if !known {
			d.tables[m.Key.Table]++
		}
		p.owed++
		d.present[m.Key.mark()] = p
	}
	return kept
}

// end takes back what begin noted of flows that were not added.
func (d *Flows) end(mods []FlowMod, errs reconcile.Errors[Key], whole error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, m := range mods {
		p, known := d.present[m.Key.mark()]
		switch {
		case !known:
		case whole == nil && errs[m.Key] == nil:
			p.altered = false
			d.present[m.Key.mark()] = p
		default:
			p.owed = max(p.owed-1, 0)
			d.present[m.Key.mark()] = p
			d.places.unclaim(m.Key)
		}
	}
}

// Drop implements reconcile.Driver. A flow that another replaced in its place is not there any more, and nothing happens.
func (d *Flows) Drop(ctx context.Context, batch map[Key]Flow) error {
	errs := reconcile.Errors[Key]{}
	mods := make([]FlowMod, 0, len(batch))
	saved := make(map[mark]presence, len(batch))
	d.mu.Lock()
	for _, k := range sortedKeys(batch) {
		mods = append(mods, FlowMod{Op: Delete, Key: k})
		if p, known := d.present[k.mark()]; known {
			saved[k.mark()] = p
			d.forget(k.mark())
		}
	}
	d.mu.Unlock()
	err := apply(mods, func(ms []FlowMod) error { return d.transport.ApplyFlows(ctx, ms) },
		func(m FlowMod, err error) { errs[m.Key] = err })
	uncovered := false
	d.mu.Lock()
	for _, m := range mods {
		if err == nil && errs[m.Key] == nil {
			uncovered = d.places.leave(m.Key, batch) || uncovered
		} else if p, was := saved[m.Key.mark()]; was {
			d.present[m.Key.mark()] = p
			d.tables[m.Key.Table]++
		}
	}
	d.mu.Unlock()
	if uncovered {
		// The reconciler may believe that a flow, which the dropped one had replaced, is still there.
		d.onDrift("a flow that replaced another was dropped")
	}
	if err != nil {
		return fmt.Errorf("deleting flows: %w", err)
	}
	return errs.Err()
}

func (d *Flows) forget(m mark) {
	delete(d.present, m)
	if d.tables[m.table]--; d.tables[m.table] <= 0 {
		delete(d.tables, m.table)
	}
}

// observe judges an event of the monitor; stranger says that no driver of this bridge owns the cookie.
func (d *Flows) observe(e Event, stranger bool) {
	if reason := d.judge(e, stranger); reason != "" {
		d.onDrift(reason)
	}
}

func (d *Flows) judge(e Event, stranger bool) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.tag.Owns(e.Cookie) {
		if stranger && e.Kind != Deleted && d.tables[e.Table] > 0 {
			return "a stranger's flow came into a table of ours and may have replaced one"
		}
		return ""
	}
	m := mark{e.Cookie, e.Table}
	p, known := d.present[m]
	switch {
	case e.Kind == Deleted:
		if !known {
			return ""
		}
		d.forget(m)
		return "a flow was deleted by a stranger"
	case !known:
		return "a stranger added a flow with our tag"
	case e.Kind == Added && p.owed > 0:
		p.owed--
		d.present[m] = p
		return ""
	}
	p.altered = true
	d.present[m] = p
	return "a flow was changed by a stranger"
}

// restart says that events begin anew: those owed will not come.
func (d *Flows) restart(reason string) {
	d.mu.Lock()
	for m, p := range d.present {
		p.owed = 0
		d.present[m] = p
	}
	d.mu.Unlock()
	d.onDrift(reason)
}

func sortedKeys(batch map[Key]Flow) []Key {
	keys := make([]Key, 0, len(batch))
	for k := range batch {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b Key) int {
		if c := int(a.Table) - int(b.Table); c != 0 {
			return c
		}
		if c := int(b.Priority) - int(a.Priority); c != 0 {
			return c
		}
		return cmp.Compare(a.Cookie, b.Cookie)
	})
	return keys
}

// apply sends mods as one batch. One that is refused by name is taken out and the rest sent again; where the switch
// does not say which, the batch is halved. What remains as an error is no refusal.
func apply[M any](mods []M, send func([]M) error, refuse func(M, error)) error {
	mods = slices.Clone(mods)
	for len(mods) > 0 {
		err := send(mods)
		var r *Refused
		switch {
		case err == nil:
			return nil
		case !errors.As(err, &r):
			return err
		case r.Index >= 0 && r.Index < len(mods):
			refuse(mods[r.Index], r)
			mods = slices.Delete(mods, r.Index, r.Index+1)
		case len(mods) == 1:
			refuse(mods[0], r)
			return nil
		default:
			half := len(mods) / 2
			return errors.Join(apply(mods[:half], send, refuse), apply(mods[half:], send, refuse))
		}
	}
	return nil
}

var _ reconcile.Driver[Key, Flow] = (*Flows)(nil)
