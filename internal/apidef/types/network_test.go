package types

import (
	"fmt"
	"strings"
	"testing"
)

const id1, id2 = `"01234567-89ab-cdef-0123-456789abcdef"`, `"11234567-89ab-cdef-0123-456789abcdef"`

func TestIdentifiers(t *testing.T) {
	check(t, "UUID", UUID(), []example{
		{id1, id1}, {`"0123456789ABCDEF0123456789ABCDEF"`, id1}, {`"01234567-89AB-CDEF-0123-456789ABCDEF"`, id1},
		{`"01234567-89ab-cdef-0123-456789abcde"`, bad}, {`"g1234567-89ab-cdef-0123-456789abcdef"`, bad}, {`""`, bad}, {`null`, bad}, {`1`, bad}, {`"01234567-89ab-cdef-0123-456789abcdef`, bad},
	})
	check(t, "UUIDOrNull", UUIDOrNull(), []example{{`null`, `null`}, {id1, id1}, {`""`, bad}})
	check(t, "UUIDList", UUIDList(), []example{{`[]`, `[]`}, {"[" + id1 + " , " + id2 + "]", "[" + id1 + "," + id2 + "]"}, {"[" + id1 + "," + id1 + "]", bad}, {"[" + id1 + `,"0123456789ABCDEF0123456789ABCDEF"]`, bad}, {`null`, bad}, {id1, bad}, {`[`, bad}, {`[1]`, bad}})
	check(t, "null as list", NullIsEmptyList(UUIDList()), []example{{`null`, `[]`}, {`[]`, `[]`}})
	check(t, "list if scalar", ListIfScalar(UUIDList()), []example{{`null`, `[]`}, {id1, "[" + id1 + "]"}, {`["x"]`, bad}, {`"x"`, bad}})
	check(t, "SubnetPool", SubnetPoolOrNull(), []example{{`null`, `null`}, {`"prefix_delegation"`, `"prefix_delegation"`}, {id1, id1}, {`"x"`, bad}})
	check(t, "TargetProject", TargetProject(), []example{{`"*"`, `"*"`}, {`"0123456789abcdef0123456789abcdef"`, `"0123456789abcdef0123456789abcdef"`}, {`"x"`, bad}, {`null`, bad}})
}

