// Package subnet is the document of a subnet: what hosts need to serve its addresses. session renders it for every host
// that has something on the subnet's network. Pools and who owns the subnet stay on the server.
package subnet

import (
	"context"

	"isospin/internal/change"
	"isospin/internal/document"
	"isospin/internal/service/ml2"
	"isospin/internal/store"
	"isospin/internal/wire"
)

// Kind renders subnets.
type Kind struct{ subnets *ml2.Subnets }

// New takes the table of subnets.
func New(subnets *ml2.Subnets) Kind { return Kind{subnets: subnets} }

// Name is the wire name.
func (Kind) Name() string { return wire.KindSubnet }

// Families: a subnet is in its network's set.
func (Kind) Families() []string { return []string{wire.FamilyNetwork} }

// Members are a network's subnets. One statement.
func (Kind) Members(ctx context.Context, tx store.Tx, sets []change.Set) (map[change.Set][]string, error) {
	return document.Where(ctx, tx, sets, "SELECT id, network_id FROM subnets", "network_id")
}

// Render reads subnets. One statement.
func (k Kind) Render(ctx context.Context, tx store.Tx, ids []string) (map[string]document.Rendered, error) {
	rows, err := k.subnets.Find(ctx, tx, store.List{Where: store.In("id", ids)})
	if err != nil {
		return nil, err
	}
	out := make(map[string]document.Rendered, len(rows))
	for i := range rows {
		s := &rows[i]
		doc := &wire.Subnet{Id: s.ID, NetworkId: s.NetworkID, Cidr: text(s.CIDR), GatewayIp: text(s.GatewayIP), IpVersion: int32(s.IPVersion),
			EnableDhcp: s.EnableDHCP, DnsNameservers: s.DNSNameservers, Ipv6RaMode: text(s.IPv6RAMode), Ipv6AddressMode: text(s.IPv6AddressMode)}
		for _, r := range s.HostRoutes {
			doc.HostRoutes = append(doc.HostRoutes, &wire.HostRoute{Destination: r.Destination, Nexthop: r.Nexthop})
		}
		out[s.ID] = document.Rendered{Sets: []change.Set{change.NewSet(wire.FamilyNetwork, s.NetworkID)}, Body: doc}
	}
	return out, nil
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

var _ document.Kind = Kind{}
