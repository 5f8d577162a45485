package subnetpool

import (
	"net/netip"
	"slices"
)

// compact is the fewest prefixes that hold the same addresses, in order.
func compact(in []netip.Prefix) []netip.Prefix {
	all := slices.Clone(in)
	for i := range all {
		all[i] = all[i].Masked()
	}
	slices.SortFunc(all, func(a, b netip.Prefix) int {
		if c := a.Addr().Compare(b.Addr()); c != 0 {
			return c
		}
		return a.Bits() - b.Bits()
	})
	var out []netip.Prefix
	for _, p := range all {
		if n := len(out); n > 0 && out[n-1].Overlaps(p) {
			continue // sorted: the one before holds it
		}
		for n := len(out); n > 0 && p.Bits() > 0 && out[n-1] == sibling(p); n = len(out) {
			p = netip.PrefixFrom(p.Addr(), p.Bits()-1).Masked()
			out = out[:n-1]
		}
		out = append(out, p)
	}
	return out
}

// sibling is the other half of the prefix that is one bit shorter.
func sibling(p netip.Prefix) netip.Prefix {
	b := p.Masked().Addr().AsSlice()
	i := p.Bits() - 1
	b[i/8] ^= 1 << (7 - i%8)
	a, _ := netip.AddrFromSlice(b)
	return netip.PrefixFrom(a, p.Bits())
}

// halves cuts a prefix in two.
func halves(p netip.Prefix) (low, high netip.Prefix) {
	low = netip.PrefixFrom(p.Masked().Addr(), p.Bits()+1)
	return low, sibling(low)
}

// subtract is what is left of a set of prefixes, as the fewest; it does not matter whether used lies inside.
func subtract(from, used []netip.Prefix) []netip.Prefix {
	var out []netip.Prefix
	for _, p := range compact(from) {
		out = append(out, without(p, used)...)
	}
	return out
}

func without(p netip.Prefix, used []netip.Prefix) []netip.Prefix {
	var in []netip.Prefix
	for _, u := range used {
		if !u.Overlaps(p) {
			continue
		}
		if u.Bits() <= p.Bits() {
			return nil
		}
		in = append(in, u)
	}
	if len(in) == 0 {
		return []netip.Prefix{p}
	}
	low, high := halves(p)
	return append(without(low, in), without(high, in)...)
}

// leftover are the prefixes that fill block when cut is taken out of it, which lies inside.
func leftover(block, cut netip.Prefix) []netip.Prefix {
	var out []netip.Prefix
	for bits := cut.Bits(); bits > block.Bits(); bits-- {
		out = append(out, sibling(netip.PrefixFrom(cut.Addr(), bits).Masked()))
	}
	return out
}

// overlap tells whether two sets share an address.
func overlap(a, b []netip.Prefix) bool {
	return slices.ContainsFunc(a, func(p netip.Prefix) bool { return slices.ContainsFunc(b, p.Overlaps) })
}

// parse reads prefixes of the store or of a checked request.
func parse(texts []string) []netip.Prefix {
	var out []netip.Prefix
	for _, t := range texts {
		if p, err := netip.ParsePrefix(t); err == nil {
			out = append(out, p.Masked())
		}
	}
	return out
}

func texts(ps []netip.Prefix) []string {
	out := make([]string, len(ps))
	for i, p := range ps {
		out[i] = p.String()
	}
	return out
}
