package ndpproxy

import (
	"context"
	"net/netip"
	"slices"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/service"
	"isospin/internal/store"
)

// Ports takes part in the writes of ports: one that goes, or loses an address, loses its proxies.
type Ports struct{ *Plugin }

// OnRouter settles whether routers answer for addresses inside, and holds gateways and interfaces of those that do: a guard of
// routers whose gateways are settled, of gateways and of interfaces, for l3.
type OnRouter struct{ *Plugin }

var (
	_ service.Follower[model.Port] = Ports{}
	_ service.Guard[model.Router]  = OnRouter{}
)

// Follow removes the proxies of addresses that a port lost: one statement, none where no IPv6 address was lost.
func (p Ports) Follow(ctx context.Context, tx store.WriteTx, w service.Write[model.Port]) error {
	if w.Op == service.Create {
		return nil
	}
	var lost []string
	for _, f := range sixOf(w.Old) {
		if w.New == nil || !slices.ContainsFunc(w.New.FixedIPs, func(g model.FixedIP) bool { return g.IPAddress == f.IPAddress }) {
			lost = append(lost, f.IPAddress)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	found, err := p.Proxies.Find(ctx, tx, store.List{Where: store.And(store.Eq("port_id", w.Old.ID), store.In("ip_address", lost)), Lock: true})
	if err != nil {
		return err
	}
	for i := range found {
		if err := controller(p).Delete(ctx, tx, found[i]); err != nil {
			return err
		}
	}
	return nil
}

// Guard settles enable_ndp_proxy of a router whose gateways are as they will be: on only with a gateway that lets it, off without.
// What a request does not say stays, as far as the gateway lets it; a first gateway brings the default.
func (p OnRouter) Guard(ctx context.Context, tx store.WriteTx, w service.Write[model.Router]) error {
	if w.Op == service.Delete {
		return nil
	}
	r := w.New
	asked := w.Gave("enable_ndp_proxy")
	if !asked && (w.Old == nil || w.Old.ExternalGatewayInfo == nil) {
		r.EnableNDPProxy = p.Default
	}
	if !r.EnableNDPProxy {
		return nil
	}
	why, err := p.lacks(ctx, tx, r.ExternalGatewayInfo)
	switch {
	case err != nil:
		return err
	case why == "":
		return nil
	case asked:
		return fault.RouterGatewayNotValid(r.ID, why)
	}
	r.EnableNDPProxy = false
	return nil
}

// lacks is what a gateway lacks for a router to answer for addresses inside; "" for nothing. Two statements at the most.
func (p *Plugin) lacks(ctx context.Context, tx store.Tx, g *model.GatewayInfo) (string, error) {
	if g == nil {
		return "it has no external gateway", nil
	}
	scopes, err := p.scopes(ctx, tx, g.NetworkID)
	if err != nil {
		return "", err
	}
	if scopes[g.NetworkID] == "" {
		return "network " + g.NetworkID + " is of no IPv6 address scope", nil
	}
	if !slices.ContainsFunc(g.ExternalFixedIPs, func(f model.FixedIP) bool { return six(f.IPAddress) }) {
		return "its gateway has no IPv6 address", nil
	}
	return "", nil
}

func six(address string) bool {
	a, err := netip.ParseAddr(address)
	return err == nil && a.Is6()
}

// GatewayChanges refuses to take the gateway from a router that has proxies, and its IPv6 address from one that may have some.
func (p OnRouter) GatewayChanges(ctx context.Context, tx store.WriteTx, r *model.Router, old, now *model.GatewayInfo) error {
	if old == nil || r.ExternalGatewayInfo == nil || old.NetworkID != r.ExternalGatewayInfo.NetworkID {
		return nil // proxies are answered for at the first gateway
	}
	if now == nil || now.NetworkID != old.NetworkID {
		n, err := p.Proxies.Count(ctx, tx, store.Eq("router_id", r.ID))
		if err == nil && n > 0 {
			err = fault.RouterGatewayInUseByNDPProxy(r.ID)
		}
		return err
	}
	if !r.EnableNDPProxy || len(now.ExternalFixedIPs) == 0 {
		return nil
	}
	var subnets []string
	for _, f := range now.ExternalFixedIPs {
		if six(f.IPAddress) {
			return nil
		}
		if f.SubnetID != "" {
			subnets = append(subnets, f.SubnetID)
		}
	}
	rows, err := p.Subnets.Find(ctx, tx, store.List{Where: store.In("id", subnets)})
	if err == nil && !slices.ContainsFunc(rows, func(s model.Subnet) bool { return s.IPVersion == 6 }) {
		err = fault.RouterIPv6GatewayInUse(r.ID)
	}
	return err
}

// InterfaceGoes refuses to take a router off a subnet whose addresses it answers for. One statement.
func (p OnRouter) InterfaceGoes(ctx context.Context, tx store.WriteTx, r *model.Router, _ *model.Port, subnet *model.Subnet) error {
	n, err := p.Proxies.Count(ctx, tx, store.And(store.Eq("router_id", r.ID), store.Expr(
		"EXISTS (SELECT 1 FROM ip_allocations a WHERE a.port_id = ndp_proxies.port_id AND a.ip_address = ndp_proxies.ip_address AND a.subnet_id = ?)", subnet.ID)))
	if err == nil && n > 0 {
		err = fault.RouterInterfaceInUseByNDPProxy(r.ID, subnet.ID)
	}
	return err
}
