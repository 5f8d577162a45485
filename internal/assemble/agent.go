package assemble

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"time"

	"isospin/internal/agent"
	dhcpfeature "isospin/internal/agent/feature/dhcp"
	"isospin/internal/agent/feature/l2ovs"
	"isospin/internal/agent/link"
	"isospin/internal/agent/mirror"
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
	"isospin/internal/telemetry"
	"isospin/internal/wire"
)

// vswitchOwner marks rows of the Open vSwitch database, and device groups, that the agent made.
const vswitchOwner = "isospin-agent"

// Agent is a host's process, or its half of one.
type Agent struct {
	cfg   *config.Agent
	env   Env
	loop  *agent.Loop
	link  *link.Link
	seen  map[string]bool
	parts []lifecycle.Part
}

// hostParts are the host's drivers as stages, and what follows them.
type hostParts struct {
	ovs        *ovsdb.Client
	transport  openflow.Transport
	flows      *openflow.Flows
	interfaces *vswitch.Interfaces
	bridges    *vswitch.Bridges
	ports      *vswitch.Ports
	dhcp       *dhcp.Server

	bridgeStage *reconcile.Reconciler[string, vswitch.Bridge]
	portStage   *reconcile.Reconciler[string, vswitch.Port]
	flowStage   *reconcile.Reconciler[openflow.Key, openflow.Flow]
	nsStage     *reconcile.Reconciler[string, struct{}]
	linkStage   *reconcile.Reconciler[veth.Key, veth.Veth]
	addrStage   *reconcile.Reconciler[addr.Key, addr.Addr]
	resStage    *reconcile.Reconciler[dhcp.ReservationKey, dhcp.Reservation]
	netStage    *reconcile.Reconciler[string, dhcp.Network]
}

// NewAgent makes the agent of an enrolled host. dial replaces TCP for a server in the same process.
func NewAgent(c *config.Agent, env Env, e wire.Enrolment, dial func(context.Context, string) (net.Conn, error)) (*Agent, error) {
	if len(c.Isospin.Servers) > 0 {
		e.Servers = c.Isospin.Servers
	}
	h, err := newHostParts(c, env)
	if err != nil {
		return nil, err
	}
	docs, unreadable, err := mirror.Open(filepath.Join(c.State.Dir, "mirror"), env.Clock)
	if err != nil {
		return nil, err
	}
	a := &Agent{cfg: c, env: env}
	facts, err := a.facts(e.Host)
	if err != nil {
		return nil, err
	}
	if a.link, err = link.New(link.Options{Enrolment: e, Facts: facts, Clock: env.Clock, IDs: env.IDs, Log: env.Log, Dial: dial}); err != nil {
		return nil, err
	}
	watch := l2ovs.NewWatch(h.interfaces)
	a.loop = &agent.Loop{Documents: docs, Report: a.link.Report, Clock: env.Clock, Log: env.Log, Stages: h.stages(),
		Features: a.features(h, watch, e.Host)}
	a.loop.Init()
	h.tell(a.loop.Wake)
	a.register(h)
	a.parts = append(h.parts(env, a.loop.Wake),
		lifecycle.Part{Name: "interfaces", Run: watch.Run},
		lifecycle.Part{Name: "loop", Run: func(ctx context.Context) error { return a.loop.Run(ctx, unreadable) },
			Stop: func(context.Context) error { return nil }},
		lifecycle.Part{Name: "session", Run: a.session},
		lifecycle.Part{Name: "mirror", Stop: func(context.Context) error { return docs.Close() }},
	)
	// The mirror is closed last: it is started first.
	slices.Reverse(a.parts[len(a.parts)-1:])
	return a, nil
}

// Parts are the agent's parts in the order in which they start.
func (a *Agent) Parts() []lifecycle.Part { return a.parts }

