// Package vswitch makes Open vSwitch's bridges and ports real through its database, and watches the
// interfaces that others plug into the integration bridge. The agent's features fill its drivers' targets.
//
// A restarted agent knows its bridges and ports by external_ids:isospin-owner, whose value is the tag that
// the drivers were made with. Rows without that mark, or with another tag, are never changed and never
// removed; the one exception is a bridge that was there before and is wanted: it is marked, corrected, and
// unmarked when it is wanted no more. The package speaks no OpenFlow and touches no kernel device.
package vswitch

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"isospin/internal/ovsdb"
	"isospin/internal/reconcile"
)

// Keys in external_ids by which we know what is ours.
const (
	ownerKey   = "isospin-owner"
	adoptedKey = "isospin-adopted"
)

var (
	// ErrNoBridge is a port whose bridge is not there, or a bridge that others must make and have not.
	ErrNoBridge = errors.New("bridge is not there")
	// ErrForeign is a port whose name is taken by one that is not ours.
	ErrForeign = errors.New("the name belongs to a port that is not ours")

	// ErrFault is a port that is as wanted and does not work.
	ErrFault = errors.New("Open vSwitch cannot open it")

	errVanished = errors.New("changed by others at the same time")
)

// plan is what one object needs; no steps if nothing. With an error besides the steps are taken, and the object failed all the same.
type plan[K comparable, V any] func(s *ovsdb.Snapshot, k K, v V) ([]ovsdb.Op, error)

// apply commits the plans of a batch as one transaction, and one by one when that is refused.
func apply[K comparable, V any](ctx context.Context, c *ovsdb.Client, batch map[K]V, p plan[K, V]) error {
	if len(batch) == 0 {
		return nil
	}
	s, err := c.Read(ctx)
	if err != nil {
		return err
	}
	bad := reconcile.Errors[K]{}
	steps := map[K][]ovsdb.Op{}
	for k, v := range batch {
		ops, err := p(s, k, v)
		if err != nil {
			bad[k] = err
		}
		if len(ops) > 0 {
			steps[k] = ops
		}
	}
	var refused *ovsdb.OpError
	err = commit(ctx, c, steps, bad)
	switch {
	case errors.As(err, &refused) && len(steps) == 1:
		for k := range steps {
			bad[k] = err
		}
	case errors.As(err, &refused):
		for k, ops := range steps {
			if err := commit(ctx, c, map[K][]ovsdb.Op{k: ops}, bad); errors.As(err, &refused) {
				bad[k] = err
			} else if err != nil {
				return err
			}
		}
	case err != nil:
		return err
	}
	return bad.Err()
}

// commit runs all steps as one transaction. A step that met no row goes into bad: its row is gone.
func commit[K comparable](ctx context.Context, c *ovsdb.Client, steps map[K][]ovsdb.Op, bad reconcile.Errors[K]) error {
	var all []ovsdb.Op
	var whose []K
	for k, ops := range steps {
		all = append(all, ops...)
		for range ops {
			whose = append(whose, k)
		}
	}
	results, err := c.Transact(ctx, all...)
	if err != nil {
		return err
	}
	for i, r := range results {
		if r.Count == 0 && r.UUID == "" {
			bad[whose[i]] = errVanished
		}
	}
	return nil
}

// watch calls invalidate whenever what list finds in the database has changed, after each new connection, and when one is lost: who
// reads then hears that nothing can be read.
func watch[K comparable, V any](ctx context.Context, c *ovsdb.Client, list func(*ovsdb.Snapshot) map[K]V, invalidate func(reason string)) error {
	changes, stop := c.Watch()
	defer stop()
	var last map[K]V
	connects, connected := 0, false
	for {
		s, st := c.Snapshot(), c.State()
		if connected && !st.Connected {
			invalidate("the database is away")
		}
		connected = st.Connected
		if s != nil && st.Connected {
			now := list(s)
			switch {
			case st.Connects != connects:
				invalidate("connected to the database")
			case !reflect.DeepEqual(now, last):
				invalidate("the database changed")
			}
			last, connects = now, st.Connects
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changes:
		}
	}
}

// has says whether m has all of want's pairs.
func has(m, want map[string]string) bool {
	for k, v := range want {
		if have, there := m[k]; !there || have != v {
			return false
		}
	}
	return true
}

// optional is the value of an optional column: nothing, or v.
func optional[T comparable](v T) []T {
	var zero T
	if v == zero {
		return []T{}
	}
	return []T{v}
}

func sameSet[T int | string](a, b []T) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

// rowName is a name for a row within a transaction, made of characters that every name may have.
func rowName(kind, name string) ovsdb.UUID { return ovsdb.UUID(fmt.Sprintf("%s_%x", kind, name)) }
