package assemble

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"time"

	"isospin/internal/agent"
	"isospin/internal/agent/link"
	"isospin/internal/config"
	"isospin/internal/lifecycle"
	"isospin/internal/telemetry"
	"isospin/internal/wire"
)

// Agent is a host's process, or its half of one.
type Agent struct {
	cfg   *config.Agent
	env   Env
	host  *host
	state *condition
	link  *link.Link
	parts []lifecycle.Part
}

// NewAgent makes the agent of an enrolled host. dial replaces TCP for a server in the same process.
//
// renew is asked for the enrolment as it is now; nil for one that never changes.
func NewAgent(c *config.Agent, env Env, e wire.Enrolment, renew func() (wire.Enrolment, error), dial func(context.Context, string) (net.Conn, error)) (*Agent, error) {
	configured := func(e wire.Enrolment) wire.Enrolment {
		if len(c.Isospin.Servers) > 0 {
			e.Servers = c.Isospin.Servers
		}
		return e
	}
	e = configured(e)
	if read := renew; read != nil {
		renew = func() (wire.Enrolment, error) {
			e, err := read()
			return configured(e), err
		}
	}
	a := &Agent{cfg: c, env: env}
	facts, err := a.facts(e.Host)
	if err != nil {
		return nil, err
	}
	if a.link, err = link.New(link.Options{Enrolment: e, Renew: renew, Facts: facts, Clock: env.Clock, IDs: env.IDs, Log: env.Log, Dial: dial}); err != nil {
		return nil, err
	}
	if a.host, err = newHost(c, env, e.Host, a.link.Report); err != nil {
		return nil, err
	}
	a.state = newCondition(env.Clock, facts, a.link.SetFacts)
	a.host.loop.Troubled = func(rs []agent.Reason) { a.state.set(forPeople(rs, a.away())) }
	a.register()
	a.parts = append(a.host.parts(), lifecycle.Part{Name: "condition", Run: a.state.run}, lifecycle.Part{Name: "session", Run: a.session})
	return a, nil
}

// Parts are the agent's parts in the order in which they start.
func (a *Agent) Parts() []lifecycle.Part { return a.parts }

// away says why the Open vSwitch database is not there; nil when it is.
func (a *Agent) away() error {
	if onBridges(a.cfg) {
		return nil
	}
	return switchReady(a.host.ovs, a.cfg.OVSDB())
}

// facts are what the host says of itself: the agents that clients of the agents API know.
func (a *Agent) facts(host string) (*wire.Facts, error) {
	c := a.cfg
	started := a.env.Clock.Now().UnixMilli()
	l2 := switchFacts
	if onBridges(c) {
		l2 = bridgeFacts
	}
	out, err := l2(c)
	if err != nil {
		return nil, err
	}
	for _, l2 := range out.GetAgents() {
		l2.Topic, l2.StartedAt = "N/A", started
	}
	if slices.Contains(c.Isospin.Roles, "dhcp") {
		conf, err := json.Marshal(map[string]any{"dhcp_driver": "isospin", "dhcp_lease_duration": c.DHCP.LeaseSeconds, "log_agent_heartbeats": false,
			"notifies_port_ready": true, "networks": 0, "subnets": 0, "ports": 0, reasonsKey: []string{}})
		if err != nil {
			return nil, fmt.Errorf("facts of the DHCP agent: %w", err)
		}
		out.Agents = append(out.Agents, &wire.AgentFacts{AgentType: "DHCP agent", Binary: "neutron-dhcp-agent", Topic: "dhcp_agent",
			AvailabilityZone: c.L2.Zone, Configurations: conf, StartedAt: started})
	}
	return out, nil
}

