package secgroup

import (
	"testing"

	"isospin/internal/fault"
	"isospin/internal/model"
)

func ptr[T any](v T) *T { return &v }

// rule makes a rule of ingress over IPv4 or, with v6, IPv6.
func rule(protocol string, v6 bool, change ...func(*model.SecurityGroupRule)) *model.SecurityGroupRule {
	r := &model.SecurityGroupRule{Direction: "ingress", Ethertype: model.IPv4}
	if v6 {
		r.Ethertype = model.IPv6
	}
	if protocol != "" {
		r.Protocol = &protocol
	}
	for _, f := range change {
		f(r)
	}
	return r
}

func ports(low, high int64) func(*model.SecurityGroupRule) {
	return func(r *model.SecurityGroupRule) { r.PortRangeMin, r.PortRangeMax = &low, &high }
}

func prefix(p string) func(*model.SecurityGroupRule) {
	return func(r *model.SecurityGroupRule) { r.RemoteIPPrefix = &p }
}

// TestNormalize: what rules are refused, by the type of the fault.
func TestNormalize(t *testing.T) {
	for _, c := range []struct {
		what string
		r    *model.SecurityGroupRule
		want string
	}{
		{"nothing but a direction", rule("", false), ""},
		{"ports without a protocol", rule("", false, ports(1, 2)), "SecurityGroupProtocolRequiredWithPorts"},
		{"ports of TCP", rule("tcp", false, ports(1, 65535)), ""},
		{"ports by number", rule("6", false, ports(1, 2)), ""},
		{"port 0", rule("udp", false, ports(0, 2)), "SecurityGroupInvalidPortValue"},
		{"ports turned round", rule("udp", false, ports(3, 2)), "SecurityGroupInvalidPortRange"},
		{"one port alone", rule("tcp", false, func(r *model.SecurityGroupRule) { r.PortRangeMin = ptr(int64(1)) }), "SecurityGroupInvalidPortRange"},
		{"ports of GRE", rule("gre", false, ports(1, 2)), "SecurityGroupInvalidProtocolForPort"},
		{"an ICMP type and code", rule("icmp", false, ports(8, 0)), ""},
		{"an ICMP type out of range", rule("icmp", false, ports(256, 0)), "SecurityGroupInvalidIcmpValue"},
		{"an ICMP code alone", rule("icmp", false, func(r *model.SecurityGroupRule) { r.PortRangeMax = ptr(int64(1)) }), "SecurityGroupMissingIcmpType"},
		{"IPv6's ICMP over IPv4", rule("ipv6-icmp", false), "SecurityGroupEthertypeConflictWithProtocol"},
		{"IPv6's routing header over IPv4", rule("43", false), "SecurityGroupEthertypeConflictWithProtocol"},
		{"a prefix of the other family", rule("", false, prefix("2001:db8::/64")), "SecurityGroupRuleParameterConflict"},
		{"a prefix with host bits", rule("", false, prefix("10.0.0.5/24")), ""},
		{"two remotes", rule("", false, prefix("10.0.0.0/24"), func(r *model.SecurityGroupRule) { r.RemoteGroupID = ptr("g") }), "SecurityGroupMultipleRemoteEntites"},
	} {
		err := normalize(c.r)
		got := ""
		if err != nil {
			got = fault.Of(err).Name
		}
		if got != c.want {
			t.Errorf("%s: %q, not %q", c.what, got, c.want)
		}
	}
}

// TestNormalized: what normalizing settles.
func TestNormalized(t *testing.T) {
	r := rule("icmp", true, prefix("2001:db8::5/64"))
	if err := normalize(r); err != nil {
		t.Fatal(err)
	}
	if *r.Protocol != "ipv6-icmp" || *r.NormalizedCIDR != "2001:db8::/64" || *r.RemoteIPPrefix != "2001:db8::5/64" {
		t.Errorf("%s %s %s", *r.Protocol, *r.NormalizedCIDR, *r.RemoteIPPrefix)
	}
}

// TestMeaning: which rules are equal (behaviour.md, section 12): protocols by number, prefixes as given.
func TestMeaning(t *testing.T) {
	for _, c := range []struct {
		a, b  *model.SecurityGroupRule
		equal bool
	}{
		{rule("tcp", false), rule("6", false), true},
		{rule("icmp", true), rule("58", true), true},
		{rule("icmpv6", true), rule("ipv6-icmp", true), true},
		{rule("icmp", false), rule("1", false), true},
		{rule("tcp", false), rule("tcp", true), false},
		{rule("tcp", false), rule("udp", false), false},
		{rule("tcp", false, ports(1, 2)), rule("tcp", false), false},
		{rule("", false, prefix("10.0.0.5/24")), rule("", false, prefix("10.0.0.0/24")), false},
		{rule("", false), rule("", false), true},
	} {
		if got := meaning(c.a) == meaning(c.b); got != c.equal {
			t.Errorf("%s and %s", meaning(c.a), meaning(c.b))
		}
	}
}
