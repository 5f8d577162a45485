package scenario

import (
	"fmt"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"isospin/internal/lab"
)

// Stage is where a scenario is played: a network of the cell's kind with both families, and guests on it: One and Beside on
// h1, Far on h2. Their IPv4 addresses are from leases. All are of one project and in its default group.
type Stage struct {
	*Cloud
	Cell
	*play
}

// play is what the families of a kind share.
type play struct {
	Network          Object
	MTU              int
	One, Beside, Far *lab.Guest
	prefixes         map[Family]netip.Prefix
	own, near        Object // what networks are asked for with
	nearer           Object
}

// prefixesOf are a network's prefixes. Flat networks are on the lab's public network, whose outside has the first address.
func prefixesOf(kind Kind) map[Family]netip.Prefix {
	if kind == Flat {
		return map[Family]netip.Prefix{IPv4: netip.MustParsePrefix("203.0.113.0/24"), IPv6: netip.MustParsePrefix("2001:db8:cafe::/64")}
	}
	return map[Family]netip.Prefix{IPv4: netip.MustParsePrefix("10.9.0.0/24"), IPv6: netip.MustParsePrefix("fd09::/64")}
}

// set makes a stage.
func (c *Cloud) set(t *testing.T, kind Kind) *play {
	t.Helper()
	p := &play{prefixes: prefixesOf(kind)}
	p.own, p.near, p.nearer = c.networks(kind)
	p.Network = c.network(t, "own", p.own, p.prefixes)
	p.MTU = number(t, fmt.Sprint(p.Network["mtu"]))
	c.served(t, p.Network.ID())
	began := time.Now()
	guests := c.Boot(t, Birth{Name: "one", Host: "h1", Network: p.Network.ID()}, Birth{Name: "beside", Host: "h1", Network: p.Network.ID()},
		Birth{Name: "far", Host: "h2", Network: p.Network.ID()})
	t.Logf("3 guests booted after %.1f s", time.Since(began).Seconds())
	p.One, p.Beside, p.Far = guests["one"], guests["beside"], guests["far"]
	return p
}

// network makes a network with a subnet of each family, that of IPv4 served by DHCP.
func (c *Cloud) network(t *testing.T, name string, attributes Object, prefixes map[Family]netip.Prefix) Object {
	t.Helper()
	n := c.Create(t, "network", attributes.With(Object{"name": name, "port_security_enabled": c.filters()}))
	owner := Object{"network_id": n.ID(), "project_id": n.Text("project_id")}
	// Ports and subnets go with the network: DHCP's would be in the subnets' way for a moment.
	four, six := prefixes[IPv4], prefixes[IPv6]
	for _, o := range []Object{
		{"ip_version": 4, "cidr": four.String(), "dns_nameservers": []string{"192.0.2.53"},
			"allocation_pools": []Object{{"start": nth(four, 20), "end": nth(four, 99)}}},
		{"ip_version": 6, "cidr": six.String(), "enable_dhcp": false,
			"allocation_pools": []Object{{"start": nth(six, 20), "end": nth(six, 99)}}},
	} {
		c.Call(t, http.MethodPost, "subnets", Object{"subnet": owner.With(o)})
	}
	return n
}

// nth is an address of a prefix.
func nth(p netip.Prefix, n byte) string {
	b := p.Addr().AsSlice()
	b[len(b)-1] = n
	a, _ := netip.AddrFromSlice(b)
	return a.String()
}

// served waits until a network has its DHCP server.
func (c *Cloud) served(t *testing.T, network string) {
	t.Helper()
	c.until(t, 20*time.Second, "DHCP of "+network, func() (bool, string) {
		var said string
		for _, p := range c.List(t, "port", "device_owner=network:dhcp&network_id="+network) {
			if said = p.Text("binding:host_id") + " " + p.Text("status"); p.Text("status") == "ACTIVE" {
				return true, ""
			}
		}
		return false, "there is " + said
	})
}

// Port makes a port on the stage's network, or on that which the attributes name.
func (s *Stage) Port(t *testing.T, attributes Object) Object {
	t.Helper()
	return s.Create(t, "port", Object{"network_id": s.Network.ID()}.With(attributes))
}

// Address is a guest's address of the cell's family.
func (s *Stage) Address(t *testing.T, g *lab.Guest) netip.Addr {
	t.Helper()
	for _, text := range g.IPs {
		if a, err := netip.ParseAddr(text); err == nil && a.Is4() == (s.Family == IPv4) {
			return a
		}
	}
	t.Fatalf("%s has no %s address: %v", g.Name, s.Family, g.IPs)
	return netip.Addr{}
}

// status waits for a port's status.
func (s *Stage) status(t *testing.T, port, want string) {
	t.Helper()
	s.until(t, 10*time.Second, "port "+port+" "+want, func() (bool, string) {
		got := s.Show(t, "port", port).Text("status")
		return got == want, got
	})
}

// fixed asks for addresses of a network: the n-th of each of its subnets.
func (s *Stage) fixed(t *testing.T, network string, n byte) []Object {
	t.Helper()
	var out []Object
	for _, sub := range s.List(t, "subnet", "network_id="+network) {
		out = append(out, Object{"subnet_id": sub.ID(), "ip_address": nth(netip.MustParsePrefix(sub.Text("cidr")), n)})
	}
	if len(out) != len(s.prefixes) {
		t.Fatal(fmt.Errorf("network %s has %d subnets", network, len(out)))
	}
	return out
}

// Boot boots guests beside those of the play. Addresses are given anew within moments, and a guest asks nobody for seconds who has one that it knew: it
// would send to the one before.
func (s *Stage) Boot(t *testing.T, births ...Birth) map[string]*lab.Guest {
	t.Helper()
	for _, g := range []*lab.Guest{s.One, s.Beside, s.Far} {
		s.On(t, g.Name, "ip", "neigh", "flush", "dev", "eth0")
	}
	return s.Cloud.Boot(t, births...)
}
