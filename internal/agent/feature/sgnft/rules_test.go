package sgnft

import (
	"strings"
	"testing"

	"isospin/internal/wire"
)

// rules lets each kind of rule in what it says and nothing beside it, both ways.
func rules(t *testing.T, c Config, stateful bool, family, one, two, far string) {
	l := newLAN(t, c, 2)
	l.network(1, "vxlan", false)
	l.group(1, stateful)
	l.group(2, stateful)
	l.port(1, 1, []string{"192.0.2.1", "2001:db8::1"}, 1)
	l.port(2, 1, []string{"192.0.2.2", "2001:db8::2"}, 2)
	l.allowAll(2)
	type packet struct {
		name string
		make func(src, dst string) (uint16, []byte)
	}
	udpP := func(port int) packet {
		return packet{"udp", func(s, d string) (uint16, []byte) { return udpTo(s, d, 1000, port) }}
	}
	tcpP := func(port int) packet {
		return packet{"tcp", func(s, d string) (uint16, []byte) { return tcpTo(s, d, 1000, port, syn, 1, 0) }}
	}
	echo := byte(8)
	if family == "IPv6" {
		echo = 128
	}
	icmpP := func(kind, code byte) packet {
		return packet{"icmp", func(s, d string) (uint16, []byte) { return icmp(s, d, kind, code) }}
	}
	other := func(protocol byte) packet {
		return packet{"protocol", func(s, d string) (uint16, []byte) { return ip(s, d, protocol, make([]byte, 24)) }}
	}
	prefix := func(p string) func(*wire.SecurityGroupRule) {
		return func(d *wire.SecurityGroupRule) { d.RemoteIpPrefix = p }
	}
	wide, narrow, beside := "192.0.2.0/24", far+"/32", "198.51.100.0/24"
	if family == "IPv6" {
		wide, narrow, beside = "2001:db8::/64", far+"/128", "2001:db8:9::/64"
	}
	cases := []struct {
		name   string
		rule   func(*wire.SecurityGroupRule)
		pass   []packet
		refuse []packet
	}{
		{"everything", nil, []packet{udpP(1), tcpP(2), icmpP(echo, 0), other(253)}, nil},
		{"udp", proto2("udp", -1, -1), []packet{udpP(1), udpP(60000)}, []packet{tcpP(1), icmpP(echo, 0)}},
		{"a port", proto2("tcp", 80, 80), []packet{tcpP(80)}, []packet{tcpP(81), udpP(80)}},
		{"ports", proto2("udp", 100, 200), []packet{udpP(100), udpP(200)}, []packet{udpP(99), udpP(201), tcpP(150)}},
		{"icmp", proto2("icmp", -1, -1), []packet{icmpP(echo, 0)}, []packet{udpP(1)}},
		{"a type of icmp", proto2("icmp", int32(echo), -1), []packet{icmpP(echo, 0)}, nil},
		{"a type and code of icmp", proto2("icmp", int32(echo), 0), []packet{icmpP(echo, 0)}, nil},
		{"another code of icmp", proto2("icmp", int32(echo), 1), nil, []packet{icmpP(echo, 0)}},
		{"another type of icmp", proto2("icmp", 13, -1), nil, []packet{icmpP(echo, 0)}},
		{"a protocol by number", proto2("253", -1, -1), []packet{other(253)}, []packet{other(254), udpP(1)}},
		{"a prefix", prefix(wide), []packet{udpP(1)}, nil},
		{"an address", prefix(narrow), []packet{udpP(1)}, nil},
		{"a prefix of others", prefix(beside), nil, []packet{udpP(1)}},
		{"a group", of(3, proto2("udp", 5, 5)), []packet{udpP(5)}, []packet{udpP(6), tcpP(5)}},
		{"a group of others", of(4), nil, []packet{udpP(5)}},
		{"a group with a prefix", of(5), []packet{udpP(5)}, nil},
		{"addresses", func(d *wire.SecurityGroupRule) { d.RemoteAddressGroupId = "ag" }, []packet{udpP(5)}, nil},
		{"addresses of others", func(d *wire.SecurityGroupRule) { d.RemoteAddressGroupId = "others" }, nil, []packet{udpP(5)}},
	}
	l.member(3, "far", far)
	l.member(4, "others", strings.TrimSuffix(strings.TrimSuffix(beside, "0/24"), "/64")+"1")
	l.member(5, "wide", wide)
	l.entry("ag", narrow)
	l.entry("others", beside)
	for _, c := range cases {
		for _, way := range []string{"ingress", "egress"} {
			l.rule("rule", 1, way, family, c.rule)
			l.apply()
			if stateful { // protocols without ports are one connection both ways
				l.run("conntrack", "-F")
			}
			try := func(p packet, want bool) {
				t.Helper()
				if way == "ingress" {
					kind, body := p.make(far, one)
					l.expect(way+" of "+c.name+": "+p.name, want, "up", "1", kind, body)
					return
				}
				kind, body := p.make(one, far)
				l.expect(way+" of "+c.name+": "+p.name, want, "1", "up", kind, body)
			}
			for _, p := range c.pass {
				try(p, true)
			}
			for _, p := range c.refuse {
				try(p, false)
			}
			// The other way nothing new passes.
			if way == "ingress" {
				kind, body := udpTo(one, far, 7777, 5)
				l.expect("the other way of "+c.name, false, "1", "up", kind, body)
			}
		}
	}
	// Between two ports of the host both judge.
	l.rule("rule", 1, "ingress", family, proto2("udp", 5, 5))
	l.apply()
	kind, body := udpTo(two, one, 1, 5)
	l.expect("from a neighbour", true, "2", "1", kind, body)
	kind, body = udpTo(two, one, 1, 6)
	l.expect("from a neighbour, another port", false, "2", "1", kind, body)
	l.Drop(wire.KindRule, "egress"+family+"2")
	l.apply()
	kind, body = udpTo(two, one, 2, 5)
	l.expect("from a neighbour that may not", false, "2", "1", kind, body)
}

// TestRulesWithoutState runs where the kernel tracks no connections on bridges.
func TestRulesWithoutState(t *testing.T) {
	t.Run("IPv4", func(t *testing.T) { rules(t, Config{}, false, "IPv4", "192.0.2.1", "192.0.2.2", "192.0.2.250") })
	t.Run("IPv6", func(t *testing.T) { rules(t, Config{}, false, "IPv6", "2001:db8::1", "2001:db8::2", "2001:db8::250") })
}
