package catalogue

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

const (
	someID  = "5b9c5d1e-0d83-4d0c-a1ff-7d8b4a8f7d00"
	otherID = "6b9c5d1e-0d83-4d0c-a1ff-7d8b4a8f7d00"
)

// bounds are values that a validator of the reference takes, inside and at its bounds, and values that it refuses, beyond them;
// arg is what an attribute gives it.
type bounds func(arg any) (good, bad []any)

func fixed(good, bad []any) bounds { return func(any) ([]any, []any) { return good, bad } }

type (
	list = []any
	dict = map[string]any
)

func texts(arg any) (good, bad []any) {
	good, bad = list{"", "a", "ä\U0001F600"}, list{list{}, dict{}, true, 5}
	if n, ok := arg.(float64); ok {
		good = append(good, strings.Repeat("a", int(n)), strings.Repeat("ä", int(n)))
		bad = append(bad, strings.Repeat("a", int(n)+1))
	}
	return good, bad
}

func ranged(arg any) (good, bad []any) {
	limits, _ := arg.([]any) //nolint:errcheck // nil has no limits
	bad = list{"x", "", list{}, dict{}}
	for i, l := range limits {
		n, ok := l.(float64)
		if !ok {
			continue
		}
		good = append(good, n, fmt.Sprintf("%.0f", n))
		bad = append(bad, n+float64(2*i-1), fmt.Sprintf("%.0f", n+float64(2*i-1)))
	}
	return good, bad
}

// with adds what else a validator takes.
func with(b bounds, more ...any) bounds {
	return func(arg any) ([]any, []any) {
		good, bad := b(arg)
		return append(good, more...), bad
	}
}

// refusing takes values away from what a validator takes.
func refusing(b bounds, more ...any) bounds {
	return func(arg any) ([]any, []any) {
		good, bad := b(arg)
		good = slices.DeleteFunc(good, func(v any) bool {
			return slices.ContainsFunc(more, func(m any) bool { return asJSON(m) == asJSON(v) })
		})
		return good, append(bad, more...)
	}
}

func asJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

