package reconcile

import (
	"context"
	"maps"
	"sync"
)

// Memory is a Driver whose kernel is a map: the ground of the dataplane packages' fakes. The zero value is
// an empty one. Tests reach behind the driver's back with Meddle, and make calls fail with the Fail fields.
// All methods may be called by any goroutine; the fields are set before use.
type Memory[K comparable, V any] struct {
	// Refuse, if set, says why the object may not be put: what the kernel would answer.
	Refuse func(k K, v V) error
	// FailList, FailPut and FailDrop, if set and not nil in result, fail the whole call. A call that fails
	// has done nothing.
	FailList, FailPut, FailDrop func() error

	mu      sync.Mutex
	objects map[K]V
	writes  int
}

// List implements Driver.
func (m *Memory[K, V]) List(ctx context.Context) (map[K]V, error) {
	if err := call(ctx, m.FailList); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make(map[K]V, len(m.objects))
	maps.Copy(out, m.objects)
	return out, nil
}

// Put implements Driver.
func (m *Memory[K, V]) Put(ctx context.Context, batch map[K]V) error {
	if err := call(ctx, m.FailPut); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.objects == nil {
		m.objects = map[K]V{}
	}
	bad := Errors[K]{}
	for k, v := range batch {
		m.writes++
		if m.Refuse != nil {
			if err := m.Refuse(k, v); err != nil {
				bad[k] = err
				continue
			}
		}
		m.objects[k] = v
	}
	return bad.Err()
}

// Drop implements Driver.
func (m *Memory[K, V]) Drop(ctx context.Context, batch map[K]V) error {
	if err := call(ctx, m.FailDrop); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for k := range batch {
		m.writes++
		delete(m.objects, k)
	}
	return nil
}

// Meddle changes the objects as a stranger would: uncounted, and unseen until a List.
func (m *Memory[K, V]) Meddle(change func(objects map[K]V)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.objects == nil {
		m.objects = map[K]V{}
	}
	change(m.objects)
}

// Writes is how many objects Put and Drop were given so far.
func (m *Memory[K, V]) Writes() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.writes
}

func call(ctx context.Context, fail func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if fail == nil {
		return nil
	}
	return fail()
}

var _ Driver[string, int] = (*Memory[string, int])(nil)
