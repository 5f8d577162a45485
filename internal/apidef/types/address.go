package types

import (
	"net/netip"
	"strings"

	"isospin/internal/apidef"
	"isospin/internal/fault"
)

// texted is a string type whose value is rewritten: read judges a text and gives its canonical form; what is a
// filter is made canonical if it can be and else left alone, for then it finds nothing.
func texted(read func(s string) (string, error), s apidef.Schema) *kind {
	s["type"] = "string"
	return &kind{
		decode: func(raw []byte) ([]byte, error) {
			if raw[0] != '"' {
				return nil, notText(raw)
			}
			v, err := unquote(raw)
			if err != nil {
				return nil, err
			}
			c, err := read(v)
			if err != nil {
				return nil, err
			}
			if _, plain := plainText(raw); plain && c == v {
				return raw, nil
			}
			return appendQuoted(nil, c), nil
		},
		filter: func(v string) (string, error) {
			if c, err := read(v); err == nil {
				return c, nil
			}
			return v, nil
		},
		schema: s,
	}
}

// MAC is a unicast Ethernet address; canonical is lower case with colons. Accepted are six groups with colons or
// dashes and three with dots. Neutron also takes multicast addresses and ones without separators, which no interface
// can have and no hypervisor reads: Isospin refuses them. All zero and broadcast are refused by both.
func MAC() apidef.Type {
	return texted(readMAC, apidef.Schema{"format": "mac", "examples": []any{"fa:16:3e:12:34:56"}})
}

// MACOrNull is MAC or null, for which the port gets a new one (convert_to_mac_if_none).
func MACOrNull() apidef.Type { return orNull(MAC()) }

func readMAC(s string) (string, error) {
	octets, ok := macOctets(s)
	switch {
	case !ok:
		return "", invalid("%s is not a MAC address with its separators", quoted(s))
	case octets == [6]byte{}:
		return "", invalid("the MAC address %s is all zero", quoted(s))
	case octets == [6]byte{255, 255, 255, 255, 255, 255}:
		return "", invalid("the MAC address %s is that of broadcast", quoted(s))
	case octets[0]&1 == 1:
		return "", invalid("the MAC address %s is one of multicast", quoted(s))
	}
	return macText(octets), nil
}

func macText(octets [6]byte) string {
	const hex = "0123456789abcdef"
	b := make([]byte, 0, 17)
	for i, o := range octets {
		if i > 0 {
			b = append(b, ':')
		}
		b = append(b, hex[o>>4], hex[o&15])
	}
	return string(b)
}

// macOctets reads xx:xx:xx:xx:xx:xx, xx-xx-xx-xx-xx-xx (a group may lack its leading zero) and xxxx.xxxx.xxxx.
func macOctets(s string) (out [6]byte, ok bool) {
	separator, width := ":", 2
	switch {
	case strings.Contains(s, "-"):
		separator = "-"
	case strings.Contains(s, "."):
		separator, width = ".", 4
	}
	groups := strings.Split(s, separator)
	if len(groups)*width != 12 {
		return out, false
	}
	for i, g := range groups {
		if g == "" || len(g) > width || width == 4 && len(g) != 4 {
			return out, false
		}
		v := 0
		for j := range len(g) {
			d, ok := hexDigit(g[j])
			if !ok {
				return out, false
			}
			v = v<<4 | int(d)
		}
		if width == 2 {
			out[i] = byte(v)
		} else {
			out[2*i], out[2*i+1] = byte(v>>8), byte(v)
		}
	}
	return out, true
}

// address reads an IP address: IPv4 without leading zeros, IPv6 without a zone.
func address(s string) (netip.Addr, bool) {
	a, err := netip.ParseAddr(s)
	return a, err == nil && a.Zone() == ""
}

func readAddress(s string) (string, error) {
	a, ok := address(s)
	if !ok {
		return "", invalid("%s is not an IP address", quoted(s))
	}
	return a.String(), nil
}

// IPAddress is an IPv4 or IPv6 address; canonical is the short form in lower case (type:ip_address with
// convert_ip_to_canonical_format).
func IPAddress() apidef.Type {
	return texted(readAddress, apidef.Schema{"examples": []any{"10.0.0.5", "2001:db8::5"}, "format": "ip"})
}

