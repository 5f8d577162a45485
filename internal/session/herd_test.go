package session_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"isospin/internal/agent/link"
	"isospin/internal/agent/simulate"
	"isospin/internal/ident"
	"isospin/internal/model"
	"isospin/internal/session"
	"isospin/internal/store"
	"isospin/internal/wire"
	"isospin/test/sessiontest"
)

// herd enrols and runs hosts h1..hn.
func herd(c *sessiontest.Cloud, n int, address string, edit func(*simulate.Options)) []*simulate.Host {
	out := make([]*simulate.Host, n)
	var work sync.WaitGroup
	slots := make(chan struct{}, 16)
	for i := range out {
		slots <- struct{}{}
		work.Go(func() {
			defer func() { <-slots }()
			e, err := c.Keeper.Enrol(context.Background(), fmt.Sprintf("h%d", i+1), []string{address})
			if err != nil {
				c.T.Error(err)
				return
			}
			o := simulate.Options{Link: link.Options{Enrolment: e, Facts: sessiontest.Facts(i + 1), Clock: c.Clock, IDs: ident.Random{}, Log: quiet()}}
			if edit != nil {
				edit(&o)
			}
			if out[i], err = simulate.New(o); err != nil {
				c.T.Error(err)
			}
		})
	}
	work.Wait()
	ctx, cancel := context.WithCancel(context.Background())
	for _, h := range out {
		work.Go(func() { _ = h.Run(ctx) }) // it ends with ctx's own error
	}
	c.T.Cleanup(func() {
		cancel()
		work.Wait()
	})
	return out
}

// all waits for every host.
func all(c *sessiontest.Cloud, hosts []*simulate.Host, ready func(simulate.View) bool) {
	c.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, h := range hosts {
		if err := h.Wait(ctx, ready); err != nil {
			c.T.Fatal(err)
		}
	}
}

// everyoneLives waits until all hosts' agents are written.
func everyoneLives(t testing.TB, s *sessiontest.Server, n int) {
	t.Helper()
	eventually(t, s, "all hosts are connected", func(ctx context.Context, tx store.Tx) (bool, error) {
		got, _, err := store.Int(ctx, tx, store.Q("SELECT COUNT(DISTINCT host) FROM agents WHERE connected = 1 AND server = ?", s.Agents.ServerID))
		return got == int64(n), err
	})
}

func TestHeartbeatsStayInMemory(t *testing.T) {
	const hosts, beats = 50, 20
	c := sessiontest.New(t)
	c.Log = quiet()
	s := c.Start(sessiontest.Options{DownTime: time.Hour, Config: func(sc *session.Config) { sc.HeartbeatEvery = 20 * time.Millisecond }})
	hs := herd(c, hosts, s.Address, nil)
	all(c, hs, synced)
	everyoneLives(t, s, hosts)
	eventually(t, s, "nothing is owed to the database any more", func(context.Context, store.Tx) (bool, error) {
		before := s.Store.Stats().Commits
		<-time.After(100 * time.Millisecond)
		return s.Store.Stats().Commits == before, nil
	})
	heard, before := s.Session.Stats().Heard, s.Store.Stats()
	for deadline := time.Now().Add(20 * time.Second); s.Session.Stats().Heard < heard+hosts*beats; {
		if time.Now().After(deadline) {
			t.Fatalf("only %d heartbeats came", s.Session.Stats().Heard-heard)
		}
		<-time.After(5 * time.Millisecond)
	}
	after := s.Store.Stats()
	t.Logf("%d heartbeats: %d commits", s.Session.Stats().Heard-heard, after.Commits-before.Commits)
	if after.Commits > before.Commits+1 { // one may be the store's own chore of each minute
		t.Errorf("%d commits for %d heartbeats, none is due", after.Commits-before.Commits, hosts*beats)
	}
}

func TestAMemberIsOneDocumentAHost(t *testing.T) { oneMember(t, 20, 200) }

