package l3

import (
	"context"
	"net/netip"
	"slices"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/service/ipam"
	"isospin/internal/store"
)

// checkRoutes judges a router's routes: not too many, and each by a next hop that is in a subnet of the router and is not the router
// itself (neutron/db/extraroute_db.py). Three statements, none without routes.
func (p *Plugin) checkRoutes(ctx context.Context, tx store.Tx, r *model.Router) error {
	if len(r.Routes) == 0 {
		return nil
	}
	limit, own, err := store.Int(ctx, tx, store.Q("SELECT hard_limit FROM quotas WHERE project_id = ? AND resource = 'router_route'", r.ProjectID))
	if err != nil {
		return err
	}
	if !own {
		limit = p.MaxRoutes
	}
	if limit >= 0 && int64(len(r.Routes)) > limit {
		return fault.OverQuotaFault("['router_route']")
	}
	subnets, err := p.subnetsOf(ctx, tx, r.ID)
	if err != nil {
		return err
	}
	ports, err := p.portsOf(ctx, tx, r.ID)
	if err != nil {
		return err
	}
	for _, route := range r.Routes {
		to, err1 := netip.ParsePrefix(route.Destination)
		hop, err2 := netip.ParseAddr(route.Nexthop)
		switch {
		case err1 != nil || err2 != nil:
			return fault.InvalidRoutes(shown(route), "it has no prefix and address.")
		case to.Addr().Is4() != hop.Is4():
			return fault.InvalidRoutes(shown(route), "destination and nexthop are of different IP versions.")
		case !slices.ContainsFunc(subnets, func(s model.Subnet) bool { return ipam.Prefix(&s).Contains(hop) }):
			return fault.InvalidRoutes(shown(route), "the nexthop is in no subnet of the router.")
		case slices.ContainsFunc(ports, func(port model.Port) bool {
			return slices.ContainsFunc(port.FixedIPs, func(f model.FixedIP) bool { return sameAddress(f.IPAddress, route.Nexthop) })
		}):
			return fault.InvalidRoutes(shown(route), "the nexthop is the router itself.")
		}
	}
	return nil
}

func shown(r model.HostRoute) string { return r.Destination + " by " + r.Nexthop }

// routed tells whether one of the router's routes leads over the subnet.
func routed(r *model.Router, s *model.Subnet) bool {
	prefix := ipam.Prefix(s)
	return slices.ContainsFunc(r.Routes, func(route model.HostRoute) bool {
		hop, err := netip.ParseAddr(route.Nexthop)
		return err == nil && prefix.Contains(hop)
	})
}

// addRoutes adds routes to the router's, those that it has already but once.
func addRoutes(have, add []model.HostRoute) []model.HostRoute {
	out := slices.Clone(have)
	for _, route := range add {
		if !slices.Contains(out, route) {
			out = append(out, route)
		}
	}
	return out
}

// dropRoutes takes routes off; what is not there is gone already.
func dropRoutes(have, drop []model.HostRoute) []model.HostRoute {
	return slices.DeleteFunc(slices.Clone(have), func(route model.HostRoute) bool { return slices.Contains(drop, route) })
}
