package rest

import (
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// drawObject draws a JSON object as the store keeps it: compact, with keys that need no escapes.
func drawObject(t *rapid.T) []byte {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", `"`, `\`, `\"`, `a,b`, `{"a":1}`, `]}`, "ü", "\u2028"}))
	leaf := rapid.OneOf(rapid.Map(text, func(s string) any { return s }), rapid.Map(rapid.Int64(), func(n int64) any { return n }),
		rapid.SampledFrom([]any{nil, true, false, []any{}, map[string]any{}}))
	value := rapid.OneOf(leaf, rapid.Map(rapid.SliceOfN(leaf, 0, 3), func(l []any) any { return l }),
		rapid.Map(rapid.MapOfN(rapid.StringMatching(`[a-z:_]{1,4}`), leaf, 0, 3), func(m map[string]any) any { return m }))
	raw, err := json.Marshal(rapid.MapOfN(rapid.StringMatching(`[a-z_:-]{1,5}`), value, 0, 6).Draw(t, "object"))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestMembersAsJSON: members are read, cut and added as a JSON library would.
func TestMembersAsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body := drawObject(t)
		var want map[string]json.RawMessage
		if err := json.Unmarshal(body, &want); err != nil {
			t.Fatal(err)
		}
		seen := map[string]json.RawMessage{}
		eachMember(body, func(k, v []byte) bool { seen[string(k)] = v; return true })
		if len(seen) != len(want) {
			t.Fatalf("%s has the members %v", body, seen)
		}
		drop := rapid.StringMatching(`[a-z_:-]{1,5}`).Draw(t, "drop")
		for k, v := range want {
			if got, ok := member(body, k); !ok || string(got) != string(v) {
				t.Fatalf("member %s of %s is %s", k, body, got)
			}
			drop = k
		}
		cut := project(nil, body, func(key []byte) bool { return string(key) != drop })
		delete(want, drop)
		want["added"] = json.RawMessage(`[1]`)
		var got map[string]json.RawMessage
		if err := json.Unmarshal(appendMember(cut, "added", []byte(`[1]`)), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s without %s and with one more is %v, not %v (%v)", body, drop, got, want, err)
		}
	})
}

// TestMemberOfOddText: what is no such object yields nothing and does not panic.
func TestMemberOfOddText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.SliceOf(rapid.SampledFrom([]byte(`{}[]",:\a1`))).Draw(t, "text")
		n := 0
		eachMember(body, func(k, v []byte) bool { n += len(k) + len(v); return true })
		if n > len(body)*2 {
			t.Fatalf("%s has %d bytes of members", body, n)
		}
	})
}

// TestText: scalars as policy and filters compare them.
func TestText(t *testing.T) {
	for raw, want := range map[string]string{`"a"`: "a", `"a\"b"`: `a"b`, `"\u00fc"`: "ü", `null`: "", `true`: "true", `12`: "12", `""`: ""} {
		if got := text([]byte(raw)); got != want {
			t.Errorf("%s is %q, not %q", raw, got, want)
		}
	}
}

// TestSubKeys: the keys of nested objects, for rules such as create_port:fixed_ips:ip_address.
func TestSubKeys(t *testing.T) {
	for raw, want := range map[string]int{`[{"a":1,"b":2},{"a":3}]`: 2, `{"a":1}`: 1, `"x"`: 0, `[1]`: 0, `[]`: 0, `null`: 0} {
		if got := subKeys([]byte(raw)); len(got) != want {
			t.Errorf("%s has %v", raw, got)
		}
	}
}

// TestPaging: limit, marker and page_reverse as they are understood.
func TestPaging(t *testing.T) {
	s := &Server{Config: Config{MaxPage: 50}}
	for _, c := range []struct {
		query   string
		limit   int
		reverse bool
		bad     bool
	}{
		{"", 50, false, false}, {"limit=10", 10, false, false}, {"limit=0", 50, false, false}, {"limit=70", 50, false, false},
		{"limit=99999999999999999999999", 50, false, false}, {"limit=-1", 0, false, true}, {"limit=x", 0, false, true}, {"limit=", 0, false, true},
		{"limit=5&page_reverse=True", 5, true, false}, {"limit=5&page_reverse=nope", 5, false, false}, {"limit=5&marker=a%00b", 0, false, true},
	} {
		values, err := url.ParseQuery(c.query)
		if err != nil {
			t.Fatal(err)
		}
		q := &listQuery{}
		err = s.paging(q, values)
		if (err != nil) != c.bad || !c.bad && (q.limit != c.limit || q.reverse != c.reverse) {
			t.Errorf("%s: limit %d, reverse %v, %v", c.query, q.limit, q.reverse, err)
		}
	}
}

// TestIfMatch: only revision numbers count, other entity tags are left alone.
func TestIfMatch(t *testing.T) {
	for _, c := range []struct {
		header   string
		revision int64
		given    bool
		bad      bool
	}{
		{"", 0, false, false}, {`"abc"`, 0, false, false}, {"revision_number=7", 7, true, false}, {" revision_number= 7 ", 7, true, false},
		{"revision_number=x", 0, false, true}, {"revision_number=", 0, false, true}, {"revision_number=99999999999999999999", 0, false, true},
	} {
		r := httptest.NewRequest("PUT", "/v2.0/networks/x", nil)
		if c.header != "" {
			r.Header.Set("If-Match", c.header)
		}
		revision, given, err := ifMatch(r)
		if (err != nil) != c.bad || given != c.given || revision != c.revision {
			t.Errorf("%q: %d %v %v", c.header, revision, given, err)
		}
	}
}

// TestTagFilters: what the four filters on tags ask, and that nothing asked for finds nothing.
func TestTagFilters(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []string
		args   int
	}{
		{"tags", []string{"a,b"}, 2}, {"tags", []string{"a", "b", "a"}, 2}, {"tags", []string{""}, 0}, {"tags-any", []string{"a,b,"}, 2}, {"not-tags", []string{"a"}, 1}, {"not-tags-any", []string{"a,b"}, 2},
	} {
		cond, ok := tagFilter(c.name, c.values)
		if !ok || len(cond.Args) != c.args || cond.SQL == "" {
			t.Errorf("%s %v: %v", c.name, c.values, cond)
		}
	}
	if _, ok := tagFilter("name", []string{"a"}); ok {
		t.Error("name is taken for a filter on tags")
	}
}

// TestTagsApply: what each request makes of the tags that an object has.
func TestTagsApply(t *testing.T) {
	have := []string{"a", "b"}
	for _, c := range []struct {
		a    tagging
		want []string
		bad  bool
	}{
		{tagging{verb: "update", list: []string{"c"}}, []string{"c"}, false},
		{tagging{verb: "update", one: true, list: []string{"c"}}, []string{"a", "b", "c"}, false},
		{tagging{verb: "update", one: true, list: []string{"a"}}, []string{"a", "b"}, false},
		{tagging{verb: "create", list: []string{"b", "c"}}, []string{"a", "b", "c"}, false},
		{tagging{verb: "delete"}, []string{}, false},
		{tagging{verb: "delete", one: true, list: []string{"a"}}, []string{"b"}, false},
		{tagging{verb: "delete", one: true, list: []string{"z"}}, nil, true},
	} {
		got, err := c.a.apply(have)
		if (err != nil) != c.bad || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v: %v %v", c.a, got, err)
		}
	}
	if !reflect.DeepEqual(have, []string{"a", "b"}) {
		t.Errorf("the tags that were there are now %v", have)
	}
}
