package grammar

import "strings"

// corpus are the odd things that requests are spoiled with.
type corpus struct {
	methods, values, bodies, strangeNames, texts, strangeIDs, paths, queries, ifMatches []string

	headers []map[string]string
	letters []rune
	known   map[string][]string // words that mean something to a service though the type allows any
}

func newCorpus() corpus {
	return corpus{
		methods: methods(), values: values(), bodies: bodies(), strangeNames: strangeNames(), texts: texts(), strangeIDs: strangeIDs(), paths: paths(),
		queries: queries(), ifMatches: ifMatches(), headers: headers(), letters: []rune("abcdefghijklmnopqrstuvwxyz0123456789 -_.éß漢😀"), known: known(),
	}
}

func methods() []string {
	return []string{"GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "BREW"}
}

// values are JSON that few attributes can hold; some of it is no JSON.
func values() []string {
	return []string{
		"null", "true", "false", "0", "-1", "1.5", "1e400", "-1e400", "1e-400", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "2147483648", "4294967296", "00", "1.", "NaN", "Infinity", "+1",
		`""`, `" "`, `"\ud800"`, `"\udc00\ud800"`, `"\u0000"`, `"a\u0000b"`, "\"\x01\"", "\"\xff\xfe\"", `"\u202e\u2066"`, `"😀"`, `"\ud83d\ude00"`, `"'; DROP TABLE ports; --"`, `"%s%n%00"`, `"../../../etc/passwd"`, `"${jndi:x}"`,
		`"` + strings.Repeat("x", 256) + `"`, `"` + strings.Repeat("y", 70000) + `"`, `"` + strings.Repeat("漢", 255) + `"`,
		"[]", "[null]", "[[]]", "{}", `{"a":{"b":{"c":null}}}`, `{"":""}`, `{"__proto__":1}`, `[{}]`, `["x","x"]`, `[1,"1"]`,
		strings.Repeat("[", 5000) + strings.Repeat("]", 5000), strings.Repeat(`{"a":`, 3000) + "1" + strings.Repeat("}", 3000), strings.Repeat("[", 5000),
		`"10.0.0.1/33"`, `"10.0.0.0"`, `"256.0.0.1"`, `"0.0.0.0/0"`, `"::/0"`, `"fe80::1%eth0"`, `"10.0.0.01"`, `"::ffff:10.0.0.1"`, `"224.0.0.1"`, `"127.0.0.1"`,
		`"01:00:5e:00:00:01"`, `"ff:ff:ff:ff:ff:ff"`, `"fa163e000001"`, `"00:00:00:00:00:00"`, `"zz:zz:zz:zz:zz:zz"`,
		`"00000000-0000-0000-0000-000000000000"`, `"FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF"`, `"not-a-uuid"`, `"prefix_delegation"`,
		`[{"ip_address":"10.0.0.5"},{"ip_address":"10.0.0.5"}]`, `[{"subnet_id":null}]`, `[{"ip_address":["10.0.0.5"]}]`, `[{"start":"10.0.0.9","end":"10.0.0.1"}]`, `[{"destination":"10.0.0.1/8","nexthop":"10.0.0.1"}]`,
		`{"a":1,"a":2}`, "tru", "'x'", "undefined",
	}
}

// bodies are whole bodies that are no request.
func bodies() []string {
	return []string{
		"", " ", "null", "true", "0", `""`, "[]", "{}", "{", "}", "[", `{"`, `{"a"`, `{"a":}`, "\x00", "\xff\xfe", "\ufeff{}", "<network/>", "network=x", "a b c", `{"network":`, `{"network":null}`, `{"network":[]}`,
		`{"network":"x"}`, `{"networks":[]}`, `{"networks":null}`, `{"ports":[{}]}`, `{"port":{}}`, `{"subnet":{"cidr":null}}`, strings.Repeat("[", 100000), strings.Repeat(`{"network":`, 20000), `{"a":` + strings.Repeat("9", 10000) + `}`,
		`{"network":{},"network":{}}`, `{"NETWORK":{}}`, `{"network ":{}}`, `{"\u006eetwork":{}}`, `{"\ud800":{}}`, "{}{}", "// comment\n{}",
	}
}

func strangeNames() []string {
	return []string{"", " ", "id", "nope", "status", "_body", "body", "1", "name\x00", "Name", "NAME", "name ", "names", "tenant", "admin-state-up", "binding:", ":", "provider", "😀", "rowid", "1=1", "name;--", "changed_since", "all_tenants", strings.Repeat("n", 5000)}
}

func texts() []string {
	return []string{"", " ", "x", "null", "None", "true", "maybe", "-1", "1e400", "99999999999999999999", "\x00", "\xff", "😀", "'", "' OR '1'='1", "%", "_", "*", "a,b", ",", "=", "a=b", "[]", "{}", "10.0.0.1", "::", "/", "..", strings.Repeat("z", 4000)}
}

// strangeIDs are escaped for a path.
func strangeIDs() []string {
	return []string{"x", "0", "-1", "None", "null", "undefined", "%00", "%ff", "%2e%2e", "%2f", "%20", "a%2fb", "%F0%9F%98%80", "'", "*", ";", "id.json", "id.xml", "default", "details", "new", "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF", strings.Repeat("a", 3000), "a/b/c/d"}
}

func paths() []string {
	return []string{"/", "//", "/v2.0", "/v2.0/", "/v2", "/v3/networks", "/v2.0/nope", "/v2.0/nope/x", "/v2.0/extensions", "/v2.0/extensions/nope", "/v2.0/extensions/binding", "/v2.0//networks", "/V2.0/networks", "/v2.0/networks/x/y/z/w", "/v2.0/%6eetworks", "/v2.0/networks%00", "/v2.0/../v2.0/networks", "/v2.0/Networks", "/healthz", "/favicon.ico", "/v2.0/" + strings.Repeat("n", 8000)}
}

// queries are appended as they stand.
func queries() []string {
	return []string{"%", "%zz", "=", "&&&", "a", "=a", "name", "name=%", "name=%ff", "name=%00", ";", "name=a;id=b", "fields", "fields=&fields=", "limit=1&limit=2", "marker=a&marker=b", "sort_key=id", "sort_dir=asc", "sort_key=id&sort_dir=asc&sort_key=id&sort_dir=desc", "sort_key=&sort_dir=", "sort_key=id;&sort_dir=asc", "page_reverse=x", "limit=%2B1", strings.Repeat("name=a&", 1500)}
}

func ifMatches() []string {
	return []string{"revision_number=0", "revision_number=1", "revision_number=99", "revision_number=x", "revision_number=", "revision_number=-1", "revision_number=99999999999999999999", `"etag"`, "*", "", "revision_number=1,revision_number=2"}
}

func headers() []map[string]string {
	return []map[string]string{
		{"Content-Type": "text/plain"}, {"Content-Type": "application/xml"}, {"Content-Type": "application/json; charset=utf-16"}, {"Content-Type": ""}, {"Content-Encoding": "gzip"},
		{"Accept": "text/html"}, {"Accept": "application/xml"}, {"X-HTTP-Method-Override": "DELETE"}, {"X-Openstack-Request-Id": "req-x"}, {"X-Forwarded-Proto": "https"}, {"Expect": "100-continue"},
	}
}

func known() map[string][]string {
	return map[string][]string{
		"provider:network_type":     {"vxlan", "vlan", "flat", "local", "gre", "geneve", "nope"},
		"provider:physical_network": {"physnet1", "public", "nope"},
		"device_owner":              {"", "compute:nova", "network:dhcp", "network:router_interface", "baremetal:none", "manila:share"},
		"binding:host_id":           {"", "h1", "nowhere"},
		"host":                      {"h1", "h2", "nowhere"},
		"availability_zone_hints":   {"nova", "nope"},
		"opt_name":                  {"mtu", "router", "tftp-server", "bootfile-name", "26"},
	}
}
