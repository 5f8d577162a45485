package storetest

import (
	"errors"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"isospin/internal/store"
	"isospin/internal/store/engine"
	"isospin/internal/store/freerange"
)

func span(first, last uint64) freerange.Range {
	return freerange.Range{First: freerange.Of(first), Last: freerange.Of(last)}
}

func freeIn(t testing.TB, s store.Store, pool string) (n uint64) {
	t.Helper()
	ctx := deadline(t)
	read(t, s, func(tx store.Tx) error {
		m, err := freerange.Free(ctx, tx, pool)
		if _, ok := m[pool]; !ok && err == nil {
			t.Errorf("pool %s does not exist", pool)
		}
		n = m[pool].Uint64()
		return err
	})
	return n
}

// testFreeRange: one caller; every operation, at the edges.
func testFreeRange(t *testing.T, open Open) {
	s := open(t, engine.Options{})
	ctx := deadline(t)
	const pool = "vlan:physnet1"
	do := func(fn func(tx store.WriteTx) error) { t.Helper(); write(t, s, fn) }
	do(func(tx store.WriteTx) error {
		if err := freerange.Seed(ctx, tx, "other", []freerange.Range{span(1, 9)}, 1); err != nil {
			return err
		}
		return freerange.Seed(ctx, tx, pool, []freerange.Range{span(50, 59), span(100, 139), span(60, 60)}, 4)
	})
	if err := s.Write(ctx, func(tx store.WriteTx) error {
		return freerange.Seed(ctx, tx, pool, []freerange.Range{span(1, 2)}, 1)
	}); err == nil {
		t.Error("a pool was seeded twice")
	}
	if n := freeIn(t, s, pool); n != 51 {
		t.Fatalf("%d free, want 51", n)
	}
	take := func(v uint64, want bool) {
		t.Helper()
		do(func(tx store.WriteTx) error {
			got, err := freerange.Take(ctx, tx, pool, freerange.Of(v))
			if got != want {
				t.Errorf("taking %d gave %v", v, got)
			}
			return err
		})
	}
	for _, v := range []uint64{50, 60, 100, 139, 120, 121, 119, 104} {
		take(v, true)
		take(v, false)
	}
	for _, v := range []uint64{0, 49, 61, 99, 140, 1 << 40} {
		take(v, false)
	}
	if n := freeIn(t, s, pool); n != 43 {
		t.Fatalf("%d free, want 43", n)
	}
	do(func(tx store.WriteTx) error {
		v, err := freerange.Lowest(ctx, tx, pool)
		if v.Uint64() != 51 {
			t.Errorf("the lowest is %s, want 51", v)
		}
		return err
	})
	for range 2 { // the second time changes nothing
		for _, v := range []uint64{50, 51, 60, 100, 139, 119, 121, 120, 104} {
			do(func(tx store.WriteTx) error { return freerange.Give(ctx, tx, pool, freerange.Of(v)) })
		}
	}
	seen := make(map[uint64]bool)
	for i := range uint64(51) {
		do(func(tx store.WriteTx) error {
			v, err := freerange.Any(ctx, tx, pool, i*0x9e3779b97f4a7c15)
			if seen[v.Uint64()] {
				t.Errorf("%s was taken twice", v)
			}
			seen[v.Uint64()] = true
			return err
		})
	}
	for what, take := range map[string]func(store.WriteTx) (freerange.Value, error){
		"any":     func(tx store.WriteTx) (freerange.Value, error) { return freerange.Any(ctx, tx, pool, 7) },
		"lowest":  func(tx store.WriteTx) (freerange.Value, error) { return freerange.Lowest(ctx, tx, pool) },
		"no pool": func(tx store.WriteTx) (freerange.Value, error) { return freerange.Any(ctx, tx, "none", 7) },
	} {
		err := s.Write(ctx, func(tx store.WriteTx) error { _, err := take(tx); return err })
		if !errors.Is(err, freerange.ErrExhausted) {
			t.Errorf("%s of nothing: %v", what, err)
		}
	}
	do(func(tx store.WriteTx) error { return freerange.Drop(ctx, tx, pool) })
	if n := freeIn(t, s, "other"); n != 9 {
		t.Errorf("%d free in the other pool, want 9", n)
	}
}

