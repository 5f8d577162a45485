package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"isospin/internal/change"
	"isospin/internal/clock"
	"isospin/internal/store"
	"isospin/internal/store/engine"
)

func exit() { runtime.Goexit() }

// listen gathers what a store yields; the channel is closed when the iterator has ended.
func listen(ctx context.Context, s store.Store) <-chan result {
	out := make(chan result, 1024)
	seq := s.Changes(ctx)
	go func() {
		defer close(out)
		for c, err := range seq {
			out <- result{c, err}
		}
	}()
	return out
}

type result struct {
	change.Change
	err error
}

// await reads until every id was seen.
func await(t *testing.T, in <-chan result, want map[string]bool) map[string]change.Change {
	t.Helper()
	seen := make(map[string]change.Change)
	late := time.After(limit)
	for len(want) > 0 {
		select {
		case r := <-in:
			if r.err != nil {
				t.Fatal(r.err)
			}
			seen[r.Key.ID] = r.Change
			delete(want, r.Key.ID)
		case <-late:
			t.Fatalf("%d changes have not come: %v", len(want), slices.Collect(maps.Keys(want)))
		}
	}
	return seen
}

func touch(ctx context.Context, s store.Store, id string, sets ...change.Set) error {
	return s.Write(ctx, func(tx store.WriteTx) error {
		tx.Changed(change.Key{Kind: "thing", ID: id}, sets...)
		return nil
	})
}

func testChanges(t *testing.T, open Open) {
	a, b := open(t, engine.Options{}), open(t, engine.Options{})
	ctx := deadline(t)
	must(t, touch(ctx, b, "before"))
	mine, others, second := listen(ctx, a), listen(ctx, b), listen(ctx, a)
	must(t, touch(ctx, a, "one", "net:1", "host:h"))
	for _, in := range []<-chan result{mine, others, second} {
		seen := await(t, in, map[string]bool{"one": true})
		if _, ok := seen["before"]; ok {
			t.Error("a change from before the call came")
		}
		if got := seen["one"]; !slices.Equal(got.Sets, []change.Set{"net:1", "host:h"}) || got.ID == 0 {
			t.Errorf("got %+v", got)
		}
	}
	must(t, touch(ctx, b, "two"))
	await(t, mine, map[string]bool{"two": true})
}

func testChangesMerge(t *testing.T, open Open) {
	s := open(t, engine.Options{})
	ctx := deadline(t)
	in := listen(ctx, s)
	write(t, s, func(tx store.WriteTx) error {
		for range 3 {
			tx.Changed(change.Key{Kind: "port", ID: "p"}, "net:1")
			tx.Changed(change.Key{Kind: "port", ID: "p"}, "net:2", "net:1")
			tx.Changed(change.Key{Kind: "network", ID: "n"})
		}
		return nil
	})
	first, second := <-in, <-in
	if first.Key.ID != "p" || !slices.Equal(first.Sets, []change.Set{"net:1", "net:2"}) || second.Key != (change.Key{Kind: "network", ID: "n"}) {
		t.Errorf("got %+v and %+v", first, second)
	}
}

