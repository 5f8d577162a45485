package ml2

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"isospin/internal/clock"
	"isospin/internal/fault"
	"isospin/internal/ident"
	"isospin/internal/model"
	"isospin/internal/store"
	"isospin/internal/wire"
)

// ErrNoSegment says that a pool has no free segment, or that the type has no pool for project networks.
var ErrNoSegment = errors.New("ml2: no free segment")

// TypeManager reserves and releases segments through the type drivers.
type TypeManager struct {
	drivers map[string]TypeDriver
	// projectTypes are the types of project networks, tried in this order (tenant_network_types).
	projectTypes []string
	externalType string // external_network_type; "" for the project types
	ids          ident.Source
	clock        clock.Clock
	segments     *Segments
}

// NewTypeManager refuses project types without a driver.
func NewTypeManager(drivers []TypeDriver, projectTypes []string, externalType string, ids ident.Source, c clock.Clock) (*TypeManager, error) {
	m := &TypeManager{drivers: map[string]TypeDriver{}, projectTypes: projectTypes, externalType: externalType, ids: ids, clock: c, segments: NewSegments()}
	for _, d := range drivers {
		m.drivers[d.Type()] = d
	}
	for _, t := range projectTypes {
		if m.drivers[t] == nil {
			return nil, fmt.Errorf("ml2: tenant_network_types names %s, but type_drivers does not", t)
		}
	}
	if externalType != "" && m.drivers[externalType] == nil {
		return nil, fmt.Errorf("ml2: external_network_type is %s, but type_drivers does not name it", externalType)
	}
	return m, nil
}

// Prepare lets every driver bring its pool in line with its configuration.
func (m *TypeManager) Prepare(ctx context.Context, tx store.WriteTx) error {
	for _, d := range m.drivers {
		if err := d.Prepare(ctx, tx); err != nil {
			return fmt.Errorf("prepare type driver %s: %w", d.Type(), err)
		}
	}
	return nil
}

// wants reads what a request says of segments: the provider attributes, the segments list, or nothing.
func (m *TypeManager) wants(n *model.Network, provider, segments bool) ([]model.Segment, error) {
	var list []model.ProviderAttributes
	switch {
	case provider && segments && len(n.Segments) > 0:
		return nil, fault.SegmentsSetInConjunctionWithProviders()
	case segments && len(n.Segments) > 0:
		list = n.Segments
	case provider && n.ProviderAttributes != nil:
		list = []model.ProviderAttributes{*n.ProviderAttributes}
	}
	var out []model.Segment
	for i, a := range list {
		s, err := m.want(a)
		if err != nil {
			return nil, err
		}
		s.Index = int64(i)
		for _, other := range out {
			if other.NetworkType == s.NetworkType && other.PhysicalNetwork == s.PhysicalNetwork &&
				other.SegmentationID == s.SegmentationID && s.SegmentationID != 0 {
				return nil, fault.SegmentsContainDuplicateEntry()
			}
		}
		out = append(out, s)
	}
	return out, nil
}

// want checks one request for a segment; segmentation id 0 means that any will do.
func (m *TypeManager) want(a model.ProviderAttributes) (model.Segment, error) {
	s := model.Segment{NetworkType: deref(a.NetworkType)}
	if a.PhysicalNetwork != nil {
		s.PhysicalNetwork = *a.PhysicalNetwork
	}
	if a.SegmentationID != nil {
		if *a.SegmentationID <= 0 {
			return s, fault.BadInput("segmentation_id %d is out of range.", *a.SegmentationID)
		}
		s.SegmentationID = *a.SegmentationID
	}
	if s.NetworkType == "" {
		return s, fault.BadInput("network_type required: provider attributes were given without one.")
	}
	d := m.drivers[s.NetworkType]
	if d == nil {
		return s, fault.BadInput("network_type value '%s' not supported by any type driver.", s.NetworkType)
	}
	return s, d.Validate(s)
}

// ReserveAll claims the segments that a request wants, or one for a project network, and writes them.
func (m *TypeManager) ReserveAll(ctx context.Context, tx store.WriteTx, networkID, project string, external bool, wants []model.Segment) ([]model.Segment, error) {
	if len(wants) == 0 {
		s, err := m.reserveProject(ctx, tx, project, external)
		if err != nil {
			return nil, err
		}
		wants = []model.Segment{s}
	} else {
		for i := range wants {
			wants[i].ProjectID = project
			s, err := m.reserve(ctx, tx, wants[i])
			if errors.Is(err, ErrNoSegment) {
				err = fault.NoNetworkAvailable()
			}
			if err != nil {
				return nil, err
			}
			wants[i] = s
		}
	}
	for i := range wants {
		wants[i].NetworkID = networkID
		if err := m.insert(ctx, tx, wants[i]); err != nil {
			return nil, err
		}
	}
	return wants, nil
}

func (m *TypeManager) insert(ctx context.Context, tx store.WriteTx, s model.Segment) error {
	row := s.Resource(model.Stamp(m.clock.Now()))
	return m.segments.Insert(ctx, tx, &row)
}

func (m *TypeManager) reserve(ctx context.Context, tx store.WriteTx, want model.Segment) (model.Segment, error) {
	d := m.drivers[want.NetworkType]
	if d == nil {
		return want, fault.BadInput("network_type value '%s' not supported by any type driver.", want.NetworkType)
	}
	want.ID = m.ids.UUID()
	return d.Reserve(ctx, tx, want)
}

