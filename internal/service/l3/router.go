package l3

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/service"
	"isospin/internal/service/servicetype"
	"isospin/internal/store"
)

// routers is the controller of routers.
type routers struct{ *Plugin }

// Create makes a router, with its gateway.
func (p routers) Create(ctx context.Context, tx store.WriteTx, in rest.Input[model.Router]) (model.Router, error) {
	r := in.Value
	gateway, err := asked(in.Raw("external_gateway_info"))
	if err != nil {
		return r, err
	}
	return p.make(ctx, tx, r, gateway, in.Given, func(name string) bool { return in.Given(name) && !in.Null(name) })
}

// CreateRouter makes a router on behalf of another plugin, in its transaction: external is the network of its gateway, "" for
// none; what r does not say is as the configuration says.
func (p *Plugin) CreateRouter(ctx context.Context, tx store.WriteTx, r model.Router, external string) (model.Router, error) {
	var gateway *gatewayAsked
	if external != "" {
		gateway = &gatewayAsked{NetworkID: external}
	}
	none := func(string) bool { return false }
	return (routers{p}).make(ctx, tx, r, gateway, none, none)
}

func (p routers) make(ctx context.Context, tx store.WriteTx, r model.Router, gateway *gatewayAsked, given, set func(string) bool) (model.Router, error) {
	now := model.Stamp(p.Clock.Now())
	r.ID, r.CreatedAt, r.UpdatedAt, r.Revision = p.IDs.UUID(), now, now, 1
	r.Own(r.ProjectID)
	r.Status = model.StatusActive
	p.fill(&r, set)
	if err := p.Hints.Check(ctx, tx, "router", r.AvailabilityZoneHints); err != nil {
		return r, err
	}
	if err := p.flavour(ctx, tx, &r, set); err != nil {
		return r, err
	}
	if r.HA {
		if err := p.number(ctx, tx, &r); err != nil {
			return r, err
		}
	}
	if gateway != nil {
		if err := p.gate(ctx, tx, &r, 0, gateway); err != nil {
			return r, err
		}
	}
	w := service.Write[model.Router]{Op: service.Create, New: &r, Given: given}
	if err := p.before(ctx, tx, w); err != nil {
		return r, err
	}
	if err := p.Routers.Insert(ctx, tx, &r); err != nil {
		return r, err
	}
	// Without a gateway there is nothing to do on a host yet; a highly available router has its hosts at once, as in Neutron
	// (neutron/db/l3_hamode_db.py).
	if gateway != nil || r.HA {
		if err := p.place(ctx, tx, &r); err != nil {
			return r, err
		}
	}
	return r, p.after(ctx, tx, w)
}

// fill sets what the request left open.
func (p *Plugin) fill(r *model.Router, set func(string) bool) {
	def := func(name string, to *bool, value bool) {
		if !set(name) {
			*to = value
		}
	}
	def("distributed", &r.Distributed, p.Distributed)
	def("ha", &r.HA, p.HA)
	def("enable_default_route_bfd", &r.EnableDefaultRouteBFD, p.BFD)
	def("enable_default_route_ecmp", &r.EnableDefaultRouteECMP, p.ECMP)
	r.EnableSNAT = p.SNAT
	r.AvailabilityZones = []string{}
	for _, list := range []*[]string{&r.Tags, &r.AvailabilityZoneHints} {
		if *list == nil {
			*list = []string{}
		}
	}
	r.Routes, r.ExternalGateways, r.GatewayPorts = []model.HostRoute{}, nil, nil
	r.Lead()
}

// flavour makes a router what its flavour's provider makes, and refuses a request that says otherwise
// (neutron/services/l3_router/service_providers).
func (p *Plugin) flavour(ctx context.Context, tx store.WriteTx, r *model.Router, set func(string) bool) error {
	if r.FlavorID == nil {
		return nil
	}
	provider, err := p.Flavors.Provider(ctx, tx, *r.FlavorID, servicetype.RouterService)
	if err != nil {
		return err
	}
	for name, kind := range map[string]struct {
		is   *bool
		want bool
	}{
		"distributed": {&r.Distributed, provider.Name == "dvr" || provider.Name == "dvrha"},
		"ha":          {&r.HA, provider.Name == "ha" || provider.Name == "dvrha"},
	} {
		if set(name) && *kind.is != kind.want {
			return fault.BadInput("a router of flavor %s cannot have %s %t.", *r.FlavorID, name, *kind.is)
		}
		*kind.is = kind.want
	}
	return nil
}

func (p *Plugin) before(ctx context.Context, tx store.WriteTx, w service.Write[model.Router]) error {
	for _, g := range p.guards.Routers {
		if err := g.Guard(ctx, tx, w); err != nil {
			return err
		}
	}
	return nil
}

// after says which documents a router's write made dirty, and lets followers act.
func (p *Plugin) after(ctx context.Context, tx store.WriteTx, w service.Write[model.Router]) error {
	if w.New != nil {
		if err := p.Dirty(ctx, tx, w.New.ID); err != nil {
			return err
		}
	}
	for _, f := range p.guards.RoutersWritten {
		if err := f.Follow(ctx, tx, w); err != nil {
			return err
		}
	}
	return nil
}