func validators() map[string]bounds {
	id := fixed(list{someID, strings.ReplaceAll(someID, "-", ""), strings.ToUpper(someID)}, list{"", "x", someID + "0", someID[1:], list{}, 5, strings.Replace(someID, "5", "g", 1)})
	ip := fixed(list{"10.0.0.1", "255.255.255.255", "2001:db8::1", "::"}, list{"10.0.0.256", "010.0.0.1", "10.0.0.1/24", "x", "", "10.0.0", ":::", list{}, 5})
	cidr := fixed(list{"10.0.0.0/24", "10.0.0.0/32", "2001:db8::/128", "2001:db8::/1"}, list{"10.0.0.0", "10.0.0.0/33", "2001:db8::/129", "10.0.0.0/-1", "10.0.0/24", "x", "", list{}, 5})
	label := strings.Repeat("a", 63)
	domain := fixed(list{"", "a.", "a-b.c9.", label + ".b."}, list{"a", "-a.", "a-.", "a..b.", ".", label + "a.b.", "a_b.", "a.9.", strings.Repeat("a.", 130), list{}})
	host := fixed(list{"", "a", "a-b.c9", label + ".b"}, list{"-a", "a-", "a..b", label + "a", "a_b", "a.9", strings.Repeat("a.", 130) + "a", list{}})
	return map[string]bounds{
		"type:string": texts, "type:string_or_none": with(texts, nil), "type:name_string": refusing(texts, "a\x07b"), "type:name_string_or_none": with(refusing(texts, "a\x07b"), nil),
		"type:not_empty_name_string": refusing(texts, "", "  ", "a\x07b"), "type:name_not_default": texts,
		"type:uuid": id, "type:uuid_or_none": with(id, nil),
		"type:uuid_list":     fixed(list{list{}, list{someID}, list{someID, otherID}}, list{list{someID, someID}, list{"x"}, list{list{}}, dict{}, 5}),
		"type:values":        func(arg any) ([]any, []any) { all, _ := arg.([]any); return all, list{"no such value", list{}, dict{}} }, //nolint:errcheck // nil has no values
		"type:range":         ranged,
		"type:range_or_none": with(ranged, nil),
		"type:non_negative":  fixed(list{0, 1, "7"}, list{-1, "x", "-1", list{}}),
		"type:integer":       fixed(list{0, -1, "7"}, list{"x", list{}}),
		"type:boolean":       fixed(list{true, false, "yes", "NO", "on", "0", 1, "t"}, list{"maybe", "2", list{}, dict{}, ""}),
		"type:ip_address":    ip, "type:ip_address_or_none": with(ip, nil),
		"type:subnet": cidr, "type:subnet_or_none": with(cidr, nil),
		"type:ip_or_subnet_or_none":          fixed(list{nil, "10.0.0.1", "10.0.0.0/24", "2001:db8::/64"}, list{"x", "10.0.0.0/33", list{}, 5}),
		"type:subnet_list":                   fixed(list{list{"10.0.0.0/24"}, list{"10.0.0.0/24", "10.0.1.0/24"}}, list{list{"10.0.0.0/24", "10.0.0.0/24"}, list{"x"}, list{"10.0.0.0"}, 5}),
		"type:list_of_subnets_or_none":       fixed(list{nil, list{"10.0.0.0/24"}}, list{list{"x"}, list{"10.0.0.0/33"}, 5}),
		"type:dns_domain_name":               domain,
		"type:dns_host_name":                 with(host, "a.", "a.b."),
		"type:fip_dns_host_name":             refusing(host, "a.", "a.b."),
		"type:mac_address":                   fixed(list{"fa:16:3e:00:00:01", "FA-16-3E-00-00-01"}, list{"fa:16:3e:00:00", "x", "", "00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff", list{}, 5}),
		"type:fixed_ips":                     fixed(list{list{}, list{dict{"subnet_id": someID}}, list{dict{"ip_address": "10.0.0.1"}}, list{dict{"subnet_id": someID}, dict{"subnet_id": someID}}}, list{"x", list{"x"}, list{dict{"subnet_id": "x"}}, list{dict{"ip_address": "10.0.0.256"}}, list{dict{"ip_address": "10.0.0.1"}, dict{"ip_address": "10.0.0.1"}}, dict{}, 5}),
		"type:hostroutes":                    fixed(list{list{}, list{dict{"destination": "10.0.0.0/24", "nexthop": "10.1.0.1"}}}, list{list{dict{"destination": "10.0.0.0/24"}}, list{dict{"destination": "10.0.0.1/24", "nexthop": "10.1.0.1"}}, list{dict{"destination": "127.0.0.0/8", "nexthop": "10.1.0.1"}}, list{dict{"destination": "10.0.0.0/24", "nexthop": "x"}}, list{dict{"destination": "10.0.0.0/24", "nexthop": "10.1.0.1"}, dict{"destination": "10.0.0.0/24", "nexthop": "10.1.0.1"}}, list{dict{"destination": "10.0.0.0/24", "nexthop": "10.1.0.1", "more": 1}}, list{"x"}}),
		"type:nameservers":                   fixed(list{list{}, list{"10.0.0.1", "2001:db8::1"}}, list{list{"x"}, list{"10.0.0.1", "10.0.0.1"}, list{5}}),
		"type:ip_pools":                      fixed(list{list{}, list{dict{"start": "10.0.0.2", "end": "10.0.0.9"}}}, list{list{dict{"start": "10.0.0.2"}}, list{dict{"start": "x", "end": "10.0.0.9"}}, list{dict{"start": "10.0.0.2", "end": "10.0.0.9", "more": 1}}, list{"x"}}),
		"type:list_of_unique_strings":        fixed(list{list{}, list{"a", "b"}}, list{list{"a", "a"}, list{5}, "x"}),
		"type:availability_zone_hint_list":   fixed(list{list{}, list{"a"}, list{"a", "b"}}, list{list{"a", "a"}, list{strings.Repeat("a", 252)}, list{5}, "x", dict{}}),
		"type:list_of_subnet_service_types":  fixed(list{list{}, list{"network:dhcp", "compute:nova"}}, list{list{"nope:x"}, list{"network:dhcp", "network:dhcp"}, list{5}, "x"}),
		"type:allowed_address_pairs":         fixed(list{list{}, list{dict{"ip_address": "10.0.0.0/24"}}, list{dict{"ip_address": "10.0.0.1", "mac_address": "fa:16:3e:00:00:01"}}}, list{list{dict{"mac_address": "fa:16:3e:00:00:01"}}, list{dict{"ip_address": "x"}}, list{dict{"ip_address": "224.0.0.1"}}, list{dict{"ip_address": "10.0.0.1", "more": 1}}, list{dict{"ip_address": "10.0.0.1"}, dict{"ip_address": "10.0.0.1"}}, list{"x"}, pairs(11)}),
		"type:subports":                      fixed(list{list{}, list{dict{"port_id": someID, "segmentation_type": "vlan", "segmentation_id": 5}}}, list{list{dict{"port_id": "x"}}, list{dict{"port_id": someID, "segmentation_type": "vlan", "segmentation_id": 5}, dict{"port_id": someID, "segmentation_type": "vlan", "segmentation_id": 6}}, list{dict{"port_id": someID, "segmentation_type": "vlan", "segmentation_id": 5}, dict{"port_id": otherID, "segmentation_type": "vlan", "segmentation_id": 5}}, "x"}),
		"type:valid_target_project":          fixed(list{"*", someID, strings.ReplaceAll(someID, "-", "")}, list{"", "x", "**", list{}}),
		"type:subnetpool_id_or_none":         fixed(list{nil, someID, "prefix_delegation"}, list{"x", "", list{}}),
		"type:port_range":                    portRange,
		"type:regex_or_none":                 with(fixed(nil, list{5, list{}}), nil),
		"type:list_of_regex_or_none":         with(fixed(nil, list{list{5}, 5}), nil),
		"type:network_segments":              fixed(list{list{dict{"provider:network_type": "vlan", "provider:physical_network": "p", "provider:segmentation_id": 5}}}, list{"x", list{"x"}, list{dict{"more": 1}}}),
		"type:dict":                          fixed(nil, list{"x", list{"x"}, 5}),
		"type:dict_or_none":                  fixed(list{nil}, list{"x", list{"x"}, 5}),
		"type:dict_or_empty":                 fixed(list{dict{}}, list{"x", list{"x"}, 5}),
		"type:dict_or_nodata":                fixed(list{nil, dict{}}, list{"x", list{"x"}, 5}),
		"type:list_of_dict_or_nodata":        fixed(list{nil, list{}}, list{"x", list{"x"}, 5}),
		"type:service_plugin_type":           fixed(nil, list{"no such service", list{}}),
		"type:list_of_any_key_specs_or_none": fixed(list{nil}, list{"x", list{"x"}, 5}),
	}
}

