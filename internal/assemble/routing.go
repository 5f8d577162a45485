package assemble

import (
	"isospin/internal/config"
	"isospin/internal/document"
	routerdoc "isospin/internal/document/router"
	"isospin/internal/service/autoalloc"
	"isospin/internal/service/l3"
	"isospin/internal/service/ml2"
	"isospin/internal/service/qos"
	"isospin/internal/service/zones"
	"isospin/internal/store"
)

// routing are routers and the topologies that projects get by themselves.
type routing struct {
	routers *l3.Plugin
	auto    *autoalloc.Plugin
}

// routing makes them; flavours are there already.
func (k *Core) routing(c *config.Server, env Env, z *zones.Plugin) routing {
	r := c.Routers
	k.Routers = l3.New(l3.Config{Store: k.Store, Routers: l3.NewRouters(), Networks: k.Networks, Subnets: k.Subnets, Rows: k.Ports, Ports: k.ML2,
		Nets: k.ML2, Agents: k.Agents, Hints: z, Flavors: k.Flavors, Usable: qos.Usable, Clock: env.Clock, IDs: env.IDs, Log: env.Log,
		MaxRoutes: int64(c.Limits.RouterRoutes), Distributed: r.Distributed, HA: r.HA, SNAT: r.SNAT, BFD: r.BFD, ECMP: r.ECMP,
		HANetwork: l3.HANetwork{Prefix: r.HANetwork.Prefix(), Type: r.HAType, Physical: r.HAPhysical}, PerRouter: r.PerRouter,
		Scheduler: l3.Schedulers()[r.Scheduler.String()], Zones: c.Plugins.DefaultZones, Wait: !c.Scheduling.RouterAutoSchedule})
	auto := autoalloc.New(autoalloc.Config{Networks: k.Networks, Subnets: k.Subnets, Nets: k.ML2, Routers: k.Routers})
	guards := l3.Guards{}
	guards.RoutersWritten = append(guards.RoutersWritten, autoalloc.OnRouter{Plugin: auto})
	k.Routers.Guard(guards)
	return routing{routers: k.Routers, auto: auto}
}

// plugins are what rest binds.
func (r routing) plugins() []plugin {
	return []plugin{r.routers, l3.Schedule{Plugin: r.routers}, r.auto}
}

// guards adds what they do with networks, subnets and ports.
func (r routing) guards(g ml2.Guards) ml2.Guards {
	g.Networks = append(g.Networks, l3.NetworkGuard{Plugin: r.routers}, autoalloc.Networks{Plugin: r.auto})
	g.NetworksWritten = append(g.NetworksWritten, l3.NetworkFollower{Plugin: r.routers}, autoalloc.Networks{Plugin: r.auto})
	g.SubnetsWritten = append(g.SubnetsWritten, l3.SubnetFollower{Plugin: r.routers})
	g.Ports = append(g.Ports, l3.PortGuard{Plugin: r.routers})
	g.PortsWritten = append(g.PortsWritten, l3.PortFollower{Plugin: r.routers})
	return g
}

// routerDocuments are what hosts are told of routers.
func (k *Core) routerDocuments() document.Kind { return routerdoc.New(k.Routers.Routers, k.Ports) }

// routingCheckers are their tables for db check.
func routingCheckers() []store.Checker { return []store.Checker{l3.NewRouters()} }
