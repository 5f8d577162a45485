package keystone

import (
	"context"
	"errors"
	"sync"
)

// recent keeps the values used last, at most limit of them, in two generations: when the young one is full, the old
// one is forgotten and the young one becomes old. What is used moves to the young one. A look-up costs a shared lock.
type recent[K comparable, V any] struct {
	mu         sync.RWMutex
	young, old map[K]V
	half       int
}

func newRecent[K comparable, V any](limit int) *recent[K, V] {
	return &recent[K, V]{young: map[K]V{}, half: max(1, limit/2)}
}

func (r *recent[K, V]) get(k K) (V, bool) {
	r.mu.RLock()
	v, ok := r.young[k]
	if ok {
		r.mu.RUnlock()
		return v, true
	}
	v, ok = r.old[k]
	r.mu.RUnlock()
	if ok {
		r.put(k, v)
	}
	return v, ok
}

func (r *recent[K, V]) put(k K, v V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.young[k]; !ok && len(r.young) >= r.half {
		r.young, r.old = make(map[K]V, r.half), r.young
	}
	r.young[k] = v
	delete(r.old, k)
}

func (r *recent[K, V]) drop(k K) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.young, k)
	delete(r.old, k)
}

func (r *recent[K, V]) len() int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.young) + len(r.old)
}

// flight is a question on its way, and those who wait for its answer.
type flight struct {
	landed chan struct{}
	token  *token
	err    error
}

// flights make one question of many that ask the same at the same time.
type flights struct {
	mu    sync.Mutex
	under map[question]*flight
}

var errLost = errors.New("keystone: the question was lost")

// join asks, or waits for the answer to whoever is asking already. ctx bounds the waiting; who asks goes on even when
// his own client has left, for the others' sake.
func (f *flights) join(ctx context.Context, q question, ask func() (*token, error)) (*token, error) {
	f.mu.Lock()
	if other, ok := f.under[q]; ok {
		f.mu.Unlock()
		select {
		case <-other.landed:
			return other.token, other.err
		case <-ctx.Done():
			return nil, unavailable(ctx.Err())
		}
	}
	mine := &flight{landed: make(chan struct{}), err: unavailable(errLost)}
	f.under[q] = mine
	f.mu.Unlock()
	defer func() { // also when ask panics
		f.mu.Lock()
		delete(f.under, q)
		f.mu.Unlock()
		close(mine.landed)
	}()
	mine.token, mine.err = ask()
	return mine.token, mine.err
}
