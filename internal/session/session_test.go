package session_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"isospin/internal/agent/simulate"
	"isospin/internal/model"
	"isospin/internal/store"
	"isospin/internal/wire"
	"isospin/test/sessiontest"
)

func synced(v simulate.View) bool { return v.Synced() }

// holds waits for exactly these sets, by number of documents.
func holds(want map[string]int) func(simulate.View) bool {
	return func(v simulate.View) bool {
		have := v.Sets()
		if !v.Synced() || len(have) != len(want) {
			return false
		}
		for name, n := range want {
			if have[name] != n {
				return false
			}
		}
		return true
	}
}

func TestAHostGetsWhatItNeedsAndNothingElse(t *testing.T) {
	c := sessiontest.New(t)
	s := c.Start(sessiontest.Options{})
	h1 := c.Host(c.Enrol("h1", s.Address), sessiontest.Facts(1), nil)
	c.Wait(h1, holds(map[string]int{"host:h1": 0}))
	live(t, s, "h1")

	n1, n2 := s.Network(model.TypeVXLAN, 11), s.Network(model.TypeVXLAN, 12)
	g := s.Group()
	s.Subnet(n1, "10.1.0.0/24", false)
	s.Port(n2, func(p *model.Port) { p.HostID = "elsewhere" })
	p := s.Port(n1, func(p *model.Port) { p.HostID, p.SecurityGroups = "h1", []string{g} })
	if p.VIFType != model.VIFOVS {
		t.Fatalf("the port is %s, its host is there", p.VIFType)
	}
	// Network, subnet and forward; group and rule; the member, since the rule names the group.
	c.Wait(h1, holds(map[string]int{"host:h1": 1, "net:" + n1: 3, "sg:" + g: 2, "sgm:" + g: 1, "logs:" + p.ProjectID: 0}))
	var doc wire.Port
	var fwd wire.Forward
	c.Wait(h1, func(v simulate.View) bool {
		return v.Get("host:h1", wire.KindPort, p.ID, &doc) && v.Get("net:"+n1, wire.KindForward, p.ID, &fwd)
	})
	if doc.Wiring != p.Wiring+1 && doc.Wiring != p.Wiring || doc.MacAddress != p.MACAddress || len(doc.FixedIps) != 1 || doc.SecurityGroups[0] != g || doc.SegmentId == "" ||
		len(doc.Entities) != 1 || doc.Entities[0] != wire.EntityL2 {
		t.Errorf("the port's document: %v", &doc)
	}
	if fwd.TunnelIp != "172.16.0.1" || fwd.Host != "h1" || fwd.SegmentId != doc.SegmentId || fwd.IpAddresses[0] != p.FixedIPs[0].IPAddress {
		t.Errorf("the forwarding entry: %v", &fwd)
	}

	// Another host's port on the network is one forwarding entry here, and the port none.
	before := h1.Counts()
	far := s.Port(n1, func(p *model.Port) { p.HostID = "h1" })
	c.Wait(h1, holds(map[string]int{"host:h1": 2, "net:" + n1: 4, "sg:" + g: 2, "sgm:" + g: 1, "logs:" + p.ProjectID: 0}))
	if got := h1.Counts(); got.Documents-before.Documents != 2 {
		t.Errorf("a second port took %d documents, 2 are enough", got.Documents-before.Documents)
	}
	s.Write(func(ctx context.Context, tx store.WriteTx) error { return s.ML2.DeletePort(ctx, tx, far.ID) })
	c.Wait(h1, holds(map[string]int{"host:h1": 1, "net:" + n1: 3, "sg:" + g: 2, "sgm:" + g: 1, "logs:" + p.ProjectID: 0}))

	// With its last port everything goes.
	s.Write(func(ctx context.Context, tx store.WriteTx) error { return s.ML2.DeletePort(ctx, tx, p.ID) })
	c.Wait(h1, holds(map[string]int{"host:h1": 0}))
}

// live waits until a host's agents are alive in the database.
func live(t testing.TB, s *sessiontest.Server, host string) {
	t.Helper()
	eventually(t, s, "host "+host+" has live agents", func(ctx context.Context, tx store.Tx) (bool, error) {
		h, err := s.Agents.Host(ctx, tx, host)
		return len(h.Agents) > 0, err
	})
}

// eventually waits until a state of the database is reached.
func eventually(t testing.TB, s *sessiontest.Server, what string, is func(ctx context.Context, tx store.Tx) (bool, error)) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		var ok bool
		s.Read(func(ctx context.Context, tx store.Tx) (err error) {
			ok, err = is(ctx, tx)
			return err
		})
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
		<-time.After(2 * time.Millisecond)
	}
}

