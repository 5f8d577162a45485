//go:build integration

package fullstack

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// rules are the collections of a policy's rules by what they are in a body.
func rulesOf(policy, kind string) string { return "qos/policies/" + policy + "/" + kind + "s" }

// policy makes a QoS policy.
func (s *stack) policy(t *testing.T, name string) string {
	t.Helper()
	return inner(t, s.call(t, http.MethodPost, "qos/policies", object{"policy": object{"name": name}}), "policy").id()
}

// qosRule adds a rule to a policy: a "bandwidth_limit_rule", a "dscp_marking_rule".
func (s *stack) qosRule(t *testing.T, policy, kind string, attributes object) string {
	t.Helper()
	return inner(t, s.call(t, http.MethodPost, rulesOf(policy, kind), object{kind: attributes}), kind).id()
}

func (s *stack) changeRule(t *testing.T, policy, kind, id string, attributes object) {
	t.Helper()
	s.call(t, http.MethodPut, rulesOf(policy, kind)+"/"+id, object{kind: attributes})
}

func (s *stack) removeRule(t *testing.T, policy, kind, id string) {
	t.Helper()
	s.call(t, http.MethodDelete, rulesOf(policy, kind)+"/"+id, nil)
}

// limits waits until a host's meters of bandwidth have these rates, in kilobits a second, sorted as text.
func (s *stack) limits(t *testing.T, host string, want ...string) {
	t.Helper()
	until(t, 5*time.Second, "limits on "+host, func() (bool, string) {
		dump := s.on(t, host, "ovs-ofctl", "-O", "OpenFlow15", "dump-meters", "br-int")
		var have []string
		for field := range strings.FieldsSeq(dump) {
			if rate, ok := strings.CutPrefix(field, "rate="); ok {
				have = append(have, rate)
			}
		}
		return sameElements(have, want), dump
	})
}

func sameElements(a, b []string) bool {
	count := map[string]int{}
	for _, x := range a {
		count[x]++
	}
	for _, x := range b {
		count[x]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

// speed sends by TCP for so long, and tells what arrives meanwhile, in Mbit/s of payload.
func (s *stack) speed(t *testing.T, from, to, ip string, during time.Duration) float64 {
	t.Helper()
	addr := &net.TCPAddr{IP: net.ParseIP(ip), Port: 5002}
	var listener *net.TCPListener
	var conn *net.TCPConn
	must(t, s.Within(to, func() (err error) { listener, err = net.ListenTCP("tcp", addr); return err }))
	defer listener.Close()
	must(t, s.Within(from, func() (err error) { conn, err = net.DialTCP("tcp", nil, addr); return err }))
	defer conn.Close()
	in, err := listener.Accept()
	must(t, err)
	defer in.Close()
	end := time.Now().Add(during)
	must(t, errors.Join(conn.SetDeadline(end), in.SetDeadline(end)))
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		block := make([]byte, 1<<16)
		for {
			if _, err := conn.Write(block); err != nil {
				return // the end of the time
			}
		}
	}()
	bytes, block := 0, make([]byte, 1<<16)
	for {
		n, err := in.Read(block)
		bytes += n
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		must(t, err)
	}
	<-sent
	return float64(bytes) * 8 / during.Seconds() / 1e6
}

// near fails the test when a speed is not within a tenth of what was asked for.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	t.Logf("%s: %.2f Mbit/s of %.0f (%+.1f %%)", what, got, want, 100*(got-want)/want)
	if math.Abs(got-want) > want/10 {
		t.Errorf("%s: %.2f Mbit/s, want %.0f within a tenth", what, got, want)
	}
}

// unlimited fails the test when a direction is as slow as the limits of these tests.
func unlimited(t *testing.T, what string, got float64) {
	t.Helper()
	t.Logf("%s: %.0f Mbit/s", what, got)
	if got < 40 {
		t.Errorf("%s: %.1f Mbit/s without a limit", what, got)
	}
}

