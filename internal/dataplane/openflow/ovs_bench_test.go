//go:build integration

package openflow

import (
	"fmt"
	"net/netip"
	"testing"
)

// BenchmarkSwitch tells what one batch of flows costs, and what reading back ten thousand does.
func BenchmarkSwitch(b *testing.B) {
	o, br := bridge(b)
	flows := func(n, from int) []Flow {
		fs := make([]Flow, n)
		for i := range fs {
			a := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
			fs[i] = Flow{Table: 1, Priority: 10, Match: TCP(Reg5.Is(uint64(from)), IPv4Dst.Is(a), TCPDst.Is(80)), Actions: Do(Reg6.Set(1), Resubmit(2))}
		}
		return fs
	}
	for name, tr := range transports(b, o, br) {
		d := NewFlows(tr, TagOf("bench"))
		for _, n := range []int{1, 100, 10000} {
			want := d.Tag().Want(flows(n, n)...)
			b.Run(fmt.Sprintf("%s/put-%d", name, n), func(b *testing.B) {
				for b.Loop() {
					if err := d.Put(b.Context(), want); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		b.Run(name+"/list-10101", func(b *testing.B) {
			for b.Loop() {
				if have, err := d.List(b.Context()); err != nil || len(have) != 10101 {
					b.Fatal(len(have), err)
				}
			}
		})
		all, err := d.List(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name+"/drop-10101", func(b *testing.B) {
			for range b.N {
				if err := d.Drop(b.Context(), all); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