func newHostParts(c *config.Agent, env Env) (*hostParts, error) {
	h := &hostParts{}
	var err error
	if h.ovs, err = ovsdb.New(c.OVSDB(), ovsdb.WithClock(env.Clock), ovsdb.WithLogger(env.Log)); err != nil {
		return nil, err
	}
	opts := []reconcile.Option{reconcile.WithClock(env.Clock), reconcile.WithLogger(env.Log), reconcile.WithPriority(wire.EntityL2, wire.EntityDHCP)}
	h.transport = openflow.NewOfctl(c.Isospin.OVSRunDir, c.OVS.IntegrationBridge)
	h.flows = openflow.NewFlows(h.transport, openflow.TagOf(l2ovs.Owner))
	h.interfaces = vswitch.NewInterfaces(h.ovs, c.OVS.IntegrationBridge)
	h.bridges, h.ports = vswitch.NewBridges(h.ovs, vswitchOwner), vswitch.NewPorts(h.ovs, vswitchOwner)
	h.dhcp = dhcp.New(dhcp.Options{Logger: env.Log, Clock: env.Clock, Lost: func(string) { h.netStage.Invalidate("a network's interface has gone") }})
	own := netns.Prefixes(dhcpfeature.Prefix)
	h.bridgeStage = reconcile.New("bridges", h.bridges, vswitch.EqualBridge, opts...)
	h.nsStage = reconcile.New("namespaces", netns.NewDriver(own), netns.Equal, opts...)
	h.linkStage = reconcile.New("links", veth.NewVeths(vswitchOwner, own), veth.Equal, opts...)
	h.portStage = reconcile.New("switch ports", h.ports, vswitch.EqualPort, opts...)
	h.addrStage = reconcile.New("addresses", addr.NewDriver(own, nil), addr.Equal, opts...)
	h.flowStage = reconcile.New("flows", h.flows, openflow.Same, opts...)
	h.resStage, h.netStage = h.dhcp.Stages(opts...)
	return h, nil
}

// stages are in dependency order.
func (h *hostParts) stages() []reconcile.Stage {
	return []reconcile.Stage{h.bridgeStage, h.nsStage, h.linkStage, h.portStage, h.addrStage, h.flowStage, h.resStage, h.netStage}
}

// tell makes whatever sees drift wake the loop.
func (h *hostParts) tell(wake func()) {
	h.flows.OnDrift(func(reason string) { h.flowStage.Invalidate(reason); wake() })
}

// parts follow the kernel and Open vSwitch.
func (h *hostParts) parts(env Env, wake func()) []lifecycle.Part {
	told := func(s reconcile.Stage) func(string) {
		return func(reason string) { s.Invalidate(reason); wake() }
	}
	own := netns.Prefixes(dhcpfeature.Prefix)
	monitor := openflow.NewMonitor(h.transport, env.Clock, env.Log, h.flows)
	return []lifecycle.Part{
		{Name: "ovsdb", Run: h.ovs.Run},
		{Name: "bridges", Run: func(ctx context.Context) error { return h.bridges.Watch(ctx, told(h.bridgeStage)) }},
		{Name: "switch ports", Run: func(ctx context.Context) error { return h.ports.Watch(ctx, told(h.portStage)) }},
		{Name: "switch interfaces", Run: h.interfaces.Run},
		{Name: "flows", Run: monitor.Run},
		{Name: "kernel", Run: func(ctx context.Context) error {
			return netns.Monitor(ctx, own, func(k netns.Kind) {
				for _, s := range []struct {
					kind  netns.Kind
					stage reconcile.Stage
				}{{netns.Namespaces, h.nsStage}, {netns.Links | netns.Namespaces, h.linkStage}, {netns.Addresses | netns.Links | netns.Namespaces, h.addrStage}} {
					if k&s.kind != 0 {
						s.stage.Invalidate("the kernel told of a change")
					}
				}
				wake()
			})
		}},
		{Name: "dhcp", Stop: func(context.Context) error { return h.dhcp.Close() }},
	}
}

