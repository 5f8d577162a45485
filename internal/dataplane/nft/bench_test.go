package nft_test

import (
	"fmt"
	"testing"

	"isospin/internal/dataplane/nft"
)

// large is a table of 300 chains of 20 rules and a set of 5,000.
func large() map[nft.Key]nft.Object {
	all := everything()
	for c := range 300 {
		var rules []nft.Rule
		for n := range 20 {
			rules = append(rules, nft.Do(nft.Accept(), nft.EtherType().Is(nft.Num2(0x0800)), nft.L4Protocol().Is(nft.Num1(6)), nft.TargetPort().Is(nft.Num2(n))))
		}
		all[nft.ChainKey(fmt.Sprint("c", c))] = nft.Object{Rules: rules}
	}
	for n := range 5000 {
		k, o := macs().Element("macs", nft.Name("tap9"), []byte{2, 0, 0, 0, byte(n >> 8), byte(n)})
		all[k] = o
	}
	return all
}

func BenchmarkLargeTable(b *testing.B) {
	ns := space(b)
	d := driver(b, ns)
	all := large()
	if err := d.Put(b.Context(), all); err != nil {
		b.Fatal(err)
	}
	k, o := macs().Element("macs", nft.Name("tap9"), mac(9))
	one := map[nft.Key]nft.Object{k: o}
	chain := nft.ChainKey("c7")
	b.Run("element", func(b *testing.B) {
		for b.Loop() {
			if err := d.Put(b.Context(), one); err != nil {
				b.Fatal(err)
			}
			if err := d.Drop(b.Context(), one); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("rule", func(b *testing.B) {
		rules := all[chain].Rules
		for b.Loop() {
			for _, r := range [][]nft.Rule{rules[1:], rules} {
				if err := d.Put(b.Context(), map[nft.Key]nft.Object{chain: {Rules: r}}); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("read back", func(b *testing.B) {
		for b.Loop() {
			if _, err := d.List(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("all anew", func(b *testing.B) {
		for b.Loop() {
			if err := d.Drop(b.Context(), all); err != nil {
				b.Fatal(err)
			}
			if err := d.Put(b.Context(), all); err != nil {
				b.Fatal(err)
			}
		}
	})
}
