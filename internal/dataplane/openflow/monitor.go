package openflow

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"isospin/internal/clock"
)

// Monitor holds a watch of one bridge and tells the drivers of its flows when something changed that they did not do
// themselves, and when the switch went away: after a restart of ovs-vswitchd all flows are gone.
type Monitor struct {
	transport Transport
	clock     clock.Clock
	log       *slog.Logger
	flows     []*Flows
	others    []func(reason string)
}

// Backoff between a lost watch and the next try.
const (
	firstRetry = 20 * time.Millisecond
	lastRetry  = time.Second
)

// NewMonitor makes the monitor of a bridge; flows are all drivers that this process has there, so that
// none takes another for a stranger.
func NewMonitor(t Transport, c clock.Clock, log *slog.Logger, flows ...*Flows) *Monitor {
	return &Monitor{transport: t, clock: c, log: log, flows: flows}
}

// AlsoTell has f called when the switch went away and when it is back: for stages of groups and meters, whose single
// changes the switch does not tell. It is called before Run.
func (m *Monitor) AlsoTell(f func(reason string)) { m.others = append(m.others, f) }

// Run watches until ctx ends, and begins again, with backoff, when the watch is lost.
func (m *Monitor) Run(ctx context.Context) error {
	wait := firstRetry
	for {
		began := false
		err := m.transport.Watch(ctx, func() {
			began = true
			wait = firstRetry
			m.tell("the watch of the bridge began")
		}, m.event)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if began {
			m.log.Info("lost the watch of a bridge", "err", err)
			m.tell("the watch of the bridge was lost")
		} else {
			m.log.Debug("cannot watch a bridge", "err", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-m.clock.After(wait):
		}
		wait = min(2*wait, lastRetry)
	}
}

func (m *Monitor) tell(reason string) {
	for _, d := range m.flows {
		d.restart(reason)
	}
	for _, f := range m.others {
		f(reason)
	}
}

func (m *Monitor) event(e Event) {
	stranger := !slices.ContainsFunc(m.flows, func(d *Flows) bool { return d.tag.Owns(e.Cookie) })
	for _, d := range m.flows {
		d.observe(e, stranger)
	}
}