func (a *Agent) features(h *hostParts, watch *l2ovs.Watch, host string) []agent.Feature {
	c := a.cfg
	out := []agent.Feature{l2ovs.New(l2ovs.Config{Bridge: c.OVS.IntegrationBridge, DatapathType: c.OVS.DatapathType, Mappings: c.OVS.BridgeMappings,
		LocalIP: c.OVS.LocalIP, TunnelTypes: c.L2.TunnelTypes, VXLANPort: c.L2.VXLANPort, DontFragment: c.L2.DontFragment, Checksum: c.L2.TunnelCsum},
		l2ovs.Targets{Bridges: h.bridgeStage, Ports: h.portStage, Flows: h.flowStage}, watch)}
	if slices.Contains(c.Isospin.Roles, "dhcp") {
		var dns []netip.Addr
		for _, text := range c.DHCPRole.DNSServers {
			if ip, err := netip.ParseAddr(text); err == nil {
				dns = append(dns, ip)
			}
		}
		out = append(out, dhcpfeature.New(dhcpfeature.Config{Host: host, Bridge: c.OVS.IntegrationBridge, Userspace: c.OVS.DatapathType == "netdev", DNS: dns},
			dhcpfeature.Targets{Namespaces: h.nsStage, Links: h.linkStage, Addresses: h.addrStage, Ports: h.portStage, Networks: h.netStage, Reservations: h.resStage}))
	}
	return out
}

// facts are what the host says of itself: the agents that clients of the agents API know.
func (a *Agent) facts(host string) (*wire.Facts, error) {
	c := a.cfg
	started := a.env.Clock.Now().UnixMilli()
	tunnelIP := ""
	types := []string{}
	if c.OVS.LocalIP.IsValid() {
		tunnelIP, types = c.OVS.LocalIP.String(), c.L2.TunnelTypes
	}
	l2, err := json.Marshal(map[string]any{
		"bridge_mappings": c.OVS.BridgeMappings, "tunneling_ip": tunnelIP, "tunnel_types": types, "integration_bridge": c.OVS.IntegrationBridge,
		"datapath_type": c.OVS.DatapathType, "l2_population": true, "arp_responder_enabled": true, "extensions": c.L2.Extensions,
		"ovs_hybrid_plug": false, "in_distributed_mode": false, "enable_distributed_routing": false, "devices": 0,
	})
	if err != nil {
		return nil, fmt.Errorf("facts of the Open vSwitch agent: %w", err)
	}
	out := &wire.Facts{TunnelIp: tunnelIP, TunnelTypes: types, Agents: []*wire.AgentFacts{
		{AgentType: "Open vSwitch agent", Binary: "neutron-openvswitch-agent", Topic: "N/A", Configurations: l2, StartedAt: started}}}
	if slices.Contains(c.Isospin.Roles, "dhcp") {
		conf, err := json.Marshal(map[string]any{"dhcp_driver": "isospin", "dhcp_lease_duration": c.DHCP.LeaseSeconds, "log_agent_heartbeats": false,
			"notifies_port_ready": true, "networks": 0, "subnets": 0, "ports": 0})
		if err != nil {
			return nil, fmt.Errorf("facts of the DHCP agent: %w", err)
		}
		out.Agents = append(out.Agents, &wire.AgentFacts{AgentType: "DHCP agent", Binary: "neutron-dhcp-agent", Topic: "dhcp_agent",
			AvailabilityZone: c.L2.Zone, Configurations: conf, StartedAt: started})
	}
	return out, nil
}

