package scenario

import (
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"isospin/internal/lab"
)

// The rows of this file hold what a port's security groups and its own addresses allow, and nothing else.

func filtered(c Cell) bool { return c.filters() }

// guarded boots a guest whose only group has no rule but the two that let everything out.
func (s *Stage) guarded(t *testing.T, name string) (*lab.Guest, string) {
	t.Helper()
	group := s.Create(t, "security_group", Object{"name": name})
	port := s.Port(t, Object{"security_groups": []string{group.ID()}})
	return s.Boot(t, Birth{Name: name, Host: "h2", Port: port.ID(), Static: true})[name], group.ID()
}

// allow adds a rule of the cell's family to a group; it goes with the test, or earlier by forbid.
func (s *Stage) allow(t *testing.T, group, direction string, more Object) string {
	t.Helper()
	rule := Object{"security_group_id": group, "direction": direction, "ethertype": string(s.Family)}.With(more)
	return inner(t, s.Call(t, http.MethodPost, "security-group-rules", Object{"security_group_rule": rule}), "security_group_rule").ID()
}

func (s *Stage) forbid(t *testing.T, rule string) {
	t.Helper()
	s.Call(t, http.MethodDelete, "security-group-rules/"+rule, nil)
}

// icmp is what rules call it by the cell's family.
func (s *Stage) icmp() Object {
	return Object{"protocol": map[Family]string{IPv4: "icmp", IPv6: "ipv6-icmp"}[s.Family]}
}

// opens waits until a TCP port can be connected to.
func (s *Stage) opens(t *testing.T, from *lab.Guest, to netip.Addr, port int) {
	t.Helper()
	s.until(t, 10*time.Second, "a connection", func() (bool, string) {
		c, err := s.Dial(from.Name, to, port, s.within(500*time.Millisecond))
		if err != nil {
			return false, err.Error()
		}
		return c.Close() == nil, ""
	})
}

// closed fails the test when a TCP port can be connected to.
func (s *Stage) closed(t *testing.T, from *lab.Guest, to netip.Addr, port int) {
	t.Helper()
	if c, err := s.Dial(from.Name, to, port, s.within(300*time.Millisecond)); err == nil {
		_ = c.Close()
		t.Errorf("%s connects to port %d of %s", from.Name, port, to)
	}
}

// rules: nothing comes in that no rule lets in; a rule lets in what it says; what a rule let in ends with the rule.
func rules(t *testing.T, s *Stage) {
	g, group := s.guarded(t, "guarded")
	to := s.Address(t, g)
	s.letIn(t, s.icmp(), g)
	s.Reach(t, g, s.Address(t, s.One)) // out, and the answers in
	s.Silent(t, s.One, to)
	s.Silent(t, s.Far, to)

	ping := s.allow(t, group, "ingress", s.icmp())
	s.Reach(t, s.One, to)
	s.Reach(t, s.Far, to)
	s.forbid(t, ping)
	s.until(t, 10*time.Second, "no answer without the rule", func() (bool, string) {
		_, err := s.Exec(t.Context(), s.One.Name, "ping", "-c1", "-W"+s.wait(), to.String())
		return err != nil, "there is one"
	})

	s.Listen(t, g, 5010)
	s.Listen(t, g, 5021)
	tcp := s.allow(t, group, "ingress", Object{"protocol": "tcp", "port_range_min": 5003, "port_range_max": 5020})
	s.opens(t, s.One, to, 5010)
	s.closed(t, s.One, to, 5021)
	talk := s.Talk(t, s.One, g, 5011)
	must(t, talk.Says("allowed", s.within(5*time.Second)))
	s.forbid(t, tcp)
	s.until(t, 10*time.Second, "the connection ends with its rule", func() (bool, string) {
		return talk.Says("x", s.within(300*time.Millisecond)) != nil, "it goes on"
	})
	if talk.Says("y", s.within(time.Second)) == nil {
		t.Error("the connection that its rule's end ended goes on")
	}
	s.closed(t, s.One, to, 5010)
}

