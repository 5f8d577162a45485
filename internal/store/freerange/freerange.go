// Package freerange keeps pools of integers exactly: what nobody uses lies in the database as ranges, so that
// taking a value costs the same whether ten or a million are in use. Type drivers take VLAN IDs and VNIs from
// it, IPAM takes addresses. It never knows what is in use: who gives a value back must have taken it, and gives
// back nothing that the pool does not span any more.
//
// A pool is a head row and its free ranges. Integers are written as 32 hexadecimal digits:
//
//	pool            first            last
//	vlan:physnet1   (empty)          a digest of what the pool spans
//	vlan:physnet1   00…001           00…03f
//	vlan:physnet1   00…040           00…07f       and so on: a pool starts as several pieces
//
// Any locks a piece that nobody else holds, so that servers that take at once do not wait for each other. On
// SQLite writers are alone and no lock is written.
package freerange

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"isospin/internal/store"
)

// ErrExhausted says that a pool has no free value (or does not exist).
var ErrExhausted = errors.New("freerange: exhausted")

const (
	// minPiece is the size below which a pool is not cut further.
	minPiece = 4
	// absorb is the size up to which a free range is joined with its neighbour: joining all would leave a pool
	// of one piece, for which everybody waits; joining none would leave a row for every value given back.
	absorb = 8
	// insertRows is how many ranges one statement writes.
	insertRows = 200
	// rounds bounds how often a search starts again because others changed what it found; each round means
	// that somebody else got on.
	rounds = 1000
)

// The statements lock with a suffix of the dialect: %s is "", FOR UPDATE or FOR UPDATE SKIP LOCKED.
const (
	selectBounds = `SELECT (SELECT first FROM free_range WHERE pool = ? AND first > '' ORDER BY first LIMIT 1),
       (SELECT last FROM free_range WHERE pool = ? AND first > '' ORDER BY first DESC LIMIT 1)`
	selectBelow  = `SELECT first, last FROM free_range WHERE pool = ? AND first > '' AND first <= ? ORDER BY first DESC LIMIT 1`
	selectTop    = `SELECT first, last FROM free_range WHERE pool = ? AND first > '' ORDER BY first DESC LIMIT 1`
	selectLowest = `SELECT first, last FROM free_range WHERE pool = ? AND first > '' ORDER BY first LIMIT 1`
	// Both neighbours of a value: the one that begins right above it and the one below.
	selectBeside = `SELECT first, last FROM free_range WHERE pool = ? AND first > '' AND first <= ? ORDER BY first DESC LIMIT 2`
	selectAll    = `SELECT first, last FROM free_range WHERE pool = ? AND first > '' ORDER BY first`
	selectHead   = `SELECT last FROM free_range WHERE pool = ? AND first = ''`

	updateFirst = `UPDATE free_range SET first = ? WHERE pool = ? AND first = ?`
	updateLast  = `UPDATE free_range SET last = ? WHERE pool = ? AND first = ?`
	deleteRange = `DELETE FROM free_range WHERE pool = ? AND first = ?`
	deleteFree  = `DELETE FROM free_range WHERE pool = ? AND first > ''`
	deletePool  = `DELETE FROM free_range WHERE pool = ?`

	ranges = ` free_range (pool, first, last) VALUES `
)

// Any takes a value out of a piece that rnd chooses; *which* is no promise. Three statements when nobody is in the way.
func Any(ctx context.Context, tx store.WriteTx, pool string, rnd uint64) (Value, error) {
	r, found, err := free(ctx, tx, pool, rnd)
	if err != nil {
		return Value{}, fmt.Errorf("take from %s: %w", pool, err)
	}
	if !found {
		return Value{}, fmt.Errorf("take from %s: %w", pool, ErrExhausted)
	}
	// The upper end: the row's key stays.
	if err := shrink(ctx, tx, pool, r, r.Last); err != nil {
		return Value{}, fmt.Errorf("take from %s: %w", pool, err)
	}
	return r.Last, nil
}

// free finds and locks a free range: one near the point that rnd chooses, or else any that nobody holds, or else
// the one that whoever holds it leaves.
func free(ctx context.Context, tx store.WriteTx, pool string, rnd uint64) (Range, bool, error) {
	skip, wait := tx.Dialect().ForUpdate(true), tx.Dialect().ForUpdate(false)
	for range rounds {
		bounds, found, err := one(ctx, tx, selectBounds, pool, pool)
		if err != nil || !found {
			return Range{}, false, err
		}
		point := bounds.First.plus(bounds.Last.minus(bounds.First).scaled(rnd))
		for _, try := range []store.Query{
			store.Q(selectBelow+skip, pool, point.text()),
			store.Q(selectTop+skip, pool),
			store.Q(selectTop+wait, pool),
		} {
			r, found, err := one(ctx, tx, try.SQL, try.Args...)
			if err != nil || found {
				return r, found, err
			}
		}
		// What was waited for is gone; what came in the meantime this statement's state did not hold.
	}
	return Range{}, false, errors.New("freerange: others were always faster")
}

