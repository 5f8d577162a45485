package floatingip

import (
	"context"
	"net/netip"

	"isospin/internal/auth"
	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/store"
)

// Port reads a port that something shall lead to, for a caller who may see it, and keeps it until the commit. With alone nobody
// else reads it so meanwhile, which lets the caller judge what leads to it already.
func (p *Plugin) Port(ctx context.Context, tx store.WriteTx, id string, alone bool) (model.Port, error) {
	get := p.Rows.GetForShare
	if alone {
		get = p.Rows.GetForUpdate
	}
	port, err := get(ctx, tx, id)
	if store.IsNotFound(err) {
		err = fault.PortNotFound(id)
	}
	if err != nil || all(ctx) || port.ProjectID == auth.From(ctx).ProjectID {
		return port, err
	}
	n, err := p.Networks.Count(ctx, tx, store.And(store.Eq("id", port.NetworkID), store.Eq("project_id", auth.From(ctx).ProjectID)))
	if err == nil && n == 0 {
		err = fault.PortNotFound(id)
	}
	return port, err
}

// Inside is the address of a port that something leads to: the one wanted or, without, the first IPv4 address.
type Inside struct {
	Port model.Port
	model.FixedIP
}

// FourOf are the IPv4 addresses of a port.
func FourOf(port *model.Port) []model.FixedIP {
	var out []model.FixedIP
	for _, f := range port.FixedIPs {
		if a, err := netip.ParseAddr(f.IPAddress); err == nil && a.Is4() {
			out = append(out, f)
		}
	}
	return out
}

// Route finds the router that joins the subnet of an address inside to an external network, and keeps it until the commit,
// so that neither its gateway nor its interface goes meanwhile (neutron/db/l3_db.py). It is an ExternalGatewayForFloatingIPNotFound
// when there is none.
func (p *Plugin) Route(ctx context.Context, tx store.WriteTx, in Inside, network string) (model.Router, error) {
	var zero model.Router
	subnet, err := p.Subnets.Get(ctx, tx, in.SubnetID)
	if err != nil {
		return zero, err
	}
	for range 8 {
		id, ok, err := p.Routing.RouterFor(ctx, tx, &subnet, network)
		if err != nil {
			return zero, err
		}
		if !ok {
			break
		}
		r, err := p.Routers.GetForShare(ctx, tx, id)
		if store.IsNotFound(err) {
			continue // it went at the same moment
		}
		if err != nil {
			return zero, err
		}
		// Whoever changes a router's ports keeps the router first: from here on they are as they are.
		now, ok, err := p.Routing.RouterFor(ctx, tx, &subnet, network)
		if err != nil || ok && now == id {
			return r, err
		}
	}
	return zero, fault.ExternalGatewayForFloatingIPNotFound(in.SubnetID, network, in.Port.ID)
}
