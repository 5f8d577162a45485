// Package flat is the type driver of untagged networks: one to a physical network.
package flat

import (
	"context"
	"errors"
	"slices"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/service/ml2"
	"isospin/internal/service/ml2/typedriver/claim"
	"isospin/internal/store"
)

// Config is [ml2_type_flat] and what bears on the MTU.
type Config struct {
	Networks []string // flat_networks; "*" allows any name, none allows none
	MTUs     map[string]int64
	MTUAll   int64 // global_physnet_mtu
}

// Driver is the type driver.
type Driver struct{ Config }

// Type is "flat".
func (Driver) Type() string { return model.TypeFlat }

// Prepare has nothing to do: a claim on a physical network is all there is.
func (Driver) Prepare(context.Context, store.WriteTx) error { return nil }

// Validate wants a physical network that is allowed, and no id.
func (d Driver) Validate(want model.Segment) error {
	switch {
	case want.PhysicalNetwork == "":
		return fault.BadInput("provider:physical_network required for a flat network.")
	case want.SegmentationID != 0:
		return fault.BadInput("provider:segmentation_id is not for flat networks.")
	case len(d.Networks) == 0:
		return fault.BadInput("flat networks are switched off.")
	case !slices.Contains(d.Networks, "*") && !slices.Contains(d.Networks, want.PhysicalNetwork):
		return fault.BadInput("physical network '%s' is not known for flat networks.", want.PhysicalNetwork)
	}
	return nil
}

// Reserve claims the physical network; a project network cannot be flat.
func (d Driver) Reserve(ctx context.Context, tx store.WriteTx, want model.Segment) (model.Segment, error) {
	if want.PhysicalNetwork == "" {
		return want, ml2.ErrNoSegment
	}
	err := claim.Hold(ctx, tx, model.TypeFlat, want.PhysicalNetwork, 0, want.ID)
	if errors.Is(err, claim.ErrTaken) {
		err = fault.FlatNetworkInUse(want.PhysicalNetwork)
	}
	return want, err
}

// Release ends the claim.
func (d Driver) Release(ctx context.Context, tx store.WriteTx, s model.Segment) error {
	_, err := claim.Drop(ctx, tx, s)
	return err
}

// MTU is that of the physical network.
func (d Driver) MTU(physicalNetwork string) int64 {
	if n, ok := d.MTUs[physicalNetwork]; ok && (d.MTUAll == 0 || n < d.MTUAll) {
		return n
	}
	return d.MTUAll
}

var _ ml2.TypeDriver = Driver{}
