// Package network is the document of a network: its MTU, its state and the segments that carry it. session renders it for
// every host that has something on the network. It says nothing of who may use the network.
package network

import (
	"context"

	"isospin/internal/change"
	"isospin/internal/document"
	"isospin/internal/service/ml2"
	"isospin/internal/store"
	"isospin/internal/wire"
)

// Kind renders networks.
type Kind struct{ networks *ml2.Networks }

// New takes the table of networks.
func New(networks *ml2.Networks) Kind { return Kind{networks: networks} }

// Name is the wire name.
func (Kind) Name() string { return wire.KindNetwork }

// Families: a network is in the set of its own.
func (Kind) Families() []string { return []string{wire.FamilyNetwork} }

// Members are the networks themselves.
func (Kind) Members(_ context.Context, _ store.Tx, sets []change.Set) (map[change.Set][]string, error) {
	out := make(map[change.Set][]string, len(sets))
	for _, s := range sets {
		out[s] = []string{s.Name()}
	}
	return out, nil
}

// Render reads networks and their segments, dynamic ones too, since ports may be carried on them. Two statements.
func (k Kind) Render(ctx context.Context, tx store.Tx, ids []string) (map[string]document.Rendered, error) {
	rows, err := k.networks.Find(ctx, tx, store.List{Where: store.In("id", ids)})
	if err != nil {
		return nil, err
	}
	segments, err := ml2.SegmentsOf(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	out := make(map[string]document.Rendered, len(rows))
	for i := range rows {
		n := &rows[i]
		doc := &wire.Network{Id: n.ID, Name: n.Name, ProjectId: n.ProjectID, AdminStateUp: n.AdminStateUp, Mtu: n.MTU,
			VlanTransparent: n.VLANTransparent != nil && *n.VLANTransparent}
		for _, s := range segments[n.ID] {
			doc.Segments = append(doc.Segments, &wire.Segment{Id: s.ID, NetworkType: s.NetworkType,
				PhysicalNetwork: s.PhysicalNetwork, SegmentationId: s.SegmentationID})
		}
		var refs []change.Set
		if n.QoSPolicyID != nil {
			doc.QosPolicyId = *n.QoSPolicyID
			refs = append(refs, change.NewSet(wire.FamilyQoS, *n.QoSPolicyID))
		}
		out[n.ID] = document.Rendered{Sets: []change.Set{change.NewSet(wire.FamilyNetwork, n.ID)}, Refs: refs, Body: doc}
	}
	return out, nil
}

var _ document.Kind = Kind{}
