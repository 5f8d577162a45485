package l3

import (
	"context"
	"net/netip"
	"slices"

	"isospin/internal/model"
	"isospin/internal/store"
)

// centralize brings the ports by which a distributed router's subnets reach its gateway in line: one for each IPv4 subnet and one for
// the IPv6 subnets of a network while there is a gateway, none otherwise (neutron/db/l3_dvr_db.py). No statement for other routers.
func (p *Plugin) centralize(ctx context.Context, tx store.WriteTx, r *model.Router) error {
	if !r.Distributed {
		return nil
	}
	return p.snats(ctx, tx, r, len(r.ExternalGateways) > 0)
}

// snats makes or removes those ports.
func (p *Plugin) snats(ctx context.Context, tx store.WriteTx, r *model.Router, on bool) error {
	ports, err := p.portsOf(ctx, tx, r.ID)
	if err != nil {
		return err
	}
	type group struct{ network, subnet string } // subnet is "" for the IPv6 subnets
	key := func(port *model.Port, f model.FixedIP) group {
		if a, err := netip.ParseAddr(f.IPAddress); err == nil && a.Is4() {
			return group{port.NetworkID, f.SubnetID}
		}
		return group{port.NetworkID, ""}
	}
	want := map[group][]string{}
	var order []group
	for i := range ports {
		if on && model.RouterInterfaceOwner(ports[i].DeviceOwner) {
			for _, f := range ports[i].FixedIPs {
				k := key(&ports[i], f)
				if want[k] == nil {
					order = append(order, k)
				}
				want[k] = append(want[k], f.SubnetID)
			}
		}
	}
	for i := range ports {
		if ports[i].DeviceOwner != model.OwnerRouterSNAT {
			continue
		}
		var subnets []string
		if len(ports[i].FixedIPs) > 0 {
			k := key(&ports[i], ports[i].FixedIPs[0])
			subnets = want[k]
			delete(want, k)
		}
		if len(subnets) == 0 {
			err = p.drop(ctx, tx, ports[i].ID)
		} else {
			_, err = p.Ports.AdjustPort(ours(ctx), tx, ports[i].ID, func(port *model.Port) { port.FixedIPs = keepIn(port.FixedIPs, subnets) })
		}
		if err != nil {
			return err
		}
	}
	for _, k := range order {
		if want[k] == nil {
			continue
		}
		port := model.Port{NetworkID: k.network, DeviceID: r.ID, DeviceOwner: model.OwnerRouterSNAT, FixedIPs: keepIn(nil, want[k])}
		port.Own("")
		if port, err = p.Ports.CreatePort(ours(ctx), tx, port); err != nil {
			return err
		}
		if err := own(ctx, tx, r.ID, &port); err != nil {
			return err
		}
	}
	return nil
}

// keepIn are the addresses that a port keeps in the subnets, and those that it still needs, by subnet alone.
func keepIn(have []model.FixedIP, subnets []string) []model.FixedIP {
	out := slices.DeleteFunc(slices.Clone(have), func(f model.FixedIP) bool { return !slices.Contains(subnets, f.SubnetID) })
	for _, s := range subnets {
		if !slices.ContainsFunc(out, func(f model.FixedIP) bool { return f.SubnetID == s }) {
			out = append(out, model.FixedIP{SubnetID: s})
		}
	}
	return out
}

// turn makes a router distributed or highly available, or no longer so: its hosts are chosen anew and its interfaces are of
// another kind.
func (p *Plugin) turn(ctx context.Context, tx store.WriteTx, cur, r *model.Router) error {
	if err := p.Dirty(ctx, tx, cur.ID); err != nil {
		return err
	}
	if err := p.displace(ctx, tx, cur); err != nil {
		return err
	}
	switch {
	case cur.HA && !r.HA:
		if err := p.unnumber(ctx, tx, r); err != nil {
			return err
		}
	case !cur.HA && r.HA:
		if err := p.number(ctx, tx, r); err != nil {
			return err
		}
	}
	was, now := ownerOf(cur), ownerOf(r)
	if was != now {
		ports, err := p.portsOf(ctx, tx, r.ID)
		if err != nil {
			return err
		}
		for i := range ports {
			if ports[i].DeviceOwner != was {
				continue
			}
			if _, err := p.Ports.AdjustPort(ours(ctx), tx, ports[i].ID, func(port *model.Port) { port.DeviceOwner, port.HostID = now, "" }); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, store.Q("UPDATE router_ports SET port_type = ? WHERE router_id = ? AND port_type = ?", now, r.ID, was)); err != nil {
			return err
		}
	}
	return p.snats(ctx, tx, r, r.Distributed && len(r.ExternalGateways) > 0)
}
