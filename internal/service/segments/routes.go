package segments

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	"isospin/internal/change"
	"isospin/internal/model"
	"isospin/internal/service"
	"isospin/internal/service/ipam"
	"isospin/internal/store"
	"isospin/internal/wire"
)

// This file keeps the routes between the subnets of a routed network: each has one to each of the others of its IP version on other
// segments, by its own gateway (SegmentHostRoutes in neutron/services/segments/plugin.py). Who writes subnets has locked their network.

// Subnets takes part in the writes of subnets.
type Subnets struct{ *Plugin }

var (
	_ service.Guard[model.Subnet]    = Subnets{}
	_ service.Follower[model.Subnet] = Subnets{}
)

// Guard completes the routes of a subnet on a segment. One statement, where there is something to complete.
func (p Subnets) Guard(ctx context.Context, tx store.WriteTx, w service.Write[model.Subnet]) error {
	if w.Op == service.Delete || w.New.SegmentID == nil {
		return nil
	}
	old := ""
	if w.Op == service.Update {
		moved := text(w.Old.GatewayIP) != text(w.New.GatewayIP)
		if !moved && slices.Equal(w.Old.HostRoutes, w.New.HostRoutes) {
			return nil
		}
		if moved {
			old = text(w.Old.GatewayIP)
		}
	} else if w.New.GatewayIP == nil {
		return nil
	}
	peers, err := p.peers(ctx, tx, w.New.NetworkID)
	if err != nil {
		return err
	}
	w.New.HostRoutes = between(w.New, peers, old, "")
	return nil
}

// peers are a network's subnets, in the order in which routes to them are shown.
func (p Subnets) peers(ctx context.Context, tx store.Tx, network string) ([]model.Subnet, error) {
	all, err := p.Plugin.Subnets.Find(ctx, tx, store.List{Where: store.Eq("network_id", network)})
	slices.SortFunc(all, func(a, b model.Subnet) int { return strings.Compare(text(a.CIDR), text(b.CIDR)) })
	return all, err
}

// Follow tells the other subnets of a routed network of one that came or went. One statement, and one for each that changes.
func (p Subnets) Follow(ctx context.Context, tx store.WriteTx, w service.Write[model.Subnet]) error {
	s, gone := w.New, ""
	switch w.Op {
	case service.Update:
		return nil
	case service.Delete:
		if s = w.Old; w.Cascade {
			return nil
		}
		gone = text(s.CIDR)
	}
	if s.SegmentID == nil {
		return nil
	}
	peers, err := p.peers(ctx, tx, s.NetworkID)
	if err != nil {
		return err
	}
	for _, peer := range peers {
		if peer.ID == s.ID {
			continue
		}
		routes := between(&peer, peers, "", gone)
		if alike(routes, peer.HostRoutes) {
			continue
		}
		peer.HostRoutes, peer.UpdatedAt = routes, model.Stamp(p.Clock.Now())
		peer.Revision++
		if err := p.Plugin.Subnets.Update(ctx, tx, &peer, -1); err != nil {
			return err
		}
		tx.Changed(change.Key{Kind: wire.KindSubnet, ID: peer.ID}, change.NewSet(wire.FamilyNetwork, peer.NetworkID))
	}
	return nil
}

// between are a subnet's routes with those to its peers: without those by a gateway that it had before and to a prefix that is gone. A
// route that covers a peer already is enough.
func between(s *model.Subnet, peers []model.Subnet, oldGateway, gone string) []model.HostRoute {
	routes := slices.Clone(s.HostRoutes)
	drop := func(prefix, gateway string) {
		routes = slices.DeleteFunc(routes, func(r model.HostRoute) bool { return r.Destination == prefix && r.Nexthop == gateway })
	}
	if gone != "" {
		drop(gone, text(s.GatewayIP))
	}
	for i := range peers {
		peer := &peers[i]
		if peer.ID == s.ID || text(peer.SegmentID) == text(s.SegmentID) || peer.IPVersion != s.IPVersion || peer.CIDR == nil {
			continue
		}
		if oldGateway != "" {
			drop(*peer.CIDR, oldGateway)
		}
		if s.GatewayIP != nil && !slices.ContainsFunc(routes, func(r model.HostRoute) bool { return covers(r.Destination, peer) }) {
			routes = append(routes, model.HostRoute{Destination: *peer.CIDR, Nexthop: *s.GatewayIP})
		}
	}
	if routes == nil {
		routes = []model.HostRoute{}
	}
	return routes
}

// covers tells whether a route's destination holds all of a subnet.
func covers(destination string, s *model.Subnet) bool {
	d, err := netip.ParsePrefix(destination)
	p := ipam.Prefix(s)
	return err == nil && p.IsValid() && d.Bits() <= p.Bits() && d.Masked().Contains(p.Addr())
}

func alike(a, b []model.HostRoute) bool {
	if len(a) != len(b) {
		return false
	}
	for _, r := range a {
		if !slices.Contains(b, r) {
			return false
		}
	}
	return true
}
