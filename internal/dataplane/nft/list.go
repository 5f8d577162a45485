package nft

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/mdlayher/netlink"
)

// List implements reconcile.Driver: everything that stands in the table.
func (d *Driver) List(ctx context.Context) (map[Key]Object, error) {
	out, err := d.list(ctx)
	if err != nil {
		d.conn.close()
		return nil, fmt.Errorf("nftables: %w", err)
	}
	d.remember(out)
	return out, nil
}

func (d *Driver) list(ctx context.Context) (map[Key]Object, error) {
	lib, err := d.conn.reader()
	if err != nil {
		return nil, err
	}
	there, err := tableThere(lib, d.table)
	out := map[Key]Object{}
	if err != nil || !there {
		return out, err
	}
	chains, err := lib.ListChainsOfTableFamily(d.table.Family)
	if err != nil {
		return nil, fmt.Errorf("chains: %w", err)
	}
	for _, c := range chains {
		if c.Table.Name != d.table.Name {
			continue
		}
		var o Object
		if c.Hooknum != nil && c.Priority != nil {
			o.Hook = &Hook{Point: Point(*c.Hooknum), Priority: int32(*c.Priority)}
		}
		out[ChainKey(c.Name)] = o
	}
	rules, err := d.conn.rules(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, r := range rules {
		o := out[ChainKey(r.chain)]
		o.Rules = append(o.Rules, r.rule)
		out[ChainKey(r.chain)] = o
	}
	sets, err := lib.GetSets(d.table)
	if err != nil {
		return nil, fmt.Errorf("sets: %w", err)
	}
	for _, s := range sets {
		if s.Anonymous { // part of a rule
			continue
		}
		l := layoutOf(s)
		out[SetKey(s.Name)] = Object{Layout: l}
		elements, err := lib.GetSetElements(s)
		if err != nil {
			return nil, fmt.Errorf("elements of %s: %w", s.Name, err)
		}
		if err := readElements(s.Name, l, elements, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// layoutOf makes a layout of what the library tells of a set.
func layoutOf(s *nftables.Set) Layout {
	l := Layout{Interval: s.Interval}
	switch {
	case !s.IsMap:
	case s.KeyType.Name == nftables.TypeVerdict.Name: // the library puts it here
		l.Map = Verdicts
		return l
	default:
		l.Map = Numbers
	}
	for name := range strings.SplitSeq(s.KeyType.Name, " . ") {
		at := slices.IndexFunc(setTypes(), func(t Type) bool { return t.Name == name })
		if at < 0 {
			return Layout{Fields: []Type{{Name: s.KeyType.Name}}}
		}
		l.Fields = append(l.Fields, setTypes()[at])
	}
	return l
}

func setTypes() []Type { return []Type{ifname(), ether(), ipv4(), ipv6(), ethertype()} }

// readElements adds a set's elements to what was found.
func readElements(set string, l Layout, elements []nftables.SetElement, out map[Key]Object) error {
	if l.Interval && len(l.Fields) == 1 {
		readRanges(set, l, elements, out)
		return nil
	}
	for _, e := range elements {
		o := Object{Layout: l}
		item := string(e.Key)
		if l.Interval {
			end := e.KeyEnd
			if len(end) == 0 {
				end = e.Key
			}
			item += string(end)
		}
		switch l.Map {
		case Verdicts:
			v, err := readVerdict(e.Val)
			if err != nil {
				return fmt.Errorf("element of %s: %w", set, err)
			}
			o.Verdict = v
		case Numbers:
			if len(e.Val) >= 2 {
				o.Number = binary.NativeEndian.Uint16(e.Val)
			}
		case Nothing:
		}
		out[Key{Kind: KindElement, Name: set, Item: item}] = o
	}
	return nil
}

// readRanges pairs the ends of ranges: the kernel tells where one begins, and where it is over.
func readRanges(set string, l Layout, elements []nftables.SetElement, out map[Key]Object) {
	slices.SortFunc(elements, func(a, b nftables.SetElement) int {
		if c := bytes.Compare(a.Key, b.Key); c != 0 {
			return c
		}
		ends := func(e nftables.SetElement) int {
			if e.IntervalEnd {
				return 0
			}
			return 1
		}
		return cmp.Compare(ends(a), ends(b))
	})
	var first []byte
	add := func(last []byte) {
		if first != nil {
			out[Key{Kind: KindElement, Name: set, Item: string(first) + string(last)}] = Object{Layout: l}
		}
		first = nil
	}
	for _, e := range elements {
		if e.IntervalEnd {
			add(step(e.Key, -1))
			continue
		}
		first = e.Key
	}
	if first != nil {
		add(bytes.Repeat([]byte{0xff}, len(first)))
	}
}

// step is the number after or before one; nil beyond the last.
func step(n []byte, by int) []byte {
	out := bytes.Clone(n)
	for i := len(out) - 1; i >= 0; i-- {
		out[i] += byte(by)
		if by > 0 && out[i] != 0 || by < 0 && out[i] != 0xff {
			return out
		}
	}
	return nil
}

// readVerdict decodes an element's verdict, which the library hands on as it came: code (1) and chain (2).
func readVerdict(b []byte) (Verdict, error) {
	ad, err := netlink.NewAttributeDecoder(b)
	if err != nil {
		return Verdict{}, err
	}
	ad.ByteOrder = binary.BigEndian
	v := Verdict{set: true}
	for ad.Next() {
		switch ad.Type() {
		case 1:
			v.kind = expr.VerdictKind(int32(ad.Uint32()))
		case 2:
			v.chain = ad.String()
		}
	}
	return v, ad.Err()
}

// tableThere tells whether our table is there.
func tableThere(lib *nftables.Conn, table *nftables.Table) (bool, error) {
	all, err := lib.ListTablesOfFamily(table.Family)
	if err != nil {
		return false, fmt.Errorf("tables: %w", err)
	}
	return slices.ContainsFunc(all, func(t *nftables.Table) bool { return t.Name == table.Name }), nil
}
