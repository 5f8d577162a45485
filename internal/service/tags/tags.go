// Package tags lets the tags of objects go with them when something else than a request removes the objects, such as a network
// its subnets. ml2 runs it behind its writes; the tags API itself is rest's. It writes nothing for objects without tags.
package tags

import (
	"context"

	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/service"
	"isospin/internal/store"
)

// Ports and Subnets follow the writes of their kind.
type (
	Ports   struct{}
	Subnets struct{}
)

var (
	_ service.Follower[model.Port]   = Ports{}
	_ service.Follower[model.Subnet] = Subnets{}
)

// Follow forgets the tags of a port that went.
func (Ports) Follow(ctx context.Context, tx store.WriteTx, w service.Write[model.Port]) error {
	if w.Op != service.Delete {
		return nil
	}
	return forget(ctx, tx, &w.Old.Standard)
}

// Follow forgets the tags of a subnet that went.
func (Subnets) Follow(ctx context.Context, tx store.WriteTx, w service.Write[model.Subnet]) error {
	if w.Op != service.Delete {
		return nil
	}
	return forget(ctx, tx, &w.Old.Standard)
}

func forget(ctx context.Context, tx store.WriteTx, s *model.Standard) error {
	if len(s.Tags) == 0 {
		return nil
	}
	return rest.ForgetTags(ctx, tx, s.ID)
}