// TestQoSBandwidth holds what guests send and are sent to their limits, for ten seconds of TCP, within a tenth; the other direction, and what has no
// limit any more, is as fast as ever.
func TestQoSBandwidth(t *testing.T) {
	s := bring(t, "", whole("h1"), whole("h2"))
	n := s.net(t, "limited", "10.60.0.0/24", nil)
	g := s.static(t, birth{name: "a", host: "h1", network: n.id()}, birth{name: "b", host: "h2", network: n.id()}, birth{name: "c", host: "h1", network: n.id()})
	a, b := g["a"].IPs[0], g["b"].IPs[0]
	s.reach(t, "a", b)
	s.reach(t, "a", g["c"].IPs[0])
	unlimited(t, "before, sent", s.speed(t, "a", "b", b, 2*time.Second))
	policy := s.policy(t, "limits")
	s.update(t, "port", g["a"].PortID, object{"qos_policy_id": policy})
	const kind = "bandwidth_limit_rule"
	send := s.qosRule(t, policy, kind, object{"max_kbps": 5000, "direction": "egress"})
	s.limits(t, "h1", "5000")
	near(t, "sent to another host", s.speed(t, "a", "b", b, 10*time.Second), 5)
	unlimited(t, "received with a limit of what is sent", s.speed(t, "b", "a", a, 2*time.Second))
	s.changeRule(t, policy, kind, send, object{"max_kbps": 20000, "max_burst_kbps": 16000})
	s.limits(t, "h1", "20000")
	near(t, "sent on the same host", s.speed(t, "a", "c", g["c"].IPs[0], 10*time.Second), 20)
	receive := s.qosRule(t, policy, kind, object{"max_kbps": 5000, "direction": "ingress"})
	s.limits(t, "h1", "20000", "5000")
	near(t, "received from another host", s.speed(t, "b", "a", a, 10*time.Second), 5)
	s.changeRule(t, policy, kind, receive, object{"max_kbps": 20000, "max_burst_kbps": 1000}) // a burst that is too small for TCP by itself
	s.limits(t, "h1", "20000", "20000")
	near(t, "received from the same host", s.speed(t, "c", "a", a, 10*time.Second), 20)
	unlimited(t, "another port of the host", s.speed(t, "c", "b", b, 2*time.Second))
	s.removeRule(t, policy, kind, receive)
	s.limits(t, "h1", "20000")
	unlimited(t, "received without its rule", s.speed(t, "b", "a", a, 2*time.Second))
	s.update(t, "port", g["a"].PortID, object{"qos_policy_id": nil})
	s.limits(t, "h1")
	unlimited(t, "sent without a policy", s.speed(t, "a", "b", b, 2*time.Second))
}

// TestQoSChanges changes policies under a ping of which no packet may be lost: rates, a port's policy for its network's, and a kill of the agent,
// after which nothing is written.
func TestQoSChanges(t *testing.T) {
	s := bring(t, "", whole("h1"), whole("h2"))
	n := s.net(t, "changing", "10.61.0.0/24", nil)
	g := s.static(t, birth{name: "a", host: "h1", network: n.id()}, birth{name: "b", host: "h2", network: n.id()})
	ip, port := g["b"].IPs[0], g["a"].PortID
	const kind = "bandwidth_limit_rule"
	own, nets := s.policy(t, "own"), s.policy(t, "nets")
	rule := s.qosRule(t, own, kind, object{"max_kbps": 5000, "direction": "egress"})
	s.qosRule(t, own, kind, object{"max_kbps": 5001, "direction": "ingress"})
	for i, direction := range []string{"egress", "ingress"} {
		s.qosRule(t, nets, kind, object{"max_kbps": 7000 + i, "direction": direction})
	}
	s.reach(t, "a", ip)
	w := s.watch(t, "h1") // before the pings: it writes a little itself
	p := s.start(t, "a", ip)
	s.update(t, "network", n.id(), object{"qos_policy_id": nets})
	s.limits(t, "h1", "7000", "7001")
	s.limits(t, "h2", "7000", "7001")
	s.update(t, "port", port, object{"qos_policy_id": own})
	s.limits(t, "h1", "5000", "5001")
	flows := s.flows(t, "h1")
	w.flows.reset()
	for _, rate := range []int{6000, 20000, 5000} {
		s.changeRule(t, own, kind, rule, object{"max_kbps": rate})
		s.limits(t, "h1", fmt.Sprint(rate), "5001")
	}
	s.update(t, "port", port, object{"qos_policy_id": nil})
	s.limits(t, "h1", "7000", "7001")
	s.update(t, "port", port, object{"qos_policy_id": own})
	s.limits(t, "h1", "5000", "5001")
	if seen := w.flowsSeen(); seen != "" {
		t.Errorf("a change of a rate or policy touched flows:\n%s", seen)
	}
	// A meter that somebody takes away by hand, and with it the flow that names it, is back.
	s.on(t, "h1", "ovs-ofctl", "-O", "OpenFlow15", "del-meters", "br-int")
	took := until(t, 2*time.Second, "meters are back", func() (bool, string) { now := s.flows(t, "h1"); return now == flows, now })
	s.limits(t, "h1", "5000", "5001")
	t.Logf("meters taken away were back after %d ms", took.Milliseconds())
	settle(t, w)
	must(t, s.AgentKill(t.Context(), "h1"))
	must(t, s.AgentStart(t.Context(), "h1"))
	p.more(t, 50)
	if lost := p.stop(t); lost > 0 {
		t.Errorf("%d pings were lost", lost)
	}
	w.silent(t)
	s.limits(t, "h1", "5000", "5001")
}

