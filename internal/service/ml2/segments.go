package ml2

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/service"
	"isospin/internal/store"
)

// This file is about segments that come and go by themselves, by request (neutron/services/segments/db.py, _handle_segment_change in
// neutron/plugins/ml2/plugin.py). The network's row is locked first: who binds ports or makes subnets keeps it.

// AddSegment reserves a further segment of a network. s says what is wanted, and has name and description.
func (p *Plugin) AddSegment(ctx context.Context, tx store.WriteTx, s model.NetworkSegment) (model.NetworkSegment, error) {
	n, all, err := p.segmented(ctx, tx, s.NetworkID)
	if err != nil {
		return s, err
	}
	want, err := p.Types.want(model.ProviderAttributes{NetworkType: &s.NetworkType, PhysicalNetwork: s.PhysicalNetwork, SegmentationID: s.SegmentationID})
	if err != nil {
		return s, err
	}
	want, err = p.Types.reserve(ctx, tx, want)
	if errors.Is(err, ErrNoSegment) {
		err = fault.NoNetworkAvailable()
	}
	if err != nil {
		return s, err
	}
	want.NetworkID = n.ID
	for _, o := range all {
		want.Index = max(want.Index, o.Index+1)
	}
	row := want.Resource(model.Stamp(p.Clock.Now()))
	row.Name, row.Description = s.Name, s.Description
	if err := p.Types.segments.Insert(ctx, tx, &row); err != nil {
		return row, err
	}
	all = append(all, want)
	if most := p.Types.MTU(own(all)); n.MTU > most && most > 0 {
		return row, fault.BadInput("The network's MTU %d is more than the %d that it could carry with this segment.", n.MTU, most)
	}
	return row, p.reshape(ctx, tx, &n, all)
}

// segmented keeps a network and reads its segments.
func (p *Plugin) segmented(ctx context.Context, tx store.WriteTx, network string) (model.Network, []model.Segment, error) {
	n, err := p.Networks.GetForUpdate(ctx, tx, network)
	if store.IsNotFound(err) {
		err = fault.NetworkNotFound(network)
	}
	if err != nil {
		return n, nil, err
	}
	all, err := SegmentsOf(ctx, tx, []string{network})
	return n, all[network], err
}

// own are the segments that are not dynamic.
func own(all []model.Segment) []model.Segment {
	return slices.DeleteFunc(slices.Clone(all), func(s model.Segment) bool { return s.Dynamic })
}

// reshape writes a network whose segments changed.
func (p *Plugin) reshape(ctx context.Context, tx store.WriteTx, cur *model.Network, all []model.Segment) error {
	n := *cur
	show(&n, own(all))
	p.bump(&n.Standard)
	if err := p.Networks.Update(ctx, tx, &n, -1); err != nil {
		return err
	}
	return (networks{p}).after(ctx, tx, service.Write[model.Network]{Op: service.Update, Old: cur, New: &n})
}

// RemoveSegment gives a segment back that no subnet is on and no port is bound to; ports that services made for themselves go with it.
func (p *Plugin) RemoveSegment(ctx context.Context, tx store.WriteTx, s model.NetworkSegment) error {
	n, all, err := p.segmented(ctx, tx, s.NetworkID)
	if err != nil {
		return err
	}
	on, err := p.Subnets.Count(ctx, tx, store.Eq("segment_id", s.ID))
	if err != nil {
		return err
	}
	if on > 0 {
		return fault.SegmentInUse(s.ID, fmt.Sprintf("%d subnets are on it.", on))
	}
	bound, err := p.Ports.Find(ctx, tx, store.List{Where: store.Expr("id IN (SELECT port_id FROM binding_levels WHERE segment_id = ?)", s.ID), Lock: true})
	if err != nil {
		return err
	}
	if slices.ContainsFunc(bound, func(port model.Port) bool { return !autoDelete(port.DeviceOwner) }) {
		return fault.SegmentInUse(s.ID, fmt.Sprintf("%d ports are bound to it.", len(bound)))
	}
	for i := range bound {
		if err := (ports{p}).remove(ctx, tx, bound[i]); err != nil {
			return err
		}
	}
	if err := p.Types.Release(ctx, tx, s.Segment()); err != nil {
		return err
	}
	return p.reshape(ctx, tx, &n, slices.DeleteFunc(all, func(o model.Segment) bool { return o.ID == s.ID }))
}
