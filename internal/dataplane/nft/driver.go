package nft

import (
	"context"
	"errors"
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

	transactions, messages atomic.Uint64
}

// New makes the driver of the table in a namespace; "" is the host's.
func New(ns string) *Driver {
	return &Driver{conn: conn{ns: ns}, table: &nftables.Table{Family: nftables.TableFamilyBridge, Name: Table}}
}

// Close ends the driver's connection.
func (d *Driver) Close() { d.conn.failed() }

// Sent counts the transactions that succeeded, and the commands in them: one for each rule, set, chain and element.
func (d *Driver) Sent() (transactions, commands uint64) {
	return d.transactions.Load(), d.messages.Load()
}

// remember takes what was read.
func (d *Driver) remember(m map[Key]Object) { d.known = maps.Clone(m) }

// Put implements reconcile.Driver. The whole batch is one transaction; only if the kernel refuses it does each object get its own.
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

// each writes a batch whole, and where that fails one by one, so that one bad object holds up no other.
func (d *Driver) each(ctx context.Context, batch map[Key]Object, bad reconcile.Errors[Key], write func([]Key, map[Key]Object) error) {
	if len(batch) == 0 {
		return
	}
	if d.known == nil {
		if _, err := d.List(ctx); err != nil {
			fail(batch, bad, err)
			return
		}
	}
	keys := order(batch)
	if write(keys, batch) == nil {
		return
	}
	if _, err := d.List(ctx); err != nil {
		fail(batch, bad, err)
		return
	}
	// What was known may have been wrong.
	if write(keys, batch) == nil || ctx.Err() != nil {
		return
	}
	for _, k := range keys {
		err := ctx.Err()
		if err == nil {
			err = write([]Key{k}, batch)
		}
		if err != nil {
			bad[k] = err
		}
	}
}

func fail(batch map[Key]Object, bad reconcile.Errors[Key], err error) {
	for k := range batch {
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

// flush sends a transaction.
func (d *Driver) flush(lib *nftables.Conn, commands int) error {
	if err := lib.Flush(); err != nil {
		d.conn.failed()
		return fmt.Errorf("nftables: %w", err)
	}
	d.transactions.Add(1)
	d.messages.Add(uint64(commands))
	return nil
}

// Tracks tells whether the kernel follows connections on bridges (modules nf_conntrack_bridge and nft_meta_bridge): it is asked for a rule that needs them, in a
// transaction that takes it back.
func (d *Driver) Tracks() (bool, error) {
	lib, err := d.conn.open()
	if err != nil {
		return false, err
	}
	t := lib.AddTable(&nftables.Table{Family: nftables.TableFamilyBridge, Name: Table + "-probe"})
	c := lib.AddChain(&nftables.Chain{Name: "probe", Table: t})
	lib.AddRule(&nftables.Rule{Table: t, Chain: c, Exprs: Do(Accept(), IBrName().Is(Name("brq")), CTState(StateEstablished)).code})
	lib.DelTable(t)
	if err := lib.Flush(); err != nil {
		d.conn.failed()
		if errors.Is(err, errProto) || errors.Is(err, errNotSupported) || missing(err) {
			return false, nil
		}
		return false, fmt.Errorf("nftables: %w", err)
	}
	return true, nil
}

var _ reconcile.Driver[Key, Object] = (*Driver)(nil)
