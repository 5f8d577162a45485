//go:build integration

package fullstack

import (
	"net"
	"net/netip"
	"testing"
	"time"
)

// forgery is a frame that a guest may not send.
type forgery struct {
	name  string
	frame []byte
	// asks says that the host answers such a question itself, so that nobody else hears it.
	asks bool
}

// forgeries are a guest's attempts at being somebody else, towards another guest. third is who it claims to be.
func forgeries(a, b, third *nic) []forgery {
	v4, v6 := a.to(b, false), a.to(b, true)
	zero := net.HardwareAddr{0, 0, 0, 0, 0, 0}
	as := func(f flow, change func(*flow)) flow { change(&f); return f }
	mac := func(f *flow) { f.smac = third.mac }
	stolen4 := func(f *flow) { f.src = third.ip4 }
	stolen6 := func(f *flow) { f.src = third.ip6 }
	local := func(f *flow) { f.src = linkLocal(third.mac) }
	all := func(f *flow) {
		f.dst, f.dmac = netip.MustParseAddr("ff02::1"), net.HardwareAddr{0x33, 0x33, 0, 0, 0, 1}
	}
	own := as(v6, func(f *flow) { f.src = linkLocal(a.mac) })
	ra := append([]byte{134, 0, 0, 0, 64, 0, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1}, a.mac...)
	unspecified := func(f *flow) { f.src = netip.IPv6Unspecified() }
	arpOfThird := a.arp(2, b.mac, a.mac, third.ip4, b.mac, b.ip4)
	relayed := a.arp(2, b.mac, third.mac, a.ip4, b.mac, b.ip4)
	probe := a.arp(1, broadcast, a.mac, netip.IPv4Unspecified(), zero, third.ip4)
	otherSender := append([]byte{}, a.arp(1, broadcast, third.mac, third.ip4, zero, b.ip4)...)
	copy(otherSender[6:12], third.mac)
	return []forgery{
		{name: "MAC", frame: as(v4, mac).udp(7, 7)},
		{name: "MAC, IPv6", frame: as(v6, mac).udp(7, 7)},
		{name: "IPv4", frame: as(v4, stolen4).udp(7, 7)},
		{name: "IPv4 that nobody has", frame: as(v4, func(f *flow) { f.src = netip.MustParseAddr("198.51.100.9") }).udp(7, 7)},
		{name: "IPv4, not said", frame: as(v4, func(f *flow) { f.src = netip.IPv4Unspecified() }).udp(7, 7)},
		{name: "IPv6", frame: as(v6, stolen6).udp(7, 7)},
		{name: "link-local IPv6", frame: as(v6, local).udp(7, 7)},
		{name: "IPv6, not said", frame: as(v6, unspecified).udp(7, 7)},
		{name: "both", frame: as(as(v4, mac), stolen4).udp(7, 7)},
		{name: "ARP reply for another address", frame: arpOfThird},
		{name: "ARP reply with another MAC", frame: relayed},
		{name: "ARP request as another", frame: otherSender, asks: true},
		{name: "ARP probe for another's address", frame: probe, asks: true},
		{name: "advertisement of another's address", frame: own.nd(136, third.ip6, 2, a.mac)},
		{name: "advertisement of another MAC", frame: own.nd(136, a.ip6, 2, third.mac)},
		{name: "advertisement from another", frame: as(own, stolen6).nd(136, third.ip6, 2, a.mac)},
		{name: "solicitation with another MAC", frame: own.nd(135, b.ip6, 1, third.mac), asks: true},
		{name: "solicitation from another", frame: as(v6, stolen6).nd(135, b.ip6, 1, a.mac), asks: true},
		{name: "probe for another's IPv6", frame: as(v6, unspecified).nd(135, third.ip6, 0, nil), asks: true},
		{name: "router advertisement", frame: as(own, all).packet(58, ra, 2)},
		{name: "router advertisement to one", frame: own.packet(58, append([]byte{}, ra...), 2)},
		{name: "redirect", frame: own.packet(58, append(append([]byte{137, 0, 0, 0, 0, 0, 0, 0}, third.ip6.AsSlice()...), b.ip6.AsSlice()...), 2)},
		{name: "DHCP offer", frame: v4.udp(67, 68)},
		{name: "DHCP offer to all", frame: as(v4, func(f *flow) { f.dst, f.dmac = netip.MustParseAddr("255.255.255.255"), broadcast }).udp(67, 68)},
		{name: "DHCPv6 advertisement", frame: own.udp(547, 546)},
		{name: "a protocol that is none", frame: ether(b.mac, a.mac, 0x88b5, marked())},
	}
}

