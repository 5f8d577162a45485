package freerange

import (
	"fmt"
	"slices"
)

// Range is the values from First to Last, both among them.
type Range struct{ First, Last Value }

// Contains tells whether v is in the range.
func (r Range) Contains(v Value) bool { return !v.less(r.First) && !r.Last.less(v) }

// size is how many values the range has; all 2^128 of them would be 0.
func (r Range) size() Value { return r.Last.minus(r.First).next() }

// joined sorts ranges and joins those that touch or overlap.
func joined(rs []Range) ([]Range, error) {
	sorted := slices.Clone(rs)
	slices.SortFunc(sorted, func(a, b Range) int { return a.First.Compare(b.First) })
	var out []Range
	for _, r := range sorted {
		if r.Last.less(r.First) {
			return nil, fmt.Errorf("freerange: a range from %s to %s", r.First, r.Last)
		}
		// What begins at 0 and is not the first overlaps the one before: there is nothing lower.
		if n := len(out); n > 0 && (r.First == (Value{}) || !out[n-1].Last.less(r.First.prev())) {
			if out[n-1].Last.less(r.Last) {
				out[n-1].Last = r.Last
			}
			continue
		}
		out = append(out, r)
	}
	return out, nil
}

// without removes values from sorted, disjoint ranges.
func without(rs []Range, used []Value) []Range {
	sorted := slices.Clone(used)
	slices.SortFunc(sorted, Value.Compare)
	sorted = slices.Compact(sorted)
	var out []Range
	for _, r := range rs {
		i, _ := slices.BinarySearchFunc(sorted, r.First, Value.Compare)
		first := r.First
		whole := true
		for ; i < len(sorted) && !r.Last.less(sorted[i]); i++ {
			if first.less(sorted[i]) {
				out = append(out, Range{first, sorted[i].prev()})
			}
			if sorted[i] == r.Last {
				whole = false
				break
			}
			first = sorted[i].next()
		}
		if whole {
			out = append(out, Range{first, r.Last})
		}
	}
	return out
}

// chopped cuts ranges into about n pieces of like size, so that those who take side by side find rows of their own.
func chopped(rs []Range, n int) []Range {
	if len(rs) == 0 {
		return nil
	}
	var total Value
	for _, r := range rs {
		total = total.plus(r.size())
	}
	// Rounded up; all 2^128 values, which count as 0, come out right too.
	piece := total.prev().over(uint64(max(1, n))).next()
	if piece.less(Of(minPiece)) {
		piece = Of(minPiece)
	}
	var out []Range
	for _, r := range rs {
		for !r.size().less(piece.plus(piece)) {
			cut := r.First.plus(piece)
			out = append(out, Range{r.First, cut.prev()})
			r.First = cut
		}
		out = append(out, r)
	}
	return out
}
