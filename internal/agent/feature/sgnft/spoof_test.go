package sgnft

import (
	"fmt"
	"testing"

	"isospin/internal/wire"
)

func from(mac string) func(*frame) { return func(f *frame) { f.src = mac } }
func to(mac string) func(*frame)   { return func(f *frame) { f.dst = mac } }
func tagged(id int) func(*frame)   { return func(f *frame) { f.tag = id } }

// everything is a rule's narrowing that narrows nothing.
func (w *world) allowAll(group int) {
	for _, way := range []string{"ingress", "egress"} {
		for _, family := range []string{"IPv4", "IPv6"} {
			w.rule(fmt.Sprint(way, family, group), group, way, family, nil)
		}
	}
}

// spoofing sends what guests may not and may, whatever their groups allow: group 1 allows all.
func spoofing(t *testing.T, c Config, stateful bool) {
	l := newLAN(t, c, 3)
	l.network(1, "vxlan", false)
	l.group(1, stateful)
	l.allowAll(1)
	p := l.port(1, 1, []string{"192.0.2.1", "2001:db8::1"}, 1)
	p.AllowedAddressPairs = []*wire.AddressPair{{IpAddress: "198.51.100.0/24"}, {IpAddress: "203.0.113.7", MacAddress: mac(0x77)}, {IpAddress: "2001:db8:7::/64"}}
	l.Put(wire.KindPort, p.Id, p)
	l.port(2, 1, []string{"192.0.2.2", "2001:db8::2"}, 1)
	l.port(3, 1, []string{"192.0.2.3", "2001:db8::3"}, 1)
	l.apply()
	const local = "fe80::f816:3eff:fe00:1"
	for _, target := range []string{"2", "up"} {
		peer4, peer6 := "192.0.2.2", "2001:db8::2"
		if target == "up" {
			peer4, peer6 = "192.0.2.250", "2001:db8::250"
		}
		check := func(what string, want bool, kind uint16, body []byte, change ...func(*frame)) {
			t.Helper()
			l.expect(what, want, "1", target, kind, body, change...)
		}
		p := func(kind uint16, body []byte) func(string, bool, ...func(*frame)) {
			return func(what string, want bool, change ...func(*frame)) {
				t.Helper()
				check(what, want, kind, body, change...)
			}
		}
		p(udpTo("192.0.2.1", peer4, 1, 2))("its own", true)
		p(udpTo("192.0.2.1", peer4, 1, 2))("another MAC", false, from(mac(9)))
		p(udpTo("192.0.2.1", peer4, 1, 2))("a neighbour's MAC", false, from(mac(3)))
		p(udpTo("192.0.2.9", peer4, 1, 2))("another address", false)
		p(udpTo("192.0.2.3", peer4, 1, 2))("a neighbour's address", false)
		p(udpTo("198.51.100.200", peer4, 1, 2))("an address of its pair", true)
		p(udpTo("198.51.101.1", peer4, 1, 2))("one beside its pair", false)
		p(udpTo("203.0.113.7", peer4, 1, 2))("a pair's address with its own MAC", false)
		p(udpTo("203.0.113.7", peer4, 1, 2))("a pair's address with the pair's MAC", true, from(mac(0x77)))
		p(udpTo("192.0.2.1", peer4, 1, 2))("its own address with the pair's MAC", false, from(mac(0x77)))
		p(udpTo("2001:db8::1", peer6, 1, 2))("its own of IPv6", true)
		p(udpTo(local, peer6, 1, 2))("its link-local address", true)
		p(udpTo("2001:db8::9", peer6, 1, 2))("another of IPv6", false)
		p(udpTo("2001:db8:7::5", peer6, 1, 2))("an address of its pair of IPv6", true)
		p(udpTo("2001:db8:8::5", peer6, 1, 2))("one beside its pair of IPv6", false)
		p(arp(1, mac(1), "192.0.2.1", peer4))("ARP for somebody", true, to(everybody))
		p(arp(2, mac(1), "192.0.2.1", peer4))("an ARP reply", true)
		p(arp(2, mac(1), "192.0.2.3", peer4))("an ARP reply for a neighbour", false)
		p(arp(2, mac(3), "192.0.2.1", peer4))("an ARP reply with a neighbour's MAC", false)
		p(arp(1, mac(1), "0.0.0.0", "192.0.2.1"))("an ARP probe for its own address", true, to(everybody))
		p(arp(1, mac(1), "0.0.0.0", "192.0.2.3"))("an ARP probe for a neighbour's", false, to(everybody))
		p(arp(2, mac(1), "198.51.100.9", peer4))("ARP of a pair's address", true)
		p(nd("2001:db8::1", peer6, neighbourAdvert, "2001:db8::1", "2", mac(1)))("an advertisement", true)
		p(nd("2001:db8::1", peer6, neighbourAdvert, "2001:db8::1"))("an advertisement without a MAC", true)
		p(nd("2001:db8::1", peer6, neighbourAdvert, "2001:db8::3", "2", mac(1)))("an advertisement for a neighbour", false)
		p(nd("2001:db8::1", peer6, neighbourAdvert, "2001:db8::1", "2", mac(3)))("an advertisement of a neighbour's MAC", false)
		p(nd("2001:db8::1", peer6, neighbourAdvert, "2001:db8::1", "1", mac(1), "2", mac(3)))("one that is hidden behind another option", false)
		p(nd("2001:db8::1", peer6, neighbourAdvert, "2001:db8::1", "1", mac(1), "1", mac(1), "2", mac(3)))("one that is hidden deeper", false)
		p(nd("2001:db8::1", peer6, neighbourSolicit, peer6, "1", mac(1)))("a solicitation", true)
		p(nd("2001:db8::1", peer6, neighbourSolicit, peer6, "1", mac(3)))("a solicitation with a neighbour's MAC", false)
		p(nd("2001:db8::3", peer6, neighbourSolicit, peer6, "1", mac(1)))("a solicitation in a neighbour's name", false)
		p(nd("::", "ff02::1:ff00:1", neighbourSolicit, "2001:db8::1"))("whether its own address is used", true, to("33:33:ff:00:00:01"))
		p(nd("::", "ff02::1:ff00:3", neighbourSolicit, "2001:db8::3"))("whether a neighbour's is", false, to("33:33:ff:00:00:03"))
		p(udpTo("::", peer6, 1, 2))("UDP from nobody", false)
		p(icmp(local, "ff02::1", routerAdvert, 0, make([]byte, 12)...))("a router advertisement", false, to("33:33:00:00:00:01"))
		p(icmp(local, peer6, redirect, 0, make([]byte, 36)...))("a redirect", false)
		// Nobody needs these but routers, and they are no connections.
		p(icmp(local, "ff02::2", routerSolicit, 0, 0, 0, 0, 0))("a router solicitation", target == "up" || !stateful, to("33:33:00:00:00:02"))
		p(icmp("::", "ff02::16", mldReport2, 0, 0, 0, 0, 0))("a report of multicast", target == "up" || !stateful, to("33:33:00:00:00:16"))
		p(udpTo("0.0.0.0", "255.255.255.255", dhcpClient, dhcpServer))("DHCP's discovery", true, to(everybody))
		p(udpTo("192.0.2.1", peer4, dhcpClient, dhcpServer))("DHCP's renewal", true)
		p(udpTo("192.0.2.1", "255.255.255.255", dhcpServer, dhcpClient))("a DHCP offer", false, to(everybody))
		p(udpTo("0.0.0.0", "255.255.255.255", 5, dhcpServer))("UDP from no address", false, to(everybody))
		p(udpTo(local, "ff02::1:2", dhcp6Client, dhcp6Server))("DHCPv6's solicitation", true, to("33:33:00:01:00:02"))
		p(udpTo(local, peer6, dhcp6Server, dhcp6Client))("a DHCPv6 advertisement", false)
		_, body := arp(3, mac(1), "0.0.0.0", "0.0.0.0")
		check("its own reverse ARP", target == "up", protoRARP, body, to(everybody)) // it is for switches
		_, body = arp(3, mac(3), "0.0.0.0", "0.0.0.0")
		check("a neighbour's reverse ARP", false, protoRARP, body, to(everybody))
		check("an ethertype that is permitted", true, 0x88cc, make([]byte, 46))
		check("one that is not", false, 0x8863, make([]byte, 46))
		p(udpTo("192.0.2.1", peer4, 1, 2))("a VLAN tag", false, tagged(5))
		_, body = udpTo("192.0.2.1", peer4, 1, 2)
		check("a tag of the other kind", false, tagOuter, append([]byte{0, 5, 8, 0}, body...))
	}
	// What a bridge floods is not for everybody, and what is not of here is judged where it arrives.
	kind, body := udpTo("192.0.2.250", "192.0.2.1", 1, 2)
	l.expect("the fabric's, for it", true, "up", "1", kind, body)
	l.expect("the fabric's, for another's MAC", false, "up", "1", kind, body, to(mac(0x99)))
	l.expect("the fabric's, for everybody", true, "up", "1", kind, body, to(everybody))
	kind, body = icmp("fe80::1", "ff02::1", routerAdvert, 0, make([]byte, 12)...)
	l.expect("a router's advertisement", true, "up", "1", kind, body, to("33:33:00:00:00:01"))
	_, body = udpTo("192.0.2.250", "192.0.2.1", 1, 2)
	l.expect("a permitted ethertype's opposite", false, "up", "1", 0x8863, body)
}

