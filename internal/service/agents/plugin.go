// Package agents is the agents API and what the server knows of hosts: which roles they have, whether they are alive and what
// they said of themselves. session tells it which hosts come and go; ml2 asks it when it binds. A row changes only when
// a host comes, goes or says something else, never because of a heartbeat.
package agents

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"isospin/internal/clock"
	"isospin/internal/fault"
	"isospin/internal/ident"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/service"
	"isospin/internal/service/ml2"
	"isospin/internal/store"
	"isospin/internal/wire"
)

// Agents is the plugin's table.
type Agents = store.Table[model.Agent]

// NewAgents declares the table of agents.
func NewAgents() *Agents {
	return store.NewTable("agents",
		func(a *model.Agent) string { return a.ID }, func(*model.Agent) string { return "" },
		store.Column[model.Agent]{Name: "agent_type", Attr: "agent_type", Of: func(a *model.Agent) any { return a.AgentType }},
		store.Column[model.Agent]{Name: "host", Attr: "host", Of: func(a *model.Agent) any { return a.Host }},
		store.Column[model.Agent]{Name: "connected", Of: func(a *model.Agent) any { return number(a.Connected) },
			Load: func(a *model.Agent, raw any) error { return load(raw, func(n int64) { a.Connected = n != 0 }) }},
		store.Column[model.Agent]{Name: "server", Of: func(a *model.Agent) any { return a.Server },
			Load: func(a *model.Agent, raw any) error { return load(raw, func(s string) { a.Server = s }) }},
		store.Column[model.Agent]{Name: "seen_at", Of: func(a *model.Agent) any { return a.SeenAt },
			Load: func(a *model.Agent, raw any) error { return load(raw, func(n int64) { a.SeenAt = n }) }},
	)
}

func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func load[T any](raw any, set func(T)) error {
	v, ok := raw.(T)
	if !ok {
		return fmt.Errorf("agents: a column is a %T", raw)
	}
	set(v)
	return nil
}

// HostFollower is told in a transaction that a host came or says something new of itself: ports that could not be bound
// are tried again, networks without a DHCP server get one. It may be told more than once.
type HostFollower interface {
	HostReady(ctx context.Context, tx store.WriteTx, host string) error
}

// Committer is the part of a HostFollower that acts once the transaction is there for all to see; it must not block.
type Committer interface {
	Committed(host string)
}

// Config is what the plugin is made of.
type Config struct {
	Agents *Agents
	Store  store.Store
	Clock  clock.Clock
	IDs    ident.Source
	Log    *slog.Logger
	// ServerID is this process's id in the table of servers, ServerName what people call it.
	ServerID, ServerName string
	// DownTime is how long an agent may be silent (agent_down_time); zero is 75 s.
	DownTime time.Duration
	// NewDown makes agents that are seen for the first time wait for an administrator (enable_new_agents = false).
	NewDown bool
}

// Plugin is the agents.
type Plugin struct {
	Config
	started   time.Time
	followers []HostFollower

	mu    sync.Mutex
	here  map[string]*wire.Facts // the hosts with a session in this process
	owing map[string]bool        // hosts whose followers have not been told yet
}

// New makes the plugin. Follow adds those that need the plugin themselves; Run keeps this server alive in the eyes of others.
func New(c Config) *Plugin {
	if c.DownTime == 0 {
		c.DownTime = 75 * time.Second
	}
	return &Plugin{Config: c, started: c.Clock.Now(), here: map[string]*wire.Facts{}, owing: map[string]bool{}}
}

// Follow sets who is told of hosts that come; called once, by assemble, before anything is served.
func (p *Plugin) Follow(fs ...HostFollower) { p.followers = fs }

// Name is the plugin's name.
func (p *Plugin) Name() string { return "agents" }

// Bindings is the collection of agents.
func (p *Plugin) Bindings() []rest.Binding {
	return []rest.Binding{rest.Bind("agents", p.Agents, controller{p}, rest.Options{
		Splicer: controller{p}, Filters: map[string]rest.Filter{"alive": p.aliveFilter},
		NotFound: func(id string) error { return fault.AgentNotFound(id) },
	})}
}

// controller serves the collection: agents make themselves.
type controller struct{ *Plugin }

// Create is refused: an agent appears with its host.
func (controller) Create(context.Context, store.WriteTx, rest.Input[model.Agent]) (model.Agent, error) {
	return model.Agent{}, fault.BadRequest("agent", "agents appear with their hosts.")
}

// Update sets whether the agent takes work, and its description.
func (c controller) Update(ctx context.Context, tx store.WriteTx, cur model.Agent, in rest.Input[model.Agent]) (model.Agent, error) {
	a := cur
	if err := in.Apply(&a); err != nil {
		return a, err
	}
	if err := c.Agents.Update(ctx, tx, &a, -1); err != nil {
		return a, err
	}
	if a.AdminStateUp && !cur.AdminStateUp {
		return a, c.ready(ctx, tx, a.Host)
	}
	return a, nil
}

// Delete forgets an agent; one whose host has a session comes back by itself (behaviour.md, section 15).
func (c controller) Delete(ctx context.Context, tx store.WriteTx, cur model.Agent) error {
	return c.Agents.Delete(ctx, tx, cur.ID)
}

// Splice adds whether agents are alive and when they were last heard. One statement.
func (c controller) Splice(ctx context.Context, tx store.Tx, page *rest.Page) error {
	if !page.Wants("alive") && !page.Wants("heartbeat_timestamp") {
		return nil
	}
	where := store.Cond{SQL: "1 = 1"}
	if ids := page.IDs(); len(ids) <= 1000 {
		where = store.In("a.id", ids)
	}
	all, err := c.read(ctx, tx, where)
	if err != nil {
		return err
	}
	byID := map[string]Seen{}
	for _, s := range all {
		byID[s.ID] = s
	}
	for i, id := range page.IDs() {
		s := byID[id]
		if page.Wants("heartbeat_timestamp") {
			page.Splice(i, "heartbeat_timestamp", []byte(`"`+model.AgentStamp(s.Heard)+`"`))
		}
		if page.Wants("alive") {
			page.Splice(i, "alive", fmt.Append(nil, s.Alive))
		}
	}
	return nil
}

var (
	_ rest.Controller[model.Agent] = controller{}
	_ rest.Splicer                 = controller{}
	_ ml2.Hosts                    = (*Plugin)(nil)
	_ service.Runner               = (*Plugin)(nil)
)
