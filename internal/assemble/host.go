package assemble

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"isospin/internal/agent"
	"isospin/internal/agent/feature/brint"
	dhcpfeature "isospin/internal/agent/feature/dhcp"
	"isospin/internal/agent/feature/l2ovs"
	"isospin/internal/agent/feature/localip"
	"isospin/internal/agent/feature/seclog"
	"isospin/internal/agent/feature/sgovs"
	"isospin/internal/agent/feature/trunk"
	"isospin/internal/agent/feature/zone"
	"isospin/internal/agent/mirror"
	"isospin/internal/change"
	"isospin/internal/config"
	"isospin/internal/dataplane/addr"
	"isospin/internal/dataplane/dhcp"
	veth "isospin/internal/dataplane/link"
	"isospin/internal/dataplane/netns"
	"isospin/internal/dataplane/openflow"
	"isospin/internal/dataplane/vswitch"
	"isospin/internal/lifecycle"
	"isospin/internal/ovsdb"
	"isospin/internal/reconcile"
	"isospin/internal/wire"
)

// vswitchOwner marks rows of the Open vSwitch database, and device groups, that the agent made.
const vswitchOwner = "isospin-agent"

// host is an agent without its session: mirror, loop, features, the host's drivers as stages, and what follows them.
type host struct {
	env        Env
	docs       *mirror.Mirror
	unreadable map[change.Key]error
	loop       *agent.Loop
	watch      *brint.Watch
	zones      *zone.Book

	ovs        *ovsdb.Client
	conn       *openflow.Conn
	flows      *openflow.Flows
	interfaces *vswitch.Interfaces
	bridges    *vswitch.Bridges
	ports      *vswitch.Ports
	dhcp       *dhcp.Server

	// lb stands in the place of all that is Open vSwitch's, on a host of Linux bridges.
	lb *bridgeHost

	bridgeStage *reconcile.Reconciler[string, vswitch.Bridge]
	portStage   *reconcile.Reconciler[string, vswitch.Port]
	meters      meters
	guarantees  guarantees
	events      *seclog.Writer // nil: nothing is written down
	flowStage   *reconcile.Reconciler[openflow.Key, openflow.Flow]
	nsStage     *reconcile.Reconciler[string, struct{}]
	linkStage   *reconcile.Reconciler[veth.Key, veth.Veth]
	addrStage   *reconcile.Reconciler[addr.Key, addr.Addr]
	resStage    *reconcile.Reconciler[dhcp.ReservationKey, dhcp.Reservation]
	netStage    *reconcile.Reconciler[string, dhcp.Network]
}

// newHost makes it all and starts nothing. report takes statuses and returns when a server has them.
func newHost(c *config.Agent, env Env, name string, report func(context.Context, []*wire.Status) error) (*host, error) {
	if onBridges(c) {
		return newBridgeHost(c, env, name, report)
	}
	h := &host{env: env}
	var err error
	if h.ovs, err = ovsdb.New(c.OVSDB(), ovsdb.WithClock(env.Clock), ovsdb.WithLogger(env.Log)); err != nil {
		return nil, err
	}
	opts := []reconcile.Option{reconcile.WithClock(env.Clock), reconcile.WithLogger(env.Log), reconcile.WithPriority(wire.EntityL2, wire.EntityDHCP)}
	h.conn = openflow.NewConn(c.Isospin.OVSRunDir, c.OVS.IntegrationBridge)
	h.flows = openflow.NewFlows(h.conn, openflow.TagOf(brint.Owner))
	h.interfaces = vswitch.NewInterfaces(h.ovs, c.OVS.IntegrationBridge)
	h.watch = brint.NewWatch(h.interfaces)
	h.bridges, h.ports = vswitch.NewBridges(h.ovs, vswitchOwner), vswitch.NewPorts(h.ovs, vswitchOwner)
	h.dhcp = dhcp.New(dhcp.Options{Logger: env.Log, Clock: env.Clock, Lost: func(string) {
		h.netStage.Invalidate("a network's interface has gone")
		h.loop.Wake()
	}})
	h.bridgeStage = reconcile.New("bridges", h.bridges, vswitch.EqualBridge, opts...)
	h.nsStage = reconcile.New("namespaces", netns.NewDriver(own()), netns.Equal, opts...)
	h.linkStage = reconcile.New("links", pairs{Veths: veth.NewVeths(vswitchOwner, nil), ovs: h.ovs, ports: h.ports,
		taken: func(reason string) { h.portStage.Invalidate(reason) }}, veth.Equal, opts...)
	h.portStage = reconcile.New("switch ports", h.ports, vswitch.EqualPort, opts...)
	h.addrStage = reconcile.New("addresses", addr.NewDriver(own(), nil), addr.Equal, opts...)
	h.guarantees = newGuarantees(h.ovs, opts...)
	if h.meters, err = newMeters(c, h.conn, opts...); err != nil {
		return nil, err
	}
	h.flowStage = reconcile.New("flows", h.flows, openflow.Same, opts...)
	h.resStage, h.netStage = h.dhcp.Stages(opts...)
	filter, err := filterConfig(c)
	if err != nil {
		return nil, err
	}
	if h.zones, err = openZones(c); err != nil {
		return nil, err
	}
	if h.docs, h.unreadable, err = mirror.Open(filepath.Join(c.State.Dir, "mirror"), env.Clock); err != nil {
		return nil, err
	}
	reclaim(h.zones, h.docs)
	h.loop = &agent.Loop{Documents: h.docs, Report: report, Clock: env.Clock, Log: env.Log, Stages: h.stages(), Features: h.features(c, name, sgovs.New(filter, h.flowStage, h.watch, h.zones))}
	h.loop.Init()
	h.flows.OnDrift(func(reason string) {
		h.meters.stage.Invalidate(reason) // a meter takes the flows with it that name it
		h.flowStage.Invalidate(reason)
		h.loop.Wake()
	})
	return h, nil
}

