//go:build integration

package fullstack

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// rulesWith waits until a host's table of nftables has what is asked for, or with want false has it no more.
func (s *stack) rulesWith(t *testing.T, host, text string, want bool) {
	t.Helper()
	until(t, 5*time.Second, fmt.Sprintf("rules on %s with %q: %v", host, text, want), func() (bool, string) {
		table := s.on(t, host, "nft", "list", "table", "bridge", "isospin")
		return strings.Contains(table, text) == want, table
	})
}

// TestQoSOnBridges holds guests on Linux bridges to their limits, for ten seconds of TCP, within a tenth; marks what they send; and changes rates
// under a ping of which no packet may be lost, with a kill of the agent, after which nothing is written.
func TestQoSOnBridges(t *testing.T) {
	s := bring(t, "", bridged("h1"), bridged("h2"))
	n := s.net(t, "limited", "10.63.0.0/24", object{"port_security_enabled": false}) // natively the kernel tracks no connections on bridges
	g := s.static(t, birth{name: "a", host: "h1", network: n.id()}, birth{name: "b", host: "h2", network: n.id()})
	a, b := g["a"].IPs[0], g["b"].IPs[0]
	s.reach(t, "a", b)
	unlimited(t, "before, sent", s.speed(t, "a", "b", b, 2*time.Second))
	policy := s.policy(t, "limits")
	const kind = "bandwidth_limit_rule"
	s.update(t, "network", n.id(), object{"qos_policy_id": policy})
	send := s.qosRule(t, policy, kind, object{"max_kbps": 5000, "direction": "egress"})
	s.rulesWith(t, "h1", "over 625000 bytes/second", true)
	s.rulesWith(t, "h2", "over 625000 bytes/second", true)
	near(t, "sent", s.speed(t, "a", "b", b, 10*time.Second), 5)
	s.changeRule(t, policy, kind, send, object{"max_kbps": 20000, "max_burst_kbps": 1000})
	s.rulesWith(t, "h1", "over 2500000 bytes/second", true)
	s.rulesWith(t, "h2", "over 2500000 bytes/second", true)
	near(t, "sent", s.speed(t, "a", "b", b, 10*time.Second), 20)
	s.removeRule(t, policy, kind, send)
	receive := s.qosRule(t, policy, kind, object{"max_kbps": 5000, "direction": "ingress"})
	s.rulesWith(t, "h1", "over 625000 bytes/second", true)
	s.rulesWith(t, "h2", "over 625000 bytes/second", true)
	near(t, "received", s.speed(t, "b", "a", a, 10*time.Second), 5)

	mark := s.qosRule(t, policy, "dscp_marking_rule", object{"dscp_mark": 46})
	until(t, 3*time.Second, "DSCP 46", func() (bool, string) {
		got := s.arrives(t, "a", "b", b, 0x08, 1, 0)
		return len(got) == 1 && got[0]>>2 == 46, fmt.Sprint(got)
	})
	p := s.start(t, "a", b)
	for _, rate := range []int{6000, 20000, 5000} {
		s.changeRule(t, policy, kind, receive, object{"max_kbps": rate})
		s.rulesWith(t, "h1", fmt.Sprintf("over %d bytes/second", rate*125), true)
	}
	before := s.on(t, "h1", "nft", "-a", "list", "table", "bridge", "isospin")
	must(t, s.AgentKill(t.Context(), "h1"))
	must(t, s.AgentStart(t.Context(), "h1"))
	p.more(t, 50)
	if after := s.on(t, "h1", "nft", "-a", "list", "table", "bridge", "isospin"); after != before { // with the handles: a rule that was written anew has another
		t.Errorf("a restart wrote:\n%s\n%s", before, after)
	}
	s.removeRule(t, policy, "dscp_marking_rule", mark)
	s.update(t, "network", n.id(), object{"qos_policy_id": nil})
	s.rulesWith(t, "h1", "limit rate", false)
	s.rulesWith(t, "h2", "limit rate", false)
	if lost := p.stop(t); lost > 0 {
		t.Errorf("%d pings were lost", lost)
	}
	unlimited(t, "after", s.speed(t, "b", "a", a, 2*time.Second))
}
