package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"isospin/internal/store"
	"isospin/internal/store/engine"
)

func used(t *testing.T, s store.Store, owner, kind string) int64 {
	t.Helper()
	var n int64
	read(t, s, func(tx store.Tx) (err error) {
		n, _, err = store.Int(deadline(t), tx, store.Q("SELECT used FROM quotas WHERE project_id = ? AND resource = ?", owner, kind))
		return err
	})
	return n
}

// testCounts: rows of a counted table count with the commit, and no other way.
func testCounts(t *testing.T, open Open) {
	s := open(t, engine.Options{})
	ctx, things := deadline(t), Things().Counted("thing")
	fail := errors.New("no")
	put := func(limit int64, err error, ids ...int) error {
		return s.Write(ctx, func(tx store.WriteTx) error {
			for _, id := range ids {
				if err := things.Insert(ctx, tx, &Thing{ID: uid(id), Project: "p", Name: fmt.Sprint(id)}); err != nil {
					return err
				}
			}
			tx.Bound("thing", "p", limit)
			return err
		})
	}
	over := func(err error) bool {
		o, ok := errors.AsType[*store.Over](err)
		return ok && o.Kind == "thing" && o.Owner == "p"
	}
	for _, c := range []struct {
		what string
		err  error
		want func(error) bool
		used int64
	}{
		{"two of three", put(3, nil, 1, 2), func(err error) bool { return err == nil }, 2},
		{"one that fails", put(3, fail, 3), func(err error) bool { return errors.Is(err, fail) }, 2},
		{"two where one is left", put(3, nil, 3, 4), over, 2},
		{"the last", put(3, nil, 3), func(err error) bool { return err == nil }, 3},
		{"one more", put(3, nil, 4), over, 3},
		{"without a limit", put(-1, nil, 4, 5), func(err error) bool { return err == nil }, 5},
	} {
		if !c.want(c.err) {
			t.Errorf("%s: %v", c.what, c.err)
		}
	}
	write(t, s, func(tx store.WriteTx) error { return things.Delete(ctx, tx, uid(1)) })
	if n := used(t, s, "p", "thing"); n != 4 {
		t.Errorf("%d are counted after a delete, not 4", n)
	}
	if err := s.Write(ctx, func(tx store.WriteTx) error { return things.Delete(ctx, tx, uid(1)) }); !store.IsNotFound(err) {
		t.Errorf("a row that is gone: %v", err)
	}
	write(t, s, func(tx store.WriteTx) error {
		_, err := tx.Exec(ctx, store.Q("UPDATE quotas SET hard_limit = ? WHERE project_id = ? AND resource = ?", int64(5), "p", "thing"))
		return err
	})
	if err := put(100, nil, 6); err != nil {
		t.Error(err)
	}
	if err := put(100, nil, 7); !over(err) {
		t.Errorf("beyond the owner's own limit: %v", err)
	}
	if err := put(1, nil); err != nil {
		t.Errorf("a limit below what there is refuses who adds nothing: %v", err)
	}
	if n := used(t, s, "p", "thing"); n != 5 {
		t.Errorf("%d are counted, not 5", n)
	}
}

// testCountsAtOnce: parallel transactions end at the limit, the first of an owner too.
func testCountsAtOnce(t *testing.T, open Open) {
	s := open(t, engine.Options{})
	ctx, things := deadline(t), Things().Counted("thing")
	var wg sync.WaitGroup
	var mu sync.Mutex
	made, refused := 0, 0
	for i := range 40 {
		wg.Go(func() {
			err := s.Write(ctx, func(tx store.WriteTx) error {
				tx.Bound("thing", "q", 25)
				return things.Insert(ctx, tx, &Thing{ID: uid(i), Project: "q", Name: fmt.Sprint(i)})
			})
			mu.Lock()
			defer mu.Unlock()
			if _, over := errors.AsType[*store.Over](err); over {
				refused++
			} else if err == nil {
				made++
			} else {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := used(t, s, "q", "thing"); made != 25 || refused != 15 || n != 25 {
		t.Errorf("%d made, %d refused, %d counted", made, refused, n)
	}
}