// own says which namespaces are the agent's.
func own() netns.Own { return netns.Prefixes(dhcpfeature.Prefix) }

// stages are in dependency order.
func (h *host) stages() []reconcile.Stage {
	if h.lb != nil {
		return h.lb.stages(h)
	}
	return []reconcile.Stage{h.bridgeStage, h.nsStage, h.linkStage, h.portStage, h.addrStage, h.guarantees.stage, h.meters.stage, h.flowStage, h.resStage, h.netStage}
}

func (h *host) features(c *config.Agent, name string, filter *sgovs.Feature) []agent.Feature {
	out := []agent.Feature{trunk.New(h.watch), filter, l2ovs.New(l2ovs.Config{Host: name, Bridge: c.OVS.IntegrationBridge, DatapathType: c.OVS.DatapathType, Mappings: c.OVS.BridgeMappings,
		LocalIP: c.OVS.LocalIP, TunnelTypes: c.L2.TunnelTypes, VXLANPort: c.L2.VXLANPort, DontFragment: c.L2.DontFragment, Checksum: c.L2.TunnelCsum, Filter: filter},
		l2ovs.Targets{Bridges: h.bridgeStage, Ports: h.portStage, Flows: h.flowStage}, h.watch)}
	if slices.Contains(c.Isospin.Roles, "dhcp") {
		out = append(out, dhcpfeature.New(dhcpfeature.Config{Host: name, Bridge: c.OVS.IntegrationBridge, Userspace: c.OVS.DatapathType == "netdev", DNS: dnsServers(c)},
			dhcpfeature.Targets{Namespaces: h.nsStage, Links: h.linkStage, Addresses: h.addrStage, Ports: h.portStage, Networks: h.netStage, Reservations: h.resStage}))
	}
	if extension(c, "local_ip") {
		out = append(out, localip.New(h.flowStage, h.watch, h.zones))
	}
	return append(append(out, h.qosFeatures(c)...), h.logFeatures(c)...)
}

// parts are the host's parts in the order in which they start. The mirror and the connections end after the loop that uses them.
func (h *host) parts() []lifecycle.Part {
	if h.lb != nil {
		return h.lb.parts(h)
	}
	monitor := openflow.NewMonitor(h.conn, h.env.Clock, h.env.Log, h.flows)
	return append(h.eventParts(), []lifecycle.Part{
		{Name: "mirror", Stop: func(context.Context) error { return h.docs.Close() }},
		{Name: "flow connection", Stop: func(context.Context) error { return h.conn.Close() }},
		{Name: "dhcp", Stop: func(context.Context) error { return h.dhcp.Close() }},
		{Name: "ovsdb", Run: h.ovs.Run},
		{Name: "bridges", Run: func(ctx context.Context) error { return h.bridges.Watch(ctx, h.told(h.bridgeStage)) }},
		{Name: "switch ports", Run: func(ctx context.Context) error { return h.ports.Watch(ctx, h.told(h.portStage)) }},
		h.guarantees.follow(h.told),
		{Name: "switch interfaces", Run: h.interfaces.Run},
		{Name: "loop", Run: func(ctx context.Context) error { return h.loop.Run(ctx, h.unreadable) }},
		{Name: "interfaces", Run: h.watch.Run},
		{Name: "flows", Run: monitor.Run},
		{Name: "kernel", Run: h.followKernel},
	}...)
}

// settle is how long the kernel's news are gathered before anything is read back: most of them are the agent's own doing or a
// guest's device, and a read-back goes through every namespace.
const settle = 250 * time.Millisecond

// followKernel has the stages of kernel objects read back when something changed.
func (h *host) followKernel(ctx context.Context) error {
	return gathered(ctx, h.env.Clock, func(seen func(netns.Kind)) error { return netns.Monitor(ctx, own(), seen) }, h.invalidateKernel)
}

func (h *host) invalidateKernel(kinds netns.Kind) {
	stages := map[reconcile.Stage]netns.Kind{
		h.nsStage:   netns.Namespaces,
		h.linkStage: netns.Links | netns.Namespaces,
		h.addrStage: netns.Addresses | netns.Links | netns.Namespaces,
	}
	if h.lb != nil {
		maps.Copy(stages, h.lb.followed())
	}
	for s, of := range stages {
		if kinds&of != 0 {
			s.Invalidate("the kernel told of a change")
		}
	}
	h.loop.Wake()
}
