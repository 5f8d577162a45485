package l3

import (
	"context"
	"encoding/json"
	"fmt"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/service/zones"
	"isospin/internal/store"
)

// actions are the member actions of routers.
type actions struct{ *Plugin }

// Act does one; rest keeps the router's row.
func (p actions) Act(ctx context.Context, tx store.WriteTx, id, action string, in json.RawMessage) (any, error) {
	r, err := p.Lock(ctx, tx, id)
	if err != nil {
		return nil, err
	}
	switch action {
	case "add_router_interface", "remove_router_interface":
		var asked interfaceAsked
		if err := json.Unmarshal(in, &asked); err != nil {
			return nil, fmt.Errorf("decode the action %s: %w", action, err)
		}
		if action == "add_router_interface" {
			return p.add(ctx, tx, r, asked)
		}
		return p.take(ctx, tx, r, asked)
	case "add_extraroutes", "remove_extraroutes":
		var asked struct {
			Router struct {
				Routes []model.HostRoute `json:"routes"`
			} `json:"router"`
		}
		if err := json.Unmarshal(in, &asked); err != nil {
			return nil, fmt.Errorf("decode the action %s: %w", action, err)
		}
		change := addRoutes
		if action == "remove_extraroutes" {
			change = dropRoutes
		}
		return p.reroute(ctx, tx, r, change(r.Routes, asked.Router.Routes))
	case "add_external_gateways", "update_external_gateways", "remove_external_gateways":
		return p.multihome(ctx, tx, r, action, in)
	}
	return nil, fault.HTTPNotFound("There is nothing at this path.")
}

// reroute gives a router other routes.
func (p *Plugin) reroute(ctx context.Context, tx store.WriteTx, cur model.Router, routes []model.HostRoute) (any, error) {
	r := cur.Clone()
	r.Routes = routes
	if err := p.checkRoutes(ctx, tx, &r); err != nil {
		return nil, err
	}
	if err := p.save(ctx, tx, &cur, &r, func(name string) bool { return name == "routes" }); err != nil {
		return nil, err
	}
	return rest.Member{Value: r}, nil
}

// pages add what is computed of routers.
type pages struct{ *Plugin }

var (
	_ rest.Actor                    = actions{}
	_ rest.Splicer                  = pages{}
	_ rest.Controller[model.Router] = routers{}
)

// Splice shows the zones of a router's hosts, in one statement, and what others add.
func (p pages) Splice(ctx context.Context, tx store.Tx, page *rest.Page) error {
	if err := zones.Show(ctx, tx, page, model.AgentL3, "router_hosts", "router_id"); err != nil {
		return err
	}
	for _, other := range p.guards.Pages {
		if err := other.Splice(ctx, tx, page); err != nil {
			return err
		}
	}
	return nil
}
