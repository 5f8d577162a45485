package types

import (
	"net/netip"
	"strings"

	"isospin/internal/apidef"
	"isospin/internal/fault"
)

// FixedIPs is a list of {subnet_id, ip_address}, at least one of both in each item and no address twice; other keys
// are left out, for clients send back what they got (type:fixed_ips). null is refused.
//
// As a filter it is "ip_address=X", "subnet_id=X" or "ip_address_substr=X". Neutron ignores other keys, so that a
// slip of the pen lists everything; Isospin refuses them.
func FixedIPs() apidef.Type {
	one := objectKind(true, []Key{
		{Name: "subnet_id", Type: UUID()},
		{Name: "ip_address", Type: IPAddress()},
	})
	items := &kind{
		decode: func(raw []byte) ([]byte, error) {
			v, err := one.decode(raw)
			if err == nil && string(v) == "{}" {
				return nil, unfit("a fixed address needs subnet_id or ip_address")
			}
			return v, err
		},
		schema: one.schema,
	}
	k := listKind(items, func(items [][]byte) error {
		var addresses [][]byte
		for _, v := range items {
			if _, a, ok := strings.Cut(string(v), `"ip_address":`); ok {
				addresses = append(addresses, []byte(strings.TrimSuffix(a, "}")))
			}
		}
		if v, ok := twice(addresses); ok {
			return invalid("the address %s is given twice", v)
		}
		return nil
	})
	k.filter = func(text string) (string, error) {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return "", badFilter("%s is not of the form key=value", quoted(text))
		}
		var err error
		switch name {
		case "ip_address":
			value, err = IPAddress().Filter(value)
		case "subnet_id":
			value, err = UUID().Filter(value)
		case "ip_address_substr":
		default:
			return "", badFilter("the key %s is none of ip_address, ip_address_substr, subnet_id", quoted(name))
		}
		return name + "=" + value, err
	}
	return k
}

// AllowedAddressPairs is a list of at most max {ip_address, mac_address}: an address or CIDR, and optionally a MAC,
// both unicast, no pair twice; null is the empty list (type:allowed_address_pairs, aap-reject-multicast).
func AllowedAddressPairs(max int) apidef.Type {
	pair := Object(
		Key{Name: "mac_address", Type: MAC()},
		Key{Name: "ip_address", Type: texted(readPairAddress, apidef.Schema{"examples": []any{"10.0.0.5", "10.0.0.0/24"}}), Required: true},
	)
	items := &kind{
		decode: func(raw []byte) ([]byte, error) {
			ms, err := object(raw)
			if err != nil {
				return nil, err
			}
			missing := true
			for _, m := range ms {
				missing = missing && m.name != "ip_address"
			}
			if missing {
				return nil, fault.Newf(fault.Invalid, "AllowedAddressPairsMissingIP", "an allowed address pair needs ip_address")
			}
			return pair.Decode(raw)
		},
		schema: pair.Schema(),
	}
	k := listKind(items, func(items [][]byte) error {
		if len(items) > max {
			return fault.Newf(fault.Invalid, "AllowedAddressPairExhausted", "%d allowed address pairs are given, a port may have %d", len(items), max)
		}
		if v, ok := twice(items); ok {
			return fault.Newf(fault.Invalid, "DuplicateAddressPairInRequest", "the allowed address pair %s is given twice", v)
		}
		return nil
	})
	k.schema["maxItems"] = max
	return nullAs("[]", k)
}

func readPairAddress(s string) (string, error) {
	c, err := readAddressOrCIDR(s)
	if err != nil {
		return "", err
	}
	alone, _, _ := strings.Cut(c, "/")
	if a, err := netip.ParseAddr(alone); err == nil && a.IsMulticast() {
		return "", invalid("the address %s is one of multicast", quoted(s))
	}
	return c, nil
}

