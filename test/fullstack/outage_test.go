//go:build integration

package fullstack

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// TestServerAway kills the server under traffic: hosts go on, also those whose agent or whose every process is restarted
// meanwhile, and within three seconds of its return the agents know what is new.
func TestServerAway(t *testing.T) {
	s := bring(t, "", whole("h1"), whole("h2"))
	n := s.net(t, "away", "10.50.0.0/24", nil)
	v := s.net(t, "away-vlan", "10.51.0.0/24", object{"provider:network_type": "vlan", "provider:physical_network": "physnet1", "provider:segmentation_id": 555})
	g := s.boot(t, birth{name: "one", host: "h1", network: n.id()}, birth{name: "two", host: "h2", network: n.id()},
		birth{name: "three", host: "h1", network: v.id()}, birth{name: "four", host: "h2", network: v.id()})
	at := s.served(t, n.id(), 1)[0].text("binding:host_id")
	there := map[string]string{"h1": "h2", "h2": "h1"}[at]

	t.Run("killed and started", func(t *testing.T) {
		s.unharmed(t, "one", g["two"].IPs[0], func() {
			must(t, s.ServerKill(t.Context()))
			s.told(t, "one", g["one"].IPs[0])
			s.told(t, "two", g["two"].IPs[0])
			must(t, s.ServerStart(t.Context()))
			s.alive(t, "h1")
			s.alive(t, "h2")
		})
		must(t, s.ServerRestart(t.Context()))
		s.converge(t, time.Now(), n.id())
	})
	t.Run("agents restarted with the server away", func(t *testing.T) {
		p := []*steady{s.start(t, "one", g["two"].IPs[0]), s.start(t, "three", g["four"].IPs[0])}
		must(t, s.ServerKill(t.Context()))
		for _, h := range []string{"h1", "h2"} {
			must(t, errors.Join(s.AgentKill(t.Context(), h), s.AgentStart(t.Context(), h)))
		}
		for name, guest := range g {
			s.told(t, name, guest.IPs[0])
		}
		for _, st := range p {
			if lost := st.stop(t); lost > 0 {
				t.Errorf("%d pings from %s were lost", lost, st.from)
			}
		}
		s.transfer(t, "four", "three", g["three"].IPs[0])
	})
	// The server is still away.
	t.Run("machine restarted with the server away", func(t *testing.T) {
		must(t, s.HostStop(t.Context(), at))
		s.silent(t, guestOn(there), g[guestOn(at)].IPs[0])
		must(t, s.HostStart(t.Context(), at)) // Its guests get their leases again, from its own disk.
		for name, guest := range g {
			s.told(t, name, guest.IPs[0])
		}
		s.reach(t, "one", g["two"].IPs[0])
		s.reach(t, "two", g["one"].IPs[0])
		s.reach(t, "three", g["four"].IPs[0])
		s.transfer(t, "one", "two", g["two"].IPs[0])
	})
	t.Run("the server returns", func(t *testing.T) {
		w := []*watchers{s.watch(t, "h1"), s.watch(t, "h2")}
		p := s.start(t, "one", g["two"].IPs[0])
		must(t, s.ServerStart(t.Context()))
		began := time.Now()
		for _, guest := range g {
			s.status(t, guest.PortID, "ACTIVE")
		}
		for _, h := range []string{"h1", "h2"} {
			s.alive(t, h)
		}
		p.more(t, 50)
		for _, each := range w {
			each.silent(t) // Nothing is new.
		}
		if lost := p.stop(t); lost > 0 {
			t.Errorf("%d pings were lost", lost)
		}
		t.Logf("agents alive and ports ACTIVE %d ms after the server's return", time.Since(began).Milliseconds())
		s.converge(t, time.Now(), n.id())
	})
}

// alive waits until the API shows all agents of a host alive.
func (s *stack) alive(t *testing.T, host string) {
	t.Helper()
	until(t, 3*time.Second, "agents of "+host+" alive", func() (bool, string) {
		agents := s.list(t, "agent", "host="+host)
		for _, a := range agents {
			if a["alive"] != true {
				return false, a.text("binary")
			}
		}
		return len(agents) > 0, "none"
	})
}

