package ipam

import (
	"net"
	"net/netip"
	"testing"

	"isospin/internal/model"
)

// TestPrefixes: the last address, how many there are, and how the store writes them.
func TestPrefixes(t *testing.T) {
	for _, c := range []struct{ prefix, last, size string }{
		{"10.0.0.0/24", "10.0.0.255", "256"}, {"10.0.0.7/32", "10.0.0.7", "1"}, {"0.0.0.0/0", "255.255.255.255", "4294967296"},
		{"10.0.0.9/29", "10.0.0.15", "8"}, {"2001:db8::/64", "2001:db8::ffff:ffff:ffff:ffff", "18446744073709551616"},
		{"::/0", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "340282366920938463463374607431768211456"},
	} {
		p := netip.MustParsePrefix(c.prefix)
		if got := Last(p); got.String() != c.last {
			t.Errorf("the last of %s is %s", c.prefix, got)
		}
		if got := Size(p.Masked().Addr(), Last(p)); got.String() != c.size {
			t.Errorf("%s holds %s", c.prefix, got)
		}
	}
	if a, b := Hex(netip.MustParseAddr("10.0.0.1")), Hex(netip.MustParseAddr("::ffff:10.0.0.1")); a != b || a != "00000000000000000000ffff0a000001" {
		t.Errorf("%s %s", a, b)
	}
}

// TestEUI64: the example of RFC 2464, section 4.
func TestEUI64(t *testing.T) {
	mac, err := net.ParseMAC("34:56:78:9a:bc:de")
	if err != nil {
		t.Fatal(err)
	}
	if got := EUI64(netip.MustParsePrefix("fe80::/64"), mac); got.String() != "fe80::3656:78ff:fe9a:bcde" {
		t.Error(got)
	}
}

func subnet(id, cidr string, version int64, mode string, services ...string) model.Subnet {
	s := model.Subnet{CIDR: &cidr, IPVersion: version, ServiceTypes: services}
	s.ID = id
	if mode != "" {
		s.IPv6AddressMode = &mode
	}
	return s
}

// TestClasses: which subnets a port gets addresses of, and how (behaviour.md, section 10).
func TestClasses(t *testing.T) {
	plain := []model.Subnet{subnet("a", "10.0.0.0/24", 4, ""), subnet("b", "10.1.0.0/24", 4, ""), subnet("c", "2001:db8::/64", 6, "dhcpv6-stateful"),
		subnet("d", "2001:db8:1::/64", 6, "slaac"), subnet("e", "2001:db8:2::/64", 6, "dhcpv6-stateless"), subnet("f", "2001:db8:3::/64", 6, "")}
	typed := append(plain[:2:2], subnet("t", "10.2.0.0/24", 4, "", "compute:nova"), subnet("r", "10.3.0.0/24", 4, "", "network:router_gateway"))
	for _, c := range []struct {
		what, owner  string
		subnets      []model.Subnet
		v4, v6, auto string
	}{
		{"all kinds", "", plain, "ab", "cf", "de"},
		{"a type that fits goes first", "compute:nova", typed, "tab", "", ""},
		{"another one", "network:router_gateway", typed, "rab", "", ""},
		{"no type that fits", "network:dhcp", typed, "ab", "", ""},
	} {
		v4, v6, auto := classes(Request{Owner: c.owner, Subnets: c.subnets})
		names := func(list []*model.Subnet) (out string) {
			for _, s := range list {
				out += s.ID
			}
			return out
		}
		if names(v4) != c.v4 || names(v6) != c.v6 || names(auto) != c.auto {
			t.Errorf("%s: %s, %s, %s", c.what, names(v4), names(v6), names(auto))
		}
	}
}

// TestInPools: both ends of a pool are in it.
func TestInPools(t *testing.T) {
	s := subnet("a", "10.0.0.0/24", 4, "")
	s.AllocationPools = []model.AllocationPool{{Start: "10.0.0.10", End: "10.0.0.20"}, {Start: "10.0.0.30", End: "10.0.0.30"}}
	for text, want := range map[string]bool{"10.0.0.9": false, "10.0.0.10": true, "10.0.0.20": true, "10.0.0.21": false, "10.0.0.30": true, "10.1.0.15": false, "::1": false} {
		if got := InPools(&s, netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	if got := ranges(&s); len(got) != 2 || address(got[0].First).String() != "10.0.0.10" || address(got[1].Last).String() != "10.0.0.30" {
		t.Errorf("%v", got)
	}
}
