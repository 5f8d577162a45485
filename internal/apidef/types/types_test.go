package types

import (
	"encoding/json"
	"strings"
	"testing"

	"isospin/internal/apidef"
	"isospin/internal/fault"
)

// example is one value: what Decode makes of it, or the name of the fault after "!".
type example struct{ raw, want string }

func check(t *testing.T, name string, typ apidef.Type, examples []example) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		for _, e := range examples {
			got, err := typ.Decode(json.RawMessage(e.raw))
			if name, bad := strings.CutPrefix(e.want, "!"); bad {
				if !fault.Named(err, name) {
					t.Errorf("%s: got %s, %v; want the fault %s", clip(e.raw), clip(string(got)), err, name)
				} else if f := fault.Of(err); f.Message == "" || len(f.Message) > 900 {
					t.Errorf("%s: the sentence has %d bytes: %s", clip(e.raw), len(f.Message), f.Message)
				}
				continue
			}
			if err != nil || string(got) != e.want {
				t.Errorf("%s: got %s, %v; want %s", clip(e.raw), clip(string(got)), err, clip(e.want))
				continue
			}
			again, err := typ.Decode(got)
			if err != nil || string(again) != string(got) {
				t.Errorf("%s is not canonical: it becomes %s, %v", got, again, err)
			}
		}
	})
}

func clip(s string) string {
	if len(s) > 120 {
		return s[:120] + "…"
	}
	return s
}

func text255(n int) string { return `"` + strings.Repeat("x", n) + `"` }

const bad, unfitName = "!HTTPBadRequest", "!InvalidInput"

func TestText(t *testing.T) {
	check(t, "String", String(255), []example{
		{`""`, `""`},
		{`"a b"`, `"a b"`},
		{"  \"a\"\n", `"a"`},
		{text255(255), text255(255)},
		{text255(256), bad},
		{`"` + strings.Repeat("é", 255) + `"`, `"` + strings.Repeat("é", 255) + `"`},
		{`"` + strings.Repeat("é", 256) + `"`, bad},
		{`"\u00e9\n\/\t\u0001"`, `"é\n/\t\u0001"`},
		{`"\ud83d\ude00"`, `"😀"`},
		{`"😀"`, `"😀"`},
		{`"\ud800"`, bad},
		{`"\ude00\ud83d"`, bad},
		{`"\ud83dx"`, bad},
		{"\"\xff\"", bad},
		{"\"\xed\xa0\x80\"", bad},
		{`"\u0000"`, bad},
		{"\"a\x00b\"", bad},
		{"\"a\nb\"", bad},
		{`"\x"`, bad},
		{`"\u12g4"`, bad},
		{`"abc`, bad},
		{`"a"b"`, bad},
		{`"a" "b"`, bad},
		{`12`, bad}, {`null`, bad}, {`true`, bad}, {`[]`, bad}, {`{}`, bad}, {`nul`, bad}, {` `, bad},
	})
	check(t, "String without bound", String(0), []example{{text255(5000), text255(5000)}})
	check(t, "StringOrNull", StringOrNull(3), []example{{`null`, `null`}, {`"abc"`, `"abc"`}, {`"abcd"`, bad}})
	check(t, "Name", Name(255), []example{
		{`""`, `""`}, {`"  "`, `"  "`}, {`"Größe 😀 ‌x"`, `"Größe 😀 ‌x"`}, {`"a\tb"`, bad}, {`"a\nb"`, bad}, {`"\u007f"`, bad}, {`"\u2028"`, bad}, {`"\u200b"`, bad},
		{text255(256), bad}, {`null`, bad},
	})
	check(t, "NameOrNull", NameOrNull(10), []example{{`null`, `null`}, {`"a\u0007"`, bad}})
	check(t, "NotEmptyName", NotEmptyName(10), []example{{`"a"`, `"a"`}, {`""`, bad}, {`"  "`, bad}, {`"a\n"`, bad}})
	check(t, "NameNotDefault", NameNotDefault(255), []example{
		{`"web"`, `"web"`}, {`"default2"`, `"default2"`}, {`"Default"`, "!SecurityGroupDefaultAlreadyExists"}, {`"default"`, "!SecurityGroupDefaultAlreadyExists"},
	})
	check(t, "OneLine", OneLine(5), []example{{`"a b"`, `"a b"`}, {`""`, bad}, {`" "`, bad}, {`"a\nb"`, bad}, {`"a\u2028"`, bad}, {`"abcdef"`, bad}})
	check(t, "OneLineOrNull", OneLineOrNull(5), []example{{`null`, `null`}, {`""`, bad}})
	check(t, "Text", Text(4), []example{{`80`, `"80"`}, {`"x"`, `"x"`}, {`null`, `null`}, {`4.0`, `"4"`}, {`12345`, bad}, {`true`, bad}, {`-`, bad}, {`1e400`, `!InvalidInput`}})
	check(t, "Values", Values("ingress", "egress"), []example{{`"ingress"`, `"ingress"`}, {`"\u0069ngress"`, `"ingress"`}, {`"Ingress"`, bad}, {`""`, bad}, {`null`, bad}, {`1`, bad}})
	check(t, "ValuesOrNull", ValuesOrNull("a"), []example{{`null`, `null`}, {`"b"`, bad}})
	check(t, "FoldedValues", FoldedValues("allow", "deny"), []example{{`"ALLOW"`, `"allow"`}, {`"other"`, bad}, {`5`, bad}})
	check(t, "RegexOrNull", RegexOrNull(`^([0-9]+(-[0-9]+)?)(,([0-9]+(-[0-9]+)?))*$`), []example{{`null`, `null`}, {`"1-2,3"`, `"1-2,3"`}, {`"1-"`, bad}, {`"x1"`, bad}})
	check(t, "ServicePlugin", ServicePlugin("QOS"), []example{{`"QOS"`, `"QOS"`}, {`"X"`, "!InvalidServiceType"}})
	check(t, "RBACObject", RBACObject("network"), []example{{`"network"`, `"network"`}, {`"X"`, unfitName}})
	check(t, "UniqueStrings", UniqueStrings(3), []example{{`[]`, `[]`}, {`["a", "b"]`, `["a","b"]`}, {`["a","\u0061"]`, bad}, {`["abcd"]`, bad}, {`null`, bad}, {`"a"`, bad}, {`[1]`, bad}})
}

