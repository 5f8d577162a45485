package floatingip

import (
	"context"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/store"
)

// OnRouter holds gateways and interfaces of routers that floating IPs go through: a guard of both for l3.
type OnRouter struct{ *Plugin }

// GatewayChanges refuses to take a router off an external network whose floating IPs go through it. One statement.
func (p OnRouter) GatewayChanges(ctx context.Context, tx store.WriteTx, r *model.Router, old, now *model.GatewayInfo) error {
	if old == nil || now != nil && now.NetworkID == old.NetworkID {
		return nil
	}
	ways := 0
	for _, g := range r.ExternalGateways {
		if g.NetworkID == old.NetworkID {
			ways++
		}
	}
	if ways > 1 {
		return nil // another way to the same network is left
	}
	n, err := p.FloatingIPs.Count(ctx, tx, store.And(store.Eq("router_id", r.ID), store.Eq("floating_network_id", old.NetworkID)))
	if err == nil && n > 0 {
		err = fault.RouterExternalGatewayInUseByFloatingIp(r.ID, old.NetworkID)
	}
	return err
}

// InterfaceGoes refuses to take a router off a subnet that floating IPs lead into through it. One statement.
func (p OnRouter) InterfaceGoes(ctx context.Context, tx store.WriteTx, r *model.Router, _ *model.Port, subnet *model.Subnet) error {
	n, err := p.FloatingIPs.Count(ctx, tx, store.And(store.Eq("router_id", r.ID), store.Expr(
		"EXISTS (SELECT 1 FROM ip_allocations a WHERE a.port_id = floatingips.port_id AND a.ip_address = floatingips.fixed_ip_address AND a.subnet_id = ?)", subnet.ID)))
	if err == nil && n > 0 {
		err = fault.RouterInterfaceInUseByFloatingIP(r.ID, subnet.ID)
	}
	return err
}
