package engine

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"isospin/internal/change"
	"isospin/internal/store"
)

const (
	// holeLife is how long an id that was passed over is looked for. Backends end sessions that leave a
	// transaction idle for longer than idleLimit, so no id can appear after it.
	holeLife = 2 * time.Minute
	// recent is how many ids below the newest are looked at when a feed starts: those missing there may
	// belong to transactions that commit after the start.
	recent = 256
	// page is how many rows one read of the feed takes.
	page = 1000
	// maxHoles bounds the ids looked for; more at once means that the sequence jumped, not that so many
	// transactions are in flight.
	maxHoles = 4096
	// backlog is how many changes wait for a slow reader before it is told to compare everything.
	backlog = 1 << 16
)

// feed hands every committed change to every reader. Ids come from a sequence and commit out of order, so it
// keeps the highest id seen and the holes below it; an id is new when it is above, or fills a hole.
//
//	seen: ...... 7 8 . 10 11        high = 11, holes = {9}
type feed struct {
	e  *Engine
	mu sync.Mutex
	// All below is guarded by mu.
	readers []*reader
	active  bool
	high    int64
	holes   map[int64]time.Time // when they were noticed
	looked  time.Time           // the last successful look at the table
	// compared is when the table's newest id was last compared with high.
	compared time.Time
}

// reader is one caller of Changes.
type reader struct {
	queue []change.Change
	gap   bool
	ended bool
	ready chan struct{}
}

func newFeed(e *Engine) *feed { return &feed{e: e, holes: make(map[int64]time.Time)} }

// Changes yields every change committed from the call on.
func (e *Engine) Changes(ctx context.Context) iter.Seq2[change.Change, error] {
	f := e.feed
	r := &reader{ready: make(chan struct{}, 1)}
	f.join(ctx, r)
	context.AfterFunc(ctx, func() { f.leave(r) })
	return func(yield func(change.Change, error) bool) {
		defer f.leave(r)
		for {
			cs, gap, ended := f.take(r)
			if gap && !yield(change.Change{}, store.ErrGap) {
				return
			}
			for _, c := range cs {
				if ctx.Err() != nil || !yield(c, nil) {
					return
				}
			}
			if ended {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-r.ready:
			}
		}
	}
}

func (f *feed) join(ctx context.Context, r *reader) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readers = append(f.readers, r)
	if f.active {
		return
	}
	if err := f.start(ctx); err != nil {
		// The next sweep starts again and tells the readers of the gap.
		f.e.complain(ctx, "reading where changes stand failed", err)
	}
}

func (f *feed) leave(r *reader) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := slices.Index(f.readers, r); i >= 0 {
		f.readers = slices.Delete(f.readers, i, i+1)
	}
	if len(f.readers) == 0 {
		f.active = false
	}
}

func (f *feed) take(r *reader) (cs []change.Change, gap, ended bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	cs, gap = r.queue, r.gap
	r.queue, r.gap = nil, false
	return cs, gap, r.ended
}

// close ends every reader.
func (f *feed) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.readers {
		r.ended = true
		poke(r.ready)
	}
	f.readers, f.active = nil, false
}

// wanted tells whether anybody reads.
func (f *feed) wanted() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.readers) > 0
}

const (
	selectHigh   = `SELECT MAX(id) FROM changes`
	selectRecent = `SELECT id FROM changes WHERE id > ? ORDER BY id`
	selectNewer  = `SELECT id, body FROM changes WHERE id > ? ORDER BY id LIMIT 1000`
)

// start notes where the table stands. Called with mu held, so that own commits wait until it is known.
func (f *feed) start(ctx context.Context) error {
	var high int64
	present := make(map[int64]bool)
	err := f.e.Read(ctx, func(tx store.Tx) error {
		n, _, err := store.Int(ctx, tx, store.Q(selectHigh))
		if err != nil {
			return err
		}
		high = n
		return store.Each(ctx, tx, store.Q(selectRecent, high-recent), func(scan func(...any) error) error {
			var id int64
			err := scan(&id)
			present[id] = true
			return err
		})
	})
	if err != nil {
		return err
	}
	f.high, f.active, f.looked = high, true, f.e.o.Clock.Now()
	clear(f.holes)
	for id := max(1, high-recent+1); id < high; id++ {
		if !present[id] {
			f.holes[id] = f.looked
		}
	}
	return nil
}

