package subnetpool

import (
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// small draws a prefix inside 10.0.0.0/24, so that what sets hold can be counted address by address.
func small(t *rapid.T) netip.Prefix {
	a := netip.AddrFrom4([4]byte{10, 0, 0, rapid.Byte().Draw(t, "low")})
	return netip.PrefixFrom(a, rapid.IntRange(24, 32).Draw(t, "bits")).Masked()
}

func holds(ps []netip.Prefix) (out [256]bool) {
	for i := range out {
		a := netip.AddrFrom4([4]byte{10, 0, 0, byte(i)})
		out[i] = slices.ContainsFunc(ps, func(p netip.Prefix) bool { return p.Contains(a) })
	}
	return out
}

// fewest fails for sets that overlap, that are out of order or of which two could be one.
func fewest(t *rapid.T, ps []netip.Prefix) {
	for i := 1; i < len(ps); i++ {
		if ps[i-1].Overlaps(ps[i]) || ps[i-1].Addr().Compare(ps[i].Addr()) > 0 || ps[i-1] == sibling(ps[i]) {
			t.Fatalf("not the fewest: %v", ps)
		}
	}
}

func TestSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := rapid.SliceOfN(rapid.Custom(small), 0, 12)
		a, b := draw.Draw(t, "a"), draw.Draw(t, "b")
		joined := compact(a)
		fewest(t, joined)
		if holds(joined) != holds(a) {
			t.Fatalf("compact %v is %v", a, joined)
		}
		left := subtract(a, b)
		fewest(t, left)
		x, y, z := holds(a), holds(b), holds(left)
		for i := range x {
			if z[i] != (x[i] && !y[i]) {
				t.Fatalf("%v without %v is %v", a, b, left)
			}
		}
		if len(joined) > 0 {
			block := joined[0]
			cut := netip.PrefixFrom(block.Addr(), rapid.IntRange(block.Bits(), 32).Draw(t, "cut"))
			if got := holds(append(leftover(block, cut), cut)); got != holds([]netip.Prefix{block}) {
				t.Fatalf("%v out of %v leaves %v", cut, block, leftover(block, cut))
			}
		}
	})
}

func TestWholeSpace(t *testing.T) {
	all := []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}
	if got := subtract(all, []netip.Prefix{netip.MustParsePrefix("10.0.0.1/32")}); len(got) != 32 {
		t.Errorf("%d prefixes: %v", len(got), got)
	}
	if got := compact([]netip.Prefix{netip.MustParsePrefix("::/1"), netip.MustParsePrefix("8000::/1")}); len(got) != 1 || got[0].String() != "::/0" {
		t.Error(got)
	}
}
