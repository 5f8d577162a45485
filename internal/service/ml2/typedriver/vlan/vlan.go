// Package vlan is the type driver of tagged networks: an id of 1 to 4094 on a physical network.
package vlan

import (
	"context"
	"errors"
	"slices"

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

func (d Driver) physicalNetworks() []string {
	var out []string
	for name := range d.Ranges {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func (d Driver) pool(physicalNetwork string) claim.Pool {
	return claim.Pool{Type: model.TypeVLAN, PhysicalNetwork: physicalNetwork, Ranges: d.Ranges[physicalNetwork], IDs: d.IDs}
}

// Prepare brings every physical network's pool in line with the configuration.
func (d Driver) Prepare(ctx context.Context, tx store.WriteTx) error {
	for _, name := range d.physicalNetworks() {
		if err := d.pool(name).Prepare(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

// Validate wants a known physical network where an id is given, and an id that a tag can carry.
func (d Driver) Validate(want model.Segment) error {
	if want.PhysicalNetwork == "" {
		if want.SegmentationID != 0 {
			return fault.BadInput("provider:segmentation_id requires provider:physical_network for a VLAN network.")
		}
		return nil
	}
	if _, known := d.Ranges[want.PhysicalNetwork]; !known {
		return fault.BadInput("physical_network '%s' unknown for VLAN provider network.", want.PhysicalNetwork)
	}
	if want.SegmentationID != 0 && (want.SegmentationID < MinID || want.SegmentationID > MaxID) {
		return fault.BadInput("segmentation_id out of range (%d through %d).", MinID, MaxID)
	}
	if want.SegmentationID == 0 && len(d.Ranges[want.PhysicalNetwork]) == 0 {
		return fault.BadInput("provider:segmentation_id required: physical network %s has no range for project networks.", want.PhysicalNetwork)
	}
	return nil
}

// Reserve claims what was asked for, or a free id of the physical network, or of any.
func (d Driver) Reserve(ctx context.Context, tx store.WriteTx, want model.Segment) (model.Segment, error) {
	if want.SegmentationID != 0 {
		err := d.pool(want.PhysicalNetwork).Take(ctx, tx, want.ID, want.SegmentationID)
		if errors.Is(err, claim.ErrTaken) {
			err = fault.VlanIdInUse(want.SegmentationID, want.PhysicalNetwork)
		}
		return want, err
	}
	names := d.physicalNetworks()
	if want.PhysicalNetwork != "" {
		names = []string{want.PhysicalNetwork}
	}
	for _, name := range names {
		if len(d.Ranges[name]) == 0 {
			continue
		}
		id, err := d.pool(name).Any(ctx, tx, want.ID)
		if errors.Is(err, ml2.ErrNoSegment) {
			continue
		}
		want.PhysicalNetwork, want.SegmentationID = name, id
		return want, err
	}
	return want, ml2.ErrNoSegment
}

// Release ends the claim.
func (d Driver) Release(ctx context.Context, tx store.WriteTx, s model.Segment) error {
	return d.pool(s.PhysicalNetwork).Release(ctx, tx, s)
}

// MTU is that of the physical network.
func (d Driver) MTU(physicalNetwork string) int64 {
	if n, ok := d.MTUs[physicalNetwork]; ok && (d.MTUAll == 0 || n < d.MTUAll) {
		return n
	}
	return d.MTUAll
}

var _ ml2.TypeDriver = Driver{}