func linkLocal(mac net.HardwareAddr) netip.Addr {
	return netip.AddrFrom16([16]byte{0: 0xfe, 1: 0x80, 8: mac[0] ^ 2, 9: mac[1], 10: mac[2], 11: 0xff, 12: 0xfe, 13: mac[3], 14: mac[4], 15: mac[5]})
}

// genuine are frames that look like some of those and are allowed.
func genuine(a, b *nic) []forgery {
	own := a.to(b, true)
	own.src = linkLocal(a.mac)
	zero := net.HardwareAddr{0, 0, 0, 0, 0, 0}
	probe := own
	probe.src = netip.IPv6Unspecified()
	report := own
	report.dst, report.dmac = netip.MustParseAddr("ff02::1"), net.HardwareAddr{0x33, 0x33, 0, 0, 0, 1}
	return []forgery{
		{name: "UDP", frame: a.to(b, false).udp(7, 7)}, {name: "UDP, IPv6", frame: a.to(b, true).udp(7, 7)}, {name: "UDP, link-local", frame: own.udp(7, 7)},
		{name: "ARP reply", frame: a.arp(2, b.mac, a.mac, a.ip4, b.mac, b.ip4)},
		{name: "ARP announcement", frame: a.arp(1, broadcast, a.mac, a.ip4, zero, a.ip4)},
		{name: "ARP probe", frame: a.arp(1, broadcast, a.mac, netip.IPv4Unspecified(), zero, a.ip4)},
		{name: "advertisement", frame: own.nd(136, a.ip6, 2, a.mac)},
		{name: "advertisement without a MAC", frame: own.nd(136, a.ip6, 0, nil)},
		{name: "advertisement of the link-local address", frame: report.nd(136, linkLocal(a.mac), 2, a.mac)},
		{name: "probe", frame: probe.nd(135, a.ip6, 0, nil)},
	}
}

// TestSpoofing has a guest forge everything that it could gain by, towards guests here and elsewhere that let everything in: none arrives. With port security
// off all of it does.
func TestSpoofing(t *testing.T) {
	s := bring(t, "", whole("h1"), whole("h2"))
	n := s.both(t, "spoof", "10.61.0.0/24", "fd61::/64")
	free := s.free(t, "free", "ingress", "egress")
	o := func(host string) object { return object{"host": host, "security_groups": []string{free}} }
	off := object{"host": "h1", "port_security_enabled": false, "security_groups": []string{}}
	g := s.guard(t, n.id(), map[string]object{"thief": o("h1"), "near": o("h1"), "far": o("h2"), "third": o("h2"), "off": off,
		"open": {"host": "h2", "port_security_enabled": false, "security_groups": []string{}}})
	for _, to := range []string{"near", "far", "open"} {
		t.Run("to "+to, func(t *testing.T) {
			for _, f := range genuine(g["thief"], g[to]) {
				until(t, 5*time.Second, f.name+" comes", func() (bool, string) { return g["thief"].arrives(t, g[to], f.frame)[0], "" }) // tunnels may lose one
			}
			fs := forgeries(g["thief"], g[to], g["third"])
			var frames [][]byte
			for _, f := range fs {
				frames = append(frames, f.frame)
			}
			for i, came := range g["thief"].arrives(t, g[to], frames...) {
				if came {
					t.Errorf("%s came", fs[i].name)
				}
			}
		})
	}
	t.Run("without port security", func(t *testing.T) {
		for _, f := range forgeries(g["off"], g["open"], g["third"]) {
			if !f.asks && !g["off"].arrives(t, g["open"], f.frame)[0] {
				t.Errorf("%s did not come", f.name)
			}
		}
	})
	t.Run("switched off and on", func(t *testing.T) {
		thief := s.list(t, "port", "fixed_ips=ip_address%3D"+g["thief"].ip4.String())[0].id()
		f := func() []byte { return forgeries(g["thief"], g["near"], g["third"])[2].frame }
		s.update(t, "port", thief, object{"port_security_enabled": false, "security_groups": []string{}})
		until(t, 5*time.Second, "a forged address passes", func() (bool, string) { return g["thief"].arrives(t, g["near"], f())[0], "" })
		s.update(t, "port", thief, object{"port_security_enabled": true, "security_groups": []string{free}})
		until(t, 5*time.Second, "a forged address does not pass", func() (bool, string) { return !g["thief"].arrives(t, g["near"], f())[0], "" })
	})
}

