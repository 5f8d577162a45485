// Package port is the document of a port on the hosts that it is bound to, in force or waiting: all that a host must know to wire it. session
// renders it for those hosts alone. Networks, groups and their members are documents of their own, which it names.
package port

import (
	"context"

	"isospin/internal/change"
	"isospin/internal/document"
	"isospin/internal/model"
	"isospin/internal/service/ml2"
	"isospin/internal/service/status"
	"isospin/internal/store"
	"isospin/internal/wire"
)

// Kind renders ports.
type Kind struct{ ports *ml2.Ports }

// New takes the table of ports.
func New(ports *ml2.Ports) Kind { return Kind{ports: ports} }

// Name is the wire name.
func (Kind) Name() string { return wire.KindPort }

// Families: a port is in the sets of its hosts.
func (Kind) Families() []string { return []string{wire.FamilyHost} }

// Bound is the join that leaves the ports that are bound to their host.
const Bound = " JOIN binding_levels b ON b.port_id = p.id AND b.host = p.host AND b.level = 0"

// Members are the ports bound to a host, also those that are not in force there (yet). One statement.
func (Kind) Members(ctx context.Context, tx store.Tx, sets []change.Set) (map[change.Set][]string, error) {
	return document.Where(ctx, tx, sets, "SELECT b.port_id, b.host FROM binding_levels b", "b.level = 0 AND b.host")
}

// Render reads ports, the segments that their hosts carry them on and what the server waits for. Four statements.
func (k Kind) Render(ctx context.Context, tx store.Tx, ids []string) (map[string]document.Rendered, error) {
	rows, err := k.ports.Find(ctx, tx, store.List{Where: store.In("id", ids)})
	if err != nil {
		return nil, err
	}
	levels, err := ml2.LevelsOf(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	entities, err := status.Entities(ctx, tx, rows)
	if err != nil {
		return nil, err
	}
	out := make(map[string]document.Rendered, len(rows))
	for i := range rows {
		p := &rows[i]
		sets, segment, waiting := where(p, levels[p.ID])
		if len(sets) == 0 {
			continue
		}
		doc := &wire.Port{Id: p.ID, NetworkId: p.NetworkID, MacAddress: p.MACAddress, AdminStateUp: p.AdminStateUp, Wiring: p.Wiring, SegmentId: segment,
			DeviceOwner: p.DeviceOwner, DeviceId: p.DeviceID, PortSecurityEnabled: p.PortSecurityEnabled, SecurityGroups: p.SecurityGroups,
			VifType: p.VIFType, VnicType: p.VNICType, ProjectId: p.ProjectID, Entities: entities[p.ID], Host: p.HostID, Waiting: waiting}
		for _, f := range p.FixedIPs {
			doc.FixedIps = append(doc.FixedIps, &wire.FixedIP{SubnetId: f.SubnetID, IpAddress: f.IPAddress})
		}
		for _, a := range p.AllowedAddressPairs {
			doc.AllowedAddressPairs = append(doc.AllowedAddressPairs, &wire.AddressPair{IpAddress: a.IPAddress, MacAddress: a.MACAddress})
		}
		refs := []change.Set{change.NewSet(wire.FamilyNetwork, p.NetworkID)}
		for _, g := range p.SecurityGroups {
			refs = append(refs, change.NewSet(wire.FamilyGroup, g))
		}
		if p.ProjectID != "" && len(p.SecurityGroups) > 0 {
			refs = append(refs, change.NewSet(wire.FamilyLogs, p.ProjectID))
		}
		if p.QoSPolicyID != nil {
			doc.QosPolicyId = *p.QoSPolicyID
			refs = append(refs, change.NewSet(wire.FamilyQoS, *p.QoSPolicyID))
		}
		if d := p.TrunkDetails; d != nil {
			doc.TrunkId = d.TrunkID
			for _, s := range d.SubPorts {
				doc.SubPorts = append(doc.SubPorts, &wire.SubPort{PortId: s.PortID, SegmentationType: s.SegmentationType, SegmentationId: s.SegmentationID})
			}
		}
		out[p.ID] = document.Rendered{Sets: sets, Refs: refs, Body: doc}
	}
	return out, nil
}

// where are the sets of the hosts that a port is bound to, the segment that its own host carries it on, and the hosts that wait for
// it. All of them hold one document: each finds itself in it.
func where(p *model.Port, levels []model.BindingLevel) (sets []change.Set, segment string, waiting []*wire.WaitingBinding) {
	if s, ok := Segment(levels, p.HostID); ok && p.HostID != "" {
		segment = s
		sets = append(sets, change.NewSet(wire.FamilyHost, p.HostID))
	}
	for _, b := range p.Bindings {
		if s, ok := Segment(levels, b.Host); ok && b.Host != "" {
			waiting = append(waiting, &wire.WaitingBinding{Host: b.Host, SegmentId: s, VifType: b.VIFType})
			sets = append(sets, change.NewSet(wire.FamilyHost, b.Host))
		}
	}
	return sets, segment, waiting
}

var _ document.Kind = Kind{}
