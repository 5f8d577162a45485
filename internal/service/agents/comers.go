package agents

import (
	"context"
	"time"

	"isospin/internal/clock"
	"isospin/internal/store"
)

// Comers is the part of a scheduler that follows hosts: those that come may take what nobody has. It is a HostFollower, and its
// Run looks when one came and every so often.
type Comers struct {
	clock clock.Clock
	every time.Duration
	wake  chan struct{}
}

// NewComers makes it; every is the time between looks that no host gave cause for.
func NewComers(c clock.Clock, every time.Duration) *Comers {
	return &Comers{clock: c, every: every, wake: make(chan struct{}, 1)}
}

var _ HostFollower = (*Comers)(nil)

// HostReady does nothing; what a host takes is decided once it is there for all to see.
func (*Comers) HostReady(context.Context, store.WriteTx, string) error { return nil }

// Committed says that a host is there for all to see.
func (c *Comers) Committed(string) {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// gather is how long hosts that come are waited for: they come in herds, and many are one look.
const gather = 100 * time.Millisecond

// Run calls look, from one goroutine, until ctx ends; failed is told its errors.
func (c *Comers) Run(ctx context.Context, look func(context.Context) error, failed func(error)) error {
	tick := c.clock.After(c.every)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.wake:
			select {
			case <-ctx.Done():
				return nil
			case <-c.clock.After(gather):
			}
			select {
			case <-c.wake:
			default:
			}
		case <-tick:
			tick = c.clock.After(c.every)
		}
		if err := look(ctx); err != nil && ctx.Err() == nil {
			failed(err)
		}
	}
}
