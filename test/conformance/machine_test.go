package conformance

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"isospin/internal/apidef"
	"isospin/internal/apidef/catalogue"
	"isospin/test/rig"
)

// strange are texts that a query may hold.
func strange(r *rapid.T, what string) string {
	fixed := rapid.SampledFrom([]string{"", "x", "true", "0", "-1", "1e400", "99999999999999999999", "'", "\"", "%", "_", "\\", "a,b", "id", "ip_address=10.0.0.1",
		"subnet_id=", "=", "\x00", "\xff", "\u2028", "\U0001F600", "2020-01-01T00:00:00Z", "' OR 1=1 --", "null", "[]", "{}", "::1", strings.Repeat("a", 300)})
	if rapid.Bool().Draw(r, what+" at random") {
		return rapid.StringN(0, 12, 40).Draw(r, what)
	}
	return fixed.Draw(r, what)
}

// TestQueriesByMachine: no filter, order, page or field, known or not, is a server's error; what is refused is a 400 with a reason, and a 404
// only for a marker that is not there.
func TestQueriesByMachine(t *testing.T) {
	c := quick(t)
	m := c.Who("M")
	m.Make("/ports", "port", map[string]any{"network_id": m.Make("/networks", "network", map[string]any{"name": "a"})["id"]})
	reg, err := catalogue.Build(catalogue.Served())
	if err != nil {
		t.Fatal(err)
	}
	collections := map[string]*apidef.Resource{}
	for _, res := range reg.Resources() {
		if res.Parent == "" && len(res.Attributes) > 0 && c.Do("GET", res.Prefix+"/"+res.Path, nil).Status == http.StatusOK {
			collections[res.ID()] = res
		}
	}
	known := slices.Sorted(maps.Keys(collections))
	statuses := map[int]int{}
	rapid.Check(t, func(r *rapid.T) {
		res := collections[rapid.SampledFrom(known).Draw(r, "collection")]
		name := func(what string, fits func(apidef.Attribute) bool) string {
			switch rapid.IntRange(0, 15).Draw(r, "kind of "+what) {
			case 0:
				return strange(r, what)
			case 1:
				return res.Attributes[rapid.IntRange(0, len(res.Attributes)-1).Draw(r, what)].Name
			}
			able := slices.DeleteFunc(slices.Clone(res.Attributes), func(a apidef.Attribute) bool { return !fits(a) })
			if len(able) == 0 {
				return "id"
			}
			return able[rapid.IntRange(0, len(able)-1).Draw(r, what)].Name
		}
		q := url.Values{}
		for range rapid.IntRange(0, 3).Draw(r, "filters") {
			q.Add(name("filter", func(a apidef.Attribute) bool { return a.Filter }), strange(r, "value"))
		}
		for range rapid.IntRange(0, 2).Draw(r, "orders") {
			q.Add("sort_key", name("key", func(a apidef.Attribute) bool { return a.Sort }))
			q.Add("sort_dir", rapid.SampledFrom([]string{"asc", "desc"}).Draw(r, "direction"))
		}
		for _, special := range []string{"limit", "marker", "page_reverse", "fields", "changed_since", "tags", "not-tags-any"} {
			if rapid.IntRange(0, 9).Draw(r, special+" given") == 0 {
				q.Add(special, strange(r, special))
			}
		}
		who := rapid.SampledFrom([]string{"A", "M", "R", "S", "O"}).Draw(r, "who")
		a := c.Who(who).Do("GET", res.Prefix+"/"+res.Path+"?"+q.Encode(), nil)
		statuses[a.Status]++
		switch {
		case a.Err != nil:
			r.Fatalf("%s %v: %v", res.ID(), q, a.Err)
		case a.Status == 200 && a.Object() != nil:
		case a.Status == 400 && a.Fault() != "", a.Status == 404 && a.Fault() != "" && q.Has("marker"), a.Status == 403 && a.Fault() != "":
		default:
			r.Fatalf("%s as %s %v: %d %.300s", res.ID(), who, q, a.Status, a.Body)
		}
	})
	t.Log(statuses)
	if statuses[200] == 0 || statuses[400] == 0 {
		t.Errorf("the queries reach little: %v", statuses)
	}
}

