package secgroup

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"isospin/internal/wire"
)

func TestReadRule(t *testing.T) {
	base := func(change func(*wire.SecurityGroupRule)) *wire.SecurityGroupRule {
		d := &wire.SecurityGroupRule{Id: "r", SecurityGroupId: "g", Direction: "ingress", Ethertype: "IPv4", PortRangeMin: -1, PortRangeMax: -1}
		change(d)
		return d
	}
	cases := map[string]struct {
		change func(*wire.SecurityGroupRule)
		want   Rule
		bad    bool
	}{
		"everything":  {change: func(*wire.SecurityGroupRule) {}, want: Rule{Protocol: AnyProtocol, Low: -1, High: -1}},
		"by name":     {change: func(d *wire.SecurityGroupRule) { d.Protocol = "gre" }, want: Rule{Protocol: 47, Low: -1, High: -1}},
		"by number":   {change: func(d *wire.SecurityGroupRule) { d.Protocol = "253" }, want: Rule{Protocol: 253, Low: -1, High: -1}},
		"zero":        {change: func(d *wire.SecurityGroupRule) { d.Protocol = "0" }, want: Rule{Protocol: AnyProtocol, Low: -1, High: -1}},
		"no protocol": {change: func(d *wire.SecurityGroupRule) { d.Protocol = "carrier-pigeon" }, bad: true},
		"ports": {change: func(d *wire.SecurityGroupRule) { d.Protocol, d.PortRangeMin, d.PortRangeMax = "tcp", 80, 443 },
			want: Rule{Protocol: TCP, Low: 80, High: 443}},
		"backwards": {change: func(d *wire.SecurityGroupRule) { d.Protocol, d.PortRangeMin, d.PortRangeMax = "tcp", 443, 80 }, bad: true},
		"one end":   {change: func(d *wire.SecurityGroupRule) { d.Protocol, d.PortRangeMin = "udp", 53 }, want: Rule{Protocol: UDP, Low: 53, High: 53}},
		"ports of none": {change: func(d *wire.SecurityGroupRule) { d.Protocol, d.PortRangeMin, d.PortRangeMax = "gre", 1, 2 },
			want: Rule{Protocol: 47, Low: -1, High: -1}},
		"type and code": {change: func(d *wire.SecurityGroupRule) { d.Protocol, d.PortRangeMin, d.PortRangeMax = "icmp", 8, 0 }, want: Rule{Protocol: ICMP, Low: 8, High: 0}},
		"icmp of IPv6": {change: func(d *wire.SecurityGroupRule) { d.Protocol, d.Ethertype, d.PortRangeMin = "icmp", "IPv6", 128 },
			want: Rule{Protocol: ICMPv6, V6: true, Low: 128, High: -1}},
		"type too large": {change: func(d *wire.SecurityGroupRule) { d.Protocol, d.PortRangeMin = "icmp", 256 }, bad: true},
		"prefix": {change: func(d *wire.SecurityGroupRule) { d.RemoteIpPrefix = "192.0.2.9/24" },
			want: Rule{Protocol: AnyProtocol, Low: -1, High: -1, Remote: Remote{Prefix: netip.MustParsePrefix("192.0.2.0/24")}}},
		"all addresses": {change: func(d *wire.SecurityGroupRule) { d.RemoteIpPrefix = "0.0.0.0/0" }, want: Rule{Protocol: AnyProtocol, Low: -1, High: -1}},
		"other family":  {change: func(d *wire.SecurityGroupRule) { d.RemoteIpPrefix = "::/0" }, bad: true},
		"groups": {change: func(d *wire.SecurityGroupRule) { d.RemoteGroupId, d.Direction = "other", "egress" },
			want: Rule{Egress: true, Protocol: AnyProtocol, Low: -1, High: -1, Remote: Remote{Group: "other"}}},
		"address group": {change: func(d *wire.SecurityGroupRule) { d.RemoteAddressGroupId = "ag" },
			want: Rule{Protocol: AnyProtocol, Low: -1, High: -1, Remote: Remote{AddressGroup: "ag"}}},
		"no direction": {change: func(d *wire.SecurityGroupRule) { d.Direction = "" }, bad: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ReadRule(base(c.change))
			if c.bad {
				if err == nil {
					t.Fatalf("read as %+v", got)
				}
				return
			}
			c.want.ID, c.want.Group = "r", "g"
			if err != nil || got != c.want {
				t.Errorf("read as %+v (%v), not %+v", got, err, c.want)
			}
		})
	}
}

func TestIdentities(t *testing.T) {
	p := &wire.Port{MacAddress: "FA:16:3E:00:00:01", FixedIps: []*wire.FixedIP{{IpAddress: "192.0.2.1"}, {IpAddress: "2001:db8::1"}},
		AllowedAddressPairs: []*wire.AddressPair{{IpAddress: "192.0.2.1"}, {IpAddress: "198.51.100.0/24", MacAddress: "fa:16:3e:00:00:02"}, {IpAddress: "nowhere"}}}
	got, err := Identities(p)
	if err == nil {
		t.Error("an address pair that cannot be read was not told")
	}
	var texts []string
	for _, i := range got {
		texts = append(texts, fmt.Sprint(i.MAC, " ", i.Prefix))
	}
	want := []string{"fa:16:3e:00:00:01 192.0.2.1/32", "fa:16:3e:00:00:02 198.51.100.0/24", "fa:16:3e:00:00:01 2001:db8::1/128",
		"fa:16:3e:00:00:01 fe80::f816:3eff:fe00:1/128", "fa:16:3e:00:00:02 fe80::f816:3eff:fe00:2/128"}
	if !slices.Equal(texts, want) {
		t.Errorf("got %q", texts)
	}
	if _, err := Identities(&wire.Port{MacAddress: "none"}); err == nil {
		t.Error("a port without a MAC address was read")
	}
}