// oneMember puts one more port into a group of so many that so many hosts hold.
func oneMember(t *testing.T, hosts, members int) {
	c := sessiontest.New(t)
	c.Log = quiet()
	s := c.Start(sessiontest.Options{})
	hs := herd(c, hosts, s.Address, nil)
	all(c, hs, synced)
	everyoneLives(t, s, hosts)
	g := s.Group()
	n := s.Network(model.TypeVXLAN, 11)
	port := func(ctx context.Context, tx store.WriteTx, i int) error {
		_, err := s.NewPort(ctx, tx, n, func(p *model.Port) {
			p.SecurityGroups = []string{g}
			if i >= members-hosts { // the last ones are those that make hosts hold the group
				p.HostID = fmt.Sprintf("h%d", i%hosts+1)
			}
		})
		return err
	}
	for part := range members / 100 {
		s.Write(func(ctx context.Context, tx store.WriteTx) error {
			for i := range 100 {
				if err := port(ctx, tx, part*100+i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	// A bystander: it holds neither the group nor the network.
	other := c.Host(c.Enrol("bystander", s.Address), sessiontest.Facts(9999), nil)
	c.Wait(other, synced)
	all(c, hs, func(v simulate.View) bool {
		return v.Synced() && v.Sets()["sgm:"+g] == members && v.Sets()["net:"+n] == 1+hosts
	})
	// One more member, on no host at all, so that nothing but the membership changes. A first one that everybody has seen says that
	// what the ports above made dirty has all been told.
	elsewhere := s.Network(model.TypeVXLAN, 12)
	s.Port(elsewhere, func(p *model.Port) { p.SecurityGroups = []string{g} })
	all(c, hs, holdsAtLeast("sgm:"+g, members+1))
	before := make([]simulate.Counts, hosts)
	for i, h := range hs {
		before[i] = h.Counts()
	}
	idle := other.Counts()
	start := time.Now()
	s.Port(elsewhere, func(p *model.Port) { p.SecurityGroups = []string{g} })
	all(c, hs, holdsAtLeast("sgm:"+g, members+2))
	t.Logf("%d hosts knew of the new member after %v", hosts, time.Since(start))
	for i, h := range hs {
		got := h.Counts()
		if got.Documents-before[i].Documents != 1 || got.Frames-before[i].Frames != 1 || got.Bytes-before[i].Bytes > 1024 {
			t.Fatalf("host %s was sent %d documents in %d frames of %d bytes", h.Name(), got.Documents-before[i].Documents, got.Frames-before[i].Frames, got.Bytes-before[i].Bytes)
		}
	}
	if other.Counts() != idle {
		t.Errorf("a host that does not hold the group was told: %+v", other.Counts())
	}
}

func holdsAtLeast(set string, n int) func(simulate.View) bool {
	return func(v simulate.View) bool { return v.Synced() && v.Sets()[set] >= n }
}

func TestReportsOfManyHostsAreOneTransaction(t *testing.T) {
	const hosts = 40
	c := sessiontest.New(t)
	c.Log = quiet()
	s := c.Start(sessiontest.Options{})
	hs := herd(c, hosts, s.Address, func(o *simulate.Options) { o.Answers = true })
	all(c, hs, synced)
	everyoneLives(t, s, hosts)
	n := s.Network(model.TypeVXLAN, 11)
	before := s.Store.Stats()
	s.Write(func(ctx context.Context, tx store.WriteTx) error {
		for i := range 4 * hosts {
			if _, err := s.NewPort(ctx, tx, n, func(p *model.Port) { p.HostID = fmt.Sprintf("h%d", i%hosts+1) }); err != nil {
				return err
			}
		}
		return nil
	})
	eventually(t, s, "all ports are ACTIVE", func(ctx context.Context, tx store.Tx) (bool, error) {
		up, _, err := store.Int(ctx, tx, store.Q("SELECT COUNT(*) FROM ports WHERE status = 'ACTIVE'"))
		return up == 4*hosts, err
	})
	all(c, hs, func(v simulate.View) bool { return v.Counts().Reported == 4 })
	after := s.Store.Stats()
	t.Logf("%d ports: %d commits, %d statements", 4*hosts, after.Commits-before.Commits, after.Statements-before.Statements)
	if got := after.Commits - before.Commits; got > hosts {
		t.Errorf("%d commits for the reports of %d hosts", got, hosts)
	}
	// The same words again change nothing.
	var revision int64
	read := func(ctx context.Context, tx store.Tx) (err error) {
		revision, _, err = store.Int(ctx, tx, store.Q("SELECT SUM(revision) FROM ports"))
		return err
	}
	s.Read(read)
	was := revision
	var p model.Port
	s.Read(func(ctx context.Context, tx store.Tx) error {
		ps, err := s.Ports.Find(ctx, tx, store.List{Where: store.Eq("host", "h1"), Limit: 1})
		p = ps[0]
		return err
	})
	if err := hs[0].Link().Report(context.Background(), []*wire.Status{{Kind: wire.KindPort, Id: p.ID, Entity: wire.EntityL2, Generation: p.Wiring, State: wire.State_DONE}}); err != nil {
		t.Fatal(err)
	}
	s.Read(read)
	if revision != was {
		t.Error("a word said twice was written twice")
	}
}