func TestOnlyWhatDiffersTravels(t *testing.T) {
	c := sessiontest.New(t)
	s := c.Start(sessiontest.Options{})
	e := c.Enrol("h1", s.Address)
	h := c.Host(e, sessiontest.Facts(1), nil)
	c.Wait(h, synced)
	live(t, s, "h1")
	n1, n2 := s.Network(model.TypeVXLAN, 11), s.Network(model.TypeVXLAN, 12)
	s.Port(n1, func(p *model.Port) { p.HostID = "h1" })
	gone := s.Port(n2, func(p *model.Port) { p.HostID = "h1" })
	c.Wait(h, holds(map[string]int{"host:h1": 2, "net:" + n1: 2, "net:" + n2: 2}))
	address := s.Address
	before := h.Counts()
	s.Stop()

	// Nothing happened: nothing travels.
	s = c.Start(sessiontest.Options{Address: address})
	c.Wait(h, func(v simulate.View) bool { return v.Synced() && v.Counts().Sessions == before.Sessions+1 })
	if got := h.Counts(); got.Documents != before.Documents {
		t.Errorf("%d documents travelled though nothing had changed", got.Documents-before.Documents)
	}
	before = h.Counts()
	s.Stop()

	// While nobody served the host, a port went and with it a network; on the other nothing happened.
	cut := c.Start(sessiontest.Options{})
	cut.Write(func(ctx context.Context, tx store.WriteTx) error { return cut.ML2.DeletePort(ctx, tx, gone.ID) })
	c.Start(sessiontest.Options{Address: address})
	c.Wait(h, holds(map[string]int{"host:h1": 1, "net:" + n1: 2}))
	c.Wait(h, synced)
	if got := h.Counts(); got.Documents-before.Documents != 1 || got.Frames-before.Frames != 2 {
		t.Errorf("%d documents in %d frames; one whole set of one document and one that is gone are enough",
			got.Documents-before.Documents, got.Frames-before.Frames)
	}
}

func TestChangesWhileSetsAreReadAreNotLost(t *testing.T) {
	c := sessiontest.New(t)
	s := c.Start(sessiontest.Options{})
	first := c.Host(c.Enrol("h0", s.Address), sessiontest.Facts(1), nil)
	c.Wait(first, synced)
	live(t, s, "h0")
	n, g := s.Network(model.TypeVXLAN, 11), s.Group()
	const ports, hosts = 120, 8
	for i := 1; i < hosts; i++ {
		name := fmt.Sprintf("h%d", i)
		c.Wait(c.Host(c.Enrol(name, s.Address), sessiontest.Facts(1+i), nil), synced)
		live(t, s, name)
	}
	// Hosts hold the network from their first port on: it is read while ports come and go.
	last := map[int]model.Port{}
	for i := range ports {
		p := s.Port(n, func(p *model.Port) {
			p.HostID = fmt.Sprintf("h%d", i%hosts)
			if i%2 == 0 {
				p.SecurityGroups = []string{g}
			}
		})
		if old, ok := last[i%hosts]; ok && i%3 == 0 {
			s.Write(func(ctx context.Context, tx store.WriteTx) error { return s.ML2.DeletePort(ctx, tx, old.ID) })
		}
		last[i%hosts] = p
	}
	var left, inGroup, here int64
	s.Read(func(ctx context.Context, tx store.Tx) (err error) {
		if left, _, err = store.Int(ctx, tx, store.Q("SELECT COUNT(*) FROM ports")); err != nil {
			return err
		}
		if here, _, err = store.Int(ctx, tx, store.Q("SELECT COUNT(*) FROM ports WHERE host = 'h0'")); err != nil {
			return err
		}
		inGroup, _, err = store.Int(ctx, tx, store.Q("SELECT COUNT(*) FROM port_security_groups"))
		return err
	})
	want := map[string]int{"host:h0": int(here), "net:" + n: 1 + int(left), "sg:" + g: 2, "sgm:" + g: int(inGroup), "logs:" + last[0].ProjectID: 0}
	c.Wait(first, holds(want))
	// Another that comes now is sent the same state: the hashes agree.
	again := c.Host(c.Enrol("h0", s.Address), sessiontest.Facts(1), nil)
	c.Wait(again, holds(want))
}

func TestTwoServersOnOneDatabase(t *testing.T) {
	c := sessiontest.New(t)
	a, b := c.Start(sessiontest.Options{}), c.Start(sessiontest.Options{})
	h1 := c.Host(c.Enrol("h1", a.Address), sessiontest.Facts(1), nil)
	h2 := c.Host(c.Enrol("h2", b.Address), sessiontest.Facts(2), nil)
	c.Wait(h1, synced)
	c.Wait(h2, synced)
	live(t, a, "h2")
	live(t, b, "h1")
	n := a.Network(model.TypeVXLAN, 11)
	p1 := a.Port(n, func(p *model.Port) { p.HostID = "h1" })
	p2 := a.Port(n, func(p *model.Port) { p.HostID = "h2" }) // written at a, held by b
	c.Wait(h1, holds(map[string]int{"host:h1": 1, "net:" + n: 3}))
	c.Wait(h2, holds(map[string]int{"host:h2": 1, "net:" + n: 3}))
	var f wire.Forward
	c.Wait(h2, func(v simulate.View) bool { return v.Get("net:"+n, wire.KindForward, p1.ID, &f) })
	if f.TunnelIp != "172.16.0.1" {
		t.Errorf("the other host's tunnel ends at %q", f.TunnelIp)
	}
	// The endpoint moves: the host's facts change at one server, the other's host learns it.
	h1.Link().SetFacts(sessiontest.Facts(77))
	c.Wait(h2, func(v simulate.View) bool {
		return v.Get("net:"+n, wire.KindForward, p1.ID, &f) && f.TunnelIp == "172.16.0.77"
	})
	if a.Session.Stats().Sessions != 1 || b.Session.Stats().Sessions != 1 {
		t.Error("each server holds its own host's session alone")
	}
	b.Write(func(ctx context.Context, tx store.WriteTx) error { return b.ML2.DeletePort(ctx, tx, p2.ID) })
	c.Wait(h1, holds(map[string]int{"host:h1": 1, "net:" + n: 2}))
}
