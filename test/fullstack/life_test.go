//go:build integration

package fullstack

import (
	"strings"
	"testing"
	"time"
)

// TestPortLife: a port is ACTIVE while its guest is plugged, DOWN when not, moves with its guest, and is forgotten by
// every host after its end.
func TestPortLife(t *testing.T) {
	s := bring(t, "", whole("h1"), whole("h2"), whole("h3"))
	n := s.net(t, "life", "10.40.0.0/24", nil)
	g := s.boot(t, birth{name: "one", host: "h1", network: n.id()}, birth{name: "two", host: "h2", network: n.id()}, birth{name: "three", host: "h3", network: n.id()})
	two := g["two"]
	ip := two.IPs[0]
	s.reach(t, "one", ip)

	t.Run("unplugged and plugged", func(t *testing.T) {
		s.pull(t, two)
		t.Logf("DOWN %d ms after the unplug", s.status(t, two.PortID, "DOWN").Milliseconds())
		s.silent(t, "one", ip)
		s.put(t, two)
		t.Logf("ACTIVE %d ms after the plug", s.status(t, two.PortID, "ACTIVE").Milliseconds())
		s.reach(t, "one", ip)
	})
	t.Run("switched off and on in the API", func(t *testing.T) {
		s.update(t, "port", two.PortID, object{"admin_state_up": false})
		s.status(t, two.PortID, "DOWN")
		until(t, 5*time.Second, "no answer", func() (bool, string) {
			_, err := s.Exec(t.Context(), "one", "ping", "-c1", "-W0.2", ip)
			return err != nil, "there is one"
		})
		s.update(t, "port", two.PortID, object{"admin_state_up": true})
		s.status(t, two.PortID, "ACTIVE")
		s.reach(t, "one", ip)
	})
	t.Run("migrated", func(t *testing.T) {
		p := s.start(t, "one", ip)
		moved, err := s.Migrate(t.Context(), "two", "h3")
		must(t, err)
		lost := p.stop(t)
		t.Logf("%d pings of 10 ms were lost", lost)
		if lost > 50 {
			t.Errorf("%d pings were lost", lost)
		}
		if moved.Host != "h3" || s.show(t, "port", two.PortID).text("binding:host_id") != "h3" {
			t.Errorf("the guest is on %s", moved.Host)
		}
		s.reach(t, "three", ip)
		s.transfer(t, "one", "two", ip)
		until(t, 5*time.Second, "h2 forgets the guest", func() (bool, string) {
			ports := s.on(t, "h2", "ovs-vsctl", "--db=unix:"+s.Dir()+"/hosts/h2/ovs/db.sock", "list-ports", "br-int")
			return !strings.Contains(ports, two.Plug.Device) && !strings.Contains(s.flows(t, "h2"), two.MAC), s.flows(t, "h2")
		})
		_, err = s.Migrate(t.Context(), "two", "h2")
		must(t, err)
		s.reach(t, "one", ip)
	})
	t.Run("another address", func(t *testing.T) {
		s.update(t, "port", two.PortID, object{"fixed_ips": []object{{"ip_address": "10.40.0.77"}}})
		until(t, 5*time.Second, "a lease of the new address", func() (bool, string) {
			got := s.ask(t, "two")
			return got["ip"] == "10.40.0.77", flat(got)
		})
		s.on(t, "two", "ip", "address", "add", "10.40.0.77/24", "dev", "eth0")
		s.on(t, "one", "ip", "neighbour", "flush", "all")
		s.reach(t, "one", "10.40.0.77")
		s.update(t, "port", two.PortID, object{"fixed_ips": []object{{"ip_address": ip}}})
	})
	t.Run("deleted", func(t *testing.T) {
		s.destroy(t, "two")
		for _, h := range []string{"h1", "h2", "h3"} {
			until(t, 5*time.Second, h+" forgets the port", func() (bool, string) {
				flows := s.flows(t, h)
				return !strings.Contains(flows, two.MAC), flows
			})
		}
		s.silent(t, "one", ip)
		s.reach(t, "one", g["three"].IPs[0])
	})
	s.destroy(t, "one", "three")
	s.remove(t, "network", n.id())
	s.forgotten(t, n.id(), "h1", "h2", "h3")
}

// TestHostCut: a host that is cut from the server goes on, learns what it missed when it is mended, and one that is cut
// from the others' tunnels only loses what goes there.
func TestHostCut(t *testing.T) {
	s := bring(t, "", whole("h1"), whole("h2"))
	n := s.net(t, "cut", "10.41.0.0/24", nil)
	g := s.boot(t, birth{name: "one", host: "h1", network: n.id()}, birth{name: "two", host: "h2", network: n.id()})
	// A cable that is pulled is a device that changes: see unharmed. Traffic itself does not go that way.
	beside := func(what string, do func() error) {
		p := s.start(t, "one", g["two"].IPs[0])
		must(t, do())
		if lost := p.stop(t); lost > 3 {
			t.Errorf("%d pings were lost when the host was %s", lost, what)
		}
	}
	beside("cut", func() error { return s.HostCut(t.Context(), "h2", "mgmt") })
	fresh := s.static(t, birth{name: "new", host: "h1", network: n.id()})["new"].IPs[0]
	s.reach(t, "one", fresh)
	beside("mended", func() error { return s.HostMend(t.Context(), "h2") })
	s.on(t, "two", "ip", "neighbour", "flush", "all")
	took := s.reach(t, "two", fresh)
	t.Logf("the host that was cut reaches the new guest %d ms after it was mended", took.Milliseconds())

	must(t, s.HostCut(t.Context(), "h2", "underlay"))
	s.silent(t, "one", g["two"].IPs[0])
	s.reach(t, "one", fresh)
	must(t, s.HostMend(t.Context(), "h2", "underlay"))
	s.reach(t, "one", g["two"].IPs[0])
}