// IPAddressOrNull is IPAddress or null (type:ip_address_or_none).
func IPAddressOrNull() apidef.Type { return orNull(IPAddress()) }

// prefix reads a CIDR and keeps its host bits.
func prefix(s string) (netip.Prefix, bool) {
	p, err := netip.ParsePrefix(s)
	return p, err == nil
}

func readCIDR(s string) (string, error) {
	p, ok := prefix(s)
	if !ok {
		return "", invalid("%s is not a CIDR such as 10.0.0.0/24", quoted(s))
	}
	return p.String(), nil
}

// CIDR is an address with a prefix length, whose host bits stay (type:subnet, convert_cidr_to_canonical_format).
func CIDR() apidef.Type {
	return texted(readCIDR, apidef.Schema{"format": "cidr", "examples": []any{"10.0.0.0/24", "2001:db8::/64"}})
}

// CIDROrNull is CIDR or null (type:subnet_or_none).
func CIDROrNull() apidef.Type { return orNull(CIDR()) }

// CIDRList is a list of different CIDRs (type:subnet_list).
func CIDRList() apidef.Type { return unique(CIDR(), "the CIDR") }

// CIDRListOrNull is null or a list of CIDRs (type:list_of_subnets_or_none).
func CIDRListOrNull() apidef.Type { return orNull(listKind(CIDR(), nil)) }

func readAddressOrCIDR(s string) (string, error) {
	if a, ok := address(s); ok {
		return a.String(), nil
	}
	if p, ok := prefix(s); ok {
		return p.String(), nil
	}
	return "", invalid("%s is neither an IP address nor a CIDR", quoted(s))
}

// IPOrCIDROrNull is an address, a CIDR or null (type:ip_or_subnet_or_none).
func IPOrCIDROrNull() apidef.Type {
	return orNull(texted(readAddressOrCIDR, apidef.Schema{"examples": []any{"10.0.0.5", "10.0.0.0/24"}}))
}

// RemoteIPPrefix is the CIDR of a security group rule: a lone address gets the length of a host, host bits stay,
// and anything empty is null (convert_ip_prefix_to_cidr).
func RemoteIPPrefix() apidef.Type {
	return emptyAs("null", texted(func(s string) (string, error) {
		if a, ok := address(s); ok {
			return netip.PrefixFrom(a, a.BitLen()).String(), nil
		}
		if p, ok := prefix(s); ok {
			return p.String(), nil
		}
		return "", fault.Newf(fault.Invalid, "InvalidCIDR", "%s is neither a CIDR nor an IP address", quoted(s))
	}, apidef.Schema{"format": "cidr", "examples": []any{"10.0.0.0/24", "2001:db8::/64"}}))
}

// AllocationPools is a list of {start, end}, both addresses; how they lie in the subnet is for IPAM to judge
// (type:ip_pools with convert_allocation_pools_to_canonical_format). null is the empty list.
func AllocationPools() apidef.Type {
	return nullAs("[]", listKind(Object(
		Key{Name: "start", Type: IPAddress(), Required: true},
		Key{Name: "end", Type: IPAddress(), Required: true},
	), nil))
}

// Nameservers is a list of different addresses; null is the empty list (type:nameservers).
func Nameservers() apidef.Type { return nullAs("[]", unique(IPAddress(), "the name server")) }

// HostRoutes is a list of {destination, nexthop}, each once; a destination has no host bits and is not loopback; null
// is the empty list (type:hostroutes).
func HostRoutes() apidef.Type {
	destination := texted(func(s string) (string, error) {
		p, ok := prefix(s)
		switch {
		case !ok:
			return readCIDR(s)
		case p != p.Masked():
			return "", invalid("the destination %s has host bits; %s is the network", quoted(s), p.Masked())
		case p.Addr().IsLoopback():
			return "", invalid("the destination %s is loopback", quoted(s))
		}
		return p.String(), nil
	}, apidef.Schema{"format": "cidr", "examples": []any{"192.0.2.0/24"}})
	return nullAs("[]", unique(Object(
		Key{Name: "destination", Type: destination, Required: true},
		Key{Name: "nexthop", Type: IPAddress(), Required: true},
	), "the route"))
}
