// Package segments is the segments of networks as resources: their collection, the routes that the subnets of a routed network
// tell each other's hosts, and the ranges of ids that project networks get theirs from. rest calls its controllers, ml2 its guards of
// subnets. It reserves nothing itself: that is ml2's, and what a network's segments mean for addresses too.
package segments

import (
	"context"

	"isospin/internal/clock"
	"isospin/internal/fault"
	"isospin/internal/ident"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/service/ml2"
	"isospin/internal/store"
)

// Owner makes and takes away segments; ml2.Plugin is one.
type Owner interface {
	AddSegment(ctx context.Context, tx store.WriteTx, s model.NetworkSegment) (model.NetworkSegment, error)
	RemoveSegment(ctx context.Context, tx store.WriteTx, s model.NetworkSegment) error
}

// Config is what the plugin is made of.
type Config struct {
	Segments *ml2.Segments
	Ranges   *Ranges
	Networks *ml2.Networks
	Subnets  *ml2.Subnets
	Owner    Owner
	Types    *ml2.TypeManager
	Clock    clock.Clock
	IDs      ident.Source
}

// Plugin is segments and their ranges.
type Plugin struct{ Config }

// New makes the plugin.
func New(c Config) *Plugin { return &Plugin{c} }

// Name is the plugin's name in `service_plugins`.
func (p *Plugin) Name() string { return "segments" }

// Bindings are segments and ranges.
func (p *Plugin) Bindings() []rest.Binding {
	return []rest.Binding{
		rest.Bind("segments", belowNetwork{p.Segments, p.Networks}, segments{p}, rest.Options{
			Visible:  administrators,
			NotFound: func(id string) error { return fault.SegmentNotFound(id) },
		}),
		rest.Bind("network_segment_ranges", p.Ranges, ranges{p}, rest.Options{
			Visible: administrators, Splicer: ranges{p},
			NotFound: func(id string) error { return fault.NetworkSegmentRangeNotFound(id) },
		}),
	}
}

// administrators alone see what belongs to the cloud; the rules say so too.
func administrators(context.Context) store.Cond { return store.Expr("1 = 0") }

// belowNetwork is the table of segments for requests: who writes a segment keeps its network first, as those do who write a network
// with its segments.
type belowNetwork struct {
	*ml2.Segments
	networks *ml2.Networks
}

// GetForUpdate keeps network and segment.
func (t belowNetwork) GetForUpdate(ctx context.Context, tx store.WriteTx, id string) (model.NetworkSegment, error) {
	s, err := t.Get(ctx, tx, id)
	if err != nil {
		return s, err
	}
	if _, err := t.networks.GetForUpdate(ctx, tx, s.NetworkID); err != nil {
		return s, err // the network went, and the segment with it
	}
	return t.Segments.GetForUpdate(ctx, tx, id)
}

// segments is the controller of segments.
type segments struct{ *Plugin }

// Create reserves a further segment of a network.
func (p segments) Create(ctx context.Context, tx store.WriteTx, in rest.Input[model.NetworkSegment]) (model.NetworkSegment, error) {
	return p.Owner.AddSegment(ctx, tx, in.Value)
}

// Update changes name and description.
func (p segments) Update(ctx context.Context, tx store.WriteTx, cur model.NetworkSegment, in rest.Input[model.NetworkSegment]) (model.NetworkSegment, error) {
	s := cur
	if err := in.Apply(&s); err != nil {
		return s, err
	}
	if text(s.Name) == text(cur.Name) && (s.Name == nil) == (cur.Name == nil) && text(s.Description) == text(cur.Description) &&
		(s.Description == nil) == (cur.Description == nil) {
		return cur, nil
	}
	s.UpdatedAt = model.Stamp(p.Clock.Now())
	s.Revision++
	return s, p.Segments.Update(ctx, tx, &s, cur.Revision)
}

// Delete takes a segment from its network.
func (p segments) Delete(ctx context.Context, tx store.WriteTx, cur model.NetworkSegment) error {
	return p.Owner.RemoveSegment(ctx, tx, cur)
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

var _ rest.Controller[model.NetworkSegment] = segments{}
