package status_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"isospin/internal/model"
	"isospin/internal/service"
	"isospin/internal/service/status"
	"isospin/internal/store"
	"isospin/internal/wire"
	"isospin/test/sessiontest"
)

// told records what followers are told.
type told struct {
	mu  sync.Mutex
	say []string
}

func (f *told) Follow(_ context.Context, _ store.WriteTx, w service.Write[model.Port]) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.say = append(f.say, w.Old.Status+">"+w.New.Status)
	return nil
}

func connect(t *testing.T, s *sessiontest.Server, host string, facts *wire.Facts) {
	t.Helper()
	if err := s.Agents.Connected(context.Background(), host, facts); err != nil {
		t.Fatal(err)
	}
}

func report(t *testing.T, s *sessiontest.Server, host string, list ...*wire.Status) {
	t.Helper()
	if err := s.Status.Report(context.Background(), map[string][]*wire.Status{host: list}); err != nil {
		t.Fatal(err)
	}
}

func word(p model.Port, entity string, state wire.State, generation int64) *wire.Status {
	return &wire.Status{Kind: wire.KindPort, Id: p.ID, Entity: entity, State: state, Generation: generation}
}

func get(t *testing.T, s *sessiontest.Server, id string) model.Port {
	t.Helper()
	var p model.Port
	s.Read(func(ctx context.Context, tx store.Tx) (err error) {
		p, err = s.Ports.Get(ctx, tx, id)
		return err
	})
	return p
}

func TestWhatMakesAPortActive(t *testing.T) {
	c := sessiontest.New(t)
	f := &told{}
	s := c.Start(sessiontest.Options{Followers: []service.Follower[model.Port]{f}})
	connect(t, s, "h1", sessiontest.Facts(1))
	n := s.Network(model.TypeVXLAN, 11)
	p := s.Port(n, func(p *model.Port) { p.HostID = "h1" })
	step := func(what, host string, w *wire.Status, want string) {
		t.Helper()
		before := get(t, s, p.ID)
		report(t, s, host, w)
		got := get(t, s, p.ID)
		if got.Status != want {
			t.Errorf("%s: %s, want %s", what, got.Status, want)
		}
		if changed := got.Status != before.Status; changed != (got.Revision > before.Revision) || got.Wiring != before.Wiring {
			t.Errorf("%s: revision %d to %d, wiring %d to %d", what, before.Revision, got.Revision, before.Wiring, got.Wiring)
		}
	}
	g := p.Wiring
	step("an older wiring", "h1", word(p, wire.EntityL2, wire.State_DONE, g-1), model.StatusDown)
	step("another host's word", "h2", word(p, wire.EntityL2, wire.State_DONE, g), model.StatusDown)
	step("another entity's word", "h1", word(p, wire.EntityDHCP, wire.State_DONE, g), model.StatusDown)
	step("a failure", "h1", word(p, wire.EntityL2, wire.State_FAILED, g), model.StatusDown)
	step("done", "h1", word(p, wire.EntityL2, wire.State_DONE, g), model.StatusActive)
	step("the same again", "h1", word(p, wire.EntityL2, wire.State_DONE, g), model.StatusActive)
	step("another host's interface goes", "h2", word(p, wire.EntityL2, wire.State_UNPLUGGED, g), model.StatusActive)
	step("the interface goes", "h1", word(p, wire.EntityL2, wire.State_UNPLUGGED, g), model.StatusDown)
	step("and comes", "h1", word(p, wire.EntityL2, wire.State_PLUGGED, g), model.StatusDown)
	step("done again", "h1", word(p, wire.EntityL2, wire.State_DONE, g), model.StatusActive)
	step("a failure of an older wiring", "h1", word(p, wire.EntityL2, wire.State_FAILED, g-1), model.StatusActive)
	step("a failure", "h1", word(p, wire.EntityL2, wire.State_FAILED, g), model.StatusDown)
	step("mended", "h1", word(p, wire.EntityL2, wire.State_DONE, g), model.StatusActive)
	step("another host cannot read it", "h2", word(p, wire.EntityMirror, wire.State_FAILED, 0), model.StatusActive)
	step("its host cannot read it", "h1", word(p, wire.EntityMirror, wire.State_FAILED, 0), model.StatusDown)
	step("it can", "h1", word(p, wire.EntityMirror, wire.State_DONE, 0), model.StatusActive)
	s.Write(func(ctx context.Context, tx store.WriteTx) (err error) {
		p, err = s.ML2.AdjustPort(ctx, tx, p.ID, func(p *model.Port) { p.AdminStateUp = false })
		return err
	})
	if p.Wiring != g+1 || p.Status != model.StatusActive {
		t.Fatalf("admin_state_up false: wiring %d, status %s", p.Wiring, p.Status)
	}
	step("cut off as told", "h1", word(p, wire.EntityL2, wire.State_DONE, g+1), model.StatusDown)
	if got := strings.Join(f.say, " "); got != strings.TrimSpace(strings.Repeat("DOWN>ACTIVE ACTIVE>DOWN ", 4)) {
		t.Errorf("followers were told %s", got)
	}
	// A port that is gone, or never was, is nobody's trouble.
	s.Write(func(ctx context.Context, tx store.WriteTx) error { return s.ML2.DeletePort(ctx, tx, p.ID) })
	report(t, s, "h1", word(p, wire.EntityL2, wire.State_DONE, g), word(p, wire.EntityL2, wire.State_PLUGGED, 0), &wire.Status{Kind: "x"},
		&wire.Status{Kind: wire.KindPort, Id: strings.Repeat("x", 5000), Entity: wire.EntityL2, State: wire.State_DONE})
	s.Read(func(ctx context.Context, tx store.Tx) error {
		left, _, err := store.Int(ctx, tx, store.Q("SELECT COUNT(*) FROM provisioning"))
		if left != 0 {
			t.Errorf("%d words on ports that are gone", left)
		}
		return err
	})
}

