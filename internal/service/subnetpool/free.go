package subnetpool

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	"isospin/internal/service/ipam"
	"isospin/internal/store"
)

// The functions of this file are called by who holds the pool's row: what is free changes under its lock alone.

// insertRows is how many free prefixes one statement writes.
const insertRows = 200

// takeAny takes the first prefix of a length out of the smallest free one that holds it; ok is false when none does.
// Three statements.
func takeAny(ctx context.Context, tx store.WriteTx, pool string, bits int) (p netip.Prefix, ok bool, err error) {
	block, err := oneFree(ctx, tx, store.Q("SELECT prefix FROM subnetpool_free WHERE subnetpool_id = ? AND prefixlen <= ? ORDER BY prefixlen DESC, first LIMIT 1", pool, int64(bits)))
	if err != nil || !block.IsValid() {
		return p, false, err
	}
	p = netip.PrefixFrom(block.Addr(), bits)
	return p, true, cut(ctx, tx, pool, block, p)
}

// takeExact takes a given prefix; ok is false when it is not free as a whole. Three statements.
func takeExact(ctx context.Context, tx store.WriteTx, pool string, p netip.Prefix) (ok bool, err error) {
	block, err := oneFree(ctx, tx, store.Q("SELECT prefix FROM subnetpool_free WHERE subnetpool_id = ? AND first <= ? ORDER BY first DESC LIMIT 1", pool, ipam.Hex(p.Addr())))
	if err != nil || !block.IsValid() || block.Bits() > p.Bits() || !block.Contains(p.Addr()) {
		return false, err
	}
	return true, cut(ctx, tx, pool, block, p)
}

func oneFree(ctx context.Context, tx store.Tx, q store.Query) (p netip.Prefix, err error) {
	err = store.Each(ctx, tx, q, func(scan func(...any) error) error {
		var text string
		if err := scan(&text); err != nil {
			return err
		}
		p, err = netip.ParsePrefix(text)
		return err
	})
	return p, err
}

// cut takes p out of the free prefix that holds it.
func cut(ctx context.Context, tx store.WriteTx, pool string, block, p netip.Prefix) error {
	if err := dropFree(ctx, tx, pool, []netip.Prefix{block}); err != nil {
		return err
	}
	return insertFree(ctx, tx, pool, leftover(block, p))
}

// give makes a prefix free again and joins it with its neighbours. Three statements at the most.
func give(ctx context.Context, tx store.WriteTx, pool string, p netip.Prefix) error {
	var first []string
	for up := p; up.Bits() > 0; up = netip.PrefixFrom(up.Addr(), up.Bits()-1).Masked() {
		first = append(first, ipam.Hex(sibling(up).Addr()))
	}
	free := map[netip.Prefix]bool{}
	in := store.And(store.Eq("subnetpool_id", pool), store.In("first", first))
	err := store.Each(ctx, tx, store.Q("SELECT prefix FROM subnetpool_free WHERE "+in.SQL, in.Args...), func(scan func(...any) error) error {
		var text string
		if err := scan(&text); err != nil {
			return err
		}
		q, err := netip.ParsePrefix(text)
		free[q] = true
		return err
	})
	if err != nil {
		return err
	}
	var joined []netip.Prefix
	for p.Bits() > 0 && free[sibling(p)] {
		joined = append(joined, sibling(p))
		p = netip.PrefixFrom(p.Addr(), p.Bits()-1).Masked()
	}
	if err := dropFree(ctx, tx, pool, joined); err != nil {
		return err
	}
	return insertFree(ctx, tx, pool, []netip.Prefix{p})
}

// reset writes what is free anew.
func reset(ctx context.Context, tx store.WriteTx, pool string, free []netip.Prefix) error {
	if _, err := tx.Exec(ctx, store.Q("DELETE FROM subnetpool_free WHERE subnetpool_id = ?", pool)); err != nil {
		return err
	}
	return insertFree(ctx, tx, pool, free)
}

func dropFree(ctx context.Context, tx store.WriteTx, pool string, ps []netip.Prefix) error {
	if len(ps) == 0 {
		return nil
	}
	first := make([]string, len(ps))
	for i, p := range ps {
		first[i] = ipam.Hex(p.Addr())
	}
	in := store.And(store.Eq("subnetpool_id", pool), store.In("first", first))
	_, err := tx.Exec(ctx, store.Q("DELETE FROM subnetpool_free WHERE "+in.SQL, in.Args...))
	return err
}

func insertFree(ctx context.Context, tx store.WriteTx, pool string, ps []netip.Prefix) error {
	for chunk := range slices.Chunk(ps, insertRows) {
		args := make([]any, 0, 4*len(chunk))
		for _, p := range chunk {
			args = append(args, pool, ipam.Hex(p.Addr()), int64(p.Bits()), p.String())
		}
		_, err := tx.Exec(ctx, store.Q("INSERT INTO subnetpool_free (subnetpool_id, first, prefixlen, prefix) VALUES "+
			strings.Repeat("(?, ?, ?, ?), ", len(chunk)-1)+"(?, ?, ?, ?)", args...))
		if err != nil {
			return err
		}
	}
	return nil
}