// own takes the changes of this process's own commit, which need not be read back.
func (f *feed) own(id int64, cs []change.Change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.active || !f.see(id) {
		return
	}
	for i := range cs {
		cs[i].ID = id
	}
	f.deliver(cs)
}

// see notes an id and tells whether it is new. Called with mu held.
func (f *feed) see(id int64) bool {
	if id <= f.high {
		_, hole := f.holes[id]
		delete(f.holes, id)
		return hole
	}
	now := f.e.o.Clock.Now()
	for missing := max(f.high+1, id-maxHoles); missing < id; missing++ {
		f.holes[missing] = now
	}
	f.high = id
	return true
}

// deliver queues changes for every reader. Called with mu held.
func (f *feed) deliver(cs []change.Change) {
	for _, r := range f.readers {
		if len(r.queue)+len(cs) > backlog {
			r.queue, r.gap = nil, true
		} else {
			r.queue = append(r.queue, cs...)
		}
		poke(r.ready)
	}
}

// restart notes anew where the table stands, then tells every reader to compare everything; in this order,
// since what is committed between the two must be seen. Called with mu held.
func (f *feed) restart(ctx context.Context) error {
	f.active = false
	if err := f.start(ctx); err != nil {
		return err
	}
	for _, r := range f.readers {
		r.queue, r.gap = nil, true
		poke(r.ready)
	}
	return nil
}

// sweep reads what others committed.
func (f *feed) sweep(ctx context.Context, moved bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.readers) == 0 {
		return nil
	}
	now := f.e.o.Clock.Now()
	if !f.active || now.Sub(f.looked) > f.e.o.Keep/2 {
		// Rows may have been pruned while this process slept or the database was away.
		return f.restart(ctx)
	}
	if !moved {
		f.looked = now
		return nil
	}
	if err := f.catchUp(ctx); err != nil {
		return err
	}
	f.looked = now
	for id, since := range f.holes {
		if now.Sub(since) > holeLife {
			delete(f.holes, id)
		}
	}
	return nil
}

// errRegressed says that the table's newest id is below what was seen: the database was restored to an older state.
var errRegressed = errors.New("engine: the changes table went back")

// catchUp reads the ids above high and those in holes. Called with mu held.
func (f *feed) catchUp(ctx context.Context) error {
	err := f.e.Read(ctx, func(tx store.Tx) error {
		for {
			n, err := f.receive(ctx, tx, store.Q(selectNewer, f.high))
			if err != nil {
				return err
			}
			if n < page {
				break
			}
		}
		for ids := range slices.Chunk(f.sortedHoles(), 256) {
			where := store.In("id", ids)
			if _, err := f.receive(ctx, tx, store.Q("SELECT id, body FROM changes WHERE "+where.SQL, where.Args...)); err != nil {
				return err
			}
		}
		if now := f.e.o.Clock.Now(); now.Sub(f.compared) >= poll {
			f.compared = now
			newest, some, err := store.Int(ctx, tx, store.Q(selectHigh))
			if err == nil && some && newest < f.high {
				err = errRegressed
			}
			return err
		}
		return nil
	})
	if errors.Is(err, errRegressed) {
		return f.restart(ctx)
	}
	return err
}

func (f *feed) sortedHoles() []int64 {
	ids := make([]int64, 0, len(f.holes))
	for id := range f.holes {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func (f *feed) receive(ctx context.Context, tx store.Tx, q store.Query) (n int, err error) {
	err = store.Each(ctx, tx, q, func(scan func(...any) error) error {
		var id int64
		var body []byte
		if err := scan(&id, &body); err != nil {
			return err
		}
		n++
		if !f.see(id) {
			return nil
		}
		cs, err := decodeChanges(id, body)
		if err != nil {
			return err
		}
		f.deliver(cs)
		return nil
	})
	return n, err
}