// remotes: rules that name who may come, by prefix and by group.
func remotes(t *testing.T, s *Stage) {
	g, group := s.guarded(t, "chosen")
	to := s.Address(t, g)
	one := s.Address(t, s.One)
	prefix := s.allow(t, group, "ingress", s.icmp().With(Object{"remote_ip_prefix": netip.PrefixFrom(one, one.BitLen()).String()}))
	s.Reach(t, s.One, to)
	s.Silent(t, s.Beside, to)
	s.forbid(t, prefix)
	own := s.Show(t, "port", s.Beside.PortID)["security_groups"].([]any)[0].(string)
	s.allow(t, group, "ingress", s.icmp().With(Object{"remote_group_id": own}))
	s.Reach(t, s.Beside, to)
	s.Reach(t, s.One, to)
	s.Update(t, "port", s.Beside.PortID, Object{"security_groups": []string{group}})
	s.until(t, 10*time.Second, "no answer once out of the group", func() (bool, string) {
		_, err := s.Exec(t.Context(), s.Beside.Name, "ping", "-c1", "-W"+s.wait(), to.String())
		return err != nil, "there is one"
	})
	s.Update(t, "port", s.Beside.PortID, Object{"security_groups": []string{own}})
	s.Reach(t, s.Beside, to)
}

// outgoing: a group without the rules that let everything out lets nothing out.
func outgoing(t *testing.T, s *Stage) {
	g, group := s.guarded(t, "mute")
	one := s.Address(t, s.One)
	s.letIn(t, s.icmp(), g)
	s.Reach(t, g, one)
	for _, r := range s.List(t, "security_group_rule", "direction=egress&security_group_id="+group) {
		s.forbid(t, r.ID())
	}
	s.until(t, 10*time.Second, "nothing gets out", func() (bool, string) {
		_, err := s.Exec(t.Context(), g.Name, "ping", "-c1", "-W"+s.wait(), one.String())
		return err != nil, "there is an answer"
	})
	s.allow(t, group, "egress", s.icmp())
	s.Reach(t, g, one)
}

// spoofing: what a guest sends with addresses that are not its own reaches nobody, nor does what only servers and routers say.
func spoofing(t *testing.T, s *Stage) {
	me, beside, far := s.party(t, s.One), s.party(t, s.Beside), s.party(t, s.Far)
	other := net.HardwareAddr{0xfa, 0x16, 0x3e, 0xee, 0xee, 0x01}
	stranger := netip.MustParseAddr(nth(s.prefixes[s.Family], 200))
	s.Reach(t, s.One, far.ip)
	s.Reach(t, s.One, beside.ip)
	out := s.Wire(t, s.One)
	for _, to := range []struct {
		*lab.Guest
		party
	}{{s.Far, far}, {s.Beside, beside}} {
		victim := beside // whose address is taken
		if to.Guest == s.Beside {
			victim = far
		}
		in := s.Wire(t, to.Guest)
		honest := []byte("isospin honest datagram")
		s.until(t, 5*time.Second, "an honest frame arrives", func() (bool, string) {
			out.Send(t, datagram(me, to.party, 4000, 4000, honest))
			return in.Sees(t, honest, s.within(100*time.Millisecond)), "it does not"
		})
		mark := []byte("isospin forged frame")
		frames := map[string][]byte{
			"MAC":    datagram(party{other, me.ip}, to.party, 4000, 4000, mark),
			"IP":     datagram(party{me.mac, stranger}, to.party, 4000, 4000, mark),
			"victim": datagram(party{me.mac, victim.ip}, to.party, 4000, 4000, mark),
		}
		for name, frame := range s.servers(me, to.party, mark) {
			frames[name] = frame
		}
		for name, frame := range s.claims(me, to.party, victim, other) {
			frames[name] = frame
		}
		for name, frame := range frames {
			out.Send(t, frame, frame)
			if in.Sees(t, frame[6:], s.within(100*time.Millisecond)) {
				t.Errorf("a frame with a forged %s came to %s", name, to.Name)
			}
		}
	}
}

