package l3

import (
	"context"
	"log/slog"
	"net/netip"
	"time"

	"isospin/internal/auth"
	"isospin/internal/clock"
	"isospin/internal/fault"
	"isospin/internal/ident"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/service"
	"isospin/internal/service/agents"
	"isospin/internal/service/ml2"
	"isospin/internal/service/servicetype"
	"isospin/internal/service/sharing"
	"isospin/internal/store"
)

// Ports makes routers' ports; ml2.Plugin is one.
type Ports interface {
	CreatePort(ctx context.Context, tx store.WriteTx, port model.Port) (model.Port, error)
	AdjustPort(ctx context.Context, tx store.WriteTx, id string, change func(*model.Port)) (model.Port, error)
	DeletePort(ctx context.Context, tx store.WriteTx, id string) error
}

// Hints checks availability zones; zones.Plugin is one.
type Hints interface {
	Check(ctx context.Context, tx store.Tx, resource string, hints []string) error
}

// Flavors tells which provider makes routers of a flavour; flavors.Plugin does. The error is the request's.
type Flavors interface {
	Provider(ctx context.Context, tx store.WriteTx, flavor, serviceType string) (servicetype.Provider, error)
}

// GatewayGuard is asked in the transaction before a router's way out changes: old is nil for a new one, now for one that goes
// (also with its router). Addresses of now are those asked for; an error is the request's.
type GatewayGuard interface {
	GatewayChanges(ctx context.Context, tx store.WriteTx, r *model.Router, old, now *model.GatewayInfo) error
}

// InterfaceGuard is asked in the transaction before a router's interface leaves a subnet; an error is the request's.
type InterfaceGuard interface {
	InterfaceGoes(ctx context.Context, tx store.WriteTx, r *model.Router, port *model.Port, subnet *model.Subnet) error
}

// Guards are those who take part in the plugin's transactions, in order.
type Guards struct {
	Gateways   []GatewayGuard
	Interfaces []InterfaceGuard
	// Routers are asked before a router's row is written, when its gateways are settled; they may complete New.
	Routers        []service.Guard[model.Router]
	RoutersWritten []service.Follower[model.Router]
	// Pages add what others compute of routers.
	Pages []rest.Splicer
}

// Config is what the plugin is made of.
type Config struct {
	Store    store.Store
	Routers  *Routers
	Networks *ml2.Networks
	Subnets  *ml2.Subnets
	Rows     *ml2.Ports
	Ports    Ports
	Nets     Nets
	Agents   *agents.Plugin
	Hints    Hints
	Flavors  Flavors
	// Usable refuses a QoS policy that the caller may not use (qos.Usable).
	Usable func(ctx context.Context, tx store.WriteTx, policy string) error
	Clock  clock.Clock
	IDs    ident.Source
	Log    *slog.Logger
	// MaxRoutes is how many routes a router has at most where its project has no limit of its own (max_routes).
	MaxRoutes int64
	// Distributed and HA are what routers are that do not say (router_distributed, l3_ha); SNAT whether gateways hide
	// addresses that do not say (enable_snat_by_default).
	Distributed, HA, SNAT bool
	// BFD and ECMP are enable_default_route_bfd and enable_default_route_ecmp of routers that do not say.
	BFD, ECMP bool
	// HANetwork is how the networks of highly available routers are made.
	HANetwork HANetwork
	// PerRouter is how many hosts a highly available router is given to; 0: all (max_l3_agents_per_router).
	PerRouter int
	// Scheduler chooses hosts; Zones are the zones of routers that name none.
	Scheduler Scheduler
	Zones     []string
	// Wait leaves routers that no host has to their next change (router_auto_schedule = false).
	Wait bool
	// Every is how often routers without a host are looked for; zero is a quarter of agent_down_time.
	Every time.Duration
}

// HANetwork is the making of a network of highly available routers.
type HANetwork struct {
	Prefix   netip.Prefix // l3_ha_net_cidr
	Type     string       // l3_ha_network_type, "" as project networks
	Physical string       // l3_ha_network_physical_name
}

// Plugin is routers.
type Plugin struct {
	Config
	*agents.Comers // hosts that come may take routers that no host has
	guards         Guards
}

// New makes the plugin. Guard adds those that need the plugin themselves.
func New(c Config) *Plugin {
	if c.Every == 0 {
		c.Every = max(c.Agents.DownTime/4, time.Second)
	}
	return &Plugin{Config: c, Comers: agents.NewComers(c.Clock, c.Every)}
}

