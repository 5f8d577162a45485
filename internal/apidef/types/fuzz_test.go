package types

import (
	"bytes"
	"encoding/json"
	"testing"

	"isospin/internal/apidef"
	"isospin/internal/fault"
)

// every is one value of each type, for properties that all must have.
func every() map[string]apidef.Type {
	return map[string]apidef.Type{
		"Any": Any(), "String": String(255), "StringOrNull": StringOrNull(10), "Name": Name(255), "NotEmptyName": NotEmptyName(9), "NameNotDefault": NameNotDefault(9),
		"OneLine": OneLine(64), "OneLineOrNull": OneLineOrNull(64), "Text": Text(64), "Values": Values("a", "b"), "FoldedValues": FoldedValues("a", "IPv4"), "Regex": Regex(`[a-z]+`),
		"ServicePlugin": ServicePlugin("QOS"), "RBACObject": RBACObject("network"), "UniqueStrings": UniqueStrings(9), "Int": Int(), "IntOrNull": IntOrNull(), "NonNegative": NonNegative(),
		"Range": Range(1, 4094), "AtLeast": AtLeast(60), "IntValues": IntValues(4, 6), "Bool": Bool(), "BoolOrNull": BoolOrNull(), "UUID": UUID(), "UUIDList": NullIsEmptyList(UUIDList()),
		"SubnetPool": SubnetPoolOrNull(), "TargetProject": TargetProject(), "MAC": MACOrNull(), "IPAddress": IPAddressOrNull(), "CIDR": CIDROrNull(), "CIDRList": CIDRList(),
		"IPOrCIDR": IPOrCIDROrNull(), "RemoteIPPrefix": RemoteIPPrefix(), "AllocationPools": AllocationPools(), "Nameservers": Nameservers(), "HostRoutes": HostRoutes(),
		"FixedIPs": FixedIPs(), "AllowedAddressPairs": AllowedAddressPairs(3), "ExtraDHCPOpts": ExtraDHCPOpts(), "SubPorts": SubPorts(), "NetworkSegments": NetworkSegments(),
		"AvailabilityZoneHints": AvailabilityZoneHints(), "SubnetServiceTypes": SubnetServiceTypes(), "Protocol": Protocol("tcp", "udp"), "SecurityGroupProtocol": SecurityGroupProtocol(),
		"Ethertype": Ethertype(), "PortValue": PortValue(), "PortRange": PortRange(1, 65535), "DNSName": DNSName(), "DNSDomain": DNSDomain(), "FloatingDNSName": FloatingDNSName(),
		"Dict": DictOrNull(), "Object": ObjectOrNothing(Key{Name: "a", Type: Int(), Required: true}), "Empty": NullIsEmptyDict(ObjectOrEmpty(Key{Name: "a", Type: Bool()})),
		"ListIfScalar": ListIfScalar(UUIDList()), "Regexes": ListOfRegexOrNull(`\d+`), "Dicts": ListOfDict(Key{Name: "a", Type: Any()}), "Timestamp": Timestamp(),
	}
}

// FuzzDecode holds every type to its contract: no panic; a refusal is a client's fault; what is accepted is valid
// JSON that decodes to itself.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		``, ` `, `null`, `true`, `"yes"`, `0`, `-0`, `1e400`, `9223372036854775808`, `4.0`, `40e-1`, `1e-999999999999`, `"x"`, `"\ud800"`, `"\ud83d\ude00"`, `"\u0000"`, `"😀"`, "\"\xff\"",
		`[]`, `[[[[[[]]]]]]`, `[1,]`, `{`, `{"a":1}`, `{"a":1,"a":{"b":[]}}`, `{"a"}`, `["a","a"]`, `"fa:16:3e:00:00:01"`, `"FA-16-3E-00-00-01"`, `"10.0.0.1"`, `"2001:DB8::1/64"`,
		`[{"start":"10.0.0.1","end":"10.0.0.9"}]`, `[{"subnet_id":"01234567-89ab-cdef-0123-456789abcdef","ip_address":"10.0.0.1"}]`, `[{"opt_name":"router","opt_value":null,"ip_version":"4"}]`,
		`[{"port_id":"01234567-89ab-cdef-0123-456789abcdef","segmentation_type":"vlan","segmentation_id":5}]`, `[{"destination":"0.0.0.0/0","nexthop":"10.0.0.1"}]`, `"80:90"`, `"vm1.example.org."`,
	} {
		f.Add([]byte(seed))
	}
	types := every()
	f.Fuzz(func(t *testing.T, raw []byte) {
		given := bytes.Clone(raw)
		for name, typ := range types {
			got, err := typ.Decode(raw)
			if !bytes.Equal(raw, given) {
				t.Fatalf("%s changed what it was given", name)
			}
			if err != nil {
				if f := fault.Of(err); f.Kind != fault.Invalid && f.Kind != fault.Conflict {
					t.Fatalf("%s: %q: %v is no fault of the client", name, raw, err)
				}
				continue
			}
			if !json.Valid(got) {
				t.Fatalf("%s made %q of %q, which is not JSON", name, got, raw)
			}
			again, err := typ.Decode(got)
			if err != nil || !bytes.Equal(again, got) {
				t.Fatalf("%s made %q of %q and then %q, %v", name, got, raw, again, err)
			}
		}
	})
}

// FuzzFilter: no panic, and a refusal is a client's fault; what comes out is its own canonical form.
func FuzzFilter(f *testing.F) {
	for _, seed := range []string{"", "a", "ip_address=10.0.0.1", "ip_address_substr=", "subnet_id", "true", "4", "fa-16-3e-0-0-1", "\x00", "\xff", "::1/0"} {
		f.Add(seed)
	}
	types := every()
	f.Fuzz(func(t *testing.T, text string) {
		for name, typ := range types {
			got, err := typ.Filter(text)
			if err != nil {
				if !fault.Is(err, fault.Invalid) {
					t.Fatalf("%s: %q: %v is no fault of the client", name, text, err)
				}
				continue
			}
			if again, err := typ.Filter(got); err != nil || again != got {
				t.Fatalf("%s made %q of %q and then %q, %v", name, got, text, again, err)
			}
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	for _, c := range []struct{ name, raw string }{
		{"String", `"a common description"`}, {"Name", `"a common name"`}, {"UUID", `"01234567-89ab-cdef-0123-456789abcdef"`}, {"Bool", `true`}, {"Int", `1500`},
		{"MAC", `"fa:16:3e:00:00:01"`}, {"FixedIPs", `[{"subnet_id":"01234567-89ab-cdef-0123-456789abcdef","ip_address":"10.0.0.1"}]`},
	} {
		typ := every()[c.name]
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := typ.Decode(json.RawMessage(c.raw)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
