package sessiontest

import (
	"context"
	"net/netip"

	"isospin/internal/change"
	"isospin/internal/ident"
	"isospin/internal/model"
	"isospin/internal/service"
	"isospin/internal/service/dhcp"
	"isospin/internal/store"
	"isospin/internal/wire"
)

// Network makes a network with one segment, and returns its id. kind is the segment's type.
func (s *Server) Network(kind string, vni int64) string {
	s.T.Helper()
	ids := ident.Random{}
	n := model.Network{Name: "n", AdminStateUp: true, Status: model.StatusActive, MTU: 1450, PortSecurityEnabled: true, AvailabilityZoneHints: []string{}}
	n.ID, n.Revision, n.Tags = ids.UUID(), 1, []string{}
	n.Own("p1")
	physical := ""
	if kind == model.TypeFlat {
		physical = "public"
	}
	s.Write(func(ctx context.Context, tx store.WriteTx) error {
		if err := s.Networks.Insert(ctx, tx, &n); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, store.Q("INSERT INTO segments (id, network_id, network_type, physical_network, segmentation_id, segment_index, is_dynamic, host) VALUES (?, ?, ?, ?, ?, 0, 0, '')",
			ids.UUID(), n.ID, kind, physical, vni))
		return err
	})
	return n.ID
}

// Subnet makes an IPv4 subnet as a request would, followers and all.
func (s *Server) Subnet(network, cidr string, withDHCP bool) string {
	s.T.Helper()
	p := netip.MustParsePrefix(cidr)
	gateway := p.Addr().Next().String()
	last := p.Addr().As4()
	host := uint32(1)<<(32-p.Bits()) - 2
	first := last
	first[3] += 2
	for i := 3; i >= 0; i-- {
		last[i] += byte(host >> (8 * (3 - i)))
	}
	sub := model.Subnet{NetworkID: network, IPVersion: 4, CIDR: &cidr, GatewayIP: &gateway, EnableDHCP: withDHCP,
		AllocationPools: []model.AllocationPool{{Start: netip.AddrFrom4(first).String(), End: netip.AddrFrom4(last).String()}},
		DNSNameservers:  []string{"192.0.2.53"}, HostRoutes: []model.HostRoute{}}
	sub.ID, sub.Tags = ident.Random{}.UUID(), []string{}
	sub.Own("p1")
	s.Write(func(ctx context.Context, tx store.WriteTx) error {
		if err := s.Subnets.Insert(ctx, tx, &sub); err != nil {
			return err
		}
		if err := s.IPAM.Open(ctx, tx, &sub); err != nil {
			return err
		}
		tx.Changed(change.Key{Kind: wire.KindSubnet, ID: sub.ID}, change.NewSet(wire.FamilyNetwork, network))
		return dhcp.SubnetFollower{Plugin: s.DHCP}.Follow(ctx, tx, service.Write[model.Subnet]{Op: service.Create, New: &sub})
	})
	return sub.ID
}

// Port makes a port through the core plugin. edit completes what is asked for.
func (s *Server) Port(network string, edit func(*model.Port)) model.Port {
	s.T.Helper()
	var out model.Port
	s.Write(func(ctx context.Context, tx store.WriteTx) (err error) {
		out, err = s.NewPort(ctx, tx, network, edit)
		return err
	})
	return out
}

// NewPort is Port inside a transaction; the groups that edit sets, or none, are the port's.
func (s *Server) NewPort(ctx context.Context, tx store.WriteTx, network string, edit func(*model.Port)) (model.Port, error) {
	want := model.Port{NetworkID: network, DeviceOwner: "compute:nova", DeviceID: "vm"}
	want.Own("p1")
	if edit != nil {
		edit(&want)
	}
	groups := append([]string{}, want.SecurityGroups...)
	want.SecurityGroups = nil
	port, err := s.ML2.CreatePort(ctx, tx, want) // in its project's default group
	if err != nil {
		return port, err
	}
	return s.ML2.AdjustPort(ctx, tx, port.ID, func(p *model.Port) { p.SecurityGroups = groups })
}

// Group makes a security group that lets its own members in, and returns its id.
func (s *Server) Group() string {
	s.T.Helper()
	ids := ident.Random{}
	g := model.SecurityGroup{Name: "g", Stateful: true}
	g.ID, g.Tags = ids.UUID(), []string{}
	g.Own("p1")
	r := model.SecurityGroupRule{SecurityGroupID: g.ID, Direction: model.Ingress, Ethertype: model.IPv4, RemoteGroupID: &g.ID}
	r.ID, r.Tags = ids.UUID(), []string{}
	r.Own("p1")
	s.Write(func(ctx context.Context, tx store.WriteTx) error {
		if err := s.Groups.Insert(ctx, tx, &g); err != nil {
			return err
		}
		return s.Rules.Insert(ctx, tx, &r)
	})
	return g.ID
}