// servers are frames that only a DHCP server or a router may send.
func (s *Stage) servers(me, to party, mark []byte) map[string][]byte {
	if s.Family == IPv4 {
		return map[string][]byte{"DHCP offer": datagram(me, to, 67, 68, mark)}
	}
	link := party{me.mac, linkLocal(me.mac)}
	return map[string][]byte{"DHCPv6 advertise": datagram(link, to, 547, 546, mark), "router advertisement": routerAdvertisement(link, to, me.mac)}
}

// claims are frames that say that somebody else's address is here.
func (s *Stage) claims(me, to, victim party, other net.HardwareAddr) map[string][]byte {
	if s.Family == IPv4 {
		return map[string][]byte{"ARP reply": arpReply(me, to, me.mac, victim.ip), "ARP sender": arpReply(me, to, other, me.ip)}
	}
	return map[string][]byte{"advertisement": advertisement(me, to, me.mac, victim.ip)}
}

// linkLocal is the address that a MAC address makes.
func linkLocal(mac net.HardwareAddr) netip.Addr {
	return netip.AddrFrom16([16]byte{0xfe, 0x80, 8: mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]})
}

// addressPairs: an address that a port is allowed besides its own can be used once it is, and no longer once it is not.
func addressPairs(t *testing.T, s *Stage) {
	extra := netip.MustParseAddr(nth(s.prefixes[s.Family], 201))
	bits := map[Family]string{IPv4: "/24", IPv6: "/64"}[s.Family]
	flags := []string{"ip", "address", "add", extra.String() + bits, "dev", "eth0"}
	if s.Family == IPv6 {
		flags = append(flags, "nodad")
	}
	s.On(t, s.Far.Name, flags...)
	defer s.On(t, s.Far.Name, "ip", "address", "del", extra.String()+bits, "dev", "eth0")
	s.Silent(t, s.One, extra)
	s.Update(t, "port", s.Far.PortID, Object{"allowed_address_pairs": []Object{{"ip_address": extra.String()}}})
	s.Reach(t, s.One, extra)
	s.Reach(t, s.Beside, extra)
	s.Update(t, "port", s.Far.PortID, Object{"allowed_address_pairs": []Object{}})
	s.until(t, 10*time.Second, "no answer without the pair", func() (bool, string) {
		_, err := s.Exec(t.Context(), s.One.Name, "ping", "-c1", "-W"+s.wait(), extra.String())
		return err != nil, "there is one"
	})
}

// portSecurityOff: a port without port security has neither groups nor addresses of its own only.
func portSecurityOff(t *testing.T, s *Stage) {
	port := s.Port(t, Object{"port_security_enabled": false, "security_groups": []string{}})
	g := s.Boot(t, Birth{Name: "open", Host: "h2", Port: port.ID(), Static: true})["open"]
	s.Reach(t, s.One, s.Address(t, g))
	in, out := s.Wire(t, s.One), s.Wire(t, g)
	me, to := s.party(t, g), s.party(t, s.One)
	mark := []byte("isospin frame of another sender")
	stranger := party{net.HardwareAddr{0xfa, 0x16, 0x3e, 0xee, 0xee, 0x02}, me.ip}
	s.letIn(t, Object{"protocol": "udp"}, g)
	s.until(t, 5*time.Second, "a frame with any sender arrives", func() (bool, string) {
		out.Send(t, datagram(stranger, to, 4000, 4000, mark))
		return in.Sees(t, mark, s.within(100*time.Millisecond)), "it does not"
	})
}

// letIn adds a rule to the stage's group, for what a guest of another group sends. It goes with the test.
func (s *Stage) letIn(t *testing.T, what Object, from *lab.Guest) {
	t.Helper()
	own, address := s.Show(t, "port", s.One.PortID)["security_groups"].([]any)[0].(string), s.Address(t, from)
	rule := s.allow(t, own, "ingress", what.With(Object{"remote_ip_prefix": netip.PrefixFrom(address, address.BitLen()).String()}))
	t.Cleanup(func() { s.forbid(t, rule) })
}
