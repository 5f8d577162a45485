package floatingip

import (
	"context"
	"slices"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/service"
	"isospin/internal/store"
)

// Ports takes part in the writes of ports: one that goes, or loses an address, loses its floating IPs; one that holds a floating
// IP's address goes only with it.
type Ports struct{ *Plugin }

// Networks takes part in the deletes of networks.
type Networks struct{ *Plugin }

var (
	_ service.Guard[model.Port]    = Ports{}
	_ service.Follower[model.Port] = Ports{}
	_ service.Guard[model.Network] = Networks{}
)

// Guard refuses to delete a port that holds the address of a floating IP.
func (p Ports) Guard(ctx context.Context, tx store.WriteTx, w service.Write[model.Port]) error {
	if w.Op != service.Delete || w.Old.DeviceOwner != model.OwnerFloatingIP {
		return nil
	}
	n, err := p.FloatingIPs.Count(ctx, tx, store.Eq("floating_port_id", w.Old.ID))
	if err == nil && n > 0 {
		err = fault.ServicePortInUse(w.Old.ID, "it holds the address of floating IP "+w.Old.DeviceID+".")
	}
	return err
}

// Lost are the addresses that a write takes from a port.
func Lost(w service.Write[model.Port]) []string {
	if w.Op == service.Create {
		return nil
	}
	var out []string
	for _, f := range w.Old.FixedIPs {
		if w.New == nil || !slices.ContainsFunc(w.New.FixedIPs, func(g model.FixedIP) bool { return g.IPAddress == f.IPAddress }) {
			out = append(out, f.IPAddress)
		}
	}
	return out
}

// Follow lets the floating IPs of addresses that a port lost lead nowhere. One statement where there are none, none where no
// address was lost.
func (p Ports) Follow(ctx context.Context, tx store.WriteTx, w service.Write[model.Port]) error {
	lost := Lost(w)
	if len(lost) == 0 || w.Old.DeviceOwner == model.OwnerFloatingIP {
		return nil
	}
	where := store.Eq("port_id", w.Old.ID)
	if w.New != nil {
		where = store.And(where, store.In("fixed_ip_address", lost))
	}
	found, err := p.FloatingIPs.Find(ctx, tx, store.List{Where: where, Lock: true})
	if err != nil {
		return err
	}
	for i := range found {
		old := found[i]
		f := old.Clone()
		dissociate(&f)
		if err := p.before(ctx, tx, service.Write[model.FloatingIP]{Op: service.Update, Old: &old, New: &f}); err != nil {
			return err
		}
		if err := p.Bump(ctx, tx, &old, &f); err != nil {
			return err
		}
	}
	return nil
}

// Guard removes the floating IPs of an external network that goes and that lead nowhere (neutron/db/external_net_db.py); it
// runs before anybody looks at the network's ports.
func (p Networks) Guard(ctx context.Context, tx store.WriteTx, w service.Write[model.Network]) error {
	if w.Op != service.Delete || !w.Old.External {
		return nil
	}
	idle, err := p.FloatingIPs.Find(ctx, tx, store.List{Where: store.And(store.Eq("floating_network_id", w.Old.ID), store.Eq("port_id", nil)), Lock: true})
	if err != nil {
		return err
	}
	for i := range idle {
		if err := p.remove(ctx, tx, &idle[i]); err != nil {
			return err
		}
		if len(idle[i].Tags) == 0 {
			continue
		}
		if err := rest.ForgetTags(ctx, tx, idle[i].ID); err != nil {
			return err
		}
	}
	return nil
}
