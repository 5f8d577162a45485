package freerange

import (
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func drawRanges(t *rapid.T) []Range {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Range {
		first := rapid.Uint64Range(0, 300).Draw(t, "first")
		return Range{Of(first), Of(first + rapid.Uint64Range(0, 40).Draw(t, "more"))}
	}), 0, 8).Draw(t, "ranges")
}

func values(rs []Range) map[uint64]int {
	out := make(map[uint64]int)
	for _, r := range rs {
		for v := r.First.Uint64(); v <= r.Last.Uint64(); v++ {
			out[v]++
		}
	}
	return out
}

// TestRangesAreSets: joining, removing and cutting change no value but those that they must.
func TestRangesAreSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rs := drawRanges(t)
		whole, err := joined(rs)
		if err != nil {
			t.Fatal(err)
		}
		want := values(rs)
		check := func(what string, got []Range) {
			have := values(got)
			for v := range want {
				if have[v] != 1 {
					t.Fatalf("%s has %d %d times: %v", what, v, have[v], got)
				}
			}
			if len(have) != len(want) {
				t.Fatalf("%s has %d values, want %d", what, len(have), len(want))
			}
		}
		check("joined", whole)
		for i := 1; i < len(whole); i++ {
			if !whole[i-1].Last.next().less(whole[i].First) {
				t.Fatalf("%v and %v are apart", whole[i-1], whole[i])
			}
		}
		pieces := rapid.IntRange(0, 20).Draw(t, "pieces")
		cut := chopped(whole, pieces)
		check("chopped", cut)
		if n := max(1, pieces) + len(whole); len(cut) > n {
			t.Fatalf("%d pieces, want about %d", len(cut), pieces)
		}
		var used []Value
		for _, u := range rapid.SliceOf(rapid.Uint64Range(0, 350)).Draw(t, "used") {
			used = append(used, Of(u))
			delete(want, u)
		}
		check("without", without(whole, used))
	})
}

func TestValuesCountAs128Bits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) Value {
			return Value{rapid.Uint64().Draw(t, name+" high"), rapid.Uint64().Draw(t, name+" low")}
		}
		v, w := draw("v"), draw("w")
		if got, err := parse(v.text()); got != v || err != nil {
			t.Fatalf("%s came back as %s: %v", v, got, err)
		}
		if v.Compare(w) != v.Big().Cmp(w.Big()) || (v.text() < w.text()) != (v.Compare(w) < 0) {
			t.Fatalf("%s and %s are out of order", v, w)
		}
		if v.plus(w).minus(w) != v || v.next().prev() != v {
			t.Fatalf("%s and %s do not add up", v, w)
		}
		if s := v.scaled(w.lo); v.less(s) {
			t.Fatalf("a share of %s is %s", v, s)
		}
		if v.Addr().Is6() && OfAddr(v.Addr()) != v {
			t.Fatalf("%s came back as %s", v, OfAddr(v.Addr()))
		}
		if n := rapid.Uint64Range(1, 1000).Draw(t, "n"); v.over(n).Big().Cmp(v.Big().Div(v.Big(), Of(n).Big())) != 0 {
			t.Fatalf("%s/%d is not %s", v, n, v.over(n))
		}
	})
	v4 := netip.MustParseAddr("10.0.0.255")
	if next := OfAddr(v4).next().Addr(); next != v4.Next() {
		t.Errorf("after %s comes %s", v4, next)
	}
}

// TestWholeSpace: the edges of 128 bits wrap nowhere.
func TestWholeSpace(t *testing.T) {
	top := Value{^uint64(0), ^uint64(0)}
	whole, err := joined([]Range{{Of(0), Of(5)}, {Of(6), top}})
	if err != nil || !slices.Equal(whole, []Range{{Of(0), top}}) {
		t.Errorf("joined: %v, %v", whole, err)
	}
	got := without(whole, []Value{top, Of(0), Of(3)})
	if want := []Range{{Of(1), Of(2)}, {Of(4), top.prev()}}; !slices.Equal(got, want) {
		t.Errorf("without: %v, want %v", got, want)
	}
	if _, err := joined([]Range{{Of(2), Of(1)}}); err == nil {
		t.Error("a range that ends before it begins was taken")
	}
}
