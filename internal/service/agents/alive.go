package agents

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/store"
)

// Seen is an agent and whether it is alive.
type Seen struct {
	model.Agent
	Alive bool
	// Heard is when it was last heard, as far as the database knows: of a connected agent, when its server last said that
	// it runs.
	Heard time.Time
}

// An agent is alive while a server that runs holds its session, and for agent_down_time after the session ended or its server was
// last heard. A server that has just started judges nobody dead that had a session: its own sessions are yet to come.

func (p *Plugin) judge(a model.Agent, serverHeard sql.NullInt64, now time.Time) Seen {
	s := Seen{Agent: a, Heard: time.UnixMilli(a.SeenAt)}
	if a.Connected {
		switch {
		case a.Server == p.ServerID:
			s.Heard = now
		case serverHeard.Valid && serverHeard.Int64 > a.SeenAt:
			s.Heard = time.UnixMilli(serverHeard.Int64)
		}
	}
	s.Alive = now.Sub(s.Heard) < p.DownTime || a.Connected && now.Sub(p.started) < p.DownTime
	return s
}

// aliveCond is the same in SQL.
func (p *Plugin) aliveCond() store.Cond {
	now := p.Clock.Now()
	cut := now.Add(-p.DownTime).UnixMilli()
	connected := store.And(store.Eq("connected", int64(1)), store.Or(store.Eq("server", p.ServerID),
		store.Expr("server IN (SELECT id FROM servers WHERE heartbeat_at > ?)", cut)))
	if now.Sub(p.started) < p.DownTime {
		connected = store.Eq("connected", int64(1))
	}
	return store.Or(connected, store.Expr("seen_at > ?", cut))
}

func (p *Plugin) aliveFilter(_ context.Context, values []string) (store.Cond, error) {
	var any []store.Cond
	for _, v := range values {
		switch strings.ToLower(v) {
		case "true", "t", "yes", "y", "on", "1":
			any = append(any, p.aliveCond())
		case "false", "f", "no", "n", "off", "0":
			any = append(any, store.Not(p.aliveCond()))
		default:
			return store.Cond{}, fault.BadInput("'%s' is not a boolean.", v)
		}
	}
	return store.Or(any...), nil
}

// read reads agents and judges them. One statement; where speaks of agents as a.
func (p *Plugin) read(ctx context.Context, tx store.Tx, where store.Cond) ([]Seen, error) {
	now := p.Clock.Now()
	var out []Seen
	q := store.Q("SELECT "+tx.Dialect().Body("a.body")+", a.connected, a.server, a.seen_at, s.heartbeat_at FROM agents a LEFT JOIN servers s ON s.id = a.server WHERE "+
		where.SQL+" ORDER BY a.host, a.agent_type", where.Args...)
	err := store.Each(ctx, tx, q, func(scan func(...any) error) error {
		var (
			a         model.Agent
			body      []byte
			connected int64
			heard     sql.NullInt64
		)
		if err := scan(&body, &connected, &a.Server, &a.SeenAt, &heard); err != nil {
			return err
		}
		if err := json.Unmarshal(body, &a); err != nil {
			return fmt.Errorf("decode an agent: %w", err)
		}
		a.Connected = connected != 0
		out = append(out, p.judge(a, heard, now))
		return nil
	})
	return out, err
}

// Host is what is known of a host: its agents that are alive and take work. One statement.
func (p *Plugin) Host(ctx context.Context, tx store.Tx, name string) (model.Host, error) {
	h := model.Host{Name: name}
	all, err := p.read(ctx, tx, store.Eq("a.host", name))
	for _, s := range all {
		if s.Alive && s.AdminStateUp {
			h.Agents = append(h.Agents, s.Agent)
		}
	}
	return h, err
}

// Known is what is known of a host: its agents, dead ones too. One statement.
func (p *Plugin) Known(ctx context.Context, tx store.Tx, name string) (model.Host, error) {
	h := model.Host{Name: name}
	all, err := p.read(ctx, tx, store.Eq("a.host", name))
	for _, s := range all {
		h.Agents = append(h.Agents, s.Agent)
	}
	return h, err
}

// OfHosts reads the agents of hosts, dead ones too. One statement.
func (p *Plugin) OfHosts(ctx context.Context, tx store.Tx, hosts []string) ([]Seen, error) {
	return p.read(ctx, tx, store.In("a.host", hosts))
}

// All reads every agent, dead ones too. One statement.
func (p *Plugin) All(ctx context.Context, tx store.Tx) ([]Seen, error) {
	return p.read(ctx, tx, store.Cond{SQL: "1 = 1"})
}

// OfType reads the agents of a type, dead ones too. One statement.
func (p *Plugin) OfType(ctx context.Context, tx store.Tx, agentType string) ([]Seen, error) {
	return p.read(ctx, tx, store.Eq("a.agent_type", agentType))
}