func portRange(arg any) (good, bad []any) {
	good, bad = list{nil, "65535", "1:9", "9:9", "1:65535"}, list{"9:1", "65536", "1:65536", "-1", "a", "1:2:3", list{}}
	if limits, ok := arg.([]any); ok && limits[0] == float64(1) {
		return good, append(bad, "0", "0:5")
	}
	return append(good, "0"), bad
}

func pairs(n int) []any {
	var out []any
	for i := range n {
		out = append(out, dict{"ip_address": fmt.Sprintf("10.0.0.%d", i+1)})
	}
	return out
}

// TestValidatorsAgreeWithTheReference gives the type of every attribute values at, inside and beyond the bounds that the
// reference's validator has.
func TestValidatorsAgreeWithTheReference(t *testing.T) {
	f, reg, all := load(t), everything(t), validators()
	judged, hit := 0, map[string]bool{}
	for _, res := range reg.Resources() {
		for name, w := range f.Collections[res.ID()].Attributes {
			a, ok := res.Attribute(name)
			if !ok || !w.Post && !w.Put {
				continue
			}
			conversion := converter(w.Convert)
			checks := w.Validate
			if len(checks) == 0 && strings.HasPrefix(conversion, "convert_to_boolean") {
				checks = map[string]any{"type:boolean": nil}
			}
			for validator, arg := range checks {
				b, known := all[validator]
				if !known {
					t.Errorf("%s.%s: the test does not know %s", res.ID(), name, validator)
					continue
				}
				hit[validator] = true
				good, bad := b(arg)
				for i, v := range append(slices.Clone(good), bad...) {
					want := i < len(good)
					if want, known = converted(conversion, v, want); !known {
						continue
					}
					_, err := a.Type.Decode(json.RawMessage(asJSON(v)))
					judged++
					if (err == nil) != want {
						t.Errorf("%s.%s (%s %s, %s): %.80s is taken: %v, by the reference: %v (%v)", res.ID(), name, validator, asJSON(arg), conversion, asJSON(v), err == nil, want, err)
					}
				}
			}
		}
	}
	if judged < 3000 {
		t.Errorf("only %d values were judged", judged)
	}
	// Attributes of plugins that are not in the tree ask these.
	outOfTree := []string{"type:list_of_regex_or_none", "type:dict", "type:list_of_dict_or_nodata", "type:subnet", "type:integer"}
	for validator := range all {
		if !hit[validator] && !slices.Contains(outOfTree, validator) {
			t.Errorf("no attribute asks %s", validator)
		}
	}
}

func converter(v any) string {
	switch c := v.(type) {
	case string:
		return c
	case map[string]any:
		return fmt.Sprint(c["name"])
	}
	return ""
}

// converted is whether a value is taken when a conversion comes before its validator; known is false where that depends on
// more than the test knows.
func converted(conversion string, v any, want bool) (taken, known bool) {
	text, isText := v.(string)
	_, isList := v.([]any)
	_, isDict := v.(map[string]any)
	switch conversion {
	case "", "convert_to_boolean", "convert_string_to_case_insensitive", "convert_cidr_to_canonical_format", "convert_ip_to_canonical_format",
		"convert_allocation_pools_to_canonical_format":
		return want, true
	case "convert_to_boolean_if_not_none":
		return want || v == nil, true
	case "convert_to_list":
		return want || v == nil, isList || v == nil // one value becomes a list of one
	case "convert_none_to_empty_list", "convert_none_to_empty_dict":
		return want || v == nil, !isText || text != ""
	case "convert_to_int", "convert_to_int_if_not_none":
		return want, !isList && !isDict
	case "convert_to_string":
		return want, isText
	}
	return false, false
}

// TestEveryValidatorIsKnown: the table knows the validators of all attributes of the reference, served here or not.
func TestEveryValidatorIsKnown(t *testing.T) {
	used, table := map[string]bool{}, validators()
	for collection, c := range load(t).Collections {
		for name, a := range c.Attributes {
			for v := range a.Validate {
				if used[v] = true; table[v] == nil {
					t.Errorf("%s.%s: the table does not know %s", collection, name, v)
				}
			}
		}
	}
	if len(used) < 45 {
		t.Errorf("the facts name %d validators", len(used))
	}
}
