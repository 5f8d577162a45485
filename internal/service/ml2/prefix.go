package ml2

import (
	"context"

	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/store"
)

// PrefixSource gives subnets their prefix out of subnet pools. ml2 calls it in the transaction of the subnet, whose network
// it keeps; an error is a *fault.Fault where the request is to blame.
type PrefixSource interface {
	// Take settles subnetpool_id and cidr of a new subnet; others are the subnets that its network has. It leaves a subnet
	// alone that names a cidr and no pool.
	Take(ctx context.Context, tx store.WriteTx, s *model.Subnet, others []model.Subnet, in rest.Input[model.Subnet]) error
	// Give gives the prefix of a subnet that goes back to the pool that it is of.
	Give(ctx context.Context, tx store.WriteTx, s *model.Subnet) error
}

// prefix lets the pools settle a new subnet's prefix; without pools it must name one.
func (p subnets) prefix(ctx context.Context, tx store.WriteTx, s *model.Subnet, others []model.Subnet, in rest.Input[model.Subnet]) error {
	if p.guards.Prefixes == nil {
		return noPools(s)
	}
	return p.guards.Prefixes.Take(ctx, tx, s, others, in)
}
