package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"isospin/internal/change"
	"isospin/internal/store"
	"isospin/internal/store/engine"
)

var errWanted = errors.New("wanted")

func testRollback(t *testing.T, open Open) {
	s := open(t, engine.Options{})
	ctx, things := deadline(t), Things()
	var wg sync.WaitGroup
	for i := range 40 { // side by side, so that those that fail share a group with those that do not
		wg.Go(func() {
			err := s.Write(ctx, func(tx store.WriteTx) error {
				v := thing(i)
				if err := things.Insert(ctx, tx, &v); err != nil {
					return err
				}
				tx.Changed(change.Key{Kind: "thing", ID: v.ID})
				tx.Owe(change.Task{Name: "never"})
				if i%2 == 0 {
					return fmt.Errorf("no: %w", errWanted)
				}
				return nil
			})
			if (i%2 == 0) != errors.Is(err, errWanted) {
				t.Errorf("%d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if n := count(ctx, t, s); n != 20 {
		t.Errorf("%d rows, want 20", n)
	}
	read(t, s, func(tx store.Tx) error {
		for _, table := range []string{"changes", "tasks"} {
			n, _, err := store.Int(ctx, tx, store.Q("SELECT COUNT(*) FROM "+table))
			if err != nil || n != 20 {
				t.Errorf("%d rows in %s, want 20: %v", n, table, err)
			}
		}
		return nil
	})
}

func testPanics(t *testing.T, open Open) {
	s := open(t, engine.Options{})
	ctx, things := deadline(t), Things()
	err := s.Write(ctx, func(tx store.WriteTx) error {
		v := thing(1)
		must(t, things.Insert(ctx, tx, &v))
		panic("at the disco")
	})
	p, ok := errors.AsType[*store.Panic](err)
	if !ok || p.Value != "at the disco" || !strings.Contains(string(p.Stack), "testPanics") {
		t.Errorf("a panic gave %v", err)
	}
	if err := s.Read(ctx, func(store.Tx) error { panic("again") }); err == nil {
		t.Error("a panic of a read went unseen")
	}
	insert(t, s, thing(2))
	if n := count(ctx, t, s); n != 1 {
		t.Errorf("%d rows, want 1", n)
	}
}

// testGoexit: a test's Fatal inside a transaction must not stop everybody else.
func testGoexit(t *testing.T, open Open) {
	s := open(t, engine.Options{})
	ctx, things := deadline(t), Things()
	for range 10 {
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = s.Write(ctx, func(tx store.WriteTx) error {
				v := thing(1)
				must(t, things.Insert(ctx, tx, &v))
				exit()
				return nil
			})
		}()
		<-done
		done = make(chan struct{})
		go func() {
			defer close(done)
			_ = s.Read(ctx, func(store.Tx) error { exit(); return nil })
		}()
		<-done
	}
	insert(t, s, thing(2))
	if n := count(ctx, t, s); n != 1 {
		t.Errorf("%d rows, want 1", n)
	}
}

// testNestedQueries: a statement inside the rows of another is refused on every database, since two of the three
// could not answer it. What is left open ends with the transaction.
func testNestedQueries(t *testing.T, open Open) {
	s := open(t, engine.Options{})
	ctx, things := deadline(t), Things()
	insert(t, s, thing(1), thing(2), thing(3))
	err := s.Read(ctx, func(tx store.Tx) error {
		return store.Each(ctx, tx, store.Q("SELECT id FROM things"), func(func(...any) error) error {
			_, err := things.Get(ctx, tx, uid(1))
			return err
		})
	})
	if !errors.Is(err, store.ErrRowsOpen) {
		t.Errorf("a statement inside the rows of another: %v", err)
	}
	for range 3 {
		write(t, s, func(tx store.WriteTx) error {
			rows, err := tx.Query(ctx, store.Q("SELECT id FROM things ORDER BY id")) //nolint:sqlclosecheck // that is the test
			if err == nil {
				rows.Next()
			}
			tx.Changed(change.Key{Kind: "thing", ID: uid(1)})
			return err
		})
	}
	write(t, s, func(tx store.WriteTx) error { return things.Delete(ctx, tx, uid(1)) })
}

func testOwnWritesAreRead(t *testing.T, open Open) {
	s := open(t, engine.Options{})
	ctx := deadline(t)
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			insert(t, s, thing(i))
			err := s.Read(ctx, func(tx store.Tx) error { _, err := Things().Get(ctx, tx, uid(i)); return err })
			if err != nil {
				t.Errorf("%d was answered and is not there: %v", i, err)
			}
		})
	}
	wg.Wait()
}

// testOneState: two statements of a read see the same, whatever is committed between them.
func testOneState(t *testing.T, open Open) {
	a, b := open(t, engine.Options{}), open(t, engine.Options{})
	ctx, things := deadline(t), Things()
	insert(t, a, thing(1))
	read(t, a, func(tx store.Tx) error {
		before, err := things.Count(ctx, tx, store.Cond{})
		if err != nil {
			return err
		}
		insert(t, b, thing(2))
		after, err := things.Count(ctx, tx, store.Cond{})
		if before != 1 || after != 1 {
			t.Errorf("one read saw %d and then %d rows", before, after)
		}
		return err
	})
	if n := count(ctx, t, a); n != 2 {
		t.Errorf("%d rows, want 2", n)
	}
}

func testCancelled(t *testing.T, open Open) {
	s := open(t, engine.Options{})
	ctx, cancel := context.WithCancel(deadline(t))
	cancel()
	ran := 0
	if err := s.Write(ctx, func(store.WriteTx) error { ran++; return ctx.Err() }); !errors.Is(err, context.Canceled) {
		t.Errorf("a write of a caller who has gone: %v", err)
	}
	if err := s.Read(ctx, func(store.Tx) error { ran++; return ctx.Err() }); !errors.Is(err, context.Canceled) {
		t.Errorf("a read of a caller who has gone: %v", err)
	}
	inside, leave := context.WithCancel(deadline(t))
	err := s.Write(inside, func(tx store.WriteTx) error {
		v := thing(1)
		if err := Things().Insert(inside, tx, &v); err != nil {
			return err
		}
		leave()
		return Things().Delete(inside, tx, v.ID)
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a write whose caller went: %v", err)
	}
	if n := count(deadline(t), t, s); n != 0 {
		t.Errorf("%d rows of writes that failed", n)
	}
}

func testCounters(t *testing.T, open Open) {
	s := open(t, engine.Options{})
	ctx, things := deadline(t), Things()
	before := s.Stats()
	insert(t, s, thing(1), thing(2))
	read(t, s, func(tx store.Tx) error { _, err := things.Bodies(ctx, tx, store.List{}); return err })
	after := s.Stats()
	if n := after.Statements - before.Statements; n != 3 {
		t.Errorf("%d statements, want 3", n)
	}
	if n := after.Commits - before.Commits; n != 1 {
		t.Errorf("%d commits, want 1", n)
	}
}

func testClosedRefuses(t *testing.T, open Open) {
	s := open(t, engine.Options{})
	ctx := deadline(t)
	read := s.Changes(ctx)
	must(t, s.Close())
	must(t, s.Close())
	if err := s.Write(ctx, func(store.WriteTx) error { return nil }); err == nil {
		t.Error("a closed store wrote")
	}
	if err := s.Read(ctx, func(store.Tx) error { return nil }); err == nil {
		t.Error("a closed store read")
	}
	for range read {
		t.Error("a closed store changed")
	}
}