// Lowest takes the lowest free value; those who take at once wait for each other.
func Lowest(ctx context.Context, tx store.WriteTx, pool string) (Value, error) {
	for range rounds {
		r, found, err := one(ctx, tx, selectLowest+tx.Dialect().ForUpdate(false), pool)
		if err == nil && found {
			err = shrink(ctx, tx, pool, r, r.First)
		}
		if err != nil {
			return Value{}, fmt.Errorf("take from %s: %w", pool, err)
		}
		if found {
			return r.First, nil
		}
		if _, some, err := one(ctx, tx, selectBounds, pool, pool); err != nil {
			return Value{}, fmt.Errorf("take from %s: %w", pool, err)
		} else if !some {
			return Value{}, fmt.Errorf("take from %s: %w", pool, ErrExhausted)
		}
	}
	return Value{}, fmt.Errorf("take from %s: others were always faster", pool)
}

// Take takes a given value; false when it is not free. Who writes somewhere that it has a value, whether the value was
// free or not, takes it again once that is written, if it was false before: whoever had the value until then may have given
// it back in between.
func Take(ctx context.Context, tx store.WriteTx, pool string, v Value) (bool, error) {
	lock := tx.Dialect().ForUpdate(false)
	for range rounds {
		r, found, err := one(ctx, tx, selectBelow+lock, pool, v.text())
		if err != nil {
			return false, fmt.Errorf("take %s from %s: %w", v, pool, err)
		}
		if found && r.Contains(v) {
			if err := shrink(ctx, tx, pool, r, v); err != nil {
				return false, fmt.Errorf("take %s from %s: %w", v, pool, err)
			}
			return true, nil
		}
		if lock == "" { // writers are alone
			return false, nil
		}
		// Whoever held the row may have cut it or moved its beginning, several in a row too, and a read that waits for
		// locks misses the part that has v, since that came after its state. What is free at one moment is what a read
		// without locks sees.
		r, found, err = one(ctx, tx, selectBelow, pool, v.text())
		if err != nil {
			return false, fmt.Errorf("take %s from %s: %w", v, pool, err)
		}
		if !found || !r.Contains(v) {
			return false, nil
		}
	}
	return false, fmt.Errorf("take %s from %s: others were always faster", v, pool)
}

// shrink takes v, which r contains, out of r, which is locked.
func shrink(ctx context.Context, tx store.WriteTx, pool string, r Range, v Value) error {
	switch {
	case r.First == r.Last:
		return exec(ctx, tx, deleteRange, pool, r.First.text())
	case v == r.Last:
		return exec(ctx, tx, updateLast, v.prev().text(), pool, r.First.text())
	case v == r.First:
		return exec(ctx, tx, updateFirst, v.next().text(), pool, r.First.text())
	}
	if err := exec(ctx, tx, updateLast, v.prev().text(), pool, r.First.text()); err != nil {
		return err
	}
	return insert(ctx, tx, pool, Range{v.next(), r.Last})
}

// Give gives a value back and joins it with its neighbours where nobody holds them. Giving back what is free changes nothing.
func Give(ctx context.Context, tx store.WriteTx, pool string, v Value) error {
	if err := give(ctx, tx, pool, v); err != nil {
		return fmt.Errorf("give %s to %s: %w", v, pool, err)
	}
	return nil
}

func give(ctx context.Context, tx store.WriteTx, pool string, v Value) error {
	above := v.next()
	if above == (Value{}) {
		above = v
	}
	var left, right *Range
	err := store.Each(ctx, tx, store.Q(selectBeside+tx.Dialect().ForUpdate(true), pool, above.text()),
		func(scan func(...any) error) error {
			r, _, err := scanRange(scan)
			switch {
			case err != nil:
				return err
			case r.First == above && above != v:
				right = &r
			case left == nil:
				left = &r
			}
			return nil
		})
	if err != nil {
		return err
	}
	if left != nil && left.Contains(v) {
		return nil
	}
	if left != nil && left.Last.next() != v {
		left = nil
	}
	small := Of(absorb)
	switch {
	case left != nil && right != nil && (!small.less(left.size()) || !small.less(right.size())):
		if err := exec(ctx, tx, deleteRange, pool, right.First.text()); err != nil {
			return err
		}
		return exec(ctx, tx, updateLast, right.Last.text(), pool, left.First.text())
	case left != nil:
		return exec(ctx, tx, updateLast, v.text(), pool, left.First.text())
	case right != nil:
		return exec(ctx, tx, updateFirst, v.text(), pool, right.First.text())
	}
	return insert(ctx, tx, pool, Range{v, v})
}

// Seed makes a pool that does not exist yet, cut into about so many pieces: as many as there may be transactions
// that take at once. A *store.Duplicate when the pool exists.
func Seed(ctx context.Context, tx store.WriteTx, pool string, rs []Range, pieces int) error {
	whole, err := joined(rs)
	if err == nil {
		err = exec(ctx, tx, "INSERT INTO"+ranges+"(?, ?, ?)", pool, "", digest(whole))
	}
	if err == nil {
		err = insert(ctx, tx, pool, chopped(whole, pieces)...)
	}
	if err != nil {
		return fmt.Errorf("seed %s: %w", pool, err)
	}
	return nil
}

