package l3

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/store"
)

// multihome answers the actions on the list of a router's gateways. The first of the list is external_gateway_info; where it goes, the
// next one comes first. A gateway is told by its network and, where the request has them, its addresses.
func (p *Plugin) multihome(ctx context.Context, tx store.WriteTx, cur model.Router, action string, in json.RawMessage) (any, error) {
	var body struct {
		Router struct {
			Gateways []gatewayAsked `json:"external_gateways"`
		} `json:"router"`
	}
	if err := json.Unmarshal(in, &body); err != nil {
		return nil, fmt.Errorf("decode the action %s: %w", action, err)
	}
	r := cur.Clone()
	do := map[string]func(context.Context, store.WriteTx, *model.Router, []gatewayAsked) error{
		"add_external_gateways": p.addGateways, "update_external_gateways": p.updateGateways, "remove_external_gateways": p.removeGateways,
	}[action]
	if err := do(ctx, tx, &r, body.Router.Gateways); err != nil {
		return nil, err
	}
	if err := p.checkRoutes(ctx, tx, &r); err != nil {
		return nil, err
	}
	if err := p.save(ctx, tx, &cur, &r, func(name string) bool { return name == "external_gateways" }); err != nil {
		return nil, err
	}
	return rest.Member{Value: r}, nil
}

func (p *Plugin) addGateways(ctx context.Context, tx store.WriteTx, r *model.Router, asked []gatewayAsked) error {
	for i := range asked {
		if err := p.gate(ctx, tx, r, len(r.ExternalGateways), &asked[i]); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plugin) updateGateways(ctx context.Context, tx store.WriteTx, r *model.Router, asked []gatewayAsked) error {
	at, err := match(r, asked)
	if err != nil {
		return err
	}
	for i := range asked {
		g := asked[i]
		if g.EnableSNAT == nil { // unlike external_gateway_info, what is not named stays
			g.EnableSNAT = &r.ExternalGateways[at[i]].EnableSNAT
		}
		if err := p.readdress(ctx, tx, r, at[i], &g); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plugin) removeGateways(ctx context.Context, tx store.WriteTx, r *model.Router, asked []gatewayAsked) error {
	at, err := match(r, asked)
	if err != nil {
		return err
	}
	slices.Sort(at)
	for _, i := range slices.Backward(at) {
		if err := p.ungate(ctx, tx, r, i); err != nil {
			return err
		}
	}
	return nil
}

// match finds the gateways that a request means, each once: on the same network, with the same addresses, else with one of them, or, where
// none are named, the next there.
func match(r *model.Router, asked []gatewayAsked) ([]int, error) {
	out := make([]int, len(asked))
	taken := map[int]bool{}
	for i := range out {
		out[i] = -1
	}
	pass := func(fits func(have, want []model.FixedIP) bool) {
		for i := range asked {
			if out[i] >= 0 {
				continue
			}
			for j, g := range r.ExternalGateways {
				if !taken[j] && g.NetworkID == asked[i].NetworkID && fits(g.ExternalFixedIPs, asked[i].ExternalFixedIPs) {
					out[i], taken[j] = j, true
					break
				}
			}
		}
	}
	same := func(h, w model.FixedIP) bool {
		return (w.SubnetID == "" || w.SubnetID == h.SubnetID) && (w.IPAddress == "" || sameAddress(w.IPAddress, h.IPAddress))
	}
	known := func(have []model.FixedIP) func(model.FixedIP) bool {
		return func(w model.FixedIP) bool {
			return slices.ContainsFunc(have, func(h model.FixedIP) bool { return same(h, w) })
		}
	}
	pass(func(have, want []model.FixedIP) bool {
		return len(want) == len(have) && !slices.ContainsFunc(want, func(w model.FixedIP) bool { return !known(have)(w) })
	})
	pass(func(have, want []model.FixedIP) bool { return slices.ContainsFunc(want, known(have)) })
	pass(func(_, want []model.FixedIP) bool { return len(want) == 0 })
	for i := range out {
		if out[i] < 0 {
			return nil, fault.UnableToMatchGateways(r.ID, "none on network "+asked[i].NetworkID+" with the addresses named.")
		}
	}
	return out, nil
}
