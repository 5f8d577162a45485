//go:build conformance

package conformance

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"isospin/test/rig"
)

// prices are the SQL statements of requests, by what they do.
type prices map[string]int

// price is what a request of a kind costs, of which more makes another each time: the least of three, since the first of a kind may make what the others find.
func (r *realm) price(to prices, what string, more func() func() rig.Answer) {
	r.t.Helper()
	least := 1 << 30
	for range 3 {
		a := more()()
		if a.Err != nil || a.Status >= 300 {
			r.t.Errorf("%s: %d %.300s %v", what, a.Status, a.Body, a.Err)
			return
		}
		least = min(least, statements(r.t, a))
	}
	to[what] = least
}

// again repeats a request.
func again(do func() rig.Answer) func() func() rig.Answer {
	return func() func() rig.Answer { return do }
}

// shop measures what a collection's requests cost now.
func (r *realm) shop(collection string, to prices) {
	r.t.Helper()
	o, rec := r.get(collection), recipes()[collection]
	if o.at != "" && collection != "quotas" {
		for name, c := range map[string]rig.Caller{"an administrator": r.c, "a member": r.member(), "a reader": r.c.As(r.project(), "reader")} {
			if c.Do("GET", o.at, nil).Status == 200 {
				r.price(to, "list of "+collection+" for "+name, again(func() rig.Answer { return c.Do("GET", o.at, nil) }))
				r.price(to, "page of "+collection+" for "+name, again(func() rig.Answer { return c.Do("GET", o.at+"?limit=2", nil) }))
			}
		}
	}
	if o.path != "" {
		r.price(to, "show of "+collection, again(func() rig.Answer { return r.c.Do("GET", o.path, nil) }))
		if !o.res.NoUpdate && r.change(o) != nil {
			r.price(to, "update of "+collection, again(func() rig.Answer {
				return r.c.Do("PUT", o.path, map[string]any{o.res.Name: r.change(o)})
			}))
		}
	}
	if rec.find != nil {
		return
	}
	var made []string
	create := func() func() rig.Answer {
		attributes, parent, as := r.attributes(collection), r.above(collection), rec.as
		if as == "" {
			as = r.owner
		}
		at := r.where(o.res, parent)
		return func() rig.Answer {
			a := r.c.Who(as).Do("POST", at, map[string]any{o.res.Name: attributes})
			made = append(made, at+"/"+idOf(a.Under(o.res.Name)))
			return a
		}
	}
	r.price(to, "create of "+collection, create)
	r.price(to, "delete of "+collection, func() func() rig.Answer {
		if len(made) == 0 {
			create()()
		}
		last := made[len(made)-1]
		made = made[:len(made)-1]
		return func() rig.Answer { return r.c.Do("DELETE", last, nil) }
	})
	for _, path := range made { // so that there are as many as before
		r.c.Do("DELETE", path, nil)
	}
}

// everyPrice measures every collection's requests when there are so many objects of each, and holds them to what they
// cost at first.
func everyPrice(t *testing.T, levels ...int) {
	r := newRealms(t, "M")[0]
	first := prices{}
	have := 0
	for _, level := range levels {
		for _, collection := range r.owned() {
			r.get(collection)
			for n := max(have, 1); n < level; n++ {
				r.make(collection)
			}
		}
		now := prices{}
		for _, collection := range r.owned() {
			r.shop(collection, now)
		}
		for _, what := range slices.Sorted(maps.Keys(now)) {
			if have == 0 {
				first[what] = now[what]
			} else if now[what] > first[what] {
				t.Errorf("%s: %d statements with %d of each, %d with one", what, now[what], level, first[what])
			}
		}
		have = level
	}
	for _, what := range slices.Sorted(maps.Keys(first)) {
		t.Log(fmt.Sprintf("%3d %s", first[what], what))
	}
}

// TestPrices: what a request costs in statements does not depend on how much there is.
func TestPrices(t *testing.T) { everyPrice(t, 1, 10, 100) }
