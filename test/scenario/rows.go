package scenario

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"isospin/internal/lab"
)

// lease holds what DHCP clients were told against what the API says.
func lease(t *testing.T, s *Stage) {
	for _, g := range []*lab.Guest{s.One, s.Beside, s.Far} {
		b, err := os.ReadFile(filepath.Join(s.Dir(), "guests", g.Name, "dhcp.lease"))
		must(t, err)
		told := map[string]string{}
		for line := range strings.Lines(string(b)) {
			if k, v, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
				told[k] = v
			}
		}
		for k, v := range map[string]string{"ip": s.Address(t, g).String(), "router": nth(s.prefixes[IPv4], 1), "mtu": strconv.Itoa(s.MTU), "dns": "192.0.2.53"} {
			if told[k] != v {
				t.Errorf("%s was told %s=%q, want %q", g.Name, k, told[k], v)
			}
		}
		if got := s.Show(t, "port", g.PortID).Text("status"); got != "ACTIVE" {
			t.Errorf("port of %s is %s", g.Name, got)
		}
	}
}

// connectivity: guests reach each other on one host and across, with the largest packets and by TCP.
func connectivity(t *testing.T, s *Stage) {
	for _, pair := range [][2]*lab.Guest{{s.One, s.Far}, {s.Far, s.Beside}, {s.One, s.Beside}} {
		s.ReachFull(t, pair[0], s.Address(t, pair[1]))
		s.Transfer(t, pair[0], pair[1])
	}
}

// outside: a flat network has the operator's own wire.
func outside(t *testing.T, s *Stage) {
	for _, g := range []*lab.Guest{s.One, s.Far} {
		s.ReachFull(t, g, netip.MustParseAddr(nth(s.prefixes[s.Family], 1)))
	}
}

func networksApart(t *testing.T, s *Stage) { s.apart(t, s.near) }

func projectsApart(t *testing.T, s *Stage) {
	s.apart(t, s.nearer.With(Object{"project_id": "another"}))
}

// apart holds the stage's network apart from one with the same prefixes, on which a guest has an address of Far's and another an
// address that nobody else has.
func (s *Stage) apart(t *testing.T, attributes Object) {
	n := s.network(t, "stranger", attributes, s.prefixes)
	twin := s.Create(t, "port", Object{"network_id": n.ID(), "project_id": n.Text("project_id"), "fixed_ips": s.same(t, n.ID(), s.Far)})
	alone := s.Create(t, "port", Object{"network_id": n.ID(), "project_id": n.Text("project_id"), "fixed_ips": s.fixed(t, n.ID(), 150)})
	strangers := s.Boot(t, Birth{Name: "twin", Host: "h2", Port: twin.ID(), Static: true}, Birth{Name: "alone", Host: "h1", Port: alone.ID(), Static: true})
	far := s.Address(t, s.Far)
	s.Reach(t, strangers["alone"], far) // Who answers is twin: its network works.
	mine, theirs := s.Echoes(t, s.Far), s.Echoes(t, strangers["twin"])
	s.On(t, s.One.Name, "ping", "-c5", "-i"+s.interval(), "-W5", far.String())
	if got := s.Echoes(t, s.Far) - mine; got != 5 {
		t.Errorf("far saw %d of 5 pings", got)
	}
	// A guest that knows a stranger's address and MAC address gets nothing to it either.
	for _, g := range strangers {
		before, to := s.Echoes(t, g), s.Address(t, g)
		if g.Name == "alone" {
			s.Silent(t, s.One, to)
		}
		s.On(t, s.One.Name, "ip", "neighbour", "replace", to.String(), "lladdr", g.MAC, "dev", "eth0", "nud", "permanent")
		s.Silent(t, s.One, to)
		s.On(t, s.One.Name, "ip", "neighbour", "del", to.String(), "dev", "eth0")
		if got := s.Echoes(t, g) - before; got != 0 {
			t.Errorf("%d pings came to %s, of another network", got, g.Name)
		}
	}
	if got := s.Echoes(t, strangers["twin"]) - theirs; got != 0 {
		t.Errorf("%d pings came to twin, of another network", got)
	}
	s.Reach(t, s.One, far)
}

// same asks for a guest's addresses on another network.
func (s *Stage) same(t *testing.T, network string, g *lab.Guest) []Object {
	t.Helper()
	var out []Object
	for _, sub := range s.List(t, "subnet", "network_id="+network) {
		for _, ip := range g.IPs {
			if netip.MustParsePrefix(sub.Text("cidr")).Contains(netip.MustParseAddr(ip)) {
				out = append(out, Object{"subnet_id": sub.ID(), "ip_address": ip})
			}
		}
	}
	return out
}

// agentKilled: an agent that dies at once and comes again loses no packet, on either host.
func agentKilled(t *testing.T, s *Stage) {
	s.Unharmed(t, s.One, s.Address(t, s.Far), func() {
		for _, h := range []string{"h1", "h2"} {
			must(t, errors.Join(s.AgentKill(t.Context(), h), s.AgentStart(t.Context(), h)))
		}
	})
}

// agentRestarted: one that is stopped in order loses none either, and a guest that boots afterwards is wired.
func agentRestarted(t *testing.T, s *Stage) {
	s.Unharmed(t, s.Far, s.Address(t, s.Beside), func() { must(t, s.AgentRestart(t.Context(), "h2")) })
	late := s.Boot(t, Birth{Name: "late", Host: "h2", Network: s.Network.ID(), Static: true})["late"]
	s.Reach(t, s.One, s.Address(t, late))
}

// switchKilled: with a new ovs-vswitchd everything is back.
func switchKilled(t *testing.T, s *Stage) {
	must(t, s.SwitchRestart(t.Context(), "h2"))
	s.ReachFull(t, s.One, s.Address(t, s.Far))
	s.status(t, s.Far.PortID, "ACTIVE")
}

// portDown: a port that is taken down passes nothing, and everything again once it is up.
func portDown(t *testing.T, s *Stage) {
	s.Update(t, "port", s.Far.PortID, Object{"admin_state_up": false})
	s.status(t, s.Far.PortID, "DOWN")
	s.Silent(t, s.One, s.Address(t, s.Far))
	s.Silent(t, s.Far, s.Address(t, s.Beside))
	s.Update(t, "port", s.Far.PortID, Object{"admin_state_up": true})
	s.status(t, s.Far.PortID, "ACTIVE")
	s.ReachFull(t, s.One, s.Address(t, s.Far))
}

// migration: a guest moves to the other host and back; its connections live on.
func migration(t *testing.T, s *Stage) {
	talk := s.Talk(t, s.One, s.Far, 5002)
	must(t, talk.Says("before", s.within(5*time.Second)))
	for _, to := range []string{"h1", "h2"} {
		g, err := s.Migrate(t.Context(), s.Far.Name, to)
		must(t, err)
		*s.Far = *g
		if err := talk.Says("on "+to, s.within(10*time.Second)); err != nil {
			t.Errorf("the connection did not live on to %s: %v", to, err)
		}
		s.ReachFull(t, s.Beside, s.Address(t, s.Far))
	}
}
