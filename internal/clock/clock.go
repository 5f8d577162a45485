// Package clock makes time an argument. Every part that waits or stamps takes a Clock, so that tests own
// time; only assemble and main pass System. It never formats time for the API: that is the model's part.
package clock

import (
	"sync"
	"time"
)

// Clock tells the time and wakes its callers. All methods are safe for concurrent use.
type Clock interface {
	// Now is the present moment; a real clock's value carries the monotonic reading.
	Now() time.Time
	// After sends the time once, d from now; d <= 0 sends at once.
	After(d time.Duration) <-chan time.Time
}

// System is the machine's clock.
type System struct{}

// Now is the machine's time.
func (System) Now() time.Time { return time.Now() }

// After is time.After: the timer is collected when nobody holds it any more.
func (System) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Manual is a clock that stands still until a test moves it. The zero value starts at the zero time.
type Manual struct {
	mu      sync.Mutex
	now     time.Time
	waiters []waiter
}

type waiter struct {
	at time.Time
	ch chan time.Time
}

// NewManual starts a manual clock at the given moment.
func NewManual(at time.Time) *Manual { return &Manual{now: at} }

// Now is the moment that the test set.
func (m *Manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// After fires when Advance has moved the clock d further.
func (m *Manual) After(d time.Duration) <-chan time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	ch := make(chan time.Time, 1)
	if d <= 0 {
		ch <- m.now
		return ch
	}
	m.waiters = append(m.waiters, waiter{at: m.now.Add(d), ch: ch})
	return ch
}

// Advance moves the clock and wakes everybody whose time has come.
func (m *Manual) Advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = m.now.Add(d)
	rest := m.waiters[:0]
	for _, w := range m.waiters {
		if w.at.After(m.now) {
			rest = append(rest, w)
			continue
		}
		w.ch <- m.now
	}
	m.waiters = rest
}

// Waiting is how many callers of After have not been woken; tests wait for it before they Advance.
func (m *Manual) Waiting() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.waiters)
}

var (
	_ Clock = System{}
	_ Clock = (*Manual)(nil)
)
