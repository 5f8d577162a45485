//go:build vm

package sgnft

import (
	"fmt"
	"strings"
	"testing"

	"isospin/internal/wire"
)

// Tests of what needs conntrack on bridges.

func TestForgedFramesDoNotArriveWhereConnectionsAreTracked(t *testing.T) {
	for _, stateful := range []bool{true, false} {
		t.Run(fmt.Sprint("stateful ", stateful), func(t *testing.T) {
			spoofing(t, Config{Tracks: true, Ethertypes: []uint16{0x88cc}}, stateful)
		})
	}
}

func TestWhatIsNotInPlacePassesNothingWhereConnectionsAreTracked(t *testing.T) {
	notInPlace(t, Config{Tracks: true}, true)
}

// families runs a test for IPv4 and IPv6: addresses of ends 1, 2 and of the fabric.
func families(t *testing.T, f func(t *testing.T, family string, one, two, far string)) {
	t.Run("IPv4", func(t *testing.T) { f(t, "IPv4", "192.0.2.1", "192.0.2.2", "192.0.2.250") })
	t.Run("IPv6", func(t *testing.T) { f(t, "IPv6", "2001:db8::1", "2001:db8::2", "2001:db8::250") })
}

func (l *lan) both(stateful bool, groups ...int) {
	l.network(1, "vxlan", false)
	for _, g := range groups {
		l.group(g, stateful)
	}
	l.port(1, 1, []string{"192.0.2.1", "2001:db8::1"}, groups[0])
	l.port(2, 1, []string{"192.0.2.2", "2001:db8::2"}, groups[len(groups)-1])
	l.apply()
}

// TestConnections has answers pass and nothing else, and connections end with what let them begin.
func TestConnections(t *testing.T) {
	families(t, func(t *testing.T, family, one, two, far string) {
		for _, where := range []struct{ name, addr string }{{"2", two}, {"up", far}} {
			t.Run("with "+where.name, func(t *testing.T) {
				l := newLAN(t, Config{Tracks: true}, 2)
				l.both(true, 1, 2)
				l.allowAll(2)
				l.rule("in", 1, "ingress", family, proto2("udp", 53, 53))
				l.member(2, portID(2), two)
				l.apply()
				ask := func(what string, want bool) {
					t.Helper()
					kind, body := udpTo(where.addr, one, 1000, 53)
					l.expect(what, want, where.name, "1", kind, body)
				}
				answer := func(what string, want bool) {
					t.Helper()
					kind, body := udpTo(one, where.addr, 53, 1000)
					l.expect(what, want, "1", where.name, kind, body)
				}
				answer("an answer that nobody asked for", false)
				ask("a question", true)
				answer("its answer", true)
				ask("another question", true)
				kind, body := udpTo(one, where.addr, 54, 1000)
				l.expect("what is no answer", false, "1", where.name, kind, body)
				kind, body = udpTo(where.addr, one, 1000, 54)
				l.expect("another port", false, where.name, "1", kind, body)
				inner := append([]byte{0, 0, 0, 0}, trim(udpTo(one, where.addr, 53, 1000))...)
				kind, body = icmp(where.addr, one, unreachable(family), portUnreachable(family), inner...)
				l.expect("an error about an answer", true, where.name, "1", kind, body)
				l.Drop(wire.KindRule, "in")
				l.apply()
				answer("an answer without the rule", false)
				ask("a question without the rule", false)
				l.expect("an error without the rule", false, where.name, "1", kind, body)
				answer("an answer after that", false)
				l.rule("in", 1, "ingress", family, proto2("udp", 50, 60))
				l.apply()
				answer("an answer with another rule", true)
				ask("a question with another rule", true)
				// Egress of the port that answers does not come into it; of one that asks it does.
				l.rule("out", 1, "egress", family, proto2("tcp", 80, 80))
				l.apply()
				tcp := func(what string, want bool, from string, flags int, seq, acked uint32) {
					t.Helper()
					if from == "1" {
						kind, body := tcpTo(one, where.addr, 2000, 80, flags, seq, acked)
						l.expect(what, want, "1", where.name, kind, body)
						return
					}
					kind, body := tcpTo(where.addr, one, 80, 2000, flags, seq, acked)
					l.expect(what, want, where.name, "1", kind, body)
				}
				tcp("a SYN-ACK that nobody asked for", false, where.name, syn|ack, 1, 1)
				tcp("a SYN", true, "1", syn, 100, 0)
				tcp("its SYN-ACK", true, where.name, syn|ack, 500, 101)
				tcp("its ACK", true, "1", ack, 101, 501)
				l.Drop(wire.KindRule, "out")
				l.apply()
				tcp("what the server says without the rule", false, where.name, ack, 501, 101)
				tcp("what the client says without the rule", false, "1", ack, 101, 501)
				tcp("what the server says after that", false, where.name, ack, 501, 101)
			})
		}
	})
}