func TestNumber(t *testing.T) {
	check(t, "Int", Int(), []example{
		{`0`, `0`}, {`-0`, `0`}, {`4`, `4`}, {`"4"`, `4`}, {`" 4 "`, `4`}, {`"+4"`, `4`}, {`4.0`, `4`}, {`40e-1`, `4`}, {`0.4e1`, `4`}, {`1e3`, `1000`},
		{`9223372036854775807`, `9223372036854775807`}, {`-9223372036854775808`, `-9223372036854775808`},
		{`9223372036854775808`, unfitName}, {`1e400`, unfitName}, {`1e99999999999999999999`, unfitName}, {`1e-400`, unfitName}, {`4.5`, unfitName}, {`"4.5"`, unfitName},
		{`0e99999999999`, `0`}, {`-0.0`, `0`}, {`100e-2`, `1`}, {`"9223372036854775808"`, unfitName}, {`"1_0"`, unfitName}, {`"0x10"`, unfitName},
		{`true`, unfitName}, {`null`, unfitName}, {`[]`, unfitName}, {`"x"`, unfitName}, {`""`, unfitName}, {`"\ud800"`, bad},
		{`01`, bad}, {`1.`, bad}, {`+1`, bad}, {`.5`, bad}, {`1e`, bad}, {`--1`, bad}, {`NaN`, bad}, {`Infinity`, bad}, {`1 2`, bad},
	})
	check(t, "IntOrNull", IntOrNull(), []example{{`null`, `null`}, {`"7"`, `7`}})
	check(t, "NonNegative", NonNegative(), []example{{`0`, `0`}, {`2147483647`, `2147483647`}, {`-1`, bad}, {`2147483648`, bad}, {`true`, unfitName}})
	check(t, "Range", Range(1, 4094), []example{{`1`, `1`}, {`"4094"`, `4094`}, {`0`, bad}, {`4095`, bad}, {`null`, unfitName}})
	check(t, "RangeOrNull", RangeOrNull(1, 2), []example{{`null`, `null`}, {`3`, bad}})
	check(t, "AtLeast", AtLeast(60), []example{{`60`, `60`}, {`59`, bad}, {`2147483648`, bad}})
	check(t, "IntValues", IntValues(4, 6), []example{{`4`, `4`}, {`"6"`, `6`}, {`5`, bad}, {`"x"`, unfitName}, {`true`, unfitName}})
	check(t, "Bool", Bool(), []example{
		{`true`, `true`}, {`false`, `false`}, {`1`, `true`}, {`0`, `false`}, {`"yes"`, `true`}, {`"OFF"`, `false`}, {`"T"`, `true`}, {`"n"`, `false`}, {`" 1 "`, `true`},
		{`2`, unfitName}, {`"maybe"`, unfitName}, {`""`, unfitName}, {`null`, unfitName}, {`[]`, unfitName}, {`{"a":1}`, unfitName}, {`tru`, bad}, {`"\ud800"`, bad},
	})
	check(t, "BoolOrNull", BoolOrNull(), []example{{`null`, `null`}, {`"on"`, `true`}})
}