func TestDHCPIsWaitedFor(t *testing.T) {
	c := sessiontest.New(t)
	s := c.Start(sessiontest.Options{})
	connect(t, s, "h1", sessiontest.Facts(1))
	n := s.Network(model.TypeVXLAN, 11)
	sub := s.Subnet(n, "10.0.0.0/24", true)
	served(t, s, n, "h1")
	mine := s.Port(n, func(p *model.Port) { p.HostID = "h1" })
	owned := s.Port(n, func(p *model.Port) { p.HostID, p.DeviceOwner = "h1", "network:router_interface" })
	report(t, s, "h1", word(mine, wire.EntityL2, wire.State_DONE, mine.Wiring), word(owned, wire.EntityL2, wire.State_DONE, owned.Wiring))
	if got := get(t, s, mine.ID).Status; got != model.StatusDown {
		t.Errorf("without DHCP's word the port is %s", got)
	}
	if got := get(t, s, owned.ID).Status; got != model.StatusActive {
		t.Errorf("a port that waits for nobody is %s", got)
	}
	done := &wire.Status{Kind: wire.KindReservation, Id: mine.ID, Entity: wire.EntityDHCP, State: wire.State_DONE, Generation: mine.Wiring}
	report(t, s, "h9", done) // it does not serve the network
	if got := get(t, s, mine.ID).Status; got != model.StatusDown {
		t.Errorf("by a stranger's word the port is %s", got)
	}
	report(t, s, "h1", done)
	if got := get(t, s, mine.ID).Status; got != model.StatusActive {
		t.Errorf("with all words the port is %s", got)
	}
	// Another that waits for DHCP waits no longer when there is none.
	last := s.Port(n, func(p *model.Port) { p.HostID = "h1" })
	report(t, s, "h1", word(last, wire.EntityL2, wire.State_DONE, last.Wiring))
	if got := get(t, s, last.ID).Status; got != model.StatusDown {
		t.Errorf("without DHCP's word the last port is %s", got)
	}
	s.StopDHCP(sub)
	if got := get(t, s, last.ID).Status; got != model.StatusActive {
		t.Errorf("with nobody to wait for the last port is %s", got)
	}
}

