// Package port is the document of a port on the host that it is bound to: all that the host must know to wire it. session
// renders it for that host alone. Networks, groups and their members are documents of their own, which it names.
package port

import (
	"context"

	"isospin/internal/change"
	"isospin/internal/document"
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

// Families: a port is in the set of its host.
func (Kind) Families() []string { return []string{wire.FamilyHost} }

// Bound is the join that leaves the ports that are bound to their host.
const Bound = " JOIN binding_levels b ON b.port_id = p.id AND b.host = p.host AND b.level = 0"

// Members are the ports bound to a host. One statement.
func (Kind) Members(ctx context.Context, tx store.Tx, sets []change.Set) (map[change.Set][]string, error) {
	return document.Where(ctx, tx, sets, "SELECT p.id, p.host FROM ports p"+Bound, "p.host")
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
		segment, ok := Segment(levels[p.ID], p.HostID)
		if p.HostID == "" || !ok {
			continue
		}
		doc := &wire.Port{Id: p.ID, NetworkId: p.NetworkID, MacAddress: p.MACAddress, AdminStateUp: p.AdminStateUp, Wiring: p.Wiring, SegmentId: segment,
			DeviceOwner: p.DeviceOwner, DeviceId: p.DeviceID, PortSecurityEnabled: p.PortSecurityEnabled, SecurityGroups: p.SecurityGroups,
			VifType: p.VIFType, VnicType: p.VNICType, ProjectId: p.ProjectID, Entities: entities[p.ID]}
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
		out[p.ID] = document.Rendered{Sets: []change.Set{change.NewSet(wire.FamilyHost, p.HostID)}, Refs: refs, Body: doc}
	}
	return out, nil
}

var _ document.Kind = Kind{}