// TestQoSMarksAndPackets: what a guest sends is marked, IPv4 and IPv6, whatever mark it had; packets are counted in both directions; and what a
// limited port may not have of a broadcast, the others have.
func TestQoSMarksAndPackets(t *testing.T) {
	s := bring(t, "", whole("h1"), whole("h2"))
	n := s.net(t, "marked", "10.62.0.0/24", nil)
	s.create(t, "subnet", object{"network_id": n.id(), "ip_version": 6, "cidr": "2001:db8:62::/64"})
	g := s.static(t, birth{name: "a", host: "h1", network: n.id()}, birth{name: "b", host: "h2", network: n.id()}, birth{name: "c", host: "h2", network: n.id()})
	for _, ip := range g["b"].IPs {
		s.reach(t, "a", ip)
	}
	policy := s.policy(t, "marks")
	s.update(t, "port", g["a"].PortID, object{"qos_policy_id": policy})
	mark := s.qosRule(t, policy, "dscp_marking_rule", object{"dscp_mark": 46})
	for _, want := range []int{46, 10} {
		s.changeRule(t, policy, "dscp_marking_rule", mark, object{"dscp_mark": want})
		for _, ip := range g["b"].IPs {
			until(t, 3*time.Second, fmt.Sprintf("DSCP %d to %s", want, ip), func() (bool, string) {
				got := s.arrives(t, "a", "b", ip, 0x08, 1, 0)
				return len(got) == 1 && got[0]>>2 == want, fmt.Sprint(got)
			})
		}
	}
	s.removeRule(t, policy, "dscp_marking_rule", mark)
	until(t, 3*time.Second, "the guest's own mark", func() (bool, string) {
		got := s.arrives(t, "a", "b", g["b"].IPs[0], 0x08, 1, 0)
		return len(got) == 1 && got[0] == 0x08, fmt.Sprint(got)
	})

	// 2,000 packets within half a second, through a limit of a thousand a second with a burst of 800.
	count := func(what, from, to, ip string, least, most int) {
		t.Helper()
		got := len(s.arrives(t, from, to, ip, 0, 2000, 500*time.Millisecond))
		t.Logf("%s: %d of 2000 packets", what, got)
		if got < least || got > most {
			t.Errorf("%s: %d of 2000 packets arrived, want %d to %d", what, got, least, most)
		}
	}
	const kind = "packet_rate_limit_rule"
	a, b := v4(g["a"].IPs), v4(g["b"].IPs)
	count("no limit", "a", "b", b, 1800, 2000)
	out := s.qosRule(t, policy, kind, object{"max_kpps": 1, "max_burst_kpps": 0, "direction": "egress"})
	s.limits(t, "h1", "1000")
	count("sent", "a", "b", b, 700, 1700)
	s.removeRule(t, policy, kind, out)
	s.qosRule(t, policy, kind, object{"max_kpps": 1, "direction": "ingress"})
	s.limits(t, "h1", "1000")
	count("sent without its rule", "a", "b", b, 1800, 2000)
	count("received", "b", "a", a, 700, 1700)

	// Two ports of h2 get a broadcast, one of them through a limit that lets nearly nothing through.
	s.update(t, "port", g["b"].PortID, object{"qos_policy_id": policy})
	s.update(t, "port", g["a"].PortID, object{"qos_policy_id": nil})
	s.limits(t, "h2", "1000")
	limited, free := s.broadcast(t, "a", "10.62.0.255", "b", "c")
	t.Logf("of 2000 broadcasts the limited port got %d, the other %d", limited, free)
	if limited > 1700 || free < 1800 {
		t.Errorf("of 2000 broadcasts the limited port got %d, the other %d", limited, free)
	}
}

// TestQoSIsTold: isospin why port tells how a port's policy is kept; no port waits for it.
func TestQoSIsTold(t *testing.T) {
	s := bring(t, "", whole("h1"))
	n := s.net(t, "told", "10.64.0.0/24", object{"provider:network_type": "vlan", "provider:physical_network": "physnet1", "provider:segmentation_id": 640})
	g := s.static(t, birth{name: "a", host: "h1", network: n.id()})
	port := g["a"].PortID
	says := func(want string, is bool) {
		t.Helper()
		until(t, 5*time.Second, fmt.Sprintf("%q told: %v", want, is), func() (bool, string) {
			out := s.command(t, "why", "port", port)
			return strings.Contains(out, want) == is, out
		})
	}
	says("qos", false)
	policy := s.policy(t, "told")
	s.qosRule(t, policy, "minimum_bandwidth_rule", object{"min_kbps": 1000, "direction": "egress"})
	s.update(t, "port", port, object{"qos_policy_id": policy})
	says("no queues", true) // the userspace datapath's
	s.status(t, port, "ACTIVE")
	s.update(t, "port", port, object{"qos_policy_id": nil})
	says("qos", false)
	s.status(t, port, "ACTIVE")
}

