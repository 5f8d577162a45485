// Package local is the type driver of networks that never leave their host: no pool, no id.
package local

import (
	"context"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/service/ml2"
	"isospin/internal/store"
)

// Driver is the type driver; the zero value is ready.
type Driver struct{}

// Type is "local".
func (Driver) Type() string { return model.TypeLocal }

// Prepare has nothing to do.
func (Driver) Prepare(context.Context, store.WriteTx) error { return nil }

// Validate refuses what a local network has not.
func (Driver) Validate(want model.Segment) error {
	if want.PhysicalNetwork != "" || want.SegmentationID != 0 {
		return fault.BadInput("provider:physical_network and provider:segmentation_id are not for local networks.")
	}
	return nil
}

// Reserve takes nothing.
func (Driver) Reserve(_ context.Context, _ store.WriteTx, want model.Segment) (model.Segment, error) {
	return want, nil
}

// Release gives nothing back.
func (Driver) Release(context.Context, store.WriteTx, model.Segment) error { return nil }

// MTU is unlimited; Neutron shows 1500 for local networks (behaviour.md, section 8).
func (Driver) MTU(string) int64 { return 1500 }

var _ ml2.TypeDriver = Driver{}
