// Package vlan is the type driver of tagged networks: an id of 1 to 4094 on a physical network.
package vlan

import (
	"context"
	"errors"

	"isospin/internal/fault"
	"isospin/internal/ident"
	"isospin/internal/model"
	"isospin/internal/service/ml2"
	"isospin/internal/service/ml2/typedriver/claim"
	"isospin/internal/store"
)

// The ids that a tag can carry.
const (
	MinID = 1
	MaxID = 4094
)

// Config is [ml2_type_vlan] and what bears on the MTU.
type Config struct {
	// Ranges are the ids for project networks by physical network; a physical network without any is known to
	// administrators alone.
	Ranges map[string][]claim.Range
	MTUs   map[string]int64
	MTUAll int64
	IDs    ident.Source
}

// Driver is the type driver.
type Driver struct{ Config }

// Type is "vlan".
func (Driver) Type() string { return model.TypeVLAN }

func (d Driver) pool() claim.Pools {
	return claim.Pools{Type: model.TypeVLAN, Ranges: d.Ranges, IDs: d.IDs}
}

// Configured are the ranges of the configuration.
func (d Driver) Configured() map[string][]ml2.IDRange { return d.pool().Configured() }

// Bounds are the ids that a tag can carry.
func (Driver) Bounds() (least, most int64) { return MinID, MaxID }

// ChangeRanges changes administrators' ranges; a physical network that has one is known.
func (d Driver) ChangeRanges(ctx context.Context, tx store.WriteTx, physicalNetwork string, f func([]ml2.IDRange) ([]ml2.IDRange, error)) error {
	return d.pool().Change(ctx, tx, physicalNetwork, f)
}

// Prepare brings every physical network's pool in line with the configuration.
func (d Driver) Prepare(ctx context.Context, tx store.WriteTx) error {
	return d.pool().Prepare(ctx, tx)
}

// Validate wants a physical network where an id is given, and an id that a tag can carry. Whether the physical network is known,
// administrators' ranges have a say in.
func (d Driver) Validate(want model.Segment) error {
	if want.PhysicalNetwork == "" {
		if want.SegmentationID != 0 {
			return fault.BadInput("provider:segmentation_id requires provider:physical_network for a VLAN network.")
		}
		return nil
	}
	if want.SegmentationID != 0 && (want.SegmentationID < MinID || want.SegmentationID > MaxID) {
		return fault.BadInput("segmentation_id out of range (%d through %d).", MinID, MaxID)
	}
	return nil
}

// Reserve claims what was asked for, or a free id of the physical network, or of any.
func (d Driver) Reserve(ctx context.Context, tx store.WriteTx, want model.Segment) (model.Segment, error) {
	if want.SegmentationID != 0 {
		err := d.pool().Take(ctx, tx, want.ID, want.PhysicalNetwork, want.SegmentationID)
		switch {
		case errors.Is(err, claim.ErrTaken):
			err = fault.VlanIdInUse(want.SegmentationID, want.PhysicalNetwork)
		case errors.Is(err, claim.ErrUnknown):
			err = unknown(want)
		}
		return want, err
	}
	from := want.PhysicalNetwork
	if from == "" {
		from = "*"
	}
	on, id, err := d.pool().Any(ctx, tx, want.ID, want.ProjectID, from)
	if errors.Is(err, ml2.ErrNoSegment) && from != "*" {
		return want, d.why(ctx, tx, want)
	}
	if err == nil {
		want.PhysicalNetwork, want.SegmentationID = on, id
	}
	return want, err
}

// why tells why a physical network has no id to give: it is not known, it has no ranges, or they are used up.
func (d Driver) why(ctx context.Context, tx store.WriteTx, want model.Segment) error {
	bare, err := d.pool().Bare(ctx, tx, want.PhysicalNetwork)
	switch {
	case errors.Is(err, claim.ErrUnknown):
		return unknown(want)
	case err != nil:
		return err
	case bare && !want.Dynamic:
		return fault.BadInput("provider:segmentation_id required: physical network %s has no range for project networks.", want.PhysicalNetwork)
	}
	return ml2.ErrNoSegment
}

// unknown is the fault of a request; a driver that asks for a segment below another learns that there is none.
func unknown(want model.Segment) error {
	if want.Dynamic {
		return ml2.ErrNoSegment
	}
	return fault.BadInput("physical_network '%s' unknown for VLAN provider network.", want.PhysicalNetwork)
}

// Release ends the claim.
func (d Driver) Release(ctx context.Context, tx store.WriteTx, s model.Segment) error {
	return d.pool().Release(ctx, tx, s)
}

// MTU is that of the physical network.
func (d Driver) MTU(physicalNetwork string) int64 {
	if n, ok := d.MTUs[physicalNetwork]; ok && (d.MTUAll == 0 || n < d.MTUAll) {
		return n
	}
	return d.MTUAll
}

var _ ml2.RangedDriver = Driver{}
