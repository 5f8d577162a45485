package dhcp

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"go.uber.org/goleak"

	"isospin/internal/reconcile"
	"isospin/internal/reconcile/reconciletest"

	"isospin/internal/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// manyNetworks are values that differ in what is told and in where it is told.
func manyNetworks(n int) map[string][]Network {
	out := map[string][]Network{}
	for i := range n {
		a := testNetwork()
		a.ID, a.Interface = fmt.Sprintf("net-%d", i), fmt.Sprintf("tap%d", i)
		b, c := a.clone(), a.clone()
		b.MTU, b.Subnets[0].Gateway = 9000, ip("10.0.0.9")
		c.Interface += "-moved"
		out[a.ID] = []Network{a, b, c}
	}
	return out
}

func newServer(t *testing.T, fake *Fake) *Server {
	s := New(Options{Logger: quiet(), Clock: clock.System{}, Open: fake.Open})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestNetworksDriver(t *testing.T) {
	bad := testNetwork()
	bad.ID, bad.Subnets[0].Server = "bad", ip("192.168.0.1")
	reconciletest.Run(t, reconciletest.Subject[string, Network]{
		New: func(t *testing.T) reconciletest.World[string, Network] {
			fake := &Fake{}
			s := newServer(t, fake)
			return reconciletest.World[string, Network]{
				Open: func() reconcile.Driver[string, Network] { return Networks{s} },
				Meddle: func(id string) {
					s.mu.Lock()
					n := s.serving[id]
					where := n.source
					s.mu.Unlock()
					fake.Remove(where.Namespace, where.Interface)
					fake.Restore(where.Namespace, where.Interface)
					<-n.done
				},
			}
		},
		Equal:   Network.Equal,
		Objects: manyNetworks(3),
		Bad:     map[string]Network{"bad": bad, "elsewhere": testNetwork()},
	})
}

func TestReservationsDriver(t *testing.T) {
	a, b := testReservation(), testReservation(Option{"mtu", "9000"})
	b.Hostname, b.IPs = "web", []netip.Addr{ip("10.0.0.6")}
	bad := testReservation()
	bad.MAC = nil
	reconciletest.Run(t, reconciletest.Subject[ReservationKey, Reservation]{
		New: func(t *testing.T) reconciletest.World[ReservationKey, Reservation] {
			s := newServer(t, &Fake{})
			return reconciletest.World[ReservationKey, Reservation]{
				Open:   func() reconcile.Driver[ReservationKey, Reservation] { return Reservations{s} },
				Meddle: func(k ReservationKey) { s.tables[k.Network].drop(k.Port) },
			}
		},
		Equal:   Reservation.Equal,
		Objects: map[ReservationKey][]Reservation{key("a"): {a, b}, key("b"): {b, a}, {"other", "c"}: {a}},
		Bad:     map[ReservationKey]Reservation{key("bad"): bad},
	})
}

// TestBadOption is served without the option and named in the error.
func TestBadOption(t *testing.T) {
	t.Parallel()
	b := newBench(t, testNetwork(), nil)
	err := Reservations{b.server}.Put(t.Context(), map[ReservationKey]Reservation{
		key(testPort): testReservation(Option{"router", "nowhere"}, Option{"hostname", "web"}, Option{"no-such", "1"}), key("good"): testReservation()})
	var errs reconcile.Errors[ReservationKey]
	if !errors.As(err, &errs) || len(errs) != 1 || errs[key(testPort)] == nil {
		t.Fatalf("error: %v", err)
	}
	b = newBench(t, testNetwork(), nil)
	_ = Reservations{b.server}.Put(t.Context(), map[ReservationKey]Reservation{key(testPort): testReservation(Option{"router", "nowhere"}, Option{"hostname", "web"})})
	a := b.mustAsk(message(t, dhcpv4.MessageTypeDiscover), dhcpv4.MessageTypeOffer)
	sent{3: "0a000001", 12: "776562"}.check(t, "beside a bad option", a)
}

// TestChangeKeepsTheSocket changes a network and a port while both are served.
func TestChangeKeepsTheSocket(t *testing.T) {
	t.Parallel()
	b := newBench(t, testNetwork(), map[ReservationKey]Reservation{key(testPort): testReservation()})
	n := testNetwork()
	n.MTU, n.Subnets[0].Gateway = 9000, ip("10.0.0.3")
	if err := (Networks{b.server}).Put(t.Context(), map[string]Network{n.ID: n}); err != nil {
		t.Fatal(err)
	}
	if err := (Reservations{b.server}).Put(t.Context(), map[ReservationKey]Reservation{key(testPort): testReservation(Option{"hostname", "new"})}); err != nil {
		t.Fatal(err)
	}
	sent{26: "2328", 3: "0a000003", 12: "6e6577"}.check(t, "changed", b.mustAsk(message(t, dhcpv4.MessageTypeDiscover), dhcpv4.MessageTypeOffer))
	if b.fake.Opened() != 1 {
		t.Errorf("opened %d times, want once", b.fake.Opened())
	}
	n.Subnets[0].CIDR = netip.Prefix{}
	if err := (Networks{b.server}).Put(t.Context(), map[string]Network{n.ID: n}); err == nil {
		t.Error("a subnet without a prefix was taken")
	}
	b.mustAsk(message(t, dhcpv4.MessageTypeDiscover), dhcpv4.MessageTypeOffer)
}

// TestInterfaceGoesAndComesBack tells of the loss, and serves again when put again.
func TestInterfaceGoesAndComesBack(t *testing.T) {
	t.Parallel()
	fake, lost := &Fake{}, make(chan string, 1)
	s := New(Options{Logger: quiet(), Clock: clock.System{}, Open: fake.Open, Lost: func(id string) { lost <- id }})
	defer s.Close()
	d, n := Networks{s}, testNetwork()
	put := func() error { return d.Put(t.Context(), map[string]Network{n.ID: n}) }
	if err := put(); err != nil {
		t.Fatal(err)
	}
	fake.Remove("ns", "tap")
	select {
	case id := <-lost:
		if id != n.ID {
			t.Fatalf("lost %q", id)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the loss was not told")
	}
	if err := put(); !errors.Is(err, ErrGone) {
		t.Fatalf("put while the interface is missing: %v", err)
	}
	if have, err := d.List(t.Context()); err != nil || len(have) != 0 {
		t.Fatalf("list: %v %v", have, err)
	}
	fake.Restore("ns", "tap")
	if err := put(); err != nil {
		t.Fatal(err)
	}
	if have, _ := d.List(t.Context()); len(have) != 1 {
		t.Fatalf("list: %v", have)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := put(); !errors.Is(err, errStopped) {
		t.Fatalf("put after close: %v", err)
	}
}