func TestAddresses(t *testing.T) {
	check(t, "MAC", MAC(), []example{
		{`"fa:16:3e:00:00:01"`, `"fa:16:3e:00:00:01"`}, {`"FA-16-3E-00-00-01"`, `"fa:16:3e:00:00:01"`}, {`"fa16.3e00.0001"`, `"fa:16:3e:00:00:01"`}, {`"a:1:2:3:4:5"`, `"0a:01:02:03:04:05"`},
		{`"01:00:5e:00:00:01"`, bad}, {`"00:00:00:00:00:00"`, bad}, {`"ff:ff:ff:ff:ff:ff"`, bad}, {`"fa163e000001"`, bad}, {`"fa:16:3e:00:00"`, bad}, {`"fa:16:3e:00:00:01:02"`, bad},
		{`"fa:16:3e:00:00:0g"`, bad}, {`"fa:16:3e:00:00:001"`, bad}, {`"fa:16-3e:00:00:01"`, bad}, {`""`, bad}, {`null`, bad},
	})
	check(t, "MACOrNull", MACOrNull(), []example{{`null`, `null`}})
	check(t, "IPAddress", IPAddress(), []example{
		{`"10.0.0.1"`, `"10.0.0.1"`}, {`"2001:DB8:0:0::1"`, `"2001:db8::1"`}, {`"::"`, `"::"`},
		{`"10.0.0.01"`, bad}, {`"10.0.0"`, bad}, {`"10.0.0.256"`, bad}, {`"fe80::1%eth0"`, bad}, {`" 10.0.0.1"`, bad}, {`""`, bad}, {`167772161`, bad}, {`null`, bad},
	})
	check(t, "IPAddressOrNull", IPAddressOrNull(), []example{{`null`, `null`}, {`"1.2.3.4"`, `"1.2.3.4"`}})
	check(t, "CIDR", CIDR(), []example{
		{`"10.0.0.1/24"`, `"10.0.0.1/24"`}, {`"2001:DB8::/64"`, `"2001:db8::/64"`}, {`"0.0.0.0/0"`, `"0.0.0.0/0"`}, {`"10.0.0.1/32"`, `"10.0.0.1/32"`},
		{`"10.0.0.0"`, bad}, {`"10.0.0.0/33"`, bad}, {`"10.0/16"`, bad}, {`"10.0.0.0/-1"`, bad}, {`"2001:db8::/129"`, bad}, {`"10.0.0.0/024"`, bad}, {`""`, bad}, {`null`, bad}, {`5`, bad},
	})
	check(t, "CIDROrNull", CIDROrNull(), []example{{`null`, `null`}, {`"x"`, bad}})
	check(t, "CIDRList", CIDRList(), []example{{`["10.0.0.0/8"]`, `["10.0.0.0/8"]`}, {`["2001:db8::/64","2001:DB8::/64"]`, bad}, {`null`, bad}})
	check(t, "CIDRListOrNull", CIDRListOrNull(), []example{{`null`, `null`}, {`["10.0.0.0/8","10.0.0.0/8"]`, `["10.0.0.0/8","10.0.0.0/8"]`}})
	check(t, "IPOrCIDROrNull", IPOrCIDROrNull(), []example{{`null`, `null`}, {`"10.0.0.1"`, `"10.0.0.1"`}, {`"10.0.0.0/8"`, `"10.0.0.0/8"`}, {`"x"`, bad}})
	check(t, "RemoteIPPrefix", RemoteIPPrefix(), []example{{`null`, `null`}, {`""`, `null`}, {`"10.0.0.1"`, `"10.0.0.1/32"`}, {`"2001:DB8::1"`, `"2001:db8::1/128"`}, {`"10.0.0.7/8"`, `"10.0.0.7/8"`}, {`"x"`, "!InvalidCIDR"}, {`5`, bad}})
	check(t, "AllocationPools", AllocationPools(), []example{
		{`null`, `[]`}, {`[]`, `[]`}, {`[{"end":"2001:DB8::9","start":"2001:DB8::1"}]`, `[{"start":"2001:db8::1","end":"2001:db8::9"}]`},
		{`[{"start":"10.0.0.1"}]`, bad}, {`[{"start":"10.0.0.1","end":"x"}]`, bad}, {`[{"start":"10.0.0.1","end":"10.0.0.2","x":1}]`, bad}, {`["10.0.0.1-10.0.0.2"]`, bad}, {`{}`, bad},
	})
	check(t, "Nameservers", Nameservers(), []example{{`null`, `[]`}, {`["8.8.8.8","2001:DB8::1"]`, `["8.8.8.8","2001:db8::1"]`}, {`["8.8.8.8","8.8.8.8"]`, bad}, {`["dns.example"]`, bad}, {`"8.8.8.8"`, bad}})
	check(t, "HostRoutes", HostRoutes(), []example{
		{`null`, `[]`}, {`[{"nexthop":"10.0.0.1","destination":"0.0.0.0/0"}]`, `[{"destination":"0.0.0.0/0","nexthop":"10.0.0.1"}]`},
		{`[{"nexthop":"10.0.0.1","destination":"10.0.0.1/8"}]`, bad}, {`[{"nexthop":"10.0.0.1","destination":"127.0.0.0/8"}]`, bad}, {`[{"nexthop":"x","destination":"10.0.0.0/8"}]`, bad}, {`[{"destination":"10.0.0.0/8"}]`, bad},
		{`[{"nexthop":"10.0.0.1","destination":"10.0.0.0/8"},{"destination":"10.0.0.0/8","nexthop":"10.0.0.1"}]`, bad},
	})
	check(t, "SubnetServiceTypes", SubnetServiceTypes(), []example{{`null`, `[]`}, {`[]`, `[]`}, {`["compute:nova","network:dhcp"]`, `["compute:nova","network:dhcp"]`}, {`["custom"]`, "!InvalidInputSubnetServiceType"}, {`["compute:a","compute:a"]`, bad}, {`[1]`, bad}})
}

