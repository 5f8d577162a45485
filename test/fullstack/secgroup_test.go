//go:build integration

package fullstack

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"
)

// group makes a security group with no rules at all.
func (s *stack) group(t *testing.T, name string, more object) string {
	t.Helper()
	g := inner(t, s.call(t, http.MethodPost, "security-groups", object{"security_group": with(more, object{"name": name})}), "security_group")
	for _, r := range g["security_group_rules"].([]any) {
		s.call(t, http.MethodDelete, "security-group-rules/"+object(r.(map[string]any)).id(), nil)
	}
	return g.id()
}

// rule adds one to a group.
func (s *stack) rule(t *testing.T, group, direction, ethertype string, more object) string {
	t.Helper()
	body := with(more, object{"security_group_id": group, "direction": direction, "ethertype": ethertype})
	return inner(t, s.call(t, http.MethodPost, "security-group-rules", object{"security_group_rule": body}), "security_group_rule").id()
}

func (s *stack) unrule(t *testing.T, id string) {
	t.Helper()
	s.call(t, http.MethodDelete, "security-group-rules/"+id, nil)
}

// free makes a group that allows all of one direction.
func (s *stack) free(t *testing.T, name string, directions ...string) string {
	t.Helper()
	g := s.group(t, name, nil)
	for _, d := range directions {
		s.rule(t, g, d, "IPv4", nil)
		s.rule(t, g, d, "IPv6", nil)
	}
	return g
}

// both is a network with IPv4 and IPv6.
func (s *stack) both(t *testing.T, name, cidr4, cidr6 string) object {
	t.Helper()
	n := s.net(t, name, cidr4, nil)
	s.create(t, "subnet", object{"network_id": n.id(), "ip_version": 6, "cidr": cidr6})
	return n
}

// guard boots guests on a network with ports of these groups, and opens their devices.
func (s *stack) guard(t *testing.T, network string, guests map[string]object) map[string]*nic {
	t.Helper()
	var births []birth
	for name, o := range guests {
		host := o.text("host")
		attributes := object{"network_id": network}
		for k, v := range o {
			if k != "host" {
				attributes[k] = v
			}
		}
		births = append(births, birth{name: name, host: host, port: s.create(t, "port", attributes).id()})
	}
	out := map[string]*nic{}
	for name, g := range s.static(t, births...) {
		out[name] = s.nic(t, g)
	}
	return out
}

// cases of rules: what fits, and what does not.
type ruleCase struct {
	name      string
	ethertype string
	rule      object
	good, bad func(from, to *nic) [][]byte
}

func ruleCases() []ruleCase {
	list := func(fs ...func(from, to *nic) []byte) func(from, to *nic) [][]byte {
		return func(from, to *nic) (out [][]byte) {
			for _, f := range fs {
				out = append(out, f(from, to))
			}
			return out
		}
	}
	next := uint16(20000)
	source := func() uint16 { next++; return next }
	syn := func(v6 bool, port uint16) func(from, to *nic) []byte {
		return func(from, to *nic) []byte { return from.to(to, v6).syn(source(), port) }
	}
	udp := func(v6 bool, port uint16) func(from, to *nic) []byte {
		return func(from, to *nic) []byte { return from.to(to, v6).udp(source(), port) }
	}
	sctp := func(v6 bool, port uint16) func(from, to *nic) []byte {
		return func(from, to *nic) []byte { return from.to(to, v6).sctp(source(), port) }
	}
	icmp := func(v6 bool, kind, code byte) func(from, to *nic) []byte {
		return func(from, to *nic) []byte { return from.to(to, v6).icmp(kind, code) }
	}
	other := func(v6 bool, proto byte) func(from, to *nic) []byte {
		return func(from, to *nic) []byte { return from.to(to, v6).other(proto) }
	}
	const v4, v6 = false, true
	return []ruleCase{
		{"a TCP port", "IPv4", object{"protocol": "tcp", "port_range_min": 80, "port_range_max": 80}, list(syn(v4, 80)), list(syn(v4, 81), udp(v4, 80), syn(v6, 80), icmp(v4, 8, 0))},
		{"TCP by number", "IPv4", object{"protocol": "6"}, list(syn(v4, 1), syn(v4, 65535)), list(udp(v4, 1))},
		{"a range", "IPv4", object{"protocol": "tcp", "port_range_min": 1000, "port_range_max": 1999},
			list(syn(v4, 1000), syn(v4, 1024), syn(v4, 1999)), list(syn(v4, 999), syn(v4, 2000), udp(v4, 1500))},
		{"a UDP port", "IPv4", object{"protocol": "udp", "port_range_min": 53, "port_range_max": 53}, list(udp(v4, 53)), list(udp(v4, 54), syn(v4, 53), udp(v6, 53))},
		{"ICMP", "IPv4", object{"protocol": "icmp"}, list(icmp(v4, 8, 0), icmp(v4, 13, 0)), list(udp(v4, 8), icmp(v6, 128, 0))},
		{"an ICMP type", "IPv4", object{"protocol": "icmp", "port_range_min": 8}, list(icmp(v4, 8, 0)), list(icmp(v4, 13, 0))},
		{"an ICMP type and code", "IPv4", object{"protocol": "1", "port_range_min": 13, "port_range_max": 0}, list(icmp(v4, 13, 0)), list(icmp(v4, 8, 0))},
		{"an SCTP port", "IPv4", object{"protocol": "sctp", "port_range_min": 5000, "port_range_max": 5000}, list(sctp(v4, 5000)), list(sctp(v4, 5001), syn(v4, 5000))},
		{"GRE", "IPv4", object{"protocol": "gre"}, list(other(v4, 47)), list(other(v4, 50), syn(v4, 47))},
		{"DCCP", "IPv4", object{"protocol": "dccp"}, list(other(v4, 33)), list(other(v4, 136))},
		{"UDP-Lite", "IPv4", object{"protocol": "udplite"}, list(other(v4, 136)), list(other(v4, 33), udp(v4, 7))},
		{"a number", "IPv4", object{"protocol": "253"}, list(other(v4, 253)), list(other(v4, 254))},
		{"all of IPv4", "IPv4", nil, list(other(v4, 253), udp(v4, 9), syn(v4, 9), icmp(v4, 8, 0)), list(udp(v6, 9), icmp(v6, 128, 0))},
		{"all of IPv6", "IPv6", nil, list(udp(v6, 9), syn(v6, 9), icmp(v6, 128, 0), other(v6, 253)), list(udp(v4, 9))},
		{"a TCP port of IPv6", "IPv6", object{"protocol": "tcp", "port_range_min": 80, "port_range_max": 81}, list(syn(v6, 80), syn(v6, 81)), list(syn(v6, 82), syn(v4, 80))},
		{"ICMPv6", "IPv6", object{"protocol": "ipv6-icmp", "port_range_min": 128}, list(icmp(v6, 128, 0)), list(udp(v6, 128), icmp(v4, 8, 0))},
		{"an SCTP port of IPv6", "IPv6", object{"protocol": "sctp", "port_range_min": 1, "port_range_max": 2}, list(sctp(v6, 2)), list(sctp(v6, 3))},
	}
}

