package assemble

import (
	"isospin/internal/config"
	"isospin/internal/service/conntrack"
	"isospin/internal/service/floatingip"
	"isospin/internal/service/l3"
	"isospin/internal/service/ml2"
	"isospin/internal/service/ndpproxy"
	"isospin/internal/service/portforward"
	"isospin/internal/service/qos"
	"isospin/internal/store"
)

// floating are the plugins that hang on routers: floating IPs, forwardings, conntrack helpers, NDP proxies.
type floating struct {
	fips       *floatingip.Plugin
	forwards   *portforward.Plugin
	helpers    *conntrack.Plugin
	ndpProxies *ndpproxy.Plugin
}

// onRouters makes them and joins them to the routers' plugin.
func (k *Core) onRouters(c *config.Server, env Env, routers *l3.Plugin) floating {
	var f floating
	f.fips = floatingip.New(floatingip.Config{FloatingIPs: floatingip.NewFloatingIPs(), Networks: k.Networks, Subnets: k.Subnets, Rows: k.Ports,
		Ports: k.ML2, Routers: routers.Routers, Routing: routers, Usable: qos.Usable, Clock: env.Clock, IDs: env.IDs})
	f.forwards = portforward.New(portforward.Config{Forwardings: portforward.NewForwardings(), FloatingIPs: f.fips, Ports: k.Ports, Clock: env.Clock, IDs: env.IDs})
	f.helpers = conntrack.New(conntrack.Config{Helpers: conntrack.NewTable(), Routers: routers.Routers, Allowed: c.OnRouters.ByHelper(), Dirty: routers.Dirty,
		Clock: env.Clock, IDs: env.IDs})
	f.ndpProxies = ndpproxy.New(ndpproxy.Config{Proxies: ndpproxy.NewProxies(), Routers: routers.Routers, Networks: k.Networks, Subnets: k.Subnets,
		Ports: k.Ports, Default: c.OnRouters.NDPProxy, Dirty: routers.Dirty, Clock: env.Clock, IDs: env.IDs})
	f.fips.Guard(portforward.FloatingGuard{Plugin: f.forwards})
	f.fips.Show(portforward.Floating{Plugin: f.forwards})
	fips, forwards, helpers, proxies := floatingip.OnRouter{Plugin: f.fips}, portforward.OnRouter{Plugin: f.forwards}, conntrack.OnRouter{Plugin: f.helpers},
		ndpproxy.OnRouter{Plugin: f.ndpProxies}
	guards := l3.Guards{}
	guards.Gateways = append(guards.Gateways, fips, proxies)
	guards.Interfaces = append(guards.Interfaces, proxies, fips, forwards)
	guards.Routers = append(guards.Routers, proxies, helpers)
	guards.Pages = append(guards.Pages, helpers)
	routers.Guard(guards)
	return f
}

// plugins are what rest binds.
func (f floating) plugins() []plugin { return []plugin{f.fips, f.forwards, f.helpers, f.ndpProxies} }

// guards adds what they do with networks and ports.
func (f floating) guards(g ml2.Guards) ml2.Guards {
	g.NetworksGoing = append(g.NetworksGoing, floatingip.Networks{Plugin: f.fips})
	g.Ports = append(g.Ports, floatingip.Ports{Plugin: f.fips})
	g.PortsWritten = append(g.PortsWritten, floatingip.Ports{Plugin: f.fips}, portforward.Ports{Plugin: f.forwards}, ndpproxy.Ports{Plugin: f.ndpProxies})
	return g
}

// floatingCheckers are their tables for db check.
func floatingCheckers() []store.Checker {
	return []store.Checker{floatingip.NewFloatingIPs(), portforward.NewForwardings(), conntrack.NewTable(), ndpproxy.NewProxies()}
}