func TestPortTypes(t *testing.T) {
	fixed := `[{"subnet_id":` + id1 + `,"ip_address":"10.0.0.5"}]`
	check(t, "FixedIPs", FixedIPs(), []example{
		{`[]`, `[]`}, {fixed, fixed}, {`[{"ip_address":"10.0.0.5","other":[1,{}]}]`, `[{"ip_address":"10.0.0.5"}]`},
		{`[{"subnet_id":` + id1 + `},{"subnet_id":` + id1 + `}]`, `[{"subnet_id":` + id1 + `},{"subnet_id":` + id1 + `}]`},
		{`null`, bad}, {`[{}]`, unfitName}, {`[{"ip_address":"10.0.0.5"},{"ip_address":"10.0.0.5"}]`, bad}, {`[{"ip_address":"2001:db8::1","subnet_id":` + id1 + `},{"ip_address":"2001:DB8::1"}]`, bad},
		{`[{"ip_address":null}]`, bad}, {`[{"subnet_id":"x"}]`, bad}, {`["10.0.0.5"]`, bad},
	})
	check(t, "AllowedAddressPairs", AllowedAddressPairs(2), []example{
		{`null`, `[]`}, {`[{"ip_address":"10.0.0.0/24"}]`, `[{"ip_address":"10.0.0.0/24"}]`},
		{`[{"ip_address":"10.0.0.1","mac_address":"FA:16:3E:00:00:01"},{"ip_address":"10.0.0.1"}]`, `[{"mac_address":"fa:16:3e:00:00:01","ip_address":"10.0.0.1"},{"ip_address":"10.0.0.1"}]`},
		{`[{"mac_address":"fa:16:3e:00:00:01"}]`, "!AllowedAddressPairsMissingIP"}, {`[{"ip_address":"10.0.0.1"},{"ip_address":"10.0.0.1"}]`, "!DuplicateAddressPairInRequest"},
		{`[{"ip_address":"10.0.0.1"},{"ip_address":"10.0.0.2"},{"ip_address":"10.0.0.3"}]`, "!AllowedAddressPairExhausted"},
		{`[{"ip_address":"224.0.0.1"}]`, bad}, {`[{"ip_address":"ff02::/16"}]`, bad}, {`[{"ip_address":"10.0.0.1","mac_address":"01:00:5e:00:00:01"}]`, bad}, {`[{"ip_address":"10.0.0.1","x":1}]`, bad}, {`[{"ip_address":"x"}]`, bad}, {`[3]`, bad},
	})
	check(t, "ExtraDHCPOpts", ExtraDHCPOpts(), []example{
		{`null`, `null`}, {`[{"opt_name":"mtu","opt_value":"1400","ip_version":"4"}]`, `[{"opt_name":"mtu","opt_value":"1400","ip_version":4}]`}, {`[{"opt_name":"router","opt_value":""}]`, `[{"opt_name":"router","opt_value":""}]`},
		{`[{"opt_name":"mtu","opt_value":null}]`, `[{"opt_name":"mtu","opt_value":null}]`},
		{`[{"opt_name":"mtu","opt_value":""}]`, bad}, {`[{"opt_name":"mtu","opt_value":"a\nb"}]`, bad}, {`[{"opt_name":"mtu"}]`, bad}, {`[{"opt_name":"mtu","opt_value":"1","ip_version":5}]`, bad}, {`[{"opt_name":"mtu","opt_value":"1","x":5}]`, bad}, {`[{"opt_name":" ","opt_value":"1"}]`, bad},
	})
	check(t, "SubPorts", SubPorts(), []example{
		{`[]`, `[]`}, {`[{"port_id":` + id1 + `,"segmentation_type":"vlan","segmentation_id":"5"}]`, `[{"port_id":` + id1 + `,"segmentation_type":"vlan","segmentation_id":5}]`}, {`[{"port_id":` + id1 + `,"segmentation_type":"inherit"}]`, `[{"port_id":` + id1 + `,"segmentation_type":"inherit"}]`}, {`[{"port_id":` + id1 + `}]`, `[{"port_id":` + id1 + `}]`},
		{`[{"port_id":` + id1 + `},{"port_id":` + id1 + `}]`, bad}, {`[{"port_id":` + id1 + `,"segmentation_id":5}]`, bad}, {`[{"port_id":` + id1 + `,"segmentation_type":"vlan"}]`, bad}, {`[{"segmentation_type":"vlan","segmentation_id":5}]`, bad},
		{`[{"port_id":` + id1 + `,"segmentation_type":"vlan","segmentation_id":5},{"port_id":` + id2 + `,"segmentation_type":"vlan","segmentation_id":5}]`, bad},
	})
	check(t, "NetworkSegments", NetworkSegments(), []example{
		{`[{"provider:network_type":"vlan","provider:segmentation_id":"5","provider:physical_network":null}]`, `[{"provider:network_type":"vlan","provider:physical_network":null,"provider:segmentation_id":5}]`}, {`[]`, `[]`},
		{`[{"provider:network_type":5}]`, bad}, {`[{"x":5}]`, bad}, {`null`, bad},
	})
	hints := `["` + strings.Repeat("z", 251) + `"]`
	check(t, "AvailabilityZoneHints", AvailabilityZoneHints(), []example{{`[]`, `[]`}, {`["a", "b"]`, `["a","b"]`}, {`["a","a"]`, bad}, {hints, hints}, {`["` + strings.Repeat("z", 252) + `"]`, bad}, {`null`, bad}, {`[1]`, bad}})
}