// SetRanges makes a pool span rs, whether it exists or not, and tells whether anything had to be changed. It asks
// inUse, while others wait, for the values in use; values outside rs stay in use and are not given back later.
// A release that commits at the very moment may be missed when the span changes; that value comes back with
// the next change.
func SetRanges(
	ctx context.Context, tx store.WriteTx, pool string, rs []Range, pieces int, inUse func() ([]Value, error),
) (changed bool, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("set the ranges of %s: %w", pool, err)
		}
	}()
	whole, err := joined(rs)
	if err != nil {
		return false, err
	}
	want, have := digest(whole), ""
	err = store.Each(ctx, tx, store.Q(selectHead, pool), func(scan func(...any) error) error { return scan(&have) })
	if err != nil || have == want {
		return false, err
	}
	head, tail := tx.Dialect().InsertIgnore()
	if _, err := tx.Exec(ctx, store.Q(head+ranges+"(?, ?, ?) "+tail, pool, "", "")); err != nil {
		return false, err
	}
	// The head first, alone: what its last holder did to the other rows is seen by the next statement only.
	lock := tx.Dialect().ForUpdate(false)
	err = store.Each(ctx, tx, store.Q(selectHead+lock, pool), func(scan func(...any) error) error { return scan(&have) })
	if err != nil || have == want {
		return false, err
	}
	err = store.Each(ctx, tx, store.Q(selectAll+lock, pool), func(func(...any) error) error { return nil })
	if err != nil {
		return false, err
	}
	used, err := inUse()
	if err != nil {
		return false, err
	}
	if err := exec(ctx, tx, deleteFree, pool); err != nil {
		return false, err
	}
	if err := exec(ctx, tx, updateLast, want, pool, ""); err != nil {
		return false, err
	}
	return true, insert(ctx, tx, pool, chopped(without(whole, used), pieces)...)
}

// Drop removes a pool.
func Drop(ctx context.Context, tx store.WriteTx, pool string) error {
	if err := exec(ctx, tx, deletePool, pool); err != nil {
		return fmt.Errorf("drop %s: %w", pool, err)
	}
	return nil
}

// Free counts the free values of pools in one statement; pools that do not exist are absent. Its cost grows with
// the number of free ranges.
func Free(ctx context.Context, tx store.Tx, pools ...string) (map[string]Value, error) {
	in := store.In("pool", pools)
	out := make(map[string]Value, len(pools))
	q := store.Q("SELECT pool, first, last FROM free_range WHERE "+in.SQL, in.Args...)
	err := store.Each(ctx, tx, q, func(scan func(...any) error) error {
		var pool string
		r, ok, err := scanRange(scan, &pool)
		if ok {
			out[pool] = out[pool].plus(r.size())
		} else if _, known := out[pool]; !known {
			out[pool] = Value{}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count free values: %w", err)
	}
	return out, nil
}

// insert writes free ranges, so many a statement. A range that is there already is left alone: it can only be
// one that is given back twice.
func insert(ctx context.Context, tx store.WriteTx, pool string, rs ...Range) error {
	head, tail := tx.Dialect().InsertIgnore()
	for len(rs) > 0 {
		n := min(len(rs), insertRows)
		args := make([]any, 0, 3*n)
		for _, r := range rs[:n] {
			args = append(args, pool, r.First.text(), r.Last.text())
		}
		text := head + ranges + strings.Repeat("(?, ?, ?), ", n-1) + "(?, ?, ?) " + tail
		if err := exec(ctx, tx, text, args...); err != nil {
			return err
		}
		rs = rs[n:]
	}
	return nil
}

func exec(ctx context.Context, tx store.WriteTx, text string, args ...any) error {
	_, err := tx.Exec(ctx, store.Q(text, args...))
	return err
}

// one reads at most one range; found is false when there is no row, or one of NULLs.
func one(ctx context.Context, tx store.Tx, text string, args ...any) (r Range, found bool, err error) {
	err = store.Each(ctx, tx, store.Q(text, args...), func(scan func(...any) error) error {
		r, found, err = scanRange(scan)
		return err
	})
	return r, found, err
}

// scanRange reads a row; ok is false for a head row and for NULL.
func scanRange(scan func(...any) error, before ...any) (r Range, ok bool, err error) {
	var first, last *string
	if err := scan(append(before, &first, &last)...); err != nil {
		return r, false, err
	}
	if first == nil || last == nil || *first == "" {
		return r, false, nil
	}
	if r.First, err = parse(*first); err == nil {
		r.Last, err = parse(*last)
	}
	return r, err == nil, err
}

// digest names what a pool spans, in the width of a value.
func digest(rs []Range) string {
	h := sha256.New()
	for _, r := range rs {
		fmt.Fprintf(h, "%s-%s,", r.First.text(), r.Last.text())
	}
	return hex.EncodeToString(h.Sum(nil))[:32]
}