// Guard adds those who take part in the plugin's transactions; called by assemble before anything is served.
func (p *Plugin) Guard(g Guards) {
	p.guards.Gateways = append(p.guards.Gateways, g.Gateways...)
	p.guards.Interfaces = append(p.guards.Interfaces, g.Interfaces...)
	p.guards.Routers = append(p.guards.Routers, g.Routers...)
	p.guards.RoutersWritten = append(p.guards.RoutersWritten, g.RoutersWritten...)
	p.guards.Pages = append(p.guards.Pages, g.Pages...)
}

// Name is the plugin's name in `service_plugins`.
func (p *Plugin) Name() string { return "router" }

// Bindings is the collection of routers.
func (p *Plugin) Bindings() []rest.Binding {
	return []rest.Binding{rest.Bind("routers", p.Routers, routers{p}, rest.Options{
		Splicer: pages{p}, Actor: actions{p},
		NotFound: func(id string) error { return fault.RouterNotFound(id) },
	})}
}

// Lock keeps a router's row until the commit; a fault when there is none.
func (p *Plugin) Lock(ctx context.Context, tx store.WriteTx, id string) (model.Router, error) {
	r, err := p.Routers.GetForUpdate(ctx, tx, id)
	if store.IsNotFound(err) {
		err = fault.RouterNotFound(id)
	}
	return r, err
}

// admin tells whether the caller may use what it does not own; a write that no request makes may.
func admin(ctx context.Context) bool {
	caller := auth.From(ctx)
	return caller == nil || caller.HasRole(auth.RoleAdmin)
}

// project is the caller's project.
func project(ctx context.Context) string {
	if caller := auth.From(ctx); caller != nil {
		return caller.ProjectID
	}
	return ""
}

// network reads a network that the caller may see, and keeps it as it is until the commit: what leads outside now does so still when the
// gateway is there. A fault where there is none. One statement.
func (p *Plugin) network(ctx context.Context, tx store.WriteTx, id string) (model.Network, error) {
	where := store.Eq("id", id)
	if !admin(ctx) {
		where = store.And(where, sharing.Visible(ctx, "network"))
	}
	found, err := p.Networks.Find(ctx, tx, store.List{Where: where, Share: true})
	if err == nil && len(found) == 0 {
		err = fault.NetworkNotFound(id)
	}
	if err != nil {
		return model.Network{}, err
	}
	return found[0], nil
}

// subnet reads a subnet that the caller may see; a fault where there is none. One statement.
func (p *Plugin) subnet(ctx context.Context, tx store.Tx, id string) (model.Subnet, error) {
	where := store.Eq("id", id)
	if !admin(ctx) {
		seen := sharing.Visible(ctx, "network")
		where = store.And(where, store.Or(store.Eq("project_id", project(ctx)),
			store.Expr("network_id IN (SELECT id FROM networks WHERE "+seen.SQL+")", seen.Args...)))
	}
	found, err := p.Subnets.Find(ctx, tx, store.List{Where: where})
	if err == nil && len(found) == 0 {
		err = fault.SubnetNotFound(id)
	}
	if err != nil {
		return model.Subnet{}, err
	}
	return found[0], nil
}

// port reads a port that the caller may see; a fault where there is none. One statement.
func (p *Plugin) port(ctx context.Context, tx store.Tx, id string) (model.Port, error) {
	where := store.Eq("id", id)
	if !admin(ctx) {
		mine := project(ctx)
		where = store.And(where, store.Or(store.Eq("project_id", mine),
			store.Expr("network_id IN (SELECT id FROM networks WHERE project_id = ?)", mine)))
	}
	found, err := p.Rows.Find(ctx, tx, store.List{Where: where})
	if err == nil && len(found) == 0 {
		err = fault.PortNotFound(id)
	}
	if err != nil {
		return model.Port{}, err
	}
	return found[0], nil
}

// mine marks the writes of ports that the plugin itself makes, so that its guard of ports lets them pass.
type mine struct{}

func ours(ctx context.Context) context.Context { return context.WithValue(ctx, mine{}, true) }

func isOurs(ctx context.Context) bool { return ctx.Value(mine{}) != nil }

// bad is the fault for a request about a router that cannot be.
func bad(reason string) error { return fault.BadRequest("router", reason) }
