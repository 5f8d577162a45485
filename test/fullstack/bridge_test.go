//go:build integration

package fullstack

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"isospin/internal/lab"
)

// bridged is a host of Linux bridges that every network reaches.
func bridged(name string) lab.HostSpec { return lab.HostSpec{Name: name, Mechanism: lab.LinuxBridge} }

// links are a host's devices, without numbers.
func (s *stack) links(t *testing.T, host string) []string {
	t.Helper()
	var out []string
	for line := range strings.Lines(s.on(t, host, "ip", "-br", "link")) {
		name, _, _ := strings.Cut(strings.Fields(line)[0], "@")
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// TestBothMechanisms: networks that hosts with Open vSwitch and with Linux bridges share. Guests get their leases whoever serves them, reach each other
// both ways with IPv4 and IPv6 and the largest packets, and nothing is left when they are gone. Without port security: the kernels of containers track
// no connections on bridges; with it the table of scenarios is played in test/vmlab.
func TestBothMechanisms(t *testing.T) {
	s := bring(t, "[DEFAULT]\ndhcp_agents_per_network = 3\n", whole("h1"), bridged("h2"), bridged("h3"))
	before := map[string][]string{}
	for _, h := range []string{"h2", "h3"} {
		before[h] = s.links(t, h)
	}
	agents := 0
	for _, a := range s.list(t, "agent", "agent_type=Linux%20bridge%20agent") {
		conf, _ := a["configurations"].(map[string]any)
		if a.text("binary") != "neutron-linuxbridge-agent" || a["alive"] != true || fmt.Sprint(conf["tunnel_types"]) != "[vxlan]" || conf["interface_mappings"] == nil {
			t.Errorf("agent: %v", a)
		}
		agents++
	}
	if agents != 2 {
		t.Errorf("%d Linux bridge agents", agents)
	}
	for i, k := range []struct {
		name string
		make object
		mtu  int
	}{
		{"vxlan", object{}, 1450},
		{"vxlan2", object{"provider:network_type": "vxlan", "provider:segmentation_id": 77}, 1450},
		{"vxlan3", object{"mtu": 1400}, 1400},
		{"flat", object{"provider:network_type": "flat", "provider:physical_network": "public"}, 1500},
	} {
		t.Run(k.name, func(t *testing.T) {
			prefix := fmt.Sprintf("10.9.%d.", i)
			if k.name == "flat" {
				prefix = "203.0.113."
			}
			n := s.create(t, "network", with(k.make, object{"name": k.name, "port_security_enabled": false}))
			s.create(t, "subnet", object{"network_id": n.id(), "ip_version": 4, "cidr": prefix + "0/24", "allocation_pools": []object{{"start": prefix + "20", "end": prefix + "99"}}})
			births := []birth{{name: k.name + "-1", host: "h1", network: n.id()}, {name: k.name + "-2", host: "h2", network: n.id()}, {name: k.name + "-3", host: "h3", network: n.id()}}
			guests := s.boot(t, births...)
			for _, p := range s.served(t, n.id(), 3) { // one on each host, and all of them reach each other
				for _, b := range births {
					s.reach(t, b.name, p["fixed_ips"].([]any)[0].(map[string]any)["ip_address"].(string))
				}
			}
			if k.name == "vxlan" { // the server on h1 is in its agent
				must(t, s.AgentStop(t.Context(), "h1"))
				for _, b := range births {
					if told := s.ask(t, b.name); told["ip"] != guests[b.name].IPs[0] {
						t.Errorf("%s is told %v without h1", b.name, told)
					}
				}
				must(t, s.AgentStart(t.Context(), "h1"))
			}
			for _, a := range births {
				if p := s.show(t, "port", guests[a.name].PortID); p.text("status") != "ACTIVE" {
					t.Errorf("%s is %s", a.name, p.text("status"))
				}
				for _, b := range births {
					if a != b {
						s.reachFull(t, a.name, guests[b.name].IPs[0], k.mtu)
					}
				}
			}
			s.transfer(t, births[0].name, births[1].name, guests[births[1].name].IPs[0])
			s.transfer(t, births[1].name, births[0].name, guests[births[0].name].IPs[0])
			s.transfer(t, births[1].name, births[2].name, guests[births[2].name].IPs[0])
			if k.name == "flat" {
				s.reachFull(t, "flat-2", "203.0.113.1", 1500)
			}
			for _, b := range births {
				s.destroy(t, b.name)
			}
			s.remove(t, "network", n.id())
			s.forgotten(t, n.id(), "h1")
			for h, want := range before {
				until(t, 5*time.Second, "nothing of the network on "+h, func() (bool, string) {
					now, spaces := s.links(t, h), s.on(t, h, "ip", "netns", "list")
					return slices.Equal(now, want) && !strings.Contains(spaces, n.id()), fmt.Sprint(now, spaces)
				})
			}
		})
	}
}

// TestBridgeHostLives: with IPv4 and IPv6, what a host of Linux bridges does not notice (its agent restarts, or is killed, and the server is away) and
// what it does (a port that moves to it, one that is down).
func TestBridgeHostLives(t *testing.T) {
	s := bring(t, "", whole("h1"), bridged("h2"), bridged("h3"))
	n := s.net(t, "dual", "10.11.0.0/24", object{"port_security_enabled": false})
	s.create(t, "subnet", object{"network_id": n.id(), "ip_version": 6, "cidr": "2001:db8:11::/64"})
	other := s.net(t, "other", "10.11.0.0/24", object{"port_security_enabled": false})
	guests := s.static(t, birth{name: "ovs", host: "h1", network: n.id()}, birth{name: "lb", host: "h2", network: n.id()}, birth{name: "lb2", host: "h3", network: n.id()},
		birth{name: "alone", host: "h2", network: other.id()})
	addresses := func(name string) (four, six string) {
		for _, ip := range guests[name].IPs {
			if netip.MustParseAddr(ip).Is4() {
				four = ip
			} else {
				six = ip
			}
		}
		return four, six
	}
	var all []*steady
	for _, pair := range [][2]string{{"ovs", "lb"}, {"lb", "ovs"}, {"lb", "lb2"}, {"lb2", "lb"}} {
		four, six := addresses(pair[1])
		s.reachFull(t, pair[0], four, 1450)
		s.reach(t, pair[0], six)
		all = append(all, s.start(t, pair[0], four), s.start(t, pair[0], six))
	}
	four, _ := addresses("ovs")
	s.silent(t, "alone", four) // the same addresses on another network
	must(t, s.AgentRestart(t.Context(), "h2"))
	must(t, s.AgentKill(t.Context(), "h2"))
	must(t, s.AgentStart(t.Context(), "h2"))
	for _, st := range all {
		if lost := st.stop(t); lost > 0 {
			t.Errorf("%d pings from %s to %s were lost", lost, st.from, st.to)
		}
	}
	s.update(t, "port", guests["lb2"].PortID, object{"admin_state_up": false})
	s.status(t, guests["lb2"].PortID, "DOWN")
	four, _ = addresses("lb2")
	s.silent(t, "lb", four)
	s.update(t, "port", guests["lb2"].PortID, object{"admin_state_up": true})
	s.status(t, guests["lb2"].PortID, "ACTIVE")
	s.reach(t, "lb", four)
	four, six := addresses("lb")
	_, err := s.Migrate(t.Context(), "lb", "h3")
	must(t, err)
	for _, from := range []string{"ovs", "lb2"} {
		s.reach(t, from, four)
		s.reach(t, from, six)
	}
}