// reserveProject tries the types of project networks in order.
func (m *TypeManager) reserveProject(ctx context.Context, tx store.WriteTx, project string, external bool) (model.Segment, error) {
	types := m.projectTypes
	if external && m.externalType != "" {
		types = []string{m.externalType}
	}
	for _, t := range types {
		s, err := m.reserve(ctx, tx, model.Segment{NetworkType: t, ProjectID: project})
		if !errors.Is(err, ErrNoSegment) {
			return s, err
		}
	}
	return model.Segment{}, fault.NoNetworkAvailable()
}

// ReserveDynamic finds the network's dynamic segment of a type and physical network, or reserves one. The level below a
// binding uses it; it goes with its last use.
//
// What is found stays until the transaction ends; where two make it at once the index lets one through.
func (m *TypeManager) ReserveDynamic(ctx context.Context, tx store.WriteTx, networkID string, want model.Segment) (model.Segment, error) {
	want.NetworkID, want.Dynamic = networkID, true
	for range dynamicTries {
		s, found, err := m.dynamic(ctx, tx, want)
		if err != nil || found {
			return s, err
		}
		if s, err = m.reserve(ctx, tx, want); err != nil {
			return s, err
		}
		err = m.insert(ctx, tx, s)
		if _, dup := store.AsDuplicate(err); !dup {
			tx.Changed(key(wire.KindNetwork, networkID), networkSet(networkID)) // hosts that hold the network learn the segment
			return s, err
		}
		if d := m.drivers[s.NetworkType]; d != nil {
			if err := d.Release(ctx, tx, s); err != nil {
				return s, err
			}
		}
	}
	return want, fmt.Errorf("dynamic segment of network %s: others were always faster", networkID)
}

// dynamicTries bounds how often others may make and drop the segment between two looks.
const dynamicTries = 10

func (m *TypeManager) dynamic(ctx context.Context, tx store.WriteTx, want model.Segment) (s model.Segment, found bool, err error) {
	all, err := segmentsWhere(ctx, tx, store.Eq("dynamic_of", dynamicOf(want)), tx.Dialect().ForShare())
	if err != nil || len(all[want.NetworkID]) == 0 {
		return s, false, err
	}
	return all[want.NetworkID][0], true, nil
}

// Release gives a segment back to its pool and forgets it.
func (m *TypeManager) Release(ctx context.Context, tx store.WriteTx, s model.Segment) error {
	if d := m.drivers[s.NetworkType]; d != nil {
		if err := d.Release(ctx, tx, s); err != nil {
			return err
		}
	}
	if s.Dynamic {
		tx.Changed(key(wire.KindNetwork, s.NetworkID), networkSet(s.NetworkID))
	}
	return deleteSegment(ctx, tx, s.ID)
}

// move gives a segment another id; it stays the same segment, for its name, its subnets and the ports bound to it.
func (m *TypeManager) move(ctx context.Context, tx store.WriteTx, cur, next model.Segment) (model.Segment, error) {
	d := m.drivers[cur.NetworkType]
	if d == nil {
		return cur, fault.BadInput("network_type value '%s' not supported by any type driver.", cur.NetworkType)
	}
	next.ID, next.NetworkID, next.Index = cur.ID, cur.NetworkID, cur.Index
	next, err := d.Reserve(ctx, tx, next)
	if err != nil {
		return next, err
	}
	if err := d.Release(ctx, tx, cur); err != nil {
		return next, err
	}
	row, err := m.segments.GetForUpdate(ctx, tx, cur.ID)
	if err != nil {
		return next, err
	}
	row.SegmentationID, row.UpdatedAt, row.Revision = &next.SegmentationID, model.Stamp(m.clock.Now()), row.Revision+1
	return next, m.segments.Update(ctx, tx, &row, -1)
}

// MTU is what a network on these segments can carry: the smallest of theirs; 0: unlimited.
func (m *TypeManager) MTU(segments []model.Segment) int64 {
	var least int64
	for _, s := range segments {
		d := m.drivers[s.NetworkType]
		if d == nil {
			continue
		}
		if n := d.MTU(s.PhysicalNetwork); n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

// Ranged is the driver of a type whose ids administrators may set ranges of; ok is false for other types.
func (m *TypeManager) Ranged(networkType string) (d RangedDriver, ok bool) {
	d, ok = m.drivers[networkType].(RangedDriver)
	return d, ok
}

// Types lists the drivers' types, sorted.
func (m *TypeManager) Types() []string {
	var out []string
	for t := range m.drivers {
		out = append(out, t)
	}
	slices.Sort(out)
	return out
}

// show puts segments into a network's body: provider attributes for one, the list for several.
func show(n *model.Network, segments []model.Segment) {
	attrs := make([]model.ProviderAttributes, 0, len(segments))
	for _, s := range segments {
		if s.Dynamic {
			continue
		}
		a := model.ProviderAttributes{NetworkType: &s.NetworkType}
		if s.PhysicalNetwork != "" {
			a.PhysicalNetwork = &s.PhysicalNetwork
		}
		if s.SegmentationID != 0 {
			a.SegmentationID = &s.SegmentationID
		}
		attrs = append(attrs, a)
	}
	n.ProviderAttributes, n.Segments = nil, nil
	if len(attrs) == 0 {
		attrs = append(attrs, model.ProviderAttributes{}) // all of its segments were taken away
	}
	if len(attrs) == 1 {
		n.ProviderAttributes = &attrs[0]
		return
	}
	n.Segments = attrs
}
