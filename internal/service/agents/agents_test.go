package agents_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"isospin/internal/change"
	"isospin/internal/clock"
	"isospin/internal/ident"
	"isospin/internal/model"
	"isospin/internal/service/agents"
	"isospin/internal/store"
	"isospin/internal/wire"
	"isospin/test/sessiontest"
)

// plugin is another server's view of the same agents, with a clock of its own.
func plugin(s *sessiontest.Server, id string, c clock.Clock) *agents.Plugin {
	return agents.New(agents.Config{Agents: s.Agents.Agents, Store: s.Store, Clock: c, IDs: ident.Random{}, Log: s.Log, ServerID: id, ServerName: id})
}

func alive(t *testing.T, s *sessiontest.Server, p *agents.Plugin, host string) int {
	t.Helper()
	var h model.Host
	s.Read(func(ctx context.Context, tx store.Tx) (err error) {
		h, err = p.Host(ctx, tx, host)
		return err
	})
	return len(h.Agents)
}

func TestWhoIsAlive(t *testing.T) {
	c := sessiontest.New(t)
	s := c.Start(sessiontest.Options{})
	now := clock.NewManual(time.Now())
	ctx := context.Background()
	a := plugin(s, "a", now)
	beat := func(p *agents.Plugin) { // one beat of Run
		run, stop := context.WithCancel(ctx)
		done := make(chan struct{})
		waiting := now.Waiting()
		go func() {
			defer close(done)
			_ = p.Run(run) // it ends with run
		}()
		for now.Waiting() == waiting {
			<-time.After(time.Millisecond)
		}
		stop()
		<-done
	}
	if err := a.Connected(ctx, "h1", sessiontest.Facts(1)); err != nil {
		t.Fatal(err)
	}
	beat(a)
	check := func(what string, p *agents.Plugin, want int) {
		t.Helper()
		if got := alive(t, s, p, "h1"); got != want {
			t.Errorf("%s: %d agents alive, want %d", what, got, want)
		}
	}
	check("its own server", a, 2)
	b := plugin(s, "b", now)
	check("another server", b, 2)
	now.Advance(70 * time.Second)
	beat(a)
	now.Advance(70 * time.Second)
	check("an hour of silence is nothing while the session stands", a, 2)
	check("its server was heard 70 s ago", b, 2)
	now.Advance(10 * time.Second)
	check("its server is dead", b, 0)
	young := plugin(s, "c", now)
	check("a server that has just started judges nobody", young, 2)
	now.Advance(80 * time.Second)
	check("but later it does", young, 0)
	beat(young) // which settles them
	s.Read(func(ctx context.Context, tx store.Tx) error {
		n, _, err := store.Int(ctx, tx, store.Q("SELECT COUNT(*) FROM agents WHERE connected = 1"))
		if n != 0 {
			t.Errorf("%d agents of a dead server count as connected", n)
		}
		return err
	})
	// The agent finds the young server.
	if err := young.Connected(ctx, "h1", sessiontest.Facts(1)); err != nil {
		t.Fatal(err)
	}
	check("a new session", young, 2)
	if err := a.Disconnected(ctx, "h1", now.Now()); err != nil { // the old server notices late
		t.Fatal(err)
	}
	check("the old server's last word", young, 2)
	if err := young.Disconnected(ctx, "h1", now.Now()); err != nil {
		t.Fatal(err)
	}
	now.Advance(74 * time.Second)
	check("gone for less than agent_down_time", young, 2)
	now.Advance(2 * time.Second)
	check("gone for longer", young, 0)
}

func TestRowsChangeOnlyWithTheFacts(t *testing.T) {
	c := sessiontest.New(t)
	s := c.Start(sessiontest.Options{})
	ctx := context.Background()
	if err := s.Agents.Connected(ctx, "h1", sessiontest.Facts(1)); err != nil {
		t.Fatal(err)
	}
	// The server's own first words are not counted: that it lives, and a chore.
	for was := uint64(0); s.Store.Stats().Commits != was; <-time.After(300 * time.Millisecond) {
		was = s.Store.Stats().Commits
	}
	commits := func(facts *wire.Facts) uint64 {
		t.Helper()
		before := s.Store.Stats().Commits
		if err := s.Agents.Connected(ctx, "h1", facts); err != nil {
			t.Fatal(err)
		}
		return s.Store.Stats().Commits - before
	}
	if n := commits(sessiontest.Facts(1)); n != 0 {
		t.Errorf("%d commits for a host that says nothing new", n)
	}
	more := sessiontest.Facts(1)
	more.Agents[0].Configurations = []byte(`{"bridge_mappings": {"physnet1": "br1"}}`)
	if n := commits(more); n != 2 {
		t.Errorf("%d commits for other facts, one for the host and one for its followers are due", n)
	}
	less := sessiontest.Facts(1)
	less.Agents = less.Agents[:1]
	commits(less)
	s.Read(func(ctx context.Context, tx store.Tx) error {
		all, err := s.Agents.OfHosts(ctx, tx, []string{"h1"})
		if err != nil || len(all) != 2 || all[0].AgentType != model.AgentDHCP || all[0].Connected || !all[1].Connected {
			t.Errorf("a role that went: %+v, %v", all, err)
		}
		if every, err := s.Agents.All(ctx, tx); err != nil || len(every) != 2 {
			t.Errorf("agents of the one host that there is: %+v, %v", every, err)
		}
		return nil
	})
}

func TestTunnelEndpointsMove(t *testing.T) {
	c := sessiontest.New(t)
	s := c.Start(sessiontest.Options{})
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := s.Agents.Connected(ctx, "h1", sessiontest.Facts(1)); err != nil {
		t.Fatal(err)
	}
	n := s.Network(model.TypeVXLAN, 11)
	p := s.Port(n, func(p *model.Port) { p.HostID = "h1" })
	changes := s.Store.Changes(ctx)
	// A host that was set up anew under another name keeps the address: the entries of both move.
	if err := s.Agents.Connected(ctx, "h2", sessiontest.Facts(1)); err != nil {
		t.Fatal(err)
	}
	for ch, err := range changes {
		if err != nil {
			t.Fatal(err)
		}
		if want := (change.Key{Kind: wire.KindForward, ID: p.ID}); ch.Key == want {
			if fmt.Sprint(ch.Sets) != "[net:"+n+"]" {
				t.Errorf("dirty in %v", ch.Sets)
			}
			return
		}
	}
	t.Error("the forwarding entry of the host that lost its address was not declared dirty")
}

func TestADeletedAgentComesBack(t *testing.T) {
	c := sessiontest.New(t)
	s := c.Start(sessiontest.Options{DownTime: 8 * time.Second}) // it beats every second
	ctx := context.Background()
	if err := s.Agents.Connected(ctx, "h1", sessiontest.Facts(1)); err != nil {
		t.Fatal(err)
	}
	s.Write(func(ctx context.Context, tx store.WriteTx) error {
		all, err := s.Agents.OfHosts(ctx, tx, []string{"h1"})
		if err != nil {
			return err
		}
		return s.Agents.Agents.Delete(ctx, tx, all[0].ID)
	})
	for deadline := time.Now().Add(20 * time.Second); alive(t, s, s.Agents, "h1") != 2; <-time.After(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it never came back")
		}
	}
}