// TestForgedFramesDoNotArrive runs where the kernel tracks no connections on bridges; vm_test.go is for where it does.
func TestForgedFramesDoNotArrive(t *testing.T) {
	spoofing(t, Config{Ethertypes: []uint16{0x88cc}}, false)
}

// TestWhatIsNotInPlacePassesNothing has devices of ports whose documents have not come, are down, or go; and ports that are not filtered.
func TestWhatIsNotInPlacePassesNothing(t *testing.T) { notInPlace(t, Config{}, false) }

func notInPlace(t *testing.T, c Config, stateful bool) {
	l := newLAN(t, c, 2)
	l.apply()
	l.group(1, stateful)
	l.allowAll(1)
	silent := func(when string, want bool) {
		t.Helper()
		for _, way := range [][2]string{{"1", "up"}, {"up", "1"}} {
			// Nothing passes, so nothing that always arrives does: the way back by the second guest, which is open, tells when it must have.
			got := l.trial(way[0], way[1], "2")
			if got != want {
				t.Errorf("%s, from %s to %s: arrived: %v", when, way[0], way[1], got)
			}
		}
	}
	open := l.port(2, 1, []string{"192.0.2.2"})
	open.PortSecurityEnabled = false
	l.Put(wire.KindPort, open.Id, open)
	l.apply()
	silent("before its document", false)
	p := l.port(1, 1, []string{"192.0.2.1"}, 1)
	l.apply()
	silent("with it", true)
	p.AdminStateUp = false
	l.Put(wire.KindPort, p.Id, p)
	l.apply()
	silent("down", false)
	p.AdminStateUp, p.SecurityGroups, p.DeviceOwner = true, nil, "network:dhcp"
	l.Put(wire.KindPort, p.Id, p)
	l.apply()
	silent("as the cloud's own", true)
	kind, body := udpTo("192.0.2.1", "255.255.255.255", dhcpServer, dhcpClient)
	l.expect("an offer of the cloud's own", true, "1", "up", kind, body, to(everybody))
	l.Drop(wire.KindPort, p.Id)
	l.apply()
	silent("gone", false)
	kind, body = udpTo("198.18.0.1", "192.0.2.250", 1, 2)
	l.expect("what an open port sends in anybody's name", true, "2", "up", kind, body, from(mac(0x42)))
	// A stranger's device on the same bridge is none of ours.
	l.expect("what the fabric says to an open port", true, "up", "2", kind, body)
}