// TestPagesByMachine: pages of any size in any order, forwards and backwards, are the list of that order cut up.
func TestPagesByMachine(t *testing.T) {
	m := quick(t).Who("M")
	n := m.Make("/networks", "network", map[string]any{"name": "a"})["id"]
	m.Make("/subnets", "subnet", map[string]any{"network_id": n, "ip_version": 4, "cidr": "10.0.0.0/24"})
	for i := range 12 {
		m.Make("/ports", "port", map[string]any{"network_id": n, "name": []string{"", "b", "B", "ä"}[i%4], "admin_state_up": i%3 == 0, "device_id": fmt.Sprint(i % 2)})
		m.Make("/networks", "network", map[string]any{"name": fmt.Sprint(i % 5), "mtu": 1000 + i*40%300})
	}
	reg, err := catalogue.Build(catalogue.Served())
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(r *rapid.T) {
		collection := rapid.SampledFrom([]string{"networks", "ports", "security_group_rules"}).Draw(r, "collection")
		res, _ := reg.Resource(collection)
		var keys []string
		for _, a := range res.Attributes {
			if a.Sort {
				keys = append(keys, a.Name)
			}
		}
		q := url.Values{"fields": {"id"}}
		for _, k := range rapid.SliceOfNDistinct(rapid.SampledFrom(keys), 1, 3, rapid.ID[string]).Draw(r, "keys") {
			q.Add("sort_key", k)
			q.Add("sort_dir", rapid.SampledFrom([]string{"asc", "desc"}).Draw(r, "direction"))
		}
		path := "/" + res.Path + "?"
		all := ids(m.List(path+q.Encode(), collection))
		size := rapid.IntRange(2, 9).Draw(r, "limit")
		q.Set("limit", strconv.Itoa(size))
		back := rapid.Bool().Draw(r, "backwards")
		if got := pages(m, path, collection, maps.Clone(q), size, back); !slices.Equal(got, all) {
			r.Fatalf("%v, backwards %v: %v, not %v", q, back, got, all)
		}
	})
}

func ids(items []map[string]any) []string {
	out := make([]string, len(items))
	for i, x := range items {
		out[i] = idOf(x)
	}
	return out
}

// pages walks a list by its markers and gives its ids in the list's order.
func pages(c rig.Caller, path, collection string, q url.Values, size int, back bool) []string {
	var out []string
	if back {
		q.Set("page_reverse", "True")
	}
	for range 200 {
		page := ids(c.List(path+q.Encode(), collection))
		if len(page) > 0 && back {
			out = append(page, out...)
			q.Set("marker", page[0])
		} else if len(page) > 0 {
			out = append(out, page...)
			q.Set("marker", page[len(page)-1])
		}
		if len(page) < size {
			return out
		}
	}
	return append(out, "there is no end to it")
}

// TestIfMatchByMachine: a revision that is no whole number is a 400, another one than the object's a 412, all other entity tags are ignored.
func TestIfMatchByMachine(t *testing.T) {
	m := quick(t).Who("M")
	n := m.Make("/networks", "network", map[string]any{"name": "a"})
	path, revision, count := "/networks/"+fmt.Sprint(n["id"]), 1, 0
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.OneOf(
			rapid.SampledFrom([]string{strconv.Itoa(revision), strconv.Itoa(revision + 1), "-1", "0", "007", "+1", "1.0", "", "x", "9223372036854775808", "0x1", "1 2"}),
			rapid.Map(rapid.IntRange(-3, 1<<40), strconv.Itoa),
			rapid.StringMatching(`[ -~]{0,12}`),
		).Draw(r, "text")
		prefix := rapid.SampledFrom([]string{"revision_number=", "revision_number=", "revision_number= ", "", "W/", "revision="}).Draw(r, "prefix")
		header := strings.TrimSpace(prefix + text)
		want := http.StatusOK
		if rest, ok := strings.CutPrefix(header, "revision_number="); ok {
			number, err := strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
			switch {
			case err != nil:
				want = http.StatusBadRequest
			case number != int64(revision):
				want = http.StatusPreconditionFailed
			}
		}
		count++
		a := m.Send("PUT", path, fmt.Appendf(nil, `{"network": {"name": "n%d"}}`, count), map[string]string{"If-Match": header})
		if a.Status != want {
			r.Fatalf("If-Match %q at revision %d: %d %.200s, not %d", header, revision, a.Status, a.Body, want)
		}
		if a.Status == http.StatusOK {
			revision++
		}
		if got := fmt.Sprint(m.Get(path, "network")["revision_number"]); got != strconv.Itoa(revision) {
			r.Fatalf("If-Match %q: the revision is %s, not %d", header, got, revision)
		}
	})
}