// Update changes a router.
func (p routers) Update(ctx context.Context, tx store.WriteTx, cur model.Router, in rest.Input[model.Router]) (model.Router, error) {
	r := cur.Clone()
	if err := in.Apply(&r); err != nil {
		return r, err
	}
	p.restore(&cur, &r, in.Null)
	raw, given := in.Raw("external_gateway_info")
	r.ExternalGateways, r.GatewayPorts = cur.Clone().ExternalGateways, slices.Clone(cur.GatewayPorts)
	r.Lead()
	if err := turned(&cur, &r); err != nil {
		return r, err
	}
	if given {
		gateway, err := asked(raw, true)
		if err != nil {
			return r, err
		}
		if err := p.regate(ctx, tx, &r, gateway); err != nil {
			return r, err
		}
	}
	if in.Given("routes") {
		if err := p.checkRoutes(ctx, tx, &r); err != nil {
			return r, err
		}
	}
	return r, p.save(ctx, tx, &cur, &r, in.Given)
}

// restore puts back what null means "as before" for.
func (p *Plugin) restore(cur, r *model.Router, null func(string) bool) {
	for name, field := range map[string]struct{ to, from *bool }{
		"distributed":              {&r.Distributed, &cur.Distributed},
		"ha":                       {&r.HA, &cur.HA},
		"enable_default_route_bfd": {&r.EnableDefaultRouteBFD, &cur.EnableDefaultRouteBFD}, "enable_default_route_ecmp": {&r.EnableDefaultRouteECMP, &cur.EnableDefaultRouteECMP},
		"enable_ndp_proxy": {&r.EnableNDPProxy, &cur.EnableNDPProxy},
	} {
		if null(name) {
			*field.to = *field.from
		}
	}
	if r.Routes == nil {
		r.Routes = []model.HostRoute{}
	}
	r.EnableSNAT = cur.EnableSNAT
}

// turned judges a change of the router's kind: distributed wants a router that was down before the request, ha one that is down
// with it (behaviour.md, section 13).
func turned(cur, r *model.Router) error {
	if cur.Distributed != r.Distributed && (cur.AdminStateUp || r.AdminStateUp) {
		return bad("distributed can be changed only while the router's admin_state_up is false.")
	}
	if cur.HA != r.HA && r.AdminStateUp {
		return bad("ha can be changed only while the router's admin_state_up is false.")
	}
	return nil
}

// save writes a changed router, whose gateways are settled, and what follows from it; a change of nothing is no write.
func (p *Plugin) save(ctx context.Context, tx store.WriteTx, cur, r *model.Router, given func(string) bool) error {
	w := service.Write[model.Router]{Op: service.Update, Old: cur, New: r, Given: given}
	if err := p.before(ctx, tx, w); err != nil || same(cur, r) {
		return err
	}
	if cur.Distributed != r.Distributed || cur.HA != r.HA {
		if err := p.turn(ctx, tx, cur, r); err != nil {
			return err
		}
	}
	if err := p.write(ctx, tx, cur, r); err != nil {
		return err
	}
	if err := p.place(ctx, tx, r); err != nil {
		return err
	}
	return p.after(ctx, tx, w)
}

// write writes a router's next revision.
func (p *Plugin) write(ctx context.Context, tx store.WriteTx, cur, r *model.Router) error {
	r.UpdatedAt = model.Stamp(p.Clock.Now())
	r.Revision = cur.Revision + 1
	return p.Routers.Update(ctx, tx, r, cur.Revision)
}

// same tells whether two routers have the same body and columns.
func same(a, b *model.Router) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && bytes.Equal(x, y) && slices.Equal(a.GatewayPorts, b.GatewayPorts) && a.VRID == b.VRID
}

// Delete removes a router that no subnet is joined to, with its gateways.
func (p routers) Delete(ctx context.Context, tx store.WriteTx, cur model.Router) error {
	return p.Remove(ctx, tx, cur)
}

// Remove removes a router, whose row the caller keeps, on behalf of a request or another plugin.
func (p *Plugin) Remove(ctx context.Context, tx store.WriteTx, cur model.Router) error {
	n, _, err := store.Int(ctx, tx, store.Q("SELECT COUNT(*) FROM router_ports WHERE router_id = ? AND port_type IN (?, ?, ?)",
		cur.ID, model.OwnerRouterInterface, model.OwnerRouterReplicated, model.OwnerRouterDVR))
	if err != nil {
		return err
	}
	if n > 0 {
		return fault.RouterInUse(cur.ID, "it has interfaces.")
	}
	w := service.Write[model.Router]{Op: service.Delete, Old: &cur}
	if err := p.before(ctx, tx, w); err != nil {
		return err
	}
	r := cur.Clone()
	for len(r.ExternalGateways) > 0 {
		if err := p.ungate(ctx, tx, &r, len(r.ExternalGateways)-1); err != nil {
			return err
		}
	}
	if err := p.Dirty(ctx, tx, cur.ID); err != nil {
		return err
	}
	if err := p.displace(ctx, tx, &r); err != nil {
		return err
	}
	if cur.HA {
		if err := p.unnumber(ctx, tx, &r); err != nil {
			return err
		}
	}
	if err := p.Routers.Delete(ctx, tx, cur.ID); err != nil {
		return err
	}
	return p.after(ctx, tx, w)
}
