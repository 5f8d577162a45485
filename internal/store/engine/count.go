package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"isospin/internal/store"
)

// counter is one number that the commit changes: how many rows of a kind an owner has.
type counter struct{ owner, kind string }

// Count merges by counter.
func (t *tx) Count(kind, owner string, by int64) {
	if owner == "" {
		return
	}
	if t.counts == nil {
		t.counts = make(map[counter]int64)
	}
	t.counts[counter{owner, kind}] += by
}

// Bound keeps the smaller of two limits.
func (t *tx) Bound(kind, owner string, limit int64) {
	if limit < 0 {
		limit = -1
	}
	if t.bounds == nil {
		t.bounds = make(map[counter]int64)
	}
	c := counter{owner, kind}
	if have, ok := t.bounds[c]; ok && (limit < 0 || have >= 0 && have < limit) {
		return
	}
	t.bounds[c] = limit
}

const (
	addCount = `UPDATE quotas SET used = used + ? WHERE project_id = ? AND resource = ?`

	addBounded = addCount + ` AND (COALESCE(hard_limit, ?) < 0 OR used + ? <= COALESCE(hard_limit, ?))`

	newCount = ` quotas (project_id, resource, used) VALUES (?, ?, 0) `
)

// settle writes what was counted. A row of quotas is what transactions of one owner wait for each other at, so this comes as late
// as can be; all transactions go through their counters in one order.
func (t *tx) settle(ctx context.Context) error {
	order := slices.SortedFunc(maps.Keys(t.counts), func(a, b counter) int {
		return cmp.Or(cmp.Compare(a.owner, b.owner), cmp.Compare(a.kind, b.kind))
	})
	for _, c := range order {
		by := t.counts[c]
		if by == 0 {
			continue
		}
		text, args := addCount, []any{by, c.owner, c.kind}
		if limit, bounded := t.bounds[c]; bounded && by > 0 {
			text, args = addBounded, append(args, limit, by, limit)
		}
		if err := t.add(ctx, c, text, args); err != nil {
			return err
		}
	}
	return nil
}

// add changes one counter, which it makes where there is none.
func (t *tx) add(ctx context.Context, c counter, text string, args []any) error {
	head, tail := t.e.d.InsertIgnore()
	for _, fresh := range []bool{false, true} {
		if fresh {
			t.count(ctx)
			if _, err := t.c.Exec(ctx, head+newCount+tail, []any{c.owner, c.kind}); err != nil {
				return fmt.Errorf("begin to count %s: %w", c.kind, err)
			}
		}
		t.count(ctx)
		n, err := t.c.Exec(ctx, text, args)
		if err != nil {
			return fmt.Errorf("count %s: %w", c.kind, err)
		}
		if n > 0 {
			return nil
		}
	}
	return &store.Over{Kind: c.kind, Owner: c.owner}
}