// served waits until a host serves a network's DHCP.
func served(t *testing.T, s *sessiontest.Server, network, host string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; <-time.After(2 * time.Millisecond) {
		var n int64
		s.Read(func(ctx context.Context, tx store.Tx) (err error) {
			n, _, err = store.Int(ctx, tx, store.Q("SELECT COUNT(*) FROM dhcp_hosts WHERE network_id = ? AND host = ? AND port_id <> ''", network, host))
			return err
		})
		if n == 1 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("host %s never served the network", host)
		}
	}
}

func TestAnInterfaceIsTheThirdOccasionToBind(t *testing.T) {
	c := sessiontest.New(t)
	s := c.Start(sessiontest.Options{})
	n := s.Network(model.TypeVXLAN, 11)
	p := s.Port(n, func(p *model.Port) { p.HostID = "h1" })
	if p.VIFType != model.VIFBindingFailed {
		t.Fatalf("without an agent the port is %s", p.VIFType)
	}
	// The agent comes without its followers being told, as when the server died between the two transactions.
	s.Agents.Follow()
	connect(t, s, "h1", sessiontest.Facts(1))
	if got := get(t, s, p.ID); got.VIFType != model.VIFBindingFailed {
		t.Fatalf("nobody bound the port, and it is %s", got.VIFType)
	}
	report(t, s, "h2", word(p, wire.EntityL2, wire.State_PLUGGED, 0))
	if got := get(t, s, p.ID); got.VIFType != model.VIFBindingFailed {
		t.Errorf("an interface on another host made it %s", got.VIFType)
	}
	report(t, s, "h1", word(p, wire.EntityL2, wire.State_PLUGGED, 0))
	got := get(t, s, p.ID)
	if got.VIFType != model.VIFOVS || got.Wiring <= p.Wiring {
		t.Errorf("with its interface there the port is %s at wiring %d", got.VIFType, got.Wiring)
	}
	report(t, s, "h1", word(p, wire.EntityL2, wire.State_DONE, got.Wiring))
	if got := get(t, s, p.ID); got.Status != model.StatusActive {
		t.Errorf("done, and the port is %s", got.Status)
	}
}