func v4(ips []string) string {
	for _, ip := range ips {
		if !strings.Contains(ip, ":") {
			return ip
		}
	}
	return ""
}

// hear opens a socket that tells the traffic class of what it gets.
func (s *stack) hear(t *testing.T, place, ip string) *net.UDPConn {
	t.Helper()
	var c *net.UDPConn
	must(t, s.Within(place, func() (err error) {
		c, err = net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP(ip), Port: 5003})
		return err
	}))
	t.Cleanup(func() { _ = c.Close() })
	must(t, c.SetReadBuffer(4<<20))
	option(t, c, unix.IPPROTO_IP, unix.IP_RECVTOS, 1)
	if strings.Contains(ip, ":") {
		option(t, c, unix.IPPROTO_IPV6, unix.IPV6_RECVTCLASS, 1)
	}
	return c
}

func option(t *testing.T, c *net.UDPConn, level, name, value int) {
	t.Helper()
	raw, err := c.SyscallConn()
	must(t, err)
	var set error
	must(t, raw.Control(func(fd uintptr) { set = unix.SetsockoptInt(int(fd), level, name, value) }))
	must(t, set)
}

// shoot sends packets of a traffic class, spread over a time.
func (s *stack) shoot(t *testing.T, from, ip string, class, packets int, during time.Duration) {
	t.Helper()
	var c *net.UDPConn
	must(t, s.Within(from, func() (err error) {
		c, err = net.DialUDP("udp", nil, &net.UDPAddr{IP: net.ParseIP(ip), Port: 5003})
		return err
	}))
	defer c.Close()
	if strings.Contains(ip, ":") {
		option(t, c, unix.IPPROTO_IPV6, unix.IPV6_TCLASS, class)
	} else {
		option(t, c, unix.IPPROTO_IP, unix.IP_TOS, class)
	}
	began := time.Now()
	for i := range packets {
		if due := began.Add(during * time.Duration(i) / time.Duration(packets)); i%20 == 0 {
			<-time.After(time.Until(due))
		}
		_, err := c.Write([]byte("isospin"))
		must(t, err)
	}
}

// drain reads the traffic classes of what came, until nothing has come for a moment.
func drain(t *testing.T, c *net.UDPConn) (classes []int) {
	t.Helper()
	data, oob := make([]byte, 64), make([]byte, 64)
	for {
		must(t, c.SetReadDeadline(time.Now().Add(300*time.Millisecond)))
		_, n, _, _, err := c.ReadMsgUDP(data, oob)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return classes
		}
		must(t, err)
		class := -1
		messages, err := unix.ParseSocketControlMessage(oob[:n])
		must(t, err)
		for _, m := range messages {
			if m.Header.Type == unix.IP_TOS || m.Header.Type == unix.IPV6_TCLASS {
				class = int(m.Data[0])
			}
		}
		classes = append(classes, class)
	}
}

// arrives sends packets and tells the traffic classes of those that arrive.
func (s *stack) arrives(t *testing.T, from, to, ip string, class, packets int, during time.Duration) []int {
	t.Helper()
	c := s.hear(t, to, ip)
	defer c.Close()
	s.shoot(t, from, ip, class, packets, during)
	return drain(t, c)
}

// broadcast sends 2,000 packets to everybody within half a second, and tells how many two places got.
func (s *stack) broadcast(t *testing.T, from, ip, one, other string) (int, int) {
	t.Helper()
	first, second := s.hear(t, one, ip), s.hear(t, other, ip)
	var c *net.UDPConn
	must(t, s.Within(from, func() (err error) { c, err = net.ListenUDP("udp", &net.UDPAddr{Port: 5004}); return err }))
	defer c.Close()
	option(t, c, unix.SOL_SOCKET, unix.SO_BROADCAST, 1)
	began := time.Now()
	for i := range 2000 {
		if i%20 == 0 {
			<-time.After(time.Until(began.Add(time.Duration(i) * 250 * time.Microsecond)))
		}
		_, err := c.WriteToUDP([]byte("isospin"), &net.UDPAddr{IP: net.ParseIP(ip), Port: 5003})
		must(t, err)
	}
	return len(drain(t, first)), len(drain(t, second))
}