// ExtraDHCPOpts is null or a list of {opt_name, opt_value, ip_version}: a null value deletes the option, a blank one
// is allowed for router and classless-static-route alone (type:list_of_any_key_specs_or_none).
func ExtraDHCPOpts() apidef.Type {
	version := IntValues(4, 6)
	return orNull(listKind(AnyOf(
		Object(
			Key{Name: "opt_name", Type: Values("router", "classless-static-route"), Required: true},
			Key{Name: "opt_value", Type: StringOrNull(255), Required: true},
			Key{Name: "ip_version", Type: version},
		),
		Object(
			Key{Name: "opt_name", Type: OneLine(64), Required: true},
			Key{Name: "opt_value", Type: OneLineOrNull(255), Required: true},
			Key{Name: "ip_version", Type: version},
		),
	), nil))
}

// SubPorts is a list of {port_id, segmentation_type, segmentation_id}: no port twice, no segment twice; type inherit
// needs no id (type:subports).
func SubPorts() apidef.Type {
	one := Object(
		Key{Name: "port_id", Type: UUID(), Required: true},
		Key{Name: "segmentation_type", Type: String(32)},
		Key{Name: "segmentation_id", Type: Range(1, 4294967295)},
	)
	return listKind(one, func(items [][]byte) error {
		var ports, segments [][]byte
		for i, v := range items {
			port, segment, _ := strings.Cut(strings.TrimSuffix(string(v), "}"), ",")
			ports = append(ports, []byte(strings.TrimPrefix(port, `{"port_id":`)))
			typed := strings.Contains(segment, `"segmentation_type":`)
			numbered := strings.Contains(segment, `"segmentation_id":`)
			switch inherits := strings.Contains(segment, `"segmentation_type":"inherit"`); {
			case inherits:
			case typed != numbered:
				return item(i, invalid("segmentation_type and segmentation_id go together"))
			case typed:
				segments = append(segments, []byte(segment))
			}
		}
		if v, ok := twice(ports); ok {
			return invalid("the port %s is given twice", v)
		}
		if v, ok := twice(segments); ok {
			return invalid("the segment %s is given twice", v)
		}
		return nil
	})
}

// NetworkSegments is a list of {provider:network_type, provider:physical_network, provider:segmentation_id}
// (type:network_segments). Which of them a type of network needs is for ML2 to judge.
func NetworkSegments() apidef.Type {
	k := listKind(Object(
		Key{Name: "provider:network_type", Type: String(32)},
		Key{Name: "provider:physical_network", Type: StringOrNull(64)},
		Key{Name: "provider:segmentation_id", Type: IntOrNull()},
	), nil)
	return k
}

// AvailabilityZoneHints is a list of different texts that take at most 255 characters as JSON
// (type:availability_zone_hint_list).
func AvailabilityZoneHints() apidef.Type {
	k := unique(String(0), "the availability zone")
	return &kind{
		decode: func(raw []byte) ([]byte, error) {
			v, err := k.Decode(raw)
			if err == nil && len(v) > 255 {
				return nil, invalid("the availability zones take %d characters, 255 are allowed", len(v))
			}
			return v, err
		},
		filter: k.filter,
		schema: k.schema,
	}
}

// SubnetServiceTypes is a list of device owners that a subnet is for, by their prefixes; anything empty is [].
// Neutron also takes any text that begins with one of the letters of "compute:", which is a slip of its own.
func SubnetServiceTypes() apidef.Type {
	prefixes := []string{"network:", "neutron:", "compute:"}
	k := text(255, func(s string) error {
		for _, p := range prefixes {
			if strings.HasPrefix(s, p) {
				return nil
			}
		}
		return fault.Newf(fault.Invalid, "InvalidInputSubnetServiceType", "the service type %s begins with none of %s", quoted(s), strings.Join(prefixes, ", "))
	})
	k.schema["examples"] = []any{"network:floatingip_agent_gateway", "compute:nova"}
	return emptyAs("[]", unique(k, "the service type"))
}
