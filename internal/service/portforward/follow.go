package portforward

import (
	"context"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/service"
	"isospin/internal/service/floatingip"
	"isospin/internal/store"
)

// FloatingGuard holds floating IPs that have forwardings: they can neither lead to a port nor go.
type FloatingGuard struct{ *Plugin }

// Ports takes part in the writes of ports: one that goes, or loses an address, loses its forwardings.
type Ports struct{ *Plugin }

// OnRouter holds interfaces of routers that forwardings go through: a guard of them for l3.
type OnRouter struct{ *Plugin }

var (
	_ service.Guard[model.FloatingIP] = FloatingGuard{}
	_ service.Follower[model.Port]    = Ports{}
)

// Guard is asked before a floating IP is led elsewhere or goes. One statement at the most.
func (p FloatingGuard) Guard(ctx context.Context, tx store.WriteTx, w service.Write[model.FloatingIP]) error {
	if w.Op == service.Create || w.Op == service.Update && (w.New.PortID == nil || !w.Gave("port_id")) {
		return nil
	}
	n, err := p.Forwardings.Count(ctx, tx, store.Eq("floatingip_id", w.Old.ID))
	if err == nil && n > 0 {
		err = fault.FipInUseByPortForwarding(w.Old.ID)
	}
	return err
}

// Follow removes the forwardings to addresses that a port lost. One statement where there are none, none where no address was lost.
func (p Ports) Follow(ctx context.Context, tx store.WriteTx, w service.Write[model.Port]) error {
	lost := floatingip.Lost(w)
	if len(lost) == 0 || w.Old.DeviceOwner == model.OwnerFloatingIP {
		return nil
	}
	found, err := p.Forwardings.Find(ctx, tx, store.List{Where: store.And(store.Eq("internal_port_id", w.Old.ID), store.In("internal_ip_address", lost))})
	if err != nil {
		return err
	}
	for i := range found {
		fip, err := p.FloatingIPs.FloatingIPs.GetForUpdate(ctx, tx, found[i].FloatingIPID)
		if err != nil {
			return err
		}
		was := fip.Clone()
		if err := p.drop(ctx, tx, &fip, &found[i]); err != nil {
			return err
		}
		if err := p.touched(ctx, tx, &was, &fip); err != nil {
			return err
		}
	}
	return nil
}

// InterfaceGoes refuses to take a router off a subnet that forwardings lead into through it. One statement.
func (p OnRouter) InterfaceGoes(ctx context.Context, tx store.WriteTx, r *model.Router, _ *model.Port, subnet *model.Subnet) error {
	n, err := p.Forwardings.Count(ctx, tx, store.Expr("floatingip_id IN (SELECT id FROM floatingips WHERE router_id = ?) AND EXISTS "+
		"(SELECT 1 FROM ip_allocations a WHERE a.port_id = port_forwardings.internal_port_id AND a.ip_address = port_forwardings.internal_ip_address AND a.subnet_id = ?)", r.ID, subnet.ID))
	if err == nil && n > 0 {
		err = fault.RouterInterfaceInUseByFloatingIP(r.ID, subnet.ID)
	}
	return err
}
