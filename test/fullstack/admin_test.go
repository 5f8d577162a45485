//go:build integration

package fullstack

import (
	"strings"
	"testing"
	"time"
)

// why is why a port is not ACTIVE.
func (s *stack) why(t *testing.T, port string) string {
	t.Helper()
	var told struct{ Reasons []string }
	_, err := s.api.Get(t.Context(), s.api.Endpoint+"isospin/why/port/"+port, &told, nil)
	must(t, err)
	return strings.Join(told.Reasons, "; ")
}

// TestNetworkDown: a network that is administratively down carries nothing and gives no addresses, others go on, and it is back as soon as it is up.
func TestNetworkDown(t *testing.T) {
	s := bring(t, "", whole("h1"), whole("h2"))
	n, other := s.net(t, "down", "10.63.0.0/24", nil), s.net(t, "other", "10.64.0.0/24", nil)
	g := s.boot(t, birth{name: "one", host: "h1", network: n.id()}, birth{name: "beside", host: "h1", network: n.id()}, birth{name: "far", host: "h2", network: n.id()},
		birth{name: "x", host: "h1", network: other.id()}, birth{name: "y", host: "h2", network: other.id()})
	for _, to := range []string{"beside", "far"} {
		s.reach(t, "one", g[to].IPs[0])
	}
	p := s.start(t, "x", g["y"].IPs[0])
	s.update(t, "network", n.id(), object{"admin_state_up": false})
	for _, name := range []string{"one", "beside", "far"} {
		s.status(t, g[name].PortID, "DOWN")
	}
	if lost := p.stop(t); lost > 3 { // DHCP's device goes: see unharmed
		t.Errorf("%d pings of another network were lost", lost)
	}
	for _, to := range []string{"beside", "far"} {
		s.silent(t, "one", g[to].IPs[0])
	}
	if got := s.ask(t, "far"); got != nil {
		t.Errorf("a guest was told %v", got)
	}
	if said := s.why(t, g["one"].PortID); !strings.Contains(said, "the network is administratively down") {
		t.Errorf("why says %s", said)
	}
	s.update(t, "network", n.id(), object{"admin_state_up": true})
	for _, name := range []string{"one", "beside", "far"} {
		s.status(t, g[name].PortID, "ACTIVE")
	}
	for _, to := range []string{"beside", "far"} {
		s.reach(t, "one", g[to].IPs[0])
	}
	until(t, 5*time.Second, "a lease", func() (bool, string) {
		got := s.ask(t, "far")
		return got["ip"] == g["far"].IPs[0], flat(got)
	})
}