func TestSecurityGroupTypes(t *testing.T) {
	check(t, "protocol", SecurityGroupProtocol(), []example{
		{`null`, `null`}, {`"any"`, `null`}, {`"ANY"`, `null`}, {`"TCP"`, `"tcp"`}, {`"icmpv6"`, `"icmpv6"`}, {`6`, `"6"`}, {`"6"`, `"6"`}, {`0`, `"0"`}, {`"255"`, `"255"`},
		{`256`, "!SecurityGroupRuleInvalidProtocol"}, {`-1`, "!SecurityGroupRuleInvalidProtocol"}, {`"foo"`, "!SecurityGroupRuleInvalidProtocol"}, {`""`, "!SecurityGroupRuleInvalidProtocol"}, {`6.5`, "!SecurityGroupRuleInvalidProtocol"}, {`true`, bad}, {`{}`, bad},
	})
	check(t, "ethertype", Ethertype(), []example{{`"ipv4"`, `"IPv4"`}, {`"IPV6"`, `"IPv6"`}, {`"arp"`, bad}, {`4`, bad}, {`null`, bad}})
	const port = "!SecurityGroupInvalidPortValue"
	check(t, "port", PortValue(), []example{{`null`, `null`}, {`0`, `0`}, {`"80"`, `80`}, {`65535`, `65535`}, {`65536`, port}, {`-1`, port}, {`"x"`, port}, {`true`, port}, {`1e400`, port}, {`[`, bad}})
	check(t, "port range", PortRange(1, 65535), []example{{`null`, `null`}, {`80`, `"80"`}, {`"80:90"`, `"80:90"`}, {`"080"`, `"80"`}, {`"90:80"`, bad}, {`"0"`, bad}, {`"65536"`, bad}, {`"1:2:3"`, bad}, {`"80:"`, bad}, {`"-1"`, bad}, {`"+1"`, bad}, {`""`, bad}, {`true`, bad}})
	check(t, "Protocol", Protocol("tcp", "udp", "ipv6-icmp"), []example{{`null`, `null`}, {`"UDP"`, `"udp"`}, {`6`, `"tcp"`}, {`"58"`, `"ipv6-icmp"`}, {`"gre"`, bad}, {`300`, bad}, {`true`, bad}})
	for name := range map[string]int{"ah": 51, "dccp": 33, "egp": 8, "esp": 50, "gre": 47, "hopopt": 0, "igmp": 2, "ip": 0, "ipip": 4, "ipv6-encap": 41, "ipv6-frag": 44, "ipv6-nonxt": 59, "ipv6-opts": 60, "ipv6-route": 43, "ospf": 89, "pgm": 113, "rsvp": 46, "sctp": 132, "udplite": 136, "vrrp": 112} {
		check(t, name, SecurityGroupProtocol(), []example{{`"` + strings.ToUpper(name) + `"`, `"` + name + `"`}})
	}
}

func TestDNS(t *testing.T) {
	label := strings.Repeat("a", 63)
	long := label + "." + label + "." + label + "." + strings.Repeat("b", 60) + "."
	check(t, "domain", DNSDomain(), []example{{`""`, `""`}, {`"Example.ORG."`, `"example.org."`}, {`"example.org"`, bad}, {`"-a.org."`, bad}, {`"a..org."`, bad}, {`"a_b.org."`, bad}, {`"a.1."`, bad}, {`"."`, bad}, {`"` + label + `x.org."`, bad}, {`"` + long + `"`, `"` + long + `"`}, {`"b` + long + `"`, bad}, {`null`, bad}, {`"é."`, bad}})
	check(t, "host", DNSName(), []example{{`""`, `""`}, {`"VM1"`, `"vm1"`}, {`"vm1.example.org."`, `"vm1.example.org."`}, {`"vm1."`, `"vm1."`}, {`"vm_1"`, bad}, {`"vm-"`, bad}, {`5`, bad}})
	check(t, "floating", FloatingDNSName(), []example{{`"a.b"`, `"a.b"`}, {`"a.b."`, bad}, {`""`, `""`}})
}

