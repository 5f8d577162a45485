package ml2

import (
	"context"
	"slices"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/store"
)

// AdjustPort changes a port on behalf of another plugin, in its transaction: change edits it, addresses included (one with a
// subnet alone is chosen there); binding, generation, documents and followers come after it as for a request. It
// answers with the port as it is then; a change of nothing is no write.
func (p *Plugin) AdjustPort(ctx context.Context, tx store.WriteTx, id string, change func(*model.Port)) (model.Port, error) {
	cur, err := p.Ports.GetForUpdate(ctx, tx, id)
	if store.IsNotFound(err) {
		err = fault.PortNotFound(id)
	}
	if err != nil {
		return model.Port{}, err
	}
	n, err := p.Networks.GetForShare(ctx, tx, cur.NetworkID)
	if err != nil {
		return model.Port{}, err
	}
	port := cur.Clone()
	change(&port)
	readdressed := !slices.Equal(cur.FixedIPs, port.FixedIPs)
	if readdressed {
		if err := (ports{p}).readdress(ctx, tx, &cur, &port, true); err != nil {
			return port, err
		}
	}
	if err := (ports{p}).rehost(ctx, tx, &n, &cur, &port, readdressed); err != nil {
		return port, err
	}
	return port, (ports{p}).save(ctx, tx, &n, &cur, &port, func(name string) bool { return readdressed && name == "fixed_ips" })
}
