package openflow

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"isospin/internal/reconcile"
)

// IDs is the range of group or meter numbers that belongs to a driver, both ends included.
type IDs struct{ First, Last uint32 }

func (r IDs) has(id uint32) bool { return id >= r.First && id <= r.Last }

// Groups is the driver of the groups of one bridge whose ids are in a range. Its stage comes before that of the flows that
// name the groups: Open vSwitch refuses a flow to a group that is not there, and deletes it together with the group.
type Groups struct {
	transport Transport
	ids       IDs
}

// NewGroups makes the driver of the groups in ids.
func NewGroups(t Transport, ids IDs) *Groups { return &Groups{t, ids} }

// List implements reconcile.Driver. The groups it gives are known by their mark only.
func (d *Groups) List(ctx context.Context) (map[uint32]Group, error) {
	all, err := d.transport.ListGroups(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing groups: %w", err)
	}
	for id := range all {
		if !d.ids.has(id) {
			delete(all, id)
		}
	}
	return all, nil
}

// Put implements reconcile.Driver. A group that exists is changed in place, and no flow loses it.
func (d *Groups) Put(ctx context.Context, batch map[uint32]Group) error {
	errs := reconcile.Errors[uint32]{}
	var mods []GroupMod
	for _, id := range sortedIDs(batch) {
		err := batch[id].Check()
		if !d.ids.has(id) {
			err = fmt.Errorf("the id is not in %d to %d", d.ids.First, d.ids.Last)
		}
		if err != nil {
			errs[id] = fmt.Errorf("group %d: %w", id, err)
			continue
		}
		mods = append(mods, GroupMod{Op: Add, ID: id, Group: batch[id]})
	}
	return d.apply(ctx, mods, errs)
}

// Drop implements reconcile.Driver.
func (d *Groups) Drop(ctx context.Context, batch map[uint32]Group) error {
	var mods []GroupMod
	for _, id := range sortedIDs(batch) {
		mods = append(mods, GroupMod{Op: Delete, ID: id})
	}
	return d.apply(ctx, mods, reconcile.Errors[uint32]{})
}

func (d *Groups) apply(ctx context.Context, mods []GroupMod, errs reconcile.Errors[uint32]) error {
	err := apply(mods, func(ms []GroupMod) error { return d.transport.ApplyGroups(ctx, ms) },
		func(m GroupMod, err error) { errs[m.ID] = fmt.Errorf("group %d: %w", m.ID, err) })
	if err != nil {
		return fmt.Errorf("changing groups: %w", err)
	}
	return errs.Err()
}

// Meters is the driver of the meters of one bridge whose ids are in a range. Like groups, meters come before the flows that
// name them.
type Meters struct {
	transport Transport
	ids       IDs
}

// NewMeters makes the driver of the meters in ids.
func NewMeters(t Transport, ids IDs) *Meters { return &Meters{t, ids} }

// List implements reconcile.Driver.
func (d *Meters) List(ctx context.Context) (map[uint32]Meter, error) {
	all, err := d.transport.ListMeters(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing meters: %w", err)
	}
	for id := range all {
		if !d.ids.has(id) {
			delete(all, id)
		}
	}
	return all, nil
}

// Put implements reconcile.Driver.
func (d *Meters) Put(ctx context.Context, batch map[uint32]Meter) error {
	errs := reconcile.Errors[uint32]{}
	var mods []MeterMod
	for _, id := range sortedIDs(batch) {
		err := batch[id].Check()
		if !d.ids.has(id) {
			err = fmt.Errorf("the id is not in %d to %d", d.ids.First, d.ids.Last)
		}
		if err != nil {
			errs[id] = fmt.Errorf("meter %d: %w", id, err)
			continue
		}
		mods = append(mods, MeterMod{Op: Add, ID: id, Meter: batch[id]})
	}
	return d.apply(ctx, mods, errs)
}

// Drop implements reconcile.Driver.
func (d *Meters) Drop(ctx context.Context, batch map[uint32]Meter) error {
	var mods []MeterMod
	for _, id := range sortedIDs(batch) {
		mods = append(mods, MeterMod{Op: Delete, ID: id})
	}
	return d.apply(ctx, mods, reconcile.Errors[uint32]{})
}

// apply sends mods. Meters are not changed in bundles: what stands before a refused one is done already.
func (d *Meters) apply(ctx context.Context, mods []MeterMod, errs reconcile.Errors[uint32]) error {
	for len(mods) > 0 {
		err := d.transport.ApplyMeters(ctx, mods)
		if err == nil {
			break
		}
		var r *Refused
		if !errors.As(err, &r) || r.Index < 0 || r.Index >= len(mods) {
			return fmt.Errorf("changing meters: %w", err)
		}
		errs[mods[r.Index].ID] = fmt.Errorf("meter %d: %w", mods[r.Index].ID, err)
		mods = mods[r.Index+1:]
	}
	return errs.Err()
}

func sortedIDs[V any](batch map[uint32]V) []uint32 {
	ids := make([]uint32, 0, len(batch))
	for id := range batch {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

var (
	_ reconcile.Driver[uint32, Group] = (*Groups)(nil)
	_ reconcile.Driver[uint32, Meter] = (*Meters)(nil)
)
