package types

import (
	"strconv"
	"strings"

	"isospin/internal/apidef"
	"isospin/internal/fault"
)

// protocolNumber is the number of a protocol that rules may name (IP_PROTOCOL_MAP of
// neutron-lib's constants).
func protocolNumber(name string) (int, bool) {
	switch name {
	case "hopopt", "ip":
		return 0, true
	case "icmp":
		return 1, true
	case "igmp":
		return 2, true
	case "ipip":
		return 4, true
	case "tcp":
		return 6, true
	case "egp":
		return 8, true
	case "udp":
		return 17, true
	case "dccp":
		return 33, true
	case "ipv6-encap":
		return 41, true
	case "ipv6-route":
		return 43, true
	case "ipv6-frag":
		return 44, true
	case "rsvp":
		return 46, true
	case "gre":
		return 47, true
	case "esp":
		return 50, true
	case "ah":
		return 51, true
	case "icmpv6", "ipv6-icmp":
		return 58, true
	case "ipv6-nonxt":
		return 59, true
	case "ipv6-opts":
		return 60, true
	case "ospf":
		return 89, true
	case "vrrp":
		return 112, true
	case "pgm":
		return 113, true
	case "sctp":
		return 132, true
	case "udplite":
		return 136, true
	}
	return 0, false
}

// SecurityGroupProtocol is null for any protocol ("any" too), the lower-case name of one, or its number from 0 to 255
// as a text (convert_protocol).
func SecurityGroupProtocol() apidef.Type {
	read := func(s string) (string, error) {
		if n, ok := integerText(s); ok {
			if n < 0 || n > 255 {
				return "", badProtocol(s)
			}
			return strconv.FormatInt(n, 10), nil
		}
		low := strings.ToLower(s)
		if _, ok := protocolNumber(low); !ok {
			return "", badProtocol(s)
		}
		return low, nil
	}
	inner := numbersToo(texted(read, apidef.Schema{"examples": []any{"tcp", "udp", "icmp", "132"}}))
	return orNull(&kind{
		decode: func(raw []byte) ([]byte, error) {
			if raw[0] == '"' && strings.EqualFold(string(raw), `"any"`) {
				return []byte("null"), nil
			}
			return inner.decode(raw)
		},
		filter: inner.filter,
		schema: inner.schema,
	})
}

func badProtocol(s string) error {
	return fault.Newf(fault.Invalid, "SecurityGroupRuleInvalidProtocol", "%s is neither the name of a known protocol nor a number from 0 to 255", quoted(s))
}

// Ethertype is IPv4 or IPv6, given in any case (convert_ethertype_to_case_insensitive).
func Ethertype() apidef.Type { return FoldedValues("IPv4", "IPv6") }

// PortValue is a port of TCP or the like, or a type or code of ICMP: null or 0 to 65535
// (convert_validate_port_value).
func PortValue() apidef.Type {
	return orNull(&kind{
		decode: func(raw []byte) ([]byte, error) {
			v, err := integer(raw)
			if err != nil || v < 0 || v > 65535 {
				if err := whole(raw); err != nil {
					return nil, err
				}
				text := describe(raw)
				if err == nil {
					text = strconv.FormatInt(v, 10)
				}
				return nil, fault.Newf(fault.Invalid, "SecurityGroupInvalidPortValue", "Invalid value for port %s: 0 to 65535 are ports", text)
			}
			return strconv.AppendInt(nil, v, 10), nil
		},
		filter: integerFilter,
		schema: apidef.Schema{"type": "integer", "minimum": 0, "maximum": 65535},
	})
}

// PortRange is null, a port or "low:high", both within the bounds; a number stands for its text (type:port_range).
func PortRange(low, high int) apidef.Type {
	port := func(s string) (int, bool) {
		v, err := strconv.Atoi(s)
		return v, err == nil && v >= low && v <= high && digits([]byte(s)) == len(s)
	}
	return orNull(numbersToo(texted(func(s string) (string, error) {
		first, second, ranged := strings.Cut(s, ":")
		from, ok := port(first)
		to, also := from, true
		if ranged {
			to, also = port(second)
		}
		switch {
		case !ok || !also:
			return "", invalid("%s is not a port or a range of ports from %d to %d", quoted(s), low, high)
		case from > to:
			return "", invalid("the range of ports %s is written backwards", quoted(s))
		}
		if ranged {
			return strconv.Itoa(from) + ":" + strconv.Itoa(to), nil
		}
		return strconv.Itoa(from), nil
	}, apidef.Schema{"examples": []any{"80", "8000:8080"}})))
}

// Protocol is null or the name of a protocol among those given, in any case; the number of one stands for its name
// (convert_to_protocol with type:values).
func Protocol(allowed ...string) apidef.Type {
	return orNull(numbersToo(texted(func(s string) (string, error) {
		low := strings.ToLower(s)
		n, numbered := integerText(s)
		for _, a := range allowed {
			known, _ := protocolNumber(a)
			if a == low || numbered && int64(known) == n {
				return a, nil
			}
		}
		return "", invalid("%s is none of %s", quoted(s), listed(enumOf(allowed)))
	}, apidef.Schema{"enum": enumOf(allowed)})))
}