// testChangesUnderLoad: ids commit out of order; nobody may miss one.
func testChangesUnderLoad(t *testing.T, open Open) {
	a, b := open(t, engine.Options{}), open(t, engine.Options{})
	ctx := deadline(t)
	onA, onB := listen(ctx, a), listen(ctx, b)
	wantA, wantB := make(map[string]bool), make(map[string]bool)
	var wg sync.WaitGroup
	for w := range 16 {
		for i := range 20 {
			id := fmt.Sprintf("%d-%d", w, i)
			if i%7 != 6 {
				wantA[id], wantB[id] = true, true
			}
		}
		wg.Go(func() {
			for i := range 20 {
				err := []store.Store{a, b}[w%2].Write(ctx, func(tx store.WriteTx) error {
					tx.Changed(change.Key{Kind: "thing", ID: fmt.Sprintf("%d-%d", w, i)})
					if i%7 == 6 {
						return errWanted
					}
					return nil
				})
				if err != nil && !errors.Is(err, errWanted) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	await(t, onA, wantA)
	await(t, onB, wantB)
}

// ConnectionsLost shows that a server goes on when all its connections are cut: transactions that had not begun to
// commit are run again, and no change is missed. cut ends every connection but the one it runs on.
func ConnectionsLost(t *testing.T, database NewDatabase, cut func(context.Context, store.WriteTx) error) {
	open := database(t)
	a, b := open(t, engine.Options{}), open(t, engine.Options{})
	ctx := deadline(t)
	in := listen(ctx, a)
	want := make(map[string]bool)
	var wg sync.WaitGroup
	for w := range 4 {
		for i := range 30 {
			want[fmt.Sprintf("%d-%d", w, i)] = true
		}
		wg.Go(func() {
			for i := range 30 {
				id := fmt.Sprintf("%d-%d", w, i)
				for {
					err := touch(ctx, []store.Store{a, b}[w%2], id)
					if err == nil {
						break
					}
					if ctx.Err() != nil {
						t.Error(err)
						return
					}
					// The commit itself was cut off: what came of it nobody knows, so it is done again.
				}
			}
		})
	}
	for range 5 {
		if err := b.Write(ctx, func(tx store.WriteTx) error { return cut(ctx, tx) }); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	await(t, in, want)
}

// testChangesGap: who sleeps for longer than changes are kept is told.
func testChangesGap(t *testing.T, open Open) {
	clk := clock.NewManual(time.Now())
	a, b := open(t, engine.Options{Clock: clk}), open(t, engine.Options{})
	ctx := deadline(t)
	in := listen(ctx, a)
	next := func() result { // moves a's clock until something comes
		t.Helper()
		for {
			select {
			case r := <-in:
				return r
			case <-ctx.Done():
				t.Fatal("nothing came")
			case <-time.After(5 * time.Millisecond):
				clk.Advance(time.Second)
			}
		}
	}
	must(t, touch(ctx, b, "one"))
	if r := next(); r.err != nil || r.Key.ID != "one" {
		t.Fatalf("after a change came %+v", r)
	}
	clk.Advance(50 * time.Minute)
	if r := next(); !errors.Is(r.err, store.ErrGap) {
		t.Fatalf("after a long sleep came %+v", r)
	}
	must(t, touch(ctx, b, "two"))
	if r := next(); r.err != nil || r.Key.ID != "two" {
		t.Fatalf("after the gap came %+v", r)
	}
}

func testPrune(t *testing.T, open Open) {
	clk := clock.NewManual(time.Now())
	s := open(t, engine.Options{Clock: clk})
	ctx := deadline(t)
	rows := func() (n int64) {
		read(t, s, func(tx store.Tx) (err error) {
			n, _, err = store.Int(ctx, tx, store.Q("SELECT COUNT(*) FROM changes"))
			return err
		})
		return n
	}
	for i := range 5 {
		must(t, touch(ctx, s, fmt.Sprint(i)))
		clk.Advance(20 * time.Minute)
	}
	must(t, s.Prune(ctx))
	if n := rows(); n != 3 { // 20, 40 and 60 minutes old
		t.Errorf("%d rows are left, want 3", n)
	}
	clk.Advance(24 * time.Hour)
	must(t, s.Prune(ctx))
	if n := rows(); n != 1 {
		t.Errorf("%d rows are left, want the newest", n)
	}
}

func owe(t *testing.T, s store.Store, name string, payload string, due time.Time) {
	t.Helper()
	write(t, s, func(tx store.WriteTx) error {
		tx.Owe(change.Task{Name: name, Payload: json.RawMessage(payload), Due: due})
		return nil
	})
}

func tasksLeft(t *testing.T, s store.Store) (n int64) {
	t.Helper()
	read(t, s, func(tx store.Tx) (err error) {
		n, _, err = store.Int(context.Background(), tx, store.Q("SELECT COUNT(*) FROM tasks"))
		return err
	})
	return n
}

func testTasks(t *testing.T, open Open) {
	a, b := open(t, engine.Options{}), open(t, engine.Options{})
	ctx := deadline(t)
	claimed := make(chan change.Task)
	go func() { // waits before there is anything
		task, done, err := a.Claim(ctx, []string{"nova", "other"})
		if err != nil {
			t.Error(err)
		} else if err := done(nil); err != nil {
			t.Error(err)
		}
		claimed <- task
	}()
	owe(t, b, "unknown", `{}`, time.Time{})
	owe(t, b, "nova", `{"port":"😀"}`, time.Time{})
	if got := <-claimed; got.Name != "nova" || string(got.Payload) != `{"port":"😀"}` || got.Tries != 0 {
		t.Errorf("claimed %+v", got)
	}
	if n := tasksLeft(t, a); n != 1 {
		t.Errorf("%d tasks are left, want the unknown one", n)
	}
	soon := time.Now().Add(300 * time.Millisecond)
	owe(t, a, "nova", ``, soon)
	got, done, err := a.Claim(ctx, []string{"nova"})
	must(t, err)
	if time.Now().Before(soon.Truncate(time.Millisecond)) {
		t.Error("a task was claimed before it was due")
	}
	if string(got.Payload) != "null" {
		t.Errorf("claimed %+v", got)
	}
	must(t, done(nil))
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, _, err := a.Claim(gone, []string{"nova"}); !errors.Is(err, context.Canceled) {
		t.Errorf("a claim whose caller has gone: %v", err)
	}
}

func testTasksAreTakenOnce(t *testing.T, open Open) {
	a, b := open(t, engine.Options{}), open(t, engine.Options{})
	ctx, enough := context.WithCancel(deadline(t))
	defer enough()
	const tasks = 60
	for i := range tasks {
		owe(t, a, "work", fmt.Sprint(i), time.Time{})
	}
	var mu sync.Mutex
	taken := make(map[string]int)
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for {
				task, done, err := []store.Store{a, b}[w%2].Claim(ctx, []string{"work"})
				if err != nil {
					if !errors.Is(err, context.Canceled) {
						t.Error(err)
					}
					return
				}
				mu.Lock()
				taken[string(task.Payload)]++
				all := len(taken) == tasks
				mu.Unlock()
				if err := done(nil); err != nil {
					t.Error(err)
				}
				if all {
					enough()
				}
			}
		})
	}
	wg.Wait()
	for payload, n := range taken {
		if n != 1 {
			t.Errorf("task %s was taken %d times", payload, n)
		}
	}
	if n := tasksLeft(t, a); len(taken) != tasks || n != 0 {
		t.Errorf("%d tasks were taken, %d are left", len(taken), n)
	}
}

// testTasksOfTheDead: the claim of a server that ended is taken again after the lease, and its late answer is not heard.
func testTasksOfTheDead(t *testing.T, open Open) {
	start := time.Now()
	at := func(d time.Duration) engine.Options { // a server whose clock stands still renews no lease
		return engine.Options{Clock: clock.NewManual(start.Add(d)), Lease: time.Minute}
	}
	a, b, c := open(t, at(0)), open(t, at(61*time.Second)), open(t, at(122*time.Second))
	ctx := deadline(t)
	owe(t, a, "work", `1`, start)
	_, _, err := a.Claim(ctx, []string{"work"})
	must(t, err)
	must(t, a.Close())
	task, late, err := b.Claim(ctx, []string{"work"})
	must(t, err)
	if task.Tries != 1 {
		t.Errorf("tried %d times before, want 1", task.Tries)
	}
	_, done, err := c.Claim(ctx, []string{"work"})
	must(t, err)
	must(t, late(nil)) // the task is another's now
	if n := tasksLeft(t, b); n != 1 {
		t.Errorf("%d tasks are left, want 1", n)
	}
	must(t, done(nil))
	if n := tasksLeft(t, b); n != 0 {
		t.Errorf("%d tasks are left, want 0", n)
	}
}

func testTasksAreParked(t *testing.T, open Open) {
	clk := clock.NewManual(time.Now())
	s := open(t, engine.Options{Clock: clk, Tries: 3})
	ctx := deadline(t)
	owe(t, s, "work", `{}`, time.Time{})
	for try := range 3 {
		task, done, err := s.Claim(ctx, []string{"work"})
		must(t, err)
		if task.Tries != try {
			t.Errorf("try %d says %d", try, task.Tries)
		}
		must(t, done(fmt.Errorf("no answer, try %d", try)))
		clk.Advance(firstWaits[try])
	}
	parked, err := s.Parked(ctx)
	must(t, err)
	if len(parked) != 1 || parked[0].Reason != "no answer, try 2" || parked[0].Name != "work" {
		t.Fatalf("parked: %+v", parked)
	}
	must(t, s.Unpark(ctx, parked[0].ID))
	if err := s.Unpark(ctx, parked[0].ID); !store.IsNotFound(err) {
		t.Errorf("unparking what is not parked: %v", err)
	}
	_, done, err := s.Claim(ctx, []string{"work"})
	must(t, err)
	must(t, done(nil))
	if parked, err = s.Parked(ctx); err != nil || len(parked) != 0 {
		t.Errorf("parked: %+v, %v", parked, err)
	}
}

// firstWaits are the backoffs after the first tries.
var firstWaits = [...]time.Duration{time.Second, 2 * time.Second, 4 * time.Second}
