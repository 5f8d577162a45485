//go:build integration

package fullstack

import (
	"testing"
)

// TestIsolation: networks know nothing of each other, also when their guests have the same addresses, and when their
// VLANs have the same number on two physical networks.
func TestIsolation(t *testing.T) {
	s := bring(t, "", whole("h1"), whole("h2"))
	for _, c := range []struct {
		name string
		a, b object
	}{
		{"vxlan", object{}, object{}},
		{"vxlan and gre of one number", object{"provider:network_type": "vxlan", "provider:segmentation_id": 77}, object{"provider:network_type": "gre", "provider:segmentation_id": 77}},
		{"one VLAN of two physical networks",
			object{"provider:network_type": "vlan", "provider:physical_network": "physnet1", "provider:segmentation_id": 300},
			object{"provider:network_type": "vlan", "provider:physical_network": "public", "provider:segmentation_id": 300}},
		{"neighbouring VLANs",
			object{"provider:network_type": "vlan", "provider:physical_network": "physnet1", "provider:segmentation_id": 301},
			object{"provider:network_type": "vlan", "provider:physical_network": "physnet1", "provider:segmentation_id": 302}},
		{"flat and VLAN of one physical network",
			object{"provider:network_type": "flat", "provider:physical_network": "physnet1"},
			object{"provider:network_type": "vlan", "provider:physical_network": "physnet1", "provider:segmentation_id": 303}},
	} {
		t.Run(c.name, func(t *testing.T) { s.apart(t, c.a, c.b) })
	}
}

// apart makes two networks of the same prefix with two guests each, of the same addresses, and one more guest each.
func (s *stack) apart(t *testing.T, a, b object) {
	var births []birth
	var made []object
	for side, attributes := range map[string]object{"a": a, "b": b} {
		n := s.create(t, "network", with(attributes, object{"name": side}))
		made = append(made, n)
		sub := s.create(t, "subnet", object{"network_id": n.id(), "ip_version": 4, "cidr": "10.9.0.0/24",
			"allocation_pools": []object{{"start": "10.9.0.200", "end": "10.9.0.220"}}})
		own := map[string]string{"a": "10.9.0.30", "b": "10.9.0.31"}[side]
		for name, at := range map[string][2]string{"1": {"h1", "10.9.0.10"}, "2": {"h2", "10.9.0.11"}, "3": {"h2", own}} {
			p := s.create(t, "port", object{"network_id": n.id(), "fixed_ips": []object{{"subnet_id": sub.id(), "ip_address": at[1]}}})
			births = append(births, birth{name: side + name, host: at[0], port: p.id()})
		}
	}
	s.boot(t, births...)
	defer func() {
		for _, x := range births {
			s.destroy(t, x.name)
			s.remove(t, "port", x.port)
		}
		for _, n := range made {
			s.remove(t, "network", n.id())
		}
	}()
	for _, side := range []string{"a", "b"} {
		other := map[string]string{"a": "b", "b": "a"}[side]
		mine, theirs := s.echoes(t, side+"2", "InEchos"), s.echoes(t, other+"2", "InEchos")
		s.reach(t, side+"1", "10.9.0.11")
		s.on(t, side+"1", "ping", "-c5", "-i0.05", "-W1", "10.9.0.11")
		s.transfer(t, side+"1", side+"2", "10.9.0.11")
		if got := s.echoes(t, side+"2", "InEchos") - mine; got < 5 {
			t.Errorf("%s2 saw %d pings of %s1, want 5 at least", side, got, side)
		}
		if got := s.echoes(t, other+"2", "InEchos") - theirs; got != 0 {
			t.Errorf("%d pings of network %s came to network %s", got, side, other)
		}
	}
	// Addresses that only the other network has.
	s.silent(t, "a1", "10.9.0.31")
	s.silent(t, "b1", "10.9.0.30")
	s.reach(t, "a1", "10.9.0.30")
	s.reach(t, "b1", "10.9.0.31")
	// Nor does a frame that is sent to everybody cross over.
	for _, g := range []string{"a2", "b2"} {
		s.on(t, g, "sh", "-c", "echo 0 >/proc/sys/net/ipv4/icmp_echo_ignore_broadcasts")
	}
	in, out := s.echoes(t, "a2", "InEchos"), s.echoes(t, "b2", "InEchos")
	// No answer: one to a broadcast is of no connection, and the guests' groups let none through.
	_, _ = s.Exec(t.Context(), "a1", "ping", "-b", "-c3", "-i0.1", "-W0.3", "10.9.0.255")
	if got := s.echoes(t, "a2", "InEchos") - in; got != 3 {
		t.Errorf("%d of 3 broadcasts came to a2", got)
	}
	if got := s.echoes(t, "b2", "InEchos") - out; got != 0 {
		t.Errorf("%d broadcasts of network a came to network b", got)
	}
}
