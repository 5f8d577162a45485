package reconcile

// tracker holds the desired objects against the actual ones and keeps the difference at hand:
//
//	   desired            actual
//	┌───────────┬──────┬───────────┐
//	│   puts    │ same │   drops   │
//	│           │ or   │           │
//	│           │ puts │           │
//	└───────────┴──────┴───────────┘
//
// A change of one object costs the same however many there are. An object that was written to without
// success is in doubt: nobody knows its state until a write succeeds or a read-back tells, so it is
// pending whatever the last view says.
type tracker[K comparable, V any] struct {
	equal           func(want, have V) bool
	desired, actual map[K]V
	doubt           map[K]V // the value tried last
	puts, drops     map[K]struct{}
}

func newTracker[K comparable, V any](equal func(want, have V) bool) tracker[K, V] {
	return tracker[K, V]{
		equal:   equal,
		desired: map[K]V{},
		actual:  map[K]V{},
		doubt:   map[K]V{},
		puts:    map[K]struct{}{},
		drops:   map[K]struct{}{},
	}
}

// want sets what k shall be; with wanted false nobody wants it.
func (t *tracker[K, V]) want(k K, v V, wanted bool) {
	if wanted {
		t.desired[k] = v
	} else {
		delete(t.desired, k)
	}
	t.settle(k)
}

// written notes that k is v now; dropped, that it is gone; tried, that a write of it failed.
func (t *tracker[K, V]) written(k K, v V) {
	t.actual[k] = v
	delete(t.doubt, k)
	t.settle(k)
}

func (t *tracker[K, V]) dropped(k K) {
	delete(t.actual, k)
	delete(t.doubt, k)
	t.settle(k)
}

func (t *tracker[K, V]) tried(k K, v V) {
	t.doubt[k] = v
	t.settle(k)
}

// settle puts k on the side of the difference where it belongs.
func (t *tracker[K, V]) settle(k K) {
	want, wanted := t.desired[k]
	have, there := t.actual[k]
	_, doubtful := t.doubt[k]
	delete(t.puts, k)
	delete(t.drops, k)
	switch {
	case wanted && (doubtful || !there || !t.equal(want, have)):
		t.puts[k] = struct{}{}
	case !wanted && (doubtful || there):
		t.drops[k] = struct{}{}
	}
}

// last is what k was when somebody last knew: the value that a drop is given.
func (t *tracker[K, V]) last(k K) V {
	if v, there := t.actual[k]; there {
		return v
	}
	return t.doubt[k]
}

// readBack takes a whole new view of what is there and says how many objects are not as the old view had
// them. Objects in doubt do not count: their change was our own.
func (t *tracker[K, V]) readBack(now map[K]V) (drift int) {
	for k, old := range t.actual {
		if _, doubtful := t.doubt[k]; doubtful {
			continue
		}
		if have, there := now[k]; !there || !t.equal(old, have) {
			drift++
		}
	}
	for k := range now {
		_, known := t.actual[k]
		_, doubtful := t.doubt[k]
		if !known && !doubtful {
			drift++
		}
	}
	t.actual = now
	clear(t.doubt)
	clear(t.puts)
	clear(t.drops)
	for k := range t.desired {
		t.settle(k)
	}
	for k := range now {
		t.settle(k)
	}
	return drift
}

// compact gives back the room of pending sets that a large batch emptied: going through a map costs as much
// as its largest size ever, and every round goes through them.
func (t *tracker[K, V]) compact(batch int) {
	const large = 64
	if batch < large {
		return
	}
	if len(t.puts) == 0 {
		t.puts = map[K]struct{}{}
	}
	if len(t.drops) == 0 {
		t.drops = map[K]struct{}{}
	}
}
