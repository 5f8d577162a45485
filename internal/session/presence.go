package session

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"isospin/internal/clock"
	"isospin/internal/wire"
)

// presence tells the Presence what is so of each host, the latest alone.
type presence struct {
	to    Presence
	clock clock.Clock
	log   *slog.Logger

	mu   sync.Mutex
	want map[string]standing
	wake chan struct{}
}

// standing is what is so of a host.
type standing struct {
	facts *wire.Facts // nil: it has no session here
	last  time.Time
}

func newPresence(to Presence, c clock.Clock, log *slog.Logger) *presence {
	return &presence{to: to, clock: c, log: log, want: map[string]standing{}, wake: make(chan struct{}, 1)}
}

func (p *presence) connected(host string, facts *wire.Facts) { p.set(host, standing{facts: facts}) }

func (p *presence) disconnected(host string, last time.Time) { p.set(host, standing{last: last}) }

func (p *presence) set(host string, s standing) {
	p.mu.Lock()
	p.want[host] = s
	p.mu.Unlock()
	poke(p.wake)
}

func (p *presence) take() map[string]standing {
	p.mu.Lock()
	defer p.mu.Unlock()
	got := p.want
	p.want = map[string]standing{}
	return got
}

// back puts a standing that could not be told back, unless a newer one came.
func (p *presence) back(host string, s standing) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, newer := p.want[host]; !newer {
		p.want[host] = s
	}
}

// atOnce is how many hosts are told of at the same time: enough that their commits share one write to the disk.
const atOnce = 16

// run tells until ctx ends; a host is told of once at a time.
func (p *presence) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-p.wake:
		}
		if p.round(ctx, p.take()) {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-p.clock.After(time.Second):
			poke(p.wake)
		}
	}
}

// round tells of some hosts and whether all went well.
func (p *presence) round(ctx context.Context, hosts map[string]standing) bool {
	var (
		work   sync.WaitGroup
		slots  = make(chan struct{}, atOnce)
		mu     sync.Mutex
		failed bool
	)
	for host, s := range hosts {
		slots <- struct{}{}
		work.Go(func() {
			defer func() { <-slots }()
			var err error
			if s.facts != nil {
				err = p.to.Connected(ctx, host, s.facts)
			} else {
				err = p.to.Disconnected(ctx, host, s.last)
			}
			if err == nil || ctx.Err() != nil {
				return
			}
			p.log.Error("the presence of a host could not be written", "host", host, "err", err)
			p.back(host, s)
			mu.Lock()
			failed = true
			mu.Unlock()
		})
	}
	work.Wait()
	return !failed
}
