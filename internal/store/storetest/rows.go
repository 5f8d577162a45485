package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"isospin/internal/store"
	"isospin/internal/store/engine"
)

func testRows(t *testing.T, open Open) {
	s := open(t, engine.Options{})
	ctx, things := deadline(t), Things()
	slot, note := int64(7), "a note"
	want := Thing{ID: uid(1), Project: "p", Name: "one", Slot: &slot, Up: true, Note: &note, Size: 3, Revision: 4, Secret: "s3cret"}
	insert(t, s, want)
	write(t, s, func(tx store.WriteTx) error {
		got, err := things.GetForUpdate(ctx, tx, want.ID)
		if err != nil {
			return err
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
		got.Name, got.Secret, got.Revision = "two", "other", 5
		return things.Update(ctx, tx, &got, -1)
	})
	read(t, s, func(tx store.Tx) error {
		got, err := things.Get(ctx, tx, want.ID)
		if got.Name != "two" || got.Secret != "other" || got.Revision != 5 {
			t.Errorf("got %+v", got)
		}
		return err
	})
	write(t, s, func(tx store.WriteTx) error { return things.Delete(ctx, tx, want.ID) })
	for what, err := range map[string]error{
		"get":    s.Read(ctx, func(tx store.Tx) error { _, err := things.Get(ctx, tx, want.ID); return err }),
		"delete": s.Write(ctx, func(tx store.WriteTx) error { return things.Delete(ctx, tx, want.ID) }),
		"update": s.Write(ctx, func(tx store.WriteTx) error { return things.Update(ctx, tx, &want, 4) }),
	} {
		missing, ok := errors.AsType[*store.NotFound](err)
		if !ok || missing.ID != want.ID || missing.Table != "things" {
			t.Errorf("%s of a row that is gone: %v", what, err)
		}
	}
}

func testLists(t *testing.T, open Open) {
	s := open(t, engine.Options{})
	ctx, things := deadline(t), Things()
	vs := make([]Thing, 30)
	for i := range vs {
		vs[i] = thing(i)
		if i%2 == 0 {
			n := int64(100 - i)
			vs[i].Slot = &n
		}
	}
	insert(t, s, vs...)
	name := func(column string) string {
		c, ok := things.ColumnOf(column)
		if !ok {
			t.Fatalf("no column for %s", column)
		}
		return c
	}
	for _, c := range []struct {
		what string
		list store.List
		want []int
	}{
		{"one page", store.List{Limit: 3, Offset: 4}, []int{4, 5, 6}},
		{"from an offset", store.List{Offset: 27}, []int{27, 28, 29}},
		{"backwards", store.List{Order: []store.Order{{Expr: name("name"), Desc: true}}, Limit: 2}, []int{29, 28}},
		{"NULL is first", store.List{Order: []store.Order{{Expr: name("slot")}}, Limit: 16}, []int{1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 28}},
		{"NULL is last", store.List{Order: []store.Order{{Expr: name("slot"), Desc: true}}, Limit: 16, Offset: 14}, []int{28, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29}},
		{"in", store.List{Where: store.In("name", []string{"thing-0003", "thing-0001", "thing-0009", "none", "x"})}, []int{1, 3, 9}},
		{"in nothing", store.List{Where: store.In("name", []string{})}, nil},
		{"null", store.List{Where: store.And(store.Eq("slot", nil), store.Eq("project_id", "p0"))}, []int{3, 9, 15, 21, 27}},
		{"or, not", store.List{Where: store.And(
			store.Or(store.Eq("name", "thing-0002"), store.Eq("name", "thing-0004")), store.Not(store.Eq("slot", int64(96))),
		)}, []int{2}},
	} {
		read(t, s, func(tx store.Tx) error {
			rows, err := things.Bodies(ctx, tx, c.list)
			if err != nil {
				return err
			}
			found, err := things.Find(ctx, tx, c.list)
			if err != nil {
				return err
			}
			var got, got2 []int
			for i, r := range rows {
				var v Thing
				must(t, json.Unmarshal(r.Body, &v))
				if r.ID != v.ID || r.Project != v.Project {
					t.Errorf("%s: row %s of %s with body %s", c.what, r.ID, r.Project, r.Body)
				}
				got, got2 = append(got, v.Size), append(got2, found[i].Size)
			}
			if !slices.Equal(got, c.want) || !slices.Equal(got2, c.want) || len(found) != len(rows) {
				t.Errorf("%s: bodies %v, found %v, want %v", c.what, got, got2, c.want)
			}
			return nil
		})
	}
	read(t, s, func(tx store.Tx) error {
		all, err := things.Count(ctx, tx, store.Cond{})
		must(t, err)
		some, err := things.Count(ctx, tx, store.Eq("project_id", "p1"))
		if all != 30 || some != 10 {
			t.Errorf("counted %d and %d", all, some)
		}
		return err
	})
}

// testListsStay: what a list gave is the caller's, whatever the connection reads afterwards.
func testListsStay(t *testing.T, open Open) {
	s := open(t, engine.Options{})
	ctx, things := deadline(t), Things()
	vs := make([]Thing, 50)
	for i := range vs {
		vs[i] = padded(i)
		vs[i].Project = strings.Repeat("p", i%3)
	}
	insert(t, s, vs...)
	var pages [10][]store.Row
	read(t, s, func(tx store.Tx) (err error) {
		for i := range pages {
			if pages[i], err = things.Bodies(ctx, tx, store.List{Limit: 5, Offset: 5 * i}); err != nil {
				return err
			}
		}
		if none, err := things.Bodies(ctx, tx, store.List{Where: store.Eq("name", "none")}); len(none) != 0 || err != nil {
			t.Errorf("a list of nothing is %v, %v", none, err)
		}
		return nil
	})
	for i, page := range pages {
		for j, r := range page {
			want := vs[5*i+j]
			body, err := json.Marshal(want)
			must(t, err)
			if r.ID != want.ID || r.Project != want.Project || !bytes.Equal(r.Body, body) {
				t.Errorf("row %d of page %d is %s of %q: %s", j, i, r.ID, r.Project, r.Body)
			}
			if cap(r.Body) != len(r.Body) {
				t.Error("appending to a body would reach another")
			}
		}
	}
}

// testText: case and trailing blanks count, four-byte characters and every escape come back, order is by bytes.
func testText(t *testing.T, open Open) {
	s := open(t, engine.Options{})
	ctx, things := deadline(t), Things()
	names := []string{"", " ", "A", "B", "a", "a ", "b", "naïve", "ä", "漢字", "😀", "😀 \\ ' \" ` % _ \n\t", "\u0001", "e\u0301", "\u00e9"}
	vs := make([]Thing, len(names))
	for i, n := range names {
		vs[i] = Thing{ID: uid(i), Project: "p", Name: n, Note: &names[i], Secret: n}
	}
	insert(t, s, vs...)
	for i, n := range names {
		read(t, s, func(tx store.Tx) error {
			for _, where := range []store.Cond{
				store.Eq("name", n), store.Eq("secret", n), store.Eq(tx.Dialect().JSONText("body", "note"), n),
			} {
				got, err := things.Find(ctx, tx, store.List{Where: where})
				if err != nil {
					return err
				}
				if len(got) != 1 || got[0].ID != uid(i) || got[0].Name != n || *got[0].Note != n || got[0].Secret != n {
					t.Errorf("%s of %q gave %+v", where.SQL, n, got)
				}
			}
			return nil
		})
	}
	read(t, s, func(tx store.Tx) error {
		got, err := things.Find(ctx, tx, store.List{Order: []store.Order{{Expr: "name"}}})
		if !slices.IsSortedFunc(got, func(a, b Thing) int { return strings.Compare(a.Name, b.Name) }) {
			t.Errorf("names do not sort by their bytes: %+v", got)
		}
		return err
	})
}

func testBigBodies(t *testing.T, open Open) {
	s := open(t, engine.Options{})
	ctx, things := deadline(t), Things()
	pad := strings.Repeat("große Körper 😀 ", 120_000) // over 2 MB
	v := thing(1)
	v.Ext = map[string]any{"pad": pad}
	insert(t, s, v, thing(2))
	read(t, s, func(tx store.Tx) error {
		got, err := things.Get(ctx, tx, v.ID)
		if err != nil {
			return err
		}
		if got.Ext["pad"] != pad {
			t.Error("the body came back changed")
		}
		rows, err := things.Bodies(ctx, tx, store.List{})
		want, _ := json.Marshal(v)
		if len(rows) != 2 || !bytes.Equal(rows[0].Body, want) {
			t.Error("the body's bytes came back changed")
		}
		return err
	})
}

func testJSONText(t *testing.T, open Open) {
	s := open(t, engine.Options{})
	ctx, things := deadline(t), Things()
	note := "x"
	a, b := thing(1), thing(2)
	a.Note, a.Up, a.Ext = &note, true, map[string]any{"k": 1}
	insert(t, s, a, b)
	for _, c := range []struct {
		member string
		value  any
		want   string
	}{
		{"note", "x", a.ID}, {"note", nil, b.ID}, {"up", "true", a.ID}, {"up", "false", b.ID},
		{"size", "2", b.ID}, {"ext", nil, b.ID}, {"name", "thing-0001", a.ID},
	} {
		read(t, s, func(tx store.Tx) error {
			got, err := things.Find(ctx, tx, store.List{Where: store.Eq(tx.Dialect().JSONText("body", c.member), c.value)})
			if len(got) != 1 || got[0].ID != c.want {
				t.Errorf("%s = %v gave %+v", c.member, c.value, got)
			}
			return err
		})
	}
	read(t, s, func(tx store.Tx) error {
		n, err := things.Count(ctx, tx, store.Eq(tx.Dialect().JSONText("body", "absent"), nil))
		if n != 2 {
			t.Errorf("%d rows lack a member that none has", n)
		}
		return err
	})
}

func testCompareAndSet(t *testing.T, open Open) {
	a, b := open(t, engine.Options{}), open(t, engine.Options{})
	ctx, things := deadline(t), Things()
	insert(t, a, thing(1))
	const takers = 8
	var wg sync.WaitGroup
	errs := make([]error, takers)
	for i := range takers {
		wg.Go(func() {
			s := []store.Store{a, b}[i%2]
			errs[i] = s.Write(ctx, func(tx store.WriteTx) error {
				v := thing(1)
				v.Revision, v.Size = 2, i
				return things.Update(ctx, tx, &v, 1)
			})
		})
	}
	wg.Wait()
	won := 0
	for i, err := range errs {
		switch {
		case err == nil:
			won++
			read(t, a, func(tx store.Tx) error {
				v, err := things.Get(ctx, tx, uid(1))
				if v.Size != i {
					t.Errorf("%d won and the row says %d", i, v.Size)
				}
				return err
			})
		case !store.IsStale(err):
			t.Errorf("%d: %v", i, err)
		}
	}
	if won != 1 {
		t.Errorf("%d won", won)
	}
}

// testDuplicates: a violation names its index and leaves the transaction usable, as often as it happens.
func testDuplicates(t *testing.T, open Open) {
	s := open(t, engine.Options{})
	ctx, things := deadline(t), Things()
	slot := int64(5)
	first := thing(3)
	first.Slot = &slot
	insert(t, s, first)
	sameID, sameName, sameSlot := thing(3), thing(6), thing(7)
	sameID.Name = "other"
	sameName.Name = first.Name
	sameSlot.Slot = &slot
	write(t, s, func(tx store.WriteTx) error {
		before := thing(10)
		if err := things.Insert(ctx, tx, &before); err != nil {
			return err
		}
		for _, c := range []struct {
			v     Thing
			index string
		}{{sameID, "things_pkey"}, {sameName, "things_project_id_name"}, {sameSlot, "things_slot"}, {sameName, "things_project_id_name"}} {
			err := things.Insert(ctx, tx, &c.v)
			d, ok := store.AsDuplicate(err)
			if !ok {
				return fmt.Errorf("duplicate in %s: %w", c.index, err)
			}
			if d.Index != c.index || d.Unwrap() == nil {
				t.Errorf("duplicate in %q, want %q", d.Index, c.index)
			}
			after := thing(20 + c.v.Size)
			if _, err := things.Get(ctx, tx, after.ID); store.IsNotFound(err) {
				if err := things.Insert(ctx, tx, &after); err != nil {
					return err
				}
			} else if err != nil {
				return err
			}
		}
		before.Name = "thing-0003"
		before.Project = first.Project
		if _, ok := store.AsDuplicate(things.Update(ctx, tx, &before, -1)); !ok {
			t.Error("an update to a name that is taken was let through")
		}
		return nil
	})
	read(t, s, func(tx store.Tx) error {
		rows, err := things.Find(ctx, tx, store.List{})
		var got []int
		for _, r := range rows {
			got = append(got, r.Size)
		}
		if want := []int{3, 10, 23, 26, 27}; !slices.Equal(got, want) {
			t.Errorf("rows %v, want %v", got, want)
		}
		return err
	})
	head, tail := s.Dialect().InsertIgnore()
	write(t, s, func(tx store.WriteTx) error {
		for n, want := range map[string]int64{first.ID: 0, uid(99): 1} {
			got, err := tx.Exec(ctx, store.Q(head+" things (id, project_id, revision, body, up, secret) VALUES (?, '', 0, '{}', ?, '') "+tail, n, false))
			if err != nil {
				return err
			}
			if got != want {
				t.Errorf("inserting %s or ignoring it touched %d rows, want %d", n, got, want)
			}
		}
		return nil
	})
}

func testCheck(t *testing.T, open Open) {
	s := open(t, engine.Options{})
	ctx, things := deadline(t), Things()
	vs := make([]Thing, 2100)
	for i := range vs {
		vs[i] = thing(i)
		vs[i].Up = i%2 == 0
		vs[i].Secret = "s"
	}
	insert(t, s, vs...)
	check := func() (out []store.Difference) {
		read(t, s, func(tx store.Tx) error {
			out = nil
			return things.Check(ctx, tx, func(d store.Difference) { out = append(out, d) })
		})
		return out
	}
	if got := check(); len(got) != 0 {
		t.Fatalf("a sound table has differences: %v", got)
	}
	write(t, s, func(tx store.WriteTx) error {
		for _, q := range []store.Query{
			store.Q("UPDATE things SET name = 'wrong' WHERE id = ?", uid(5)),
			store.Q("UPDATE things SET up = ? WHERE id = ?", true, uid(1999)),
			store.Q("UPDATE things SET body = '{' WHERE id = ?", uid(2099)),
		} {
			if _, err := tx.Exec(ctx, q); err != nil {
				return err
			}
		}
		return nil
	})
	got := check()
	if len(got) != 3 {
		t.Fatalf("differences: %v", got)
	}
	for i, want := range []store.Difference{
		{Table: "things", ID: uid(5), Column: "name", Have: "wrong", Want: "thing-0005"},
		{Table: "things", ID: uid(1999), Column: "up", Have: "1", Want: "0"},
	} {
		if h := got[i].Have; h == "true" {
			got[i].Have = "1"
		}
		if got[i] != want {
			t.Errorf("difference %v, want %v", got[i], want)
		}
	}
	if got[2].Column != "body" || got[2].ID != uid(2099) {
		t.Errorf("difference %v for a broken body", got[2])
	}
}

func count(ctx context.Context, t testing.TB, s store.Store) (n int64) {
	t.Helper()
	must(t, s.Read(ctx, func(tx store.Tx) (err error) {
		n, err = Things().Count(ctx, tx, store.Cond{})
		return err
	}))
	return n
}