// guestOn is one of TestServerAway's guests on the first network.
func guestOn(host string) string { return map[string]string{"h1": "one", "h2": "two"}[host] }

// told fails the test unless a DHCP client in the guest is told its address.
func (s *stack) told(t *testing.T, guest, ip string) {
	t.Helper()
	if got := s.ask(t, guest); got["ip"] != ip {
		t.Errorf("%s was told %q by DHCP, want %s", guest, got["ip"], ip)
	}
}

// converge makes something new on every host and fails the test unless it works three seconds after began.
func (s *stack) converge(t *testing.T, began time.Time, network string) {
	t.Helper()
	a, b := "new-a", "new-b"
	g := s.boot(t, birth{name: a, host: "h1", network: network}, birth{name: b, host: "h2", network: network})
	s.reach(t, a, g[b].IPs[0])
	took := time.Since(began)
	t.Logf("%d ms after the server was back, new guests on both hosts have leases and reach each other", took.Milliseconds())
	if took > 3*time.Second {
		t.Errorf("agents converged after %s, want 3 s at most", took)
	}
	s.destroy(t, a, b)
}

// TestSwitchRestart kills vswitchd, whose flows are gone with it: the agent makes them again within two seconds, without
// being restarted itself.
func TestSwitchRestart(t *testing.T) {
	s := bring(t, "", whole("h1"), whole("h2"))
	n := s.net(t, "switch", "10.52.0.0/24", nil)
	v := s.net(t, "switch-vlan", "10.53.0.0/24", object{"provider:network_type": "vlan", "provider:physical_network": "public", "provider:segmentation_id": 56})
	g := s.boot(t, birth{name: "one", host: "h1", network: n.id()}, birth{name: "two", host: "h2", network: n.id()},
		birth{name: "three", host: "h1", network: v.id()}, birth{name: "four", host: "h2", network: v.id()})
	s.reach(t, "one", g["two"].IPs[0])
	before, agent := portless(s.flows(t, "h1")), s.pid(t, "h1/agent")
	p := s.start(t, "one", g["two"].IPs[0])
	must(t, s.SwitchRestart(t.Context(), "h1"))
	began := time.Now()
	s.reach(t, "one", g["two"].IPs[0])
	s.reach(t, "three", g["four"].IPs[0])
	took := time.Since(began)
	t.Logf("traffic is back %d ms after vswitchd; %d pings of 10 ms were lost from its kill on", took.Milliseconds(), p.stop(t))
	if took > 2*time.Second {
		t.Errorf("traffic was back after %s, want 2 s at most", took)
	}
	until(t, 3*time.Second, "the flows are as before", func() (bool, string) {
		return portless(s.flows(t, "h1")) == before, s.flows(t, "h1")
	})
	for name, guest := range g {
		s.told(t, name, guest.IPs[0])
		s.status(t, guest.PortID, "ACTIVE")
	}
	if s.pid(t, "h1/agent") != agent {
		t.Error("the agent was restarted")
	}
}

// portless counts flows: what is in them names port numbers, which a restart of the switch may change.
func portless(flows string) int { return len(strings.Split(flows, "\n")) }

// TestHostRestart switches a host off and on while everything else runs: its guests are as before, and so is DHCP.
func TestHostRestart(t *testing.T) {
	s := bring(t, "", whole("h1"), whole("h2"))
	n := s.net(t, "power", "10.54.0.0/24", nil)
	g := s.boot(t, birth{name: "one", host: "h1", network: n.id()}, birth{name: "two", host: "h2", network: n.id()})
	for _, h := range []string{"h1", "h2"} {
		began := time.Now()
		must(t, errors.Join(s.HostStop(t.Context(), h), s.HostStart(t.Context(), h)))
		s.reach(t, "one", g["two"].IPs[0])
		s.reach(t, "two", g["one"].IPs[0])
		t.Logf("%s off, on, and its guest reached after %d ms", h, time.Since(began).Milliseconds())
		for name, guest := range g {
			s.told(t, name, guest.IPs[0])
			s.status(t, guest.PortID, "ACTIVE")
		}
	}
}
