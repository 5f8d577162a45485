package floatingip

import (
	"context"

	"isospin/internal/auth"
	"isospin/internal/clock"
	"isospin/internal/fault"
	"isospin/internal/ident"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/service"
	"isospin/internal/service/ml2"
	"isospin/internal/service/sharing"
	"isospin/internal/store"
)

// FloatingIPs is the plugin's table, Routers that of the routers which translate.
type (
	FloatingIPs = store.Table[model.FloatingIP]
	Routers     = store.Table[model.Router]
)

// NewFloatingIPs declares the table of floating IPs.
func NewFloatingIPs() *FloatingIPs {
	return store.NewTable("floatingips",
		func(f *model.FloatingIP) string { return f.ID }, func(f *model.FloatingIP) string { return f.ProjectID },
		store.Column[model.FloatingIP]{Name: "revision", Attr: "revision_number", Of: func(f *model.FloatingIP) any { return f.Revision }},
		store.Column[model.FloatingIP]{Name: "floating_network_id", Attr: "floating_network_id", Of: func(f *model.FloatingIP) any { return f.FloatingNetworkID }},
		store.Column[model.FloatingIP]{Name: "floating_ip_address", Attr: "floating_ip_address", Of: func(f *model.FloatingIP) any { return f.FloatingIPAddress }},
		store.Column[model.FloatingIP]{Name: "floating_port_id", Of: func(f *model.FloatingIP) any { return f.FloatingPortID }},
		store.Column[model.FloatingIP]{Name: "port_id", Attr: "port_id", Of: func(f *model.FloatingIP) any { return orNil(f.PortID) }},
		store.Column[model.FloatingIP]{Name: "fixed_ip_address", Attr: "fixed_ip_address", Of: func(f *model.FloatingIP) any { return orNil(f.FixedIPAddress) }},
		store.Column[model.FloatingIP]{Name: "router_id", Attr: "router_id", Of: func(f *model.FloatingIP) any { return orNil(f.RouterID) }},
		store.Column[model.FloatingIP]{Name: "status", Attr: "status", Of: func(f *model.FloatingIP) any { return f.Status }},
		store.Column[model.FloatingIP]{Name: "qos_policy_id", Attr: "qos_policy_id", Of: func(f *model.FloatingIP) any { return orNil(f.QoSPolicyID) }},
	).Counted("floatingip")
}

func orNil(s *string) any {
	if s == nil {
		return nil
	}
	return *s
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Routing knows which router leads where; l3.Plugin does.
type Routing interface {
	// RouterFor is the router that joins a subnet to an external network; ok is false without any.
	RouterFor(ctx context.Context, tx store.Tx, subnet *model.Subnet, external string) (router string, ok bool, err error)
	// Dirty says that the document of a router changed.
	Dirty(ctx context.Context, tx store.WriteTx, router string) error
}

// Config is what the plugin is made of.
type Config struct {
	FloatingIPs *FloatingIPs
	Networks    *ml2.Networks
	Subnets     *ml2.Subnets
	Rows        *ml2.Ports
	Ports       *ml2.Plugin
	Routers     *Routers
	Routing     Routing
	// Usable tells whether the caller may use a QoS policy; the error is the policy's fault.
	Usable func(ctx context.Context, tx store.WriteTx, policy string) error
	Clock  clock.Clock
	IDs    ident.Source
}

// Plugin is floating IPs.
type Plugin struct {
	Config
	guards []service.Guard[model.FloatingIP]
	pages  []rest.Splicer
}

// New makes the plugin.
func New(c Config) *Plugin { return &Plugin{Config: c} }

// Guard sets who takes part in the plugin's transactions before a row is written, and Show who adds to what floating IPs
// show; both are called by assemble, before anything is served.
func (p *Plugin) Guard(guards ...service.Guard[model.FloatingIP]) { p.guards = guards }

// Show sets who adds to what floating IPs show.
func (p *Plugin) Show(pages ...rest.Splicer) { p.pages = pages }

// Name is the plugin's name.
func (p *Plugin) Name() string { return "floatingip" }

// Bindings are floating IPs and the pools that they come from.
func (p *Plugin) Bindings() []rest.Binding {
	return []rest.Binding{
		rest.Bind("floatingips", p.FloatingIPs, controller{p}, rest.Options{
			Splicer:  controller{p},
			NotFound: func(id string) error { return fault.FloatingIPNotFound(id) },
		}),
		rest.Computed("floatingip_pools", "", pools{p.Subnets}, rest.Options{
			NotFound: func(id string) error { return fault.HTTPNotFound("There is no pool " + id + " to show.") },
		}),
	}
}

// all tells whether the caller sees what belongs to others: administrators, and writes that no request makes.
func all(ctx context.Context) bool {
	caller := auth.From(ctx)
	return caller == nil || caller.HasRole(auth.RoleAdmin)
}

// Bump writes a changed floating IP with its next revision; the routers that it was and is on are dirty.
func (p *Plugin) Bump(ctx context.Context, tx store.WriteTx, old, f *model.FloatingIP) error {
	f.UpdatedAt = model.Stamp(p.Clock.Now())
	f.Revision = old.Revision + 1
	if err := p.FloatingIPs.Update(ctx, tx, f, old.Revision); err != nil {
		return err
	}
	return p.dirty(ctx, tx, old.RouterID, f.RouterID)
}

// dirty says that routers' documents changed: each once, and nil is none. One statement each.
func (p *Plugin) dirty(ctx context.Context, tx store.WriteTx, routers ...*string) error {
	done := ""
	for _, r := range routers {
		if r == nil || *r == done {
			continue
		}
		done = *r
		if err := p.Routing.Dirty(ctx, tx, *r); err != nil {
			return err
		}
	}
	return nil
}

// external reads an external network that the caller may see, and that has IPv4 addresses.
func (p *Plugin) external(ctx context.Context, tx store.WriteTx, id string) error {
	where := store.Eq("id", id)
	if !all(ctx) {
		where = store.And(where, sharing.Visible(ctx, "network"))
	}
	nets, err := p.Networks.Find(ctx, tx, store.List{Where: where, Limit: 1})
	switch {
	case err != nil:
		return err
	case len(nets) == 0:
		return fault.NetworkNotFound(id)
	case !nets[0].External:
		return fault.BadRequest("floatingip", "network "+id+" is not external.")
	}
	subs, err := p.Subnets.Find(ctx, tx, store.List{Where: store.Eq("network_id", id)})
	if err != nil {
		return err
	}
	for i := range subs {
		if subs[i].IPVersion == 4 {
			return nil
		}
	}
	return fault.BadRequest("floatingip", "network "+id+" has no IPv4 subnet.")
}