func TestWhyAPortIsNotActive(t *testing.T) {
	c := sessiontest.New(t)
	s := c.Start(sessiontest.Options{})
	connect(t, s, "h1", sessiontest.Facts(1))
	plain := sessiontest.Facts(2)
	plain.Agents = plain.Agents[:1]
	plain.Agents[0].Configurations, plain.TunnelIp = []byte(`{"bridge_mappings": {}}`), ""
	connect(t, s, "h2", plain)
	overlay, physical := s.Network(model.TypeVXLAN, 11), s.Network(model.TypeFlat, 0)
	why := func(p model.Port) status.Explanation {
		t.Helper()
		var e status.Explanation
		s.Read(func(ctx context.Context, tx store.Tx) (err error) {
			e, err = s.Status.Why(ctx, tx, p.ID)
			return err
		})
		return e
	}
	on := func(network, host string) model.Port { return s.Port(network, func(p *model.Port) { p.HostID = host }) }
	for _, tc := range []struct {
		name string
		port model.Port
		say  func(model.Port) []*wire.Status
		want string
	}{
		{"no host", on(overlay, ""), nil, "the port has no host"},
		{"an unknown host", on(overlay, "h3"), nil, "no agent of it ever opened a session"},
		{"no tunnels", on(overlay, "h2"), nil, "has no address for tunnels"},
		{"no mapping", on(physical, "h2"), nil, "has no bridge_mappings for physical network public"},
		{"nothing plugged", on(overlay, "h1"), nil, "no interface of the port is plugged on host h1"},
		{"switched off", on(overlay, "h1"), func(p model.Port) []*wire.Status {
			off := word(p, wire.EntityL2, wire.State_UNPLUGGED, p.Wiring)
			off.Detail = "the network is administratively down"
			return []*wire.Status{off}
		}, "l2 on host h1: the network is administratively down"},
		{"a failure", on(overlay, "h1"), func(p model.Port) []*wire.Status {
			failed := word(p, wire.EntityL2, wire.State_FAILED, p.Wiring)
			failed.Detail = "no such bridge"
			return []*wire.Status{word(p, wire.EntityL2, wire.State_PLUGGED, 0), failed}
		}, "l2 on host h1 failed: no such bridge"},
		{"an older wiring", on(overlay, "h1"), func(p model.Port) []*wire.Status {
			return []*wire.Status{word(p, wire.EntityL2, wire.State_PLUGGED, 0), word(p, wire.EntityL2, wire.State_DONE, p.Wiring-1)}
		}, "is done with generation"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.say != nil {
				report(t, s, "h1", tc.say(tc.port)...)
			}
			e := why(tc.port)
			if len(e.Reasons) != 1 || !strings.Contains(e.Reasons[0], tc.want) {
				t.Errorf("the reasons are %q, want one with %q", e.Reasons, tc.want)
			}
		})
	}
	p := on(overlay, "h1")
	report(t, s, "h1", word(p, wire.EntityL2, wire.State_PLUGGED, 0), word(p, wire.EntityL2, wire.State_DONE, p.Wiring))
	if e := why(p); len(e.Reasons) != 0 || e.Status != model.StatusActive || len(e.Entities) != 1 || !e.Entities[0].Done || !e.Entities[0].Alive {
		t.Errorf("an ACTIVE port is explained: %+v", e)
	}
	s.Read(func(ctx context.Context, tx store.Tx) error {
		if _, err := s.Status.Why(ctx, tx, "nothing"); !store.IsNotFound(err) {
			t.Errorf("a port that is not: %v", err)
		}
		return nil
	})
}

// TestQoSHoldsNoPortBack: a limit that a host cannot keep is told, and the port is ACTIVE all the same; with nothing to keep nothing is told.
func TestQoSHoldsNoPortBack(t *testing.T) {
	c := sessiontest.New(t)
	s := c.Start(sessiontest.Options{})
	connect(t, s, "h1", sessiontest.Facts(1))
	p := s.Port(s.Network(model.TypeVXLAN, 11), func(p *model.Port) { p.HostID = "h1" })
	said := func() (out []status.Entity) {
		s.Read(func(ctx context.Context, tx store.Tx) error {
			e, err := s.Status.Why(ctx, tx, p.ID)
			for _, x := range e.Entities {
				if x.Entity == wire.EntityQoS {
					out = append(out, x)
				}
			}
			return err
		})
		return out
	}
	failed := word(p, wire.EntityQoS, wire.State_FAILED, p.Wiring)
	failed.Detail = "no meters"
	report(t, s, "h1", word(p, wire.EntityL2, wire.State_DONE, p.Wiring), failed)
	if got := get(t, s, p.ID).Status; got != model.StatusActive {
		t.Errorf("a limit that cannot be kept made the port %s", got)
	}
	if got := said(); len(got) != 1 || got[0].Required || got[0].Detail != "no meters" || got[0].State != "FAILED" {
		t.Errorf("of the limit is said %+v", got)
	}
	report(t, s, "h1", word(p, wire.EntityQoS, wire.State_UNPLUGGED, p.Wiring))
	if got := said(); len(got) != 0 {
		t.Errorf("with no limit left is said %+v", got)
	}
}