func TestComposite(t *testing.T) {
	gateway := ObjectOrNothing(Key{Name: "network_id", Type: UUID(), Required: true}, Key{Name: "enable_snat", Type: Bool()})
	check(t, "ObjectOrNothing", gateway, []example{
		{`null`, `null`}, {`{}`, `null`}, {`{ }`, `null`}, {`[]`, `null`}, {`""`, `null`}, {`false`, `null`}, {`0`, `null`}, {`{"enable_snat":"no","network_id":` + id1 + `}`, `{"network_id":` + id1 + `,"enable_snat":false}`},
		{`{"enable_snat":true}`, bad}, {`{"network_id":` + id1 + `,"x":1}`, bad}, {`{"network_id":"x"}`, bad}, {`[1]`, bad}, {`{"network_id":"x","network_id":` + id1 + `}`, `{"network_id":` + id1 + `}`}, {`{"network_id":`, bad}, {`{network_id:1}`, bad},
	})
	check(t, "Object", Object(Key{Name: "a", Type: Int(), Default: "1"}, Key{Name: "b", Type: Int()}), []example{{`{}`, `{"a":1}`}, {`{"b":2}`, `{"a":1,"b":2}`}, {`null`, bad}, {`{"a":"x"}`, unfitName}})
	check(t, "ObjectOrNull", ObjectOrNull(), []example{{`null`, `null`}, {`{}`, `{}`}, {`{"a":1}`, bad}})
	check(t, "ObjectOrEmpty", NullIsEmptyDict(ObjectOrEmpty(Key{Name: "a", Type: Int(), Required: true})), []example{{`null`, `{}`}, {`{}`, `{}`}, {`{"a":1}`, `{"a":1}`}, {`{"b":1}`, bad}})
	check(t, "Dict", Dict(), []example{{`{ "b" : [1, 2.50, {"x":null}], "a":"\u00e9", "b":3 }`, `{"b":3,"a":"é"}`}, {`{"n":1e400}`, unfitName}, {`{"n":2.50}`, `{"n":2.50}`}, {`{"k\u0000":1}`, bad}, {`[]`, bad}, {`null`, bad}, {`{"a":"\ud800"}`, bad}, {`{"a":1,}`, bad}})
	check(t, "DictOrNull", DictOrNull(), []example{{`null`, `null`}, {`"x"`, bad}})
	check(t, "ListOfDict", ListOfDict(Key{Name: "a", Type: Int()}), []example{{`null`, `[]`}, {`{}`, `[]`}, {`[{"a":1}]`, `[{"a":1}]`}, {`[1]`, bad}})
	check(t, "ListOfValues", ListOfValues("a"), []example{{`["a","a"]`, `["a","a"]`}, {`["b"]`, bad}})
	check(t, "ListOfRegexOrNull", ListOfRegexOrNull(`\d+:\d+$`), []example{{`null`, `null`}, {`["1:2"]`, `["1:2"]`}, {`["1"]`, bad}})
	check(t, "ListOfOrNull", ListOfOrNull(Bool()), []example{{`null`, `null`}, {`["yes"]`, `[true]`}})
	check(t, "Unique", Unique(Int()), []example{{`[1,2]`, `[1,2]`}, {`[1,"1"]`, bad}})
	check(t, "Any", Any(), []example{{`[1, {"a": null}]`, `[1,{"a":null}]`}, {`1.5`, `1.5`}, {`"x"`, `"x"`}, {`x`, bad}, {`[1`, bad}})
	nest := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	check(t, "depth", Any(), []example{{nest(maxDepth), nest(maxDepth)}, {nest(maxDepth + 1), bad}, {strings.Repeat("[", 1000000), bad}, {strings.Repeat(`{"a":`, 100000), bad}})
}

func TestSchemasAreJSON(t *testing.T) {
	s := FixedIPs().Schema()
	s["title"] = "changed"
	if FixedIPs().Schema()["title"] != nil || fmt.Sprint(OrNull(Values("a")).Schema()["enum"]) != "[a <nil>]" {
		t.Error("a caller can change the schema of a type, or null is not among its values")
	}
	if got := fmt.Sprint(UUIDOrNull().Schema()["type"]); got != "[string null]" {
		t.Errorf("the type of a nullable UUID is %s", got)
	}
}

func TestManyKeysAndItemsTakeLinearTime(t *testing.T) {
	var keys, items strings.Builder
	for i := range 50000 {
		fmt.Fprintf(&keys, `,"k%d":%d`, i, i)
		fmt.Fprintf(&items, `,"i%d"`, i)
	}
	if _, err := Dict().Decode([]byte("{" + keys.String()[1:] + "}")); err != nil {
		t.Error(err)
	}
	if _, err := UniqueStrings(255).Decode([]byte("[" + items.String()[1:] + "]")); err != nil {
		t.Error(err)
	}
}
