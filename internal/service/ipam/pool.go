package ipam

import (
	"context"
	"net/netip"

	"isospin/internal/model"
	"isospin/internal/store"
	"isospin/internal/store/freerange"
)

// chunks is into how many free ranges a new subnet's pools are cut at least: as many creates can then take an
// address at once, without waiting for each other's commit.
const chunks = 16

// Pool names a subnet's free ranges.
func Pool(subnetID string) string { return "subnet:" + subnetID }

func value(a netip.Addr) freerange.Value { return freerange.OfAddr(a) }

func address(v freerange.Value) netip.Addr { return v.Addr().Unmap() }

// ranges are a subnet's allocation pools as free ranges.
func ranges(s *model.Subnet) []freerange.Range {
	var out []freerange.Range
	for _, p := range s.AllocationPools {
		first, err1 := netip.ParseAddr(p.Start)
		last, err2 := netip.ParseAddr(p.End)
		if err1 == nil && err2 == nil {
			out = append(out, freerange.Range{First: value(first), Last: value(last)})
		}
	}
	return out
}

func inPools(s *model.Subnet, a netip.Addr) bool {
	for _, p := range s.AllocationPools {
		first, err1 := netip.ParseAddr(p.Start)
		last, err2 := netip.ParseAddr(p.End)
		if err1 == nil && err2 == nil && a.Compare(first) >= 0 && a.Compare(last) <= 0 {
			return true
		}
	}
	return false
}

// InPools tells whether an address is in one of the subnet's allocation pools.
func InPools(s *model.Subnet, a netip.Addr) bool { return inPools(s, a) }

// Open makes the free ranges of a new subnet.
func (a *Allocator) Open(ctx context.Context, tx store.WriteTx, s *model.Subnet) error {
	if AutoAddress(s) {
		return nil // hosts make their own addresses there
	}
	return freerange.Seed(ctx, tx, Pool(s.ID), ranges(s), chunks)
}

// Reopen makes the free ranges anew after the pools changed, without the addresses in use.
func (a *Allocator) Reopen(ctx context.Context, tx store.WriteTx, s *model.Subnet) error {
	if AutoAddress(s) {
		return nil
	}
	_, err := freerange.SetRanges(ctx, tx, Pool(s.ID), ranges(s), chunks, func() (used []freerange.Value, err error) {
		err = store.Each(ctx, tx, store.Q("SELECT ip_address FROM ip_allocations WHERE subnet_id = ?", s.ID), func(scan func(...any) error) error {
			var text string
			if err := scan(&text); err != nil {
				return err
			}
			if addr, err := netip.ParseAddr(text); err == nil {
				used = append(used, value(addr))
			}
			return nil
		})
		return used, err
	})
	return err
}

// Close drops the free ranges of a subnet that goes.
func (a *Allocator) Close(ctx context.Context, tx store.WriteTx, subnetID string) error {
	return freerange.Drop(ctx, tx, Pool(subnetID))
}