func testFreeRangeAddresses(t *testing.T, open Open) {
	s := open(t, engine.Options{})
	ctx := deadline(t)
	for _, c := range []struct{ first, last string }{
		{"10.0.0.2", "10.0.0.254"}, {"2001:db8::1", "2001:db8::ffff:ffff:ffff:ffff"}, {"::", "::3"},
		{"ffff:ffff:ffff:ffff:ffff:ffff:ffff:fff0", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"}, {"0.0.0.0", "255.255.255.255"},
	} {
		first, last := netip.MustParseAddr(c.first), netip.MustParseAddr(c.last)
		write(t, s, func(tx store.WriteTx) error {
			r := freerange.Range{First: freerange.OfAddr(first), Last: freerange.OfAddr(last)}
			if err := freerange.Seed(ctx, tx, c.first, []freerange.Range{r}, 16); err != nil {
				return err
			}
			v, err := freerange.Any(ctx, tx, c.first, 1<<63)
			if err != nil {
				return err
			}
			if a := v.Addr(); a.Less(first) || last.Less(a) || a.Is4() != first.Is4() {
				t.Errorf("%s is not from %s to %s", a, first, last)
			}
			for _, a := range []netip.Addr{first, last} {
				if ok, err := freerange.Take(ctx, tx, c.first, freerange.OfAddr(a)); !ok && freerange.OfAddr(a) != v || err != nil {
					t.Errorf("taking %s: %v, %v", a, ok, err)
				}
				if err := freerange.Give(ctx, tx, c.first, freerange.OfAddr(a)); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// testFreeRangeExact: 64 takers on two servers get every value once, then all are told that it is over.
func testFreeRangeExact(t *testing.T, open Open) {
	a, b := open(t, engine.Options{}), open(t, engine.Options{})
	ctx := deadline(t)
	const pool, values, takers = "exact", 200, 64
	write(t, a, func(tx store.WriteTx) error {
		return freerange.Seed(ctx, tx, pool, []freerange.Range{span(1000, 1000+values-1)}, 16)
	})
	var mu sync.Mutex
	taken := make(map[uint64]bool)
	var rnd atomic.Uint64
	var wg sync.WaitGroup
	for w := range takers {
		s := []store.Store{a, b}[w%2]
		wg.Go(func() {
			for i := 0; ; i++ {
				var v freerange.Value
				giveBack := i%5 == 4
				err := s.Write(ctx, func(tx store.WriteTx) (err error) {
					if v, err = freerange.Any(ctx, tx, pool, rnd.Add(0x9e3779b97f4a7c15)); err != nil {
						return err
					}
					switch {
					case giveBack && i%10 == 4:
						return errWanted // rolled back: the value must come back
					case giveBack:
						return freerange.Give(ctx, tx, pool, v)
					}
					return nil
				})
				switch {
				case errors.Is(err, freerange.ErrExhausted):
					return
				case giveBack && (err == nil || errors.Is(err, errWanted)):
					continue
				case err != nil:
					t.Error(err)
					return
				}
				mu.Lock()
				if taken[v.Uint64()] {
					t.Errorf("%s was taken twice", v)
				}
				taken[v.Uint64()] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	left := freeIn(t, a, pool)
	if uint64(len(taken))+left != values {
		t.Errorf("%d taken and %d left of %d", len(taken), left, values)
	}
	if left > 0 { // somebody's value was given back after the others had been told
		t.Logf("%d were given back at the end", left)
	}
}

// testFreeRangeMixed: everything at once; at the end what is free and what is held are the pool.
func testFreeRangeMixed(t *testing.T, open Open) {
	a, b := open(t, engine.Options{}), open(t, engine.Options{})
	ctx := deadline(t)
	const pool, values = "mixed", 120
	write(t, a, func(tx store.WriteTx) error {
		return freerange.Seed(ctx, tx, pool, []freerange.Range{span(1, values)}, 8)
	})
	held := make([][]uint64, 12)
	var wg sync.WaitGroup
	for w := range held {
		s := []store.Store{a, b}[w%2]
		wg.Go(func() {
			mine := map[uint64]bool{}
			for i := range 40 {
				n := uint64(w*7919+i*104729)*2654435761 + 1
				var v freerange.Value
				var ok, gave bool
				err := s.Write(ctx, func(tx store.WriteTx) (err error) {
					ok, gave = true, false
					switch n >> 3 % 5 {
					case 0:
						v, err = freerange.Any(ctx, tx, pool, n*0x9e3779b97f4a7c15)
					case 1:
						v, err = freerange.Lowest(ctx, tx, pool)
					case 2:
						v = freerange.Of(n%values + 1)
						ok, err = freerange.Take(ctx, tx, pool, v)
					default:
						ok = false
						for m := range mine {
							v, gave = freerange.Of(m), true
							return freerange.Give(ctx, tx, pool, v)
						}
					}
					return err
				})
				switch {
				case errors.Is(err, freerange.ErrExhausted):
				case err != nil:
					t.Errorf("%d: %v", w, err)
				case gave:
					delete(mine, v.Uint64())
				case ok:
					mine[v.Uint64()] = true
				}
			}
			for m := range mine {
				held[w] = append(held[w], m)
			}
		})
	}
	wg.Wait()
	all := slices.Concat(held...)
	for {
		var v freerange.Value
		err := a.Write(ctx, func(tx store.WriteTx) (err error) { v, err = freerange.Lowest(ctx, tx, pool); return err })
		if errors.Is(err, freerange.ErrExhausted) {
			break
		}
		must(t, err)
		all = append(all, v.Uint64())
	}
	slices.Sort(all)
	want := make([]uint64, values)
	for i := range want {
		want[i] = uint64(i) + 1
	}
	if !slices.Equal(all, want) {
		t.Errorf("held and free together are %v", all)
	}
}

// testFreeRangeNamed: each of those who at once take the values of one piece by name gets its own, whether from the ends
// or from the middle: that others cut the piece meanwhile does not make a value look taken.
func testFreeRangeNamed(t *testing.T, open Open) {
	a, b := open(t, engine.Options{}), open(t, engine.Options{})
	ctx := deadline(t)
	const pool, values, takers = "named", 40, 6
	write(t, a, func(tx store.WriteTx) error {
		return freerange.Seed(ctx, tx, pool, []freerange.Range{span(1, values)}, 1)
	})
	all := func(what string, fn func(tx store.WriteTx, v freerange.Value) (bool, error)) {
		t.Helper()
		var wg sync.WaitGroup
		start := make(chan struct{})
		for i := range takers {
			wg.Go(func() {
				<-start
				var ok bool
				err := []store.Store{a, b}[i%2].Write(ctx, func(tx store.WriteTx) (err error) {
					ok, err = fn(tx, freerange.Of(uint64(i+1)))
					return err
				})
				if err != nil || !ok {
					t.Errorf("%s %d: %v, %v", what, i+1, ok, err)
				}
			})
		}
		close(start)
		wg.Wait()
	}
	for range 20 {
		var ready sync.WaitGroup
		ready.Add(takers - 1)
		come := make([]func(), takers)
		for i := range come {
			come[i] = sync.OnceFunc(ready.Done)
		}
		all("taking", func(tx store.WriteTx, v freerange.Value) (ok bool, err error) {
			first := v == freerange.Of(1)
			if !first && tx.Dialect().ForUpdate(false) != "" {
				come[v.Uint64()-1]()
			}
			ok, err = freerange.Take(ctx, tx, pool, v)
			if first && tx.Dialect().ForUpdate(false) != "" {
				ready.Wait() // the others are at it
			}
			for range 20 { // and queue while those before them have more to do
				if err == nil {
					_, err = freerange.Free(ctx, tx, pool)
				}
			}
			return ok, err
		})
		if n := freeIn(t, a, pool); n != values-takers {
			t.Fatalf("%d are free, want %d", n, values-takers)
		}
		all("giving", func(tx store.WriteTx, v freerange.Value) (bool, error) {
			return true, freerange.Give(ctx, tx, pool, v)
		})
		if n := freeIn(t, a, pool); n != values {
			t.Fatalf("%d are free, want %d", n, values)
		}
	}
}

// testFreeRangeSet: the span changes while values are in use; two servers that start at once do it once.
func testFreeRangeSet(t *testing.T, open Open) {
	a, b := open(t, engine.Options{}), open(t, engine.Options{})
	ctx := deadline(t)
	const pool = "set"
	set := func(s store.Store, used []uint64, rs ...freerange.Range) (changed bool) {
		t.Helper()
		if err := s.Write(ctx, func(tx store.WriteTx) (err error) {
			changed, err = freerange.SetRanges(ctx, tx, pool, rs, 4, func() (out []freerange.Value, err error) {
				for _, u := range used {
					out = append(out, freerange.Of(u))
				}
				return out, nil
			})
			return err
		}); err != nil {
			t.Error(err)
		}
		return changed
	}
	var changes atomic.Int32
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if set([]store.Store{a, b}[i%2], nil, span(1, 100)) {
				changes.Add(1)
			}
		})
	}
	wg.Wait()
	if n := changes.Load(); n != 1 {
		t.Errorf("%d servers made the pool, want 1", n)
	}
	if n := freeIn(t, a, pool); n != 100 {
		t.Errorf("%d free, want 100", n)
	}
	if set(a, nil, span(1, 50), span(51, 100)) {
		t.Error("the same span changed something")
	}
	if !set(b, []uint64{5, 50, 90, 60, 40, 39}, span(40, 60), span(200, 209)) {
		t.Error("another span changed nothing")
	}
	if n := freeIn(t, a, pool); n != 21+10-3 {
		t.Errorf("%d free, want 28", n)
	}
	write(t, a, func(tx store.WriteTx) error {
		for v, want := range map[uint64]bool{40: false, 41: true, 50: false, 60: false, 59: true, 200: true, 209: true, 210: false, 39: false} {
			got, err := freerange.Take(ctx, tx, pool, freerange.Of(v))
			if err != nil {
				return err
			}
			if got != want {
				t.Errorf("taking %d gave %v", v, got)
			}
		}
		return nil
	})
}

// testFreeRangeCost: the statements of an operation are the same when a million values are in use.
func testFreeRangeCost(t *testing.T, open Open) {
	s := open(t, engine.Options{})
	ctx := deadline(t)
	write(t, s, func(tx store.WriteTx) error {
		for pool, n := range map[string]uint64{"small": 10, "large": 1 << 24} {
			if err := freerange.Seed(ctx, tx, pool, []freerange.Range{span(1, n)}, 16); err != nil {
				return err
			}
		}
		for i := range uint64(500) { // holes
			if _, err := freerange.Take(ctx, tx, "large", freerange.Of(i*1000+7)); err != nil {
				return err
			}
		}
		return nil
	})
	for _, pool := range []string{"small", "large"} {
		for what, fn := range map[string]func(tx store.WriteTx) error{
			"any":    func(tx store.WriteTx) error { _, err := freerange.Any(ctx, tx, pool, 1<<62); return err },
			"lowest": func(tx store.WriteTx) error { _, err := freerange.Lowest(ctx, tx, pool); return err },
			"take":   func(tx store.WriteTx) error { _, err := freerange.Take(ctx, tx, pool, freerange.Of(3)); return err },
			"give":   func(tx store.WriteTx) error { return freerange.Give(ctx, tx, pool, freerange.Of(3)) },
		} {
			before := s.Stats().Statements
			write(t, s, fn)
			if n := s.Stats().Statements - before; n > 3 {
				t.Errorf("%s from the %s pool took %d statements", what, pool, n)
			}
		}
	}
}
