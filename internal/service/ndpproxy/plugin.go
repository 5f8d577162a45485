// Package ndpproxy is NDP proxies: IPv6 addresses of ports inside that a router answers for on its external network. rest calls
// it for requests, ml2 tells it of ports that change or go, and the routers' plugin has it settle whether a router answers at all
// (enable_ndp_proxy) and asks it before a gateway or an interface goes. It answers no packet; hosts do.
package ndpproxy

import (
	"context"
	"encoding/json"
	"net/netip"
	"slices"

	"isospin/internal/auth"
	"isospin/internal/clock"
	"isospin/internal/fault"
	"isospin/internal/ident"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/service/ml2"
	"isospin/internal/store"
)

// Proxies is the plugin's table, Routers that of the routers which answer.
type (
	Proxies = store.Table[model.NDPProxy]
	Routers = store.Table[model.Router]
)

// NewProxies declares the table of proxies.
func NewProxies() *Proxies {
	return store.NewTable("ndp_proxies",
		func(x *model.NDPProxy) string { return x.ID }, func(x *model.NDPProxy) string { return x.ProjectID },
		store.Column[model.NDPProxy]{Name: "revision", Attr: "revision_number", Of: func(x *model.NDPProxy) any { return x.Revision }},
		store.Column[model.NDPProxy]{Name: "name", Attr: "name", Of: func(x *model.NDPProxy) any { return x.Name }},
		store.Column[model.NDPProxy]{Name: "router_id", Attr: "router_id", Of: func(x *model.NDPProxy) any { return x.RouterID }},
		store.Column[model.NDPProxy]{Name: "port_id", Attr: "port_id", Of: func(x *model.NDPProxy) any { return x.PortID }},
		store.Column[model.NDPProxy]{Name: "ip_address", Attr: "ip_address", Of: func(x *model.NDPProxy) any { return x.IPAddress }},
	)
}

// Config is what the plugin is made of.
type Config struct {
	Proxies  *Proxies
	Routers  *Routers
	Networks *ml2.Networks
	Subnets  *ml2.Subnets
	Ports    *ml2.Ports
	// Default is whether a router answers that does not say, where its gateway lets it (enable_ndp_proxy_by_default).
	Default bool
	// Dirty says that the document of a router changed; l3.Plugin does.
	Dirty func(ctx context.Context, tx store.WriteTx, router string) error
	Clock clock.Clock
	IDs   ident.Source
}

// Plugin is NDP proxies.
type Plugin struct{ Config }

// New makes the plugin.
func New(c Config) *Plugin { return &Plugin{c} }

// Name is the plugin's name in `service_plugins`.
func (p *Plugin) Name() string { return "ndp_proxy" }

// Bindings are the proxies.
func (p *Plugin) Bindings() []rest.Binding {
	return []rest.Binding{rest.Bind("ndp_proxies", p.Proxies, controller{p}, rest.Options{
		NotFound: func(id string) error { return fault.NDPProxyNotFound(id) },
	})}
}

// all tells whether the caller may use what others own: administrators, and writes that no request makes.
func all(ctx context.Context) bool {
	caller := auth.From(ctx)
	return caller == nil || caller.HasRole(auth.RoleAdmin)
}

// controller is the controller of proxies.
type controller struct{ *Plugin }

// Create lets a router answer for an address of a port that it reaches (services/ndp_proxy/plugin.py).
func (p controller) Create(ctx context.Context, tx store.WriteTx, in rest.Input[model.NDPProxy]) (model.NDPProxy, error) {
	x := in.Value
	now := model.Stamp(p.Clock.Now())
	x.ID, x.TenantID, x.CreatedAt, x.UpdatedAt, x.Tags = p.IDs.UUID(), x.ProjectID, now, now, []string{}
	r, known, err := p.router(ctx, tx, x.RouterID)
	if err != nil {
		return x, err
	}
	port, err := p.port(ctx, tx, x.PortID)
	if err != nil {
		return x, err
	}
	var subnets []string
	if known {
		if subnets, err = p.joint(ctx, tx, r.ID, port.NetworkID); err != nil {
			return x, err
		}
	}
	switch {
	case len(subnets) == 0:
		return x, fault.PortUnreachableRouter(x.RouterID, port.ID)
	case !r.EnableNDPProxy || r.ExternalGatewayInfo == nil:
		return x, fault.RouterNDPProxyNotEnable(r.ID)
	}
	if err := p.address(ctx, tx, &x, &port, subnets); err != nil {
		return x, err
	}
	if err := p.oneScope(ctx, tx, r.ExternalGatewayInfo.NetworkID, port.NetworkID); err != nil {
		return x, err
	}
	err = p.Proxies.Insert(ctx, tx, &x)
	if _, dup := store.AsDuplicate(err); dup {
		err = fault.NeutronDbObjectDuplicateEntry("ndp_proxy", "router_id, ip_address")
	}
	if err != nil {
		return x, err
	}
	return x, p.Dirty(ctx, tx, r.ID)
}