// TestTagsByMachine: whatever is put, added and taken, the tags are what a set says, and the filters find by them.
func TestTagsByMachine(t *testing.T) {
	m := quick(t).Who("M")
	rapid.Check(t, func(r *rapid.T) {
		id := fmt.Sprint(m.Make("/networks", "network", map[string]any{})["id"])
		path := "/networks/" + id
		have := map[string]bool{}
		tag := rapid.OneOf(rapid.SampledFrom([]string{"a", "b", "A", "ä", "a b", "%", "'", ".", "..", "\U0001F600", strings.Repeat("t", 255)}),
			rapid.StringMatching(`[^\x00-\x1f\x7f/,]{1,8}`))
		list := rapid.SliceOfNDistinct(tag, 0, 5, rapid.ID[string])
		for range rapid.IntRange(1, 3).Draw(r, "steps") {
			var a rig.Answer
			switch rapid.IntRange(0, 4).Draw(r, "step") {
			case 0:
				all := list.Draw(r, "all")
				a = m.Do("PUT", path+"/tags", map[string]any{"tags": all})
				have = map[string]bool{}
				for _, x := range all {
					have[x] = true
				}
			case 1:
				more := list.Draw(r, "more")
				a = m.Do("POST", path+"/tags", map[string]any{"tags": more})
				for _, x := range more {
					have[x] = true
				}
			case 2:
				one := tag.Draw(r, "one")
				a = m.Do("PUT", path+"/tags/"+url.PathEscape(one), nil)
				have[one] = true
			case 3:
				one := tag.Draw(r, "gone")
				a = m.Do("DELETE", path+"/tags/"+url.PathEscape(one), nil)
				if !have[one] && a.Status == http.StatusNotFound {
					a.Status = http.StatusNoContent
				}
				delete(have, one)
			default:
				a = m.Do("DELETE", path+"/tags", nil)
				have = map[string]bool{}
			}
			if a.Err != nil || a.Status >= 300 {
				r.Fatalf("%d %.200s %v", a.Status, a.Body, a.Err)
			}
			tagged(r, m, path, id, have)
		}
		if a := m.Do("DELETE", path, nil); a.Status != http.StatusNoContent {
			r.Fatalf("%d %s", a.Status, a.Body)
		}
	})
}

// tagged compares an object's tags with a set, and what filters find with both.
func tagged(r *rapid.T, m rig.Caller, path, id string, have map[string]bool) {
	want := slices.Sorted(maps.Keys(have))
	var got []string
	for _, x := range m.Do("GET", path+"/tags", nil).Object()["tags"].([]any) { //nolint:errcheck // a test may panic
		got = append(got, x.(string)) //nolint:errcheck // a test may panic
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		r.Fatalf("the tags are %q, not %q", got, want)
	}
	for name, finds := range map[string]bool{"tags": len(want) > 0, "tags-any": len(want) > 0, "not-tags": len(want) == 0, "not-tags-any": len(want) == 0} {
		q := url.Values{"id": {id}, name: {strings.Join(append(want, map[bool][]string{true: {"nobody has this"}}[len(want) == 0]...), ",")}}
		if n := len(m.List("/networks?"+q.Encode(), "networks")); (n == 1) != finds {
			r.Fatalf("%v finds %d", q, n)
		}
	}
}