// TestSecurityGroupRules holds every kind of rule against packets, both ways, on one host and between two.
func TestSecurityGroupRules(t *testing.T) {
	s := bring(t, "", whole("h1"), whole("h2"))
	n := s.both(t, "rules", "10.60.0.0/24", "fd60::/64")
	out, in := s.free(t, "out", "egress"), s.free(t, "in", "ingress")
	probe := map[string]string{"ingress": s.group(t, "probe in", nil), "egress": s.group(t, "probe out", nil)}
	g := s.guard(t, n.id(), map[string]object{
		"sender":     {"host": "h1", "security_groups": []string{out}},
		"ingress-h1": {"host": "h1", "security_groups": []string{probe["ingress"]}},
		"ingress-h2": {"host": "h2", "security_groups": []string{probe["ingress"]}},
		"egress":     {"host": "h1", "security_groups": []string{probe["egress"]}},
		"free-h1":    {"host": "h1", "security_groups": []string{in}},
		"free-h2":    {"host": "h2", "security_groups": []string{in}},
	})
	pairs := map[string][][2]*nic{"ingress": {{g["sender"], g["ingress-h1"]}, {g["sender"], g["ingress-h2"]}}, "egress": {{g["egress"], g["free-h1"]}, {g["egress"], g["free-h2"]}}}
	for direction, ps := range pairs {
		for _, c := range ruleCases() {
			t.Run(direction+" "+c.name, func(t *testing.T) {
				none(t, ps, c.good, "before there is a rule")
				r := s.rule(t, probe[direction], direction, c.ethertype, c.rule)
				defer func() {
					if t.Failed() {
						_, _ = s.try(context.WithoutCancel(t.Context()), http.MethodDelete, "security-group-rules/"+r, nil) // the next case needs none
					}
				}()
				for _, p := range ps {
					until(t, 5*time.Second, "what the rule allows comes to "+p[1].name, func() (bool, string) {
						got := p[0].arrives(t, p[1], c.good(p[0], p[1])...)
						return all(got, true), fmt.Sprint(got)
					})
				}
				none(t, ps, c.bad, "what the rule does not allow")
				s.unrule(t, r)
				for _, p := range ps {
					until(t, 2*time.Second, "nothing comes to "+p[1].name, func() (bool, string) {
						got := p[0].arrives(t, p[1], c.good(p[0], p[1])...)
						return all(got, false), fmt.Sprint(got)
					})
				}
			})
		}
	}
}

func all(got []bool, want bool) bool {
	for _, g := range got {
		if g != want {
			return false
		}
	}
	return true
}

func none(t *testing.T, pairs [][2]*nic, frames func(from, to *nic) [][]byte, what string) {
	t.Helper()
	for _, p := range pairs {
		for i, came := range p[0].arrives(t, p[1], frames(p[0], p[1])...) {
			if came {
				t.Errorf("%s: packet %d of %s came to %s", what, i, p[0].name, p[1].name)
			}
		}
	}
}