// router keeps a router that the caller may use until the commit; known is false without any.
func (p *Plugin) router(ctx context.Context, tx store.WriteTx, id string) (r model.Router, known bool, err error) {
	r, err = p.Routers.GetForShare(ctx, tx, id)
	if store.IsNotFound(err) {
		return r, false, nil
	}
	return r, err == nil && (all(ctx) || r.ProjectID == auth.From(ctx).ProjectID), err
}

// port keeps a port that the caller may see until the commit.
func (p *Plugin) port(ctx context.Context, tx store.WriteTx, id string) (model.Port, error) {
	port, err := p.Ports.GetForShare(ctx, tx, id)
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

// joint are the subnets of a network that a router has addresses of. One statement.
func (p *Plugin) joint(ctx context.Context, tx store.Tx, router, network string) ([]string, error) {
	var out []string
	err := store.Each(ctx, tx, store.Q(`SELECT DISTINCT a.subnet_id FROM router_ports r JOIN ip_allocations a ON a.port_id = r.port_id
WHERE r.router_id = ? AND r.network_id = ?`, router, network), func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		out = append(out, id)
		return err
	})
	return out, err
}

// sixOf are the IPv6 addresses of a port.
func sixOf(port *model.Port) []model.FixedIP {
	var out []model.FixedIP
	for _, f := range port.FixedIPs {
		if a, err := netip.ParseAddr(f.IPAddress); err == nil && a.Is6() {
			out = append(out, f)
		}
	}
	return out
}

// address settles which address of the port the router answers for: one in a subnet that the router has.
func (p *Plugin) address(ctx context.Context, tx store.Tx, x *model.NDPProxy, port *model.Port, subnets []string) error {
	six := sixOf(port)
	if len(six) == 0 {
		return fault.BadRequest("ndp_proxy", "port "+port.ID+" has no IPv6 address.")
	}
	if x.IPAddress == "" {
		i := slices.IndexFunc(six, func(f model.FixedIP) bool { return slices.Contains(subnets, f.SubnetID) })
		if i < 0 {
			return fault.PortUnreachableRouter(x.RouterID, port.ID)
		}
		x.IPAddress = six[i].IPAddress
		return nil
	}
	if a, err := netip.ParseAddr(x.IPAddress); err == nil {
		x.IPAddress = a.String()
	}
	i := slices.IndexFunc(six, func(f model.FixedIP) bool { return f.IPAddress == x.IPAddress })
	switch {
	case i < 0:
		return fault.InvalidAddress(x.IPAddress, "port "+port.ID+" does not have it.")
	case !slices.Contains(subnets, six[i].SubnetID):
		return fault.InvalidAddress(x.IPAddress, "router "+x.RouterID+" does not reach it.")
	}
	return nil
}

// oneScope refuses networks of different address scopes: nothing is routed between those without translation.
func (p *Plugin) oneScope(ctx context.Context, tx store.Tx, outside, inside string) error {
	scopes, err := p.scopes(ctx, tx, outside, inside)
	if err == nil && scopes[outside] != scopes[inside] {
		err = fault.AddressScopeConflict(orNone(scopes[outside]), orNone(scopes[inside]))
	}
	return err
}

func orNone(scope string) string {
	if scope == "" {
		return "none"
	}
	return scope
}

// scopes are the IPv6 address scopes of networks, by network; those without one are left out. One statement.
func (p *Plugin) scopes(ctx context.Context, tx store.Tx, networks ...string) (map[string]string, error) {
	where := store.In("s.network_id", networks)
	out := map[string]string{}
	err := store.Each(ctx, tx, store.Q(`SELECT DISTINCT s.network_id, q.address_scope_id FROM subnets s JOIN subnetpools q ON q.id = s.subnetpool_id
WHERE q.ip_version = 6 AND q.address_scope_id IS NOT NULL AND `+where.SQL, where.Args...), func(scan func(...any) error) error {
		var network, scope string
		err := scan(&network, &scope)
		out[network] = scope
		return err
	})
	return out, err
}

// Update changes what a proxy is called.
func (p controller) Update(ctx context.Context, tx store.WriteTx, cur model.NDPProxy, in rest.Input[model.NDPProxy]) (model.NDPProxy, error) {
	x := cur
	if err := in.Apply(&x); err != nil || same(&cur, &x) {
		return x, err
	}
	x.UpdatedAt = model.Stamp(p.Clock.Now())
	x.Revision++
	return x, p.Proxies.Update(ctx, tx, &x, cur.Revision)
}

func same(a, b *model.NDPProxy) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && string(x) == string(y)
}

// Delete ends a proxy.
func (p controller) Delete(ctx context.Context, tx store.WriteTx, cur model.NDPProxy) error {
	if err := p.Proxies.Delete(ctx, tx, cur.ID); err != nil {
		return err
	}
	return p.Dirty(ctx, tx, cur.RouterID)
}