// session keeps the host's session open.
func (a *Agent) session(ctx context.Context) error {
	err := a.link.Run(ctx, sessionHandler{agent: a, ctx: ctx})
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// sessionHandler hands what the link hears to the loop.
type sessionHandler struct {
	agent *Agent
	// ctx is the run's own: the link's Run, which was called with it, waits for every method of its handler.
	ctx context.Context
}

// Have lists the sets held.
func (h sessionHandler) Have() []*wire.SetHash { return h.agent.loop.Documents.(*mirror.Mirror).Have() }

// Opened logs.
func (h sessionHandler) Opened(server string) {
	h.agent.env.Log.Info("session opened", slog.String("server", server))
}

// Frame waits until the loop has the frame.
func (h sessionHandler) Frame(f *wire.Frame) error { return h.agent.loop.Frame(h.ctx, f) }

// Synced tells the loop.
func (h sessionHandler) Synced() error { return h.agent.loop.Synced(h.ctx) }

// Closed logs.
func (h sessionHandler) Closed(err error) {
	if h.ctx.Err() == nil {
		h.agent.env.Log.Warn("session ended; what runs goes on", slog.Any("err", err))
	}
}

// register makes the stages' counters metrics, and tells health of the switch and the session.
func (a *Agent) register(h *hostParts) {
	for _, s := range h.stages() {
		name := metricName(s.Name())
		stats := s.Stats
		a.env.Registry.GaugeFunc("isospin_agent_"+name+"_puts", "Objects put by the stage since the start.", func() float64 { return float64(stats().Puts) })
		a.env.Registry.GaugeFunc("isospin_agent_"+name+"_drops", "Objects dropped by the stage since the start.", func() float64 { return float64(stats().Drops) })
		a.env.Registry.GaugeFunc("isospin_agent_"+name+"_drift", "Objects found changed behind the agent's back.", func() float64 { return float64(stats().Drift) })
		a.env.Registry.GaugeFunc("isospin_agent_"+name+"_pending", "Objects that still have to be written.", func() float64 {
			return float64(stats().PendingPuts + stats().PendingDrops)
		})
	}
	a.env.Health.Add("open vswitch", h.ovs.Ready)
	a.env.Health.Add("session", func(context.Context) error {
		if st := a.link.State(); !st.Connected {
			return fmt.Errorf("no session: %w", st.Err)
		}
		return nil
	})
}

func metricName(stage string) string {
	b := []byte(stage)
	for i, c := range b {
		if c == ' ' {
			b[i] = '_'
		}
	}
	return string(b)
}

// ReadEnrolment reads the file that `isospin host add` wrote.
func ReadEnrolment(path string) (wire.Enrolment, error) {
	if path == "" {
		return wire.Enrolment{}, errors.New("[isospin] enrolment names no file: `isospin host add NAME` on a server makes one")
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return wire.Enrolment{}, fmt.Errorf("enrolment: %w", err)
	}
	return wire.ParseEnrolment(raw)
}

// HealthServer serves a process's own paths on an address of its own.
func HealthServer(addr string, env Env) lifecycle.Part {
	srv := HTTPServer(telemetry.Handler(env.Registry, env.Health), env.Log)
	return lifecycle.Part{Name: "health", Start: func(ctx context.Context) error {
		l, err := Listen(ctx, addr)
		if err != nil {
			return err
		}
		go func() { _ = srv.Serve(l) }() // ends with Stop; its error is ErrServerClosed then
		return nil
	}, Stop: srv.Shutdown}
}

// Grace is how long a process takes at most to stop.
const Grace = 10 * time.Second

// RunAgent is `isospin agent`: it returns when ctx ends or a part fails.
func RunAgent(ctx context.Context, c *config.Agent, env Env) error {
	e, err := ReadEnrolment(c.Isospin.Enrolment)
	if err != nil {
		return err
	}
	if err := stateDir(c.State.Dir); err != nil {
		return err
	}
	a, err := NewAgent(c, env, e, nil)
	if err != nil {
		return err
	}
	g := &lifecycle.Group{Log: env.Log}
	if c.Isospin.HTTPListen != "" {
		g.Add(HealthServer(c.Isospin.HTTPListen, env))
	}
	g.Add(a.Parts()...)
	return g.Run(ctx, Grace)
}
