package session

import (
	"context"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"isospin/internal/wire"
)

// outbox is what waits to be sent in one session, and the way to end it.
type outbox struct {
	limit int

	mu       sync.Mutex
	queue    []*wire.Down
	counting bool  // from the end of the first sync on
	err      error // why the session is to end
	wake     chan struct{}
	ended    chan struct{} // closed with err set
}

func newOutbox(limit int) *outbox {
	return &outbox{limit: limit, wake: make(chan struct{}, 1), ended: make(chan struct{})}
}

// push queues messages; it never blocks. It tells whether there was room: what a synced agent leaves lying beyond the limit ends
// its session. The first sync is as long as it must be: it is pointers to documents that the server holds anyway.
func (o *outbox) push(ms ...*wire.Down) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return true
	}
	if o.counting && len(o.queue)+len(ms) > o.limit {
		o.finish(status.Error(codes.ResourceExhausted, "the agent is too slow; what it holds is compared when it comes back"))
		return false
	}
	o.queue = append(o.queue, ms...)
	poke(o.wake)
	return true
}

// synced is the moment from which the limit counts; what is queued until then may be any number.
func (o *outbox) synced() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.limit += len(o.queue)
	o.counting = true
}

// end ends the session for a reason; the first one stays.
func (o *outbox) end(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.finish(err)
}

func (o *outbox) finish(err error) {
	if o.err == nil {
		o.err = err
		o.queue = nil
		close(o.ended)
	}
}

func (o *outbox) reason() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

func (o *outbox) take() []*wire.Down {
	o.mu.Lock()
	defer o.mu.Unlock()
	ms := o.queue
	o.queue = nil
	return ms
}

// drain sends what is queued until the stream or the session ends.
func (o *outbox) drain(ctx context.Context, send func(*wire.Down) error) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.ended:
			return
		case <-o.wake:
		}
		for _, m := range o.take() {
			if err := send(m); err != nil {
				o.end(err)
				return
			}
		}
	}
}
