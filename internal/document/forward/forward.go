// Package forward is the document that says where a port is: its addresses and the host and segment behind which they are found.
// session renders it for every host that has something on the network, for forwarding and for answering ARP and neighbour
// discovery. A port that is bound nowhere has none.
package forward

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"isospin/internal/change"
	"isospin/internal/document"
	"isospin/internal/document/port"
	"isospin/internal/model"
	"isospin/internal/service/ml2"
	"isospin/internal/service/ml2/typedriver/tunnel"
	"isospin/internal/store"
	"isospin/internal/wire"
)

// Kind renders where ports are.
type Kind struct{ ports *ml2.Ports }

// New takes the table of ports.
func New(ports *ml2.Ports) Kind { return Kind{ports: ports} }

// Name is the wire name.
func (Kind) Name() string { return wire.KindForward }

// Families: an entry is in its network's set.
func (Kind) Families() []string { return []string{wire.FamilyNetwork} }

// Members are the bound ports of a network. One statement.
func (Kind) Members(ctx context.Context, tx store.Tx, sets []change.Set) (map[change.Set][]string, error) {
	return document.Where(ctx, tx, sets, "SELECT p.id, p.network_id FROM ports p"+port.Bound, "p.network_id")
}

// Render reads ports, their segments and their hosts' tunnel endpoints. Four statements.
func (k Kind) Render(ctx context.Context, tx store.Tx, ids []string) (map[string]document.Rendered, error) {
	rows, err := k.ports.Find(ctx, tx, store.List{Where: store.In("id", ids)})
	if err != nil {
		return nil, err
	}
	levels, err := ml2.LevelsOf(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	carried := map[string]string{} // port to segment
	for i := range rows {
		if s, ok := port.Segment(levels[rows[i].ID], rows[i].HostID); ok && rows[i].HostID != "" {
			carried[rows[i].ID] = s
		}
	}
	ends, err := endpoints(ctx, tx, rows, carried)
	if err != nil {
		return nil, err
	}
	out := make(map[string]document.Rendered, len(rows))
	for i := range rows {
		p := &rows[i]
		segment, ok := carried[p.ID]
		if !ok {
			continue
		}
		doc := &wire.Forward{PortId: p.ID, NetworkId: p.NetworkID, MacAddress: p.MACAddress, Host: p.HostID, SegmentId: segment,
			TunnelIp: ends(p, segment)}
		for _, f := range p.FixedIPs {
			doc.IpAddresses = append(doc.IpAddresses, f.IPAddress)
		}
		out[p.ID] = document.Rendered{Sets: []change.Set{change.NewSet(wire.FamilyNetwork, p.NetworkID)}, Body: doc}
	}
	return out, nil
}

// endpoints finds where tunnels to the ports' hosts end. A port on a physical segment has one too when its network has a
// tunnel segment: hosts that the physical network does not reach have no other way to it. "" where there is none. Two statements.
func endpoints(ctx context.Context, tx store.Tx, rows []model.Port, carried map[string]string) (func(p *model.Port, segment string) string, error) {
	hosts, networks := map[string]bool{}, map[string]bool{}
	for i := range rows {
		if _, ok := carried[rows[i].ID]; ok {
			hosts[rows[i].HostID], networks[rows[i].NetworkID] = true, true
		}
	}
	segments, err := ml2.SegmentsOf(ctx, tx, slices.Sorted(maps.Keys(networks)))
	if err != nil {
		return nil, err
	}
	list, err := tunnel.Endpoints(ctx, tx, store.In("host", slices.Sorted(maps.Keys(hosts))))
	if err != nil {
		return nil, err
	}
	ends := map[[2]string]string{}
	for _, e := range list {
		ends[[2]string{e.Host, e.Type}] = e.IP
	}
	return func(p *model.Port, segment string) string {
		first := "" // of the network's tunnel segments, in their order
		for _, s := range segments[p.NetworkID] {
			ip := ends[[2]string{p.HostID, s.NetworkType}]
			if s.ID == segment && ip != "" {
				return ip
			}
			first = cmp.Or(first, ip)
		}
		return first
	}, nil
}

var _ document.Kind = Kind{}
