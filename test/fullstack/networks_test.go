//go:build integration

package fullstack

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"isospin/internal/lab"
)

// kinds are the networks that a lab can make: each with what it is asked for, and what comes of it.
func kinds() []struct {
	name  string
	make  object
	mtu   int
	hosts []string // of its guests
} {
	provider := func(kind, physical string, id int) object {
		o := object{"provider:network_type": kind}
		if physical != "" {
			o["provider:physical_network"] = physical
		}
		if id != 0 {
			o["provider:segmentation_id"] = id
		}
		return o
	}
	return []struct {
		name  string
		make  object
		mtu   int
		hosts []string
	}{
		{"default", object{}, 1450, []string{"h1", "h2", "h3"}},
		{"vxlan", provider("vxlan", "", 7), 1450, []string{"h1", "h2", "h3"}},
		{"gre", provider("gre", "", 4294967295), 1458, []string{"h1", "h2", "h3"}},
		{"geneve", provider("geneve", "", 16777215), 1450, []string{"h1", "h2", "h3"}},
		{"vlan", provider("vlan", "physnet1", 101), 1500, []string{"h1", "h1", "h2"}},
		{"vlan4094", provider("vlan", "public", 4094), 1500, []string{"h1", "h3"}},
		{"flat", provider("flat", "public", 0), 1500, []string{"h1", "h2", "h3"}},
		// h1 and h2 meet on the VLAN; h3, which physnet1 does not reach, has the tunnel to both.
		{"segments", object{"segments": []object{provider("vlan", "physnet1", 102), provider("vxlan", "", 0)}}, 1450, []string{"h1", "h2", "h3"}},
		{"tunnels", object{"segments": []object{provider("geneve", "", 0), provider("gre", "", 0)}}, 1450, []string{"h1", "h2", "h3"}},
		{"mtu", object{"mtu": 1400}, 1400, []string{"h1", "h2"}},
	}
}

// TestNetworks: on every kind of network guests get their leases from a real DHCP client, reach each other with the
// largest packets and by TCP, and nothing of the network is left on the hosts after its end.
func TestNetworks(t *testing.T) {
	s := bring(t, "", whole("h1"), whole("h2"), lab.HostSpec{Name: "h3", Without: []string{"physnet1"}})
	for i, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			prefix := fmt.Sprintf("10.7.%d.", i)
			if k.name == "flat" {
				prefix = "203.0.113."
			}
			n := s.create(t, "network", with(k.make, object{"name": k.name}))
			sub := s.create(t, "subnet", object{"network_id": n.id(), "ip_version": 4, "cidr": prefix + "0/24",
				"dns_nameservers": []string{"192.0.2.53", "192.0.2.54"}, "host_routes": []object{{"destination": "198.51.100.0/24", "nexthop": prefix + "250"}},
				"allocation_pools": []object{{"start": prefix + "20", "end": prefix + "99"}}})
			if got := fmt.Sprint(n["mtu"]); got != fmt.Sprint(k.mtu) {
				t.Errorf("the network's MTU is %s, want %d", got, k.mtu)
			}
			var births []birth
			for j, h := range k.hosts {
				births = append(births, birth{name: fmt.Sprintf("%s-%d", k.name, j), host: h, network: n.id()})
			}
			guests := s.boot(t, births...)
			for _, b := range births {
				s.lease(t, guests[b.name], prefix, k.mtu)
			}
			for _, a := range births {
				for _, b := range births {
					if a != b {
						s.reachFull(t, a.name, guests[b.name].IPs[0], k.mtu)
					}
				}
			}
			s.transfer(t, births[0].name, births[len(births)-1].name, guests[births[len(births)-1].name].IPs[0])
			if k.name == "flat" {
				s.reachFull(t, "flat-0", "203.0.113.1", 1500)
				s.transfer(t, "flat-2", "internet", "203.0.113.1")
			}
			for _, b := range births {
				s.destroy(t, b.name)
			}
			s.remove(t, "subnet", sub.id())
			s.remove(t, "network", n.id())
			s.forgotten(t, n.id(), "h1", "h2", "h3")
		})
	}
}

func with(a, b object) object {
	out := object{}
	for _, m := range []object{a, b} {
		for k, v := range m {
			out[k] = v
		}
	}
	return out
}

// lease holds what a guest's DHCP client was told against what the API says.
func (s *stack) lease(t *testing.T, g *lab.Guest, prefix string, mtu int) {
	t.Helper()
	got := s.leased(t, g.Name)
	for option, want := range map[string]string{
		"ip": g.IPs[0], "mask": "24", "router": prefix + "1", "mtu": fmt.Sprint(mtu), "dns": "192.0.2.53 192.0.2.54",
		"lease": "86400", "domain": "openstacklocal", "hostname": "host-" + strings.ReplaceAll(g.IPs[0], ".", "-"),
	} {
		if got[option] != want {
			t.Errorf("lease of %s: %s is %q, want %q", g.Name, option, got[option], want)
		}
	}
	routes := s.on(t, g.Name, "ip", "route")
	for _, want := range []string{"default via " + prefix + "1 ", "198.51.100.0/24 via " + prefix + "250 "} {
		if !strings.Contains(routes, want) {
			t.Errorf("%s has no route %q:\n%s", g.Name, want, routes)
		}
	}
	if _, err := netip.ParseAddr(got["serverid"]); err != nil {
		t.Errorf("lease of %s: server %q", g.Name, got["serverid"])
	}
	if p := s.show(t, "port", g.PortID); p.text("status") != "ACTIVE" {
		t.Errorf("port of %s is %s", g.Name, p.text("status"))
	}
}

// forgotten waits until hosts have no flow and no namespace of a network.
func (s *stack) forgotten(t *testing.T, network string, hosts ...string) {
	t.Helper()
	for _, h := range hosts {
		until(t, 5*time.Second, "network gone from "+h, func() (bool, string) {
			left := s.on(t, h, "ip", "netns", "list")
			for line := range strings.Lines(s.flows(t, h)) {
				if strings.Contains(line, metadata(network)[len("metadata="):]) {
					left += line
				}
			}
			return !strings.Contains(left, network) && !strings.Contains(left, "0x"), left
		})
	}
}

// TestLocal: a network of type local is within its host, and one on another host has nothing of it.
func TestLocal(t *testing.T) {
	s := bring(t, "", whole("h1"), whole("h2"))
	local := s.net(t, "local", "10.8.0.0/24", object{"provider:network_type": "local"})
	dhcp := s.served(t, local.id(), 1)
	here, there := dhcp[0].text("binding:host_id"), "h1"
	if here == "h1" {
		there = "h2"
	}
	g := s.boot(t, birth{name: "one", host: here, network: local.id()}, birth{name: "two", host: here, network: local.id()})
	far := s.static(t, birth{name: "far", host: there, network: local.id()})
	s.reachFull(t, "one", g["two"].IPs[0], 1500)
	s.transfer(t, "two", "one", g["one"].IPs[0])
	s.silent(t, "far", g["one"].IPs[0])
	s.silent(t, "one", far["far"].IPs[0])
}
