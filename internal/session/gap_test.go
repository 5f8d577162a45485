package session_test

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"testing"
	"time"

	"isospin/internal/agent/simulate"
	"isospin/internal/change"
	"isospin/internal/model"
	"isospin/internal/session"
	"isospin/internal/store"
	"isospin/internal/wire"
	"isospin/test/sessiontest"
)

// deaf is a store whose changes nobody hears, until it says that some may have been missed.
type deaf struct {
	store.Store
	gap chan struct{}
}

func (d deaf) Changes(ctx context.Context) iter.Seq2[change.Change, error] {
	return func(yield func(change.Change, error) bool) {
		for {
			select {
			case <-ctx.Done():
				return
			case <-d.gap:
				if !yield(change.Change{}, store.ErrGap) {
					return
				}
			}
		}
	}
}

func TestAfterAGapEverythingIsCompared(t *testing.T) {
	c := sessiontest.New(t)
	gap := make(chan struct{})
	s := c.Start(sessiontest.Options{Config: func(sc *session.Config) { sc.Store = deaf{sc.Store, gap} }})
	n1, n2, g := s.Network(model.TypeVXLAN, 11), s.Network(model.TypeVXLAN, 12), s.Group()
	h := c.Host(c.Enrol("h1", s.Address), sessiontest.Facts(1), nil)
	c.Wait(h, synced)
	live(t, s, "h1")
	a := s.Port(n1, func(p *model.Port) { p.HostID = "h1" })
	s.Port(n1, func(p *model.Port) { p.HostID = "h1" })
	gap <- struct{}{}
	c.Wait(h, holds(map[string]int{"host:h1": 2, "net:" + n1: 3}))

	// A port goes, one comes on another network with a group, one of another host comes; nobody hears of it.
	before := h.Counts()
	s.Write(func(ctx context.Context, tx store.WriteTx) error { return s.ML2.DeletePort(ctx, tx, a.ID) })
	b := s.Port(n2, func(p *model.Port) { p.HostID, p.SecurityGroups = "h1", []string{g} })
	gap <- struct{}{}
	want := map[string]int{"host:h1": 2, "net:" + n1: 2, "net:" + n2: 2, "sg:" + g: 2, "sgm:" + g: 1, "logs:" + b.ProjectID: 0}
	c.Wait(h, func(v simulate.View) bool {
		return holds(want)(v) && v.Get("host:h1", wire.KindPort, b.ID, &wire.Port{})
	})
	// Two documents dropped, one put, and three sets of 2, 2 and 1 sent whole.
	if got := h.Counts(); got.Documents-before.Documents != 8 || got.Sessions != 1 {
		t.Errorf("%d documents travelled, 8 differed; %d sessions", got.Documents-before.Documents, got.Sessions)
	}
	// Nothing is missed twice.
	before = h.Counts()
	s.Write(func(ctx context.Context, tx store.WriteTx) error { return s.ML2.DeletePort(ctx, tx, b.ID) })
	gap <- struct{}{}
	c.Wait(h, holds(map[string]int{"host:h1": 1, "net:" + n1: 2}))
	if got := h.Counts(); got.Documents-before.Documents != 1 {
		t.Errorf("%d documents travelled, 1 differed", got.Documents-before.Documents)
	}
}

func TestASlowAgentComesBackWithHashes(t *testing.T) {
	c := sessiontest.New(t)
	c.Log = quiet()
	s := c.Start(sessiontest.Options{Config: func(sc *session.Config) { sc.Backlog = 8 }})
	var (
		mu   sync.Mutex
		held chan struct{}
	)
	h := c.Host(c.Enrol("h1", s.Address), sessiontest.Facts(1), func(o *simulate.Options) {
		o.Frame = func(*wire.Frame) {
			mu.Lock()
			wait := held
			mu.Unlock()
			if wait != nil {
				<-wait
			}
		}
	})
	c.Wait(h, synced)
	live(t, s, "h1")
	n := s.Network(model.TypeVXLAN, 11)
	p := s.Port(n, func(p *model.Port) { p.HostID = "h1" })
	c.Wait(h, holds(map[string]int{"host:h1": 1, "net:" + n: 2}))
	mu.Lock()
	held = make(chan struct{})
	mu.Unlock()
	// Large documents fill what lies between the two, then the backlog.
	pairs := make([]model.AddressPair, 500)
	for i := 0; s.Session.Stats().Overflows == 0; i++ {
		if i == 1000 {
			t.Fatal("the backlog never ran over")
		}
		for k := range pairs {
			pairs[k] = model.AddressPair{IPAddress: fmt.Sprintf("10.%d.%d.%d", i%250, k/250, k%250), MACAddress: p.MACAddress}
		}
		s.Write(func(ctx context.Context, tx store.WriteTx) error {
			_, err := s.ML2.AdjustPort(ctx, tx, p.ID, func(p *model.Port) { p.AllowedAddressPairs = append([]model.AddressPair{}, pairs...) })
			return err
		})
	}
	close(held)
	mu.Lock()
	held = nil
	mu.Unlock()
	last := pairs[0].IPAddress
	c.Wait(h, func(v simulate.View) bool {
		var d wire.Port
		return v.Synced() && v.Counts().Sessions == 2 && v.Get("host:h1", wire.KindPort, p.ID, &d) && d.AllowedAddressPairs[0].IpAddress == last
	})
}

func TestReportsOutliveSessions(t *testing.T) {
	c := sessiontest.New(t)
	c.Log = quiet()
	s := c.Start(sessiontest.Options{})
	h := c.Host(c.Enrol("h1", s.Address), sessiontest.Facts(1), nil)
	c.Wait(h, synced)
	live(t, s, "h1")
	p := s.Port(s.Network(model.TypeVXLAN, 11), func(p *model.Port) { p.HostID = "h1" })
	s.Stop()
	c.Wait(h, func(v simulate.View) bool { return !v.Synced() })
	done := make(chan error, 1)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	go func() {
		done <- h.Link().Report(ctx, []*wire.Status{{Kind: wire.KindPort, Id: p.ID, Entity: wire.EntityL2, Generation: p.Wiring, State: wire.State_DONE}})
	}()
	gone, stop := context.WithCancel(ctx)
	stop()
	if err := h.Link().Report(gone, []*wire.Status{{Kind: wire.KindPort, Id: p.ID, Entity: wire.EntityL2, State: wire.State_FAILED}}); err == nil {
		t.Error("a report that nobody took counts as taken")
	}
	s = c.Start(sessiontest.Options{Address: s.Address})
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	s.Read(func(ctx context.Context, tx store.Tx) error {
		got, err := s.Ports.Get(ctx, tx, p.ID)
		if got.Status != model.StatusActive {
			t.Errorf("the port is %s, its host said that it is done", got.Status)
		}
		return err
	})
}