func trim(_ uint16, b []byte) []byte { return b }

func unreachable(family string) byte {
	if family == "IPv6" {
		return 1
	}
	return 3
}

func portUnreachable(family string) byte {
	if family == "IPv6" {
		return 4
	}
	return 3
}

// TestEveryKindOfRule lets each in what it says and nothing beside it.
func TestEveryKindOfRule(t *testing.T) {
	for _, stateful := range []bool{true, false} {
		t.Run(fmt.Sprint("stateful ", stateful), func(t *testing.T) {
			families(t, func(t *testing.T, family, one, two, far string) {
				rules(t, Config{Tracks: true}, stateful, family, one, two, far)
			})
		})
	}
}

// TestZones has equal connections in two networks: what one network's entry says is not heard in the other.
func TestZones(t *testing.T) {
	l := newLAN(t, Config{Tracks: true}, 1)
	l.network(1, "vxlan", false)
	l.group(1, true)
	l.rule("in", 1, "ingress", "IPv4", proto2("udp", 53, 53))
	l.port(1, 1, []string{"192.0.2.1"}, 1)
	l.port(7, 2, []string{"192.0.2.1"}, 1) // on a bridge of its own
	l.ip("-n", l.ns, "link", "add", "brq"+netID(2)[:11], "up", "type", "bridge", "forward_delay", "0", "mcast_snooping", "0")
	l.bridge = netID(2)
	l.addr["7"], l.addr["up2"] = "192.0.2.1", "192.0.2.250"
	l.join("7", "tap"+portID(7)[:11], mac(7))
	l.join("up2", "uplink1", mac(0xef))
	l.apply()
	kind, body := udpTo("192.0.2.250", "192.0.2.1", 1000, 53)
	l.expect("a question in one network", true, "up", "1", kind, body)
	kind, body = udpTo("192.0.2.1", "192.0.2.250", 53, 1000)
	l.expect("an answer to it in the other", false, "7", "up2", kind, body, func(f *frame) { f.dst = mac(0xef) })
	l.expect("an answer in its own", true, "1", "up", kind, body)
}

// TestPortsWithoutStateAreNotTracked looks into the kernel's table.
func TestPortsWithoutStateAreNotTracked(t *testing.T) {
	l := newLAN(t, Config{Tracks: true}, 3)
	l.both(false, 1)
	l.group(2, true)
	l.allowAll(1)
	l.allowAll(2)
	l.port(3, 1, []string{"192.0.2.3"}, 2)
	l.apply()
	entries := func() string { return l.run("conntrack", "-L") }
	for _, way := range [][2]string{{"1", "2"}, {"1", "up"}, {"up", "1"}} {
		addr := map[string]string{"1": "192.0.2.1", "2": "192.0.2.2", "up": "192.0.2.250"}
		kind, body := udpTo(addr[way[0]], addr[way[1]], 1000, 4711)
		l.expect("without state", true, way[0], way[1], kind, body)
	}
	if text := entries(); strings.Contains(text, "dport=4711") {
		t.Errorf("tracked: %s", text)
	}
	kind, body := udpTo("192.0.2.3", "192.0.2.1", 1000, 4712)
	l.expect("to a port without state", true, "3", "1", kind, body)
	if text := entries(); !strings.Contains(text, "dport=4712") {
		t.Errorf("not tracked: %s", text)
	}
	kind, body = udpTo("192.0.2.1", "192.0.2.3", 4712, 1000)
	l.expect("its answer", true, "1", "3", kind, body)
}