// TestAddressPairs lets a port use addresses besides its own: one, a prefix, with a MAC of its own and without; and no others.
func TestAddressPairs(t *testing.T) {
	s := bring(t, "", whole("h1"), whole("h2"))
	n := s.both(t, "pairs", "10.62.0.0/24", "fd62::/64")
	free := s.free(t, "free", "ingress", "egress")
	virtual := net.HardwareAddr{0, 0, 0x5e, 0, 1, 7}
	g := s.guard(t, n.id(), map[string]object{"to": {"host": "h2", "security_groups": []string{free}},
		"from": {"host": "h1", "security_groups": []string{free}, "allowed_address_pairs": []object{
			{"ip_address": "10.62.0.200"}, {"ip_address": "198.51.100.0/24"}, {"ip_address": "10.62.0.201", "mac_address": virtual.String()}, {"ip_address": "fd62:0:0:1::/64"}}}})
	from, to := g["from"], g["to"]
	with := func(mac net.HardwareAddr, src string) flow {
		f := from.to(to, false)
		f.smac, f.src = mac, netip.MustParseAddr(src)
		if f.src.Is6() {
			f.dst = to.ip6
		}
		return f
	}
	own := from.mac
	arp := func(mac net.HardwareAddr, src string) []byte {
		b := from.arp(2, to.mac, mac, netip.MustParseAddr(src), to.mac, to.ip4)
		copy(b[6:12], mac)
		return b
	}
	for _, c := range []struct {
		name  string
		frame []byte
		want  bool
	}{
		{"an address", with(own, "10.62.0.200").udp(7, 7), true},
		{"its ARP", arp(own, "10.62.0.200"), true},
		{"the first of a prefix", with(own, "198.51.100.0").udp(7, 7), true},
		{"the last of a prefix", with(own, "198.51.100.255").udp(7, 7), true},
		{"ARP of a prefix", arp(own, "198.51.100.77"), true},
		{"beyond the prefix", with(own, "198.51.101.0").udp(7, 7), false},
		{"an address with a MAC", with(virtual, "10.62.0.201").udp(7, 7), true},
		{"its ARP, with the MAC", arp(virtual, "10.62.0.201"), true},
		{"that address with the port's MAC", with(own, "10.62.0.201").udp(7, 7), false},
		{"another address with that MAC", with(virtual, "10.62.0.200").udp(7, 7), false},
		{"the port's address with that MAC", with(virtual, from.ip4.String()).udp(7, 7), false},
		{"an IPv6 prefix", with(own, "fd62:0:0:1::77").udp(7, 7), true},
		{"its advertisement", with(own, "fd62:0:0:1::77").nd(136, netip.MustParseAddr("fd62:0:0:1::77"), 2, own), true},
		{"beyond the IPv6 prefix", with(own, "fd62:0:0:2::77").udp(7, 7), false},
	} {
		if c.want {
			until(t, 5*time.Second, c.name+" comes", func() (bool, string) { return from.arrives(t, to, c.frame)[0], "" }) // tunnels may lose one
		} else if from.arrives(t, to, c.frame)[0] {
			t.Errorf("%s came", c.name)
		}
	}
}