func TestFilter(t *testing.T) {
	for _, c := range []struct {
		name string
		typ  apidef.Type
		text string
		want string // "!": refused
	}{
		{"string", String(3), "longer than the bound", "longer than the bound"},
		{"empty", String(3), "", ""},
		{"bool", Bool(), "Yes", "true"},
		{"bool", Bool(), "maybe", "!"},
		{"int", Int(), " 4", "4"},
		{"int", NonNegative(), "-4", "-4"},
		{"int", Int(), "4.5", "!"},
		{"int", Int(), "9223372036854775808", "!"},
		{"int", IntValues(4, 6), "5", "5"},
		{"port", PortValue(), "x", "!"},
		{"uuid", UUID(), "0123456789ABCDEF0123456789ABCDEF", "01234567-89ab-cdef-0123-456789abcdef"},
		{"uuid", UUIDOrNull(), "none", "none"},
		{"uuid", UUIDList(), "x", "x"},
		{"mac", MACOrNull(), "FA-16-3E-00-00-01", "fa:16:3e:00:00:01"},
		{"mac", MACOrNull(), "junk", "junk"},
		{"ip", IPAddressOrNull(), "2001:DB8:0::5", "2001:db8::5"},
		{"cidr", CIDROrNull(), "2001:DB8::/64", "2001:db8::/64"},
		{"ethertype", Ethertype(), "ipv4", "IPv4"},
		{"protocol", SecurityGroupProtocol(), "TCP", "tcp"},
		{"fixed", FixedIPs(), "ip_address=2001:DB8::5", "ip_address=2001:db8::5"},
		{"fixed", FixedIPs(), "subnet_id=x", "subnet_id=x"},
		{"fixed", FixedIPs(), "ip_address_substr=10.", "ip_address_substr=10."},
		{"fixed", FixedIPs(), "nope=x", "!"},
		{"fixed", FixedIPs(), "10.0.0.1", "!"},
		{"nul", String(0), "a\x00", "!"},
		{"utf8", Name(0), "\xff", "!"},
		{"any", Any(), "x", "x"},
	} {
		got, err := c.typ.Filter(c.text)
		switch {
		case c.want == "!" && !fault.Is(err, fault.Invalid):
			t.Errorf("%s %q: got %q, %v; want a refusal", c.name, c.text, got, err)
		case c.want != "!" && (err != nil || got != c.want):
			t.Errorf("%s %q: got %q, %v; want %q", c.name, c.text, got, err, c.want)
		}
	}
}

func TestSentencesNameTheValue(t *testing.T) {
	for _, c := range []struct {
		typ       apidef.Type
		raw, want string
	}{
		{String(3), `"abcd"`, `the text "abcd" has 4 characters, 3 are allowed`},
		{UUID(), `12`, `a text is wanted, not the number 12`},
		{UUIDList(), `["x"]`, `item 1: the text "x" is not a UUID`},
		{HostRoutes(), `[{"destination":"10.0.0.1/8","nexthop":"10.0.0.1"}]`, `item 1, key "destination": the destination "10.0.0.1/8" has host bits; 10.0.0.0/8 is the network`},
		{Range(1, 2), `9`, `9 is above 2, the most allowed`},
	} {
		_, err := c.typ.Decode(json.RawMessage(c.raw))
		if f := fault.Of(err); f == nil || f.Message != c.want {
			t.Errorf("%s: got %v; want %s", c.raw, err, c.want)
		}
	}
	long := `"` + strings.Repeat("ü", 4000) + `"`
	if _, err := UUID().Decode(json.RawMessage(long)); len(err.Error()) > 200 {
		t.Errorf("a long value is not shortened: %d bytes", len(err.Error()))
	}
}

func TestScalarsDecodeWithoutCopy(t *testing.T) {
	for _, c := range []struct {
		typ apidef.Type
		raw string
	}{
		{String(255), `"a common description"`},
		{UUID(), `"01234567-89ab-cdef-0123-456789abcdef"`},
		{UUIDOrNull(), `"01234567-89ab-cdef-0123-456789abcdef"`},
		{StringOrNull(5), `null`},
	} {
		raw := json.RawMessage(c.raw)
		if n := testing.AllocsPerRun(100, func() { _, _ = c.typ.Decode(raw) }); n > 0 {
			t.Errorf("%s allocates %v times", c.raw, n)
		}
	}
}