// switchFacts are those of the Open vSwitch agent.
func switchFacts(c *config.Agent) (*wire.Facts, error) {
	tunnelIP := ""
	types := []string{}
	if c.OVS.LocalIP.IsValid() {
		tunnelIP, types = c.OVS.LocalIP.String(), c.L2.TunnelTypes
	}
	conf, err := json.Marshal(map[string]any{
		"bridge_mappings": c.OVS.BridgeMappings, "tunneling_ip": tunnelIP, "tunnel_types": types, "integration_bridge": c.OVS.IntegrationBridge,
		"datapath_type": c.OVS.DatapathType, "l2_population": true, "arp_responder_enabled": true, "extensions": extensions(c, "qos", "log", "local_ip"),
		"ovs_hybrid_plug": false, "in_distributed_mode": false, "enable_distributed_routing": false, "devices": 0, reasonsKey: []string{},
	})
	if err != nil {
		return nil, fmt.Errorf("facts of the Open vSwitch agent: %w", err)
	}
	return &wire.Facts{TunnelIp: tunnelIP, TunnelTypes: types, Agents: []*wire.AgentFacts{
		{AgentType: "Open vSwitch agent", Binary: "neutron-openvswitch-agent", Configurations: conf}}}, nil
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
func (h sessionHandler) Have() []*wire.SetHash { return h.agent.host.docs.Have() }

// Opened logs.
func (h sessionHandler) Opened(server string) {
	h.agent.env.Log.Info("session opened", slog.String("server", server))
}

// Frame waits until the loop has the frame.
func (h sessionHandler) Frame(f *wire.Frame) error { return h.agent.host.loop.Frame(h.ctx, f) }

// Synced tells the loop.
func (h sessionHandler) Synced() error { return h.agent.host.loop.Synced(h.ctx) }

// Closed logs.
func (h sessionHandler) Closed(err error) {
	if h.ctx.Err() == nil {
		h.agent.env.Log.Warn("session ended; what runs goes on", slog.Any("err", err))
	}
}

// register makes the stages' counters metrics, and tells health of the switch and the session.
func (a *Agent) register() {
	for _, s := range a.host.stages() {
		name := metricName(s.Name())
		stats := s.Stats
		a.env.Registry.GaugeFunc("isospin_agent_"+name+"_puts", "Objects put by the stage since the start.", func() float64 { return float64(stats().Puts) })
		a.env.Registry.GaugeFunc("isospin_agent_"+name+"_drops", "Objects dropped by the stage since the start.", func() float64 { return float64(stats().Drops) })
		a.env.Registry.GaugeFunc("isospin_agent_"+name+"_drift", "Objects found changed behind the agent's back.", func() float64 { return float64(stats().Drift) })
		a.env.Registry.GaugeFunc("isospin_agent_"+name+"_pending", "Objects that still have to be written.", func() float64 {
			return float64(stats().PendingPuts + stats().PendingDrops)
		})
	}
	if !onBridges(a.cfg) {
		a.env.Health.Add("open vswitch", func(context.Context) error { return a.away() })
	}
	a.env.Health.Add("host", a.state.ready)
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

// ownEnrolment refuses the enrolment of another host than the one that the configuration names: the agent would take
// this host's ports down and make the other one's. Who names none is who the enrolment says.
func ownEnrolment(enrolled, configured, machine string) error {
	if configured == machine || configured == enrolled {
		return nil
	}
	return fmt.Errorf("the enrolment is for host %s, but [DEFAULT] host is %s", enrolled, configured)
}

// RunAgent is `isospin agent`: it returns when ctx ends or a part fails.
func RunAgent(ctx context.Context, c *config.Agent, env Env) error {
	e, err := ReadEnrolment(c.Isospin.Enrolment)
	if err != nil {
		return err
	}
	machine, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("the machine's name: %w", err)
	}
	if err := ownEnrolment(e.Host, c.Host.Host, machine); err != nil {
		return err
	}
	if err := stateDir(c.State.Dir); err != nil {
		return err
	}
	a, err := NewAgent(c, env, e, func() (wire.Enrolment, error) { return ReadEnrolment(c.Isospin.Enrolment) }, nil)
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
