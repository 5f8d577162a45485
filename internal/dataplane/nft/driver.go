package nft

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"isospin/internal/reconcile"

	"github.com/google/nftables"
)

// Table is the name of our table in the family of bridges.
const Table = "isospin"

// Driver is the driver of the table. It works in one namespace.
type Driver struct {
	conn  conn
	table *nftables.Table
	// known is what was read or written last: what a transaction can be made from without reading first. Where it is wrong, the
	// transaction fails, and it is read anew.
	known map[Key]Object

	transactions, changes atomic.Uint64
}

// New makes the driver of the table in a namespace; "" is the host's.
func New(ns string) *Driver {
	return &Driver{conn: conn{ns: ns}, table: &nftables.Table{Family: nftables.TableFamilyBridge, Name: Table}}
}

// Close ends the driver's connection.
func (d *Driver) Close() { d.conn.close() }

// Sent counts the transactions that succeeded, and what they changed: each rule, set, chain and element counts as one.
func (d *Driver) Sent() (transactions, changes uint64) {
	return d.transactions.Load(), d.changes.Load()
}

// remember takes what was read.
func (d *Driver) remember(m map[Key]Object) { d.known = maps.Clone(m) }

// Put implements reconcile.Driver. The whole batch is one transaction, but for objects that the kernel refuses.
func (d *Driver) Put(ctx context.Context, batch map[Key]Object) error {
	bad := reconcile.Errors[Key]{}
	good := make(map[Key]Object, len(batch))
	for k, o := range batch {
		if err := check(k, o); err != nil {
			bad[k] = err
			continue
		}
		good[k] = o
	}
	d.each(ctx, good, bad, d.put)
	return bad.Err()
}

// Drop implements reconcile.Driver, as Put does.
func (d *Driver) Drop(ctx context.Context, batch map[Key]Object) error {
	bad := reconcile.Errors[Key]{}
	d.each(ctx, batch, bad, d.drop)
	return bad.Err()
}

// write is put or drop: refused are the objects that the kernel would not have, and then nothing was done; an error is about all.
type write func(ctx context.Context, keys []Key, batch map[Key]Object) (refused map[Key]error, err error)

// each writes a batch in one transaction, without those objects that the kernel refuses: one bad object holds up no other, but for those that
// refer to it.
func (d *Driver) each(ctx context.Context, batch map[Key]Object, bad reconcile.Errors[Key], do write) {
	keys := order(batch)
	fresh := d.known == nil
	if fresh && len(keys) > 0 {
		if _, err := d.List(ctx); err != nil {
			fail(keys, bad, err)
			return
		}
	}
	alone := false
	for len(keys) > 0 {
		now := keys
		if alone {
			now = keys[:1]
		}
		refused, err := do(ctx, now, batch)
		switch {
		case err == nil && len(refused) == 0:
			keys = keys[len(now):]
			continue
		case err != nil && (fresh || ctx.Err() != nil):
			fail(keys, bad, err)
			return
		case !fresh: // what was known may have been wrong
			fresh = true
			if _, err := d.List(ctx); err != nil {
				fail(keys, bad, err)
				return
			}
			continue
		}
		// One command has many elements: which of them is refused only shows when each has its own.
		for k := range refused {
			if k.Kind == KindElement && len(now) > 1 {
				alone = true
				delete(refused, k)
			}
		}
		maps.Copy(bad, refused)
		keys = slices.DeleteFunc(keys, func(k Key) bool { return refused[k] != nil })
	}
}

func fail(keys []Key, bad reconcile.Errors[Key], err error) {
	for _, k := range keys {
		bad[k] = err
	}
}

// order puts what others refer to first: sets, chains without jumps to those of the batch, chains that jump, elements.
func order(batch map[Key]Object) []Key {
	depth := map[Key]int{}
	var measure func(k Key, guard int) int
	measure = func(k Key, guard int) int {
		if n, done := depth[k]; done || guard > 16 {
			return n
		}
		n := 0
		for _, r := range batch[k].Rules {
			to := ChainKey(r.verdict.chain)
			if _, here := batch[to]; here && r.verdict.chain != "" {
				n = max(n, measure(to, guard+1)+1)
			}
		}
		depth[k] = n
		return n
	}
	keys := slices.Collect(maps.Keys(batch))
	for _, k := range keys {
		if k.Kind == KindChain {
			measure(k, 0)
		}
	}
	slices.SortFunc(keys, func(a, b Key) int {
		if c := int(a.Kind) - int(b.Kind); c != 0 {
			return c
		}
		if c := depth[a] - depth[b]; c != 0 {
			return c
		}
		if c := compareText(a.Name, b.Name); c != 0 {
			return c
		}
		return compareText(a.Item, b.Item)
	})
	return keys
}

func compareText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Tracks tells whether the kernel follows connections on bridges (modules nf_conntrack_bridge and nft_meta_bridge): it is asked for a rule that needs
// them, in a transaction that takes it back.
func (d *Driver) Tracks(ctx context.Context) (bool, error) {
	const probe = Table + "-probe"
	var t transaction
	t.add()(newTable(probe))
	t.add()(newChain(probe, "probe", nil))
	t.add()(newRule(probe, "probe", Do(Accept(), IBrName().Is(Name("brq")), CTState(StateEstablished)), 0))
	t.add()(delTable(probe))
	if t.err != nil {
		return false, t.err
	}
	refused, err := d.conn.transact(ctx, t.messages)
	if err != nil {
		return false, fmt.Errorf("nftables: %w", err)
	}
	return len(refused) == 0, nil
}

var _ reconcile.Driver[Key, Object] = (*Driver)(nil)
