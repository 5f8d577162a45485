package agents

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"isospin/internal/change"
	"isospin/internal/model"
	"isospin/internal/service/ml2/typedriver/tunnel"
	"isospin/internal/store"
	"isospin/internal/wire"
)

// Connected writes that a host has a session here and what it says of itself: nothing where that is written already.
func (p *Plugin) Connected(ctx context.Context, host string, facts *wire.Facts) error {
	p.mu.Lock()
	p.here[host] = facts
	p.mu.Unlock()
	return p.assert(ctx, host, facts)
}

// Disconnected writes that a host's session here has ended. One that it opened at another server meanwhile stands.
func (p *Plugin) Disconnected(ctx context.Context, host string, last time.Time) error {
	p.mu.Lock()
	delete(p.here, host)
	delete(p.owing, host)
	p.mu.Unlock()
	return p.Store.Write(ctx, func(tx store.WriteTx) error {
		_, err := tx.Exec(ctx, store.Q("UPDATE agents SET connected = 0, seen_at = ? WHERE host = ? AND server = ? AND connected = 1", last.UnixMilli(), host, p.ServerID))
		return err
	})
}

// assert makes the rows what a connected host says, then tells the followers. These come in a transaction of their own: what they
// stumble over must not make a living host look dead.
func (p *Plugin) assert(ctx context.Context, host string, facts *wire.Facts) error {
	var plan *plan
	err := p.Store.Read(ctx, func(tx store.Tx) (err error) {
		plan, err = p.compare(ctx, tx, host, facts)
		return err
	})
	if err != nil {
		return err
	}
	if !plan.empty() {
		p.owe(host, true)
		err := p.Store.Write(ctx, func(tx store.WriteTx) error {
			plan, err := p.compare(ctx, tx, host, facts)
			if err != nil {
				return err
			}
			return p.carry(ctx, tx, host, facts, plan)
		})
		if err != nil {
			return fmt.Errorf("write the agents of host %s: %w", host, err)
		}
	}
	if !p.owes(host) {
		return nil
	}
	if err := p.Store.Write(ctx, func(tx store.WriteTx) error { return p.ready(ctx, tx, host) }); err != nil {
		return fmt.Errorf("make use of host %s: %w", host, err)
	}
	p.owe(host, false)
	for _, f := range p.followers {
		if c, ok := f.(Committer); ok {
			c.Committed(host)
		}
	}
	return nil
}

func (p *Plugin) owe(host string, on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if on {
		p.owing[host] = true
	} else {
		delete(p.owing, host)
	}
}

func (p *Plugin) owes(host string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.owing[host]
}

func (p *Plugin) ready(ctx context.Context, tx store.WriteTx, host string) error {
	for _, f := range p.followers {
		if err := f.HostReady(ctx, tx, host); err != nil {
			return err
		}
	}
	return nil
}

// plan is how the rows differ from what a host says.
type plan struct {
	insert, update []model.Agent
	endpoints      bool
}

func (p *plan) empty() bool { return len(p.insert) == 0 && len(p.update) == 0 && !p.endpoints }

// compare finds the difference. Two statements.
func (p *Plugin) compare(ctx context.Context, tx store.Tx, host string, facts *wire.Facts) (*plan, error) {
	have, err := p.Agents.Find(ctx, tx, store.List{Where: store.Eq("host", host)})
	if err != nil {
		return nil, err
	}
	now := p.Clock.Now()
	out := &plan{}
	said := map[string]bool{}
	for _, f := range facts.Agents {
		said[f.AgentType] = true
		i := slices.IndexFunc(have, func(a model.Agent) bool { return a.AgentType == f.AgentType })
		if i < 0 {
			a := model.Agent{ID: p.IDs.UUID(), Host: host, AgentType: f.AgentType, AdminStateUp: !p.NewDown, CreatedAt: model.AgentStamp(now)}
			if err := describe(&a, f); err != nil {
				return nil, err
			}
			a.Connected, a.Server, a.SeenAt = true, p.ServerID, now.UnixMilli()
			out.insert = append(out.insert, a)
			continue
		}
		a := have[i]
		if err := describe(&a, f); err != nil {
			return nil, err
		}
		a.Connected, a.Server = true, p.ServerID
		if !reflect.DeepEqual(a, have[i]) {
			a.SeenAt = now.UnixMilli()
			out.update = append(out.update, a)
		}
	}
	for _, a := range have {
		if !said[a.AgentType] && a.Connected {
			a.Connected, a.SeenAt = false, now.UnixMilli()
			out.update = append(out.update, a)
		}
	}
	ends, err := tunnel.Endpoints(ctx, tx, store.And(tunnelTypes(), store.Eq("host", host)))
	if err != nil {
		return nil, err
	}
	out.endpoints = !maps.Equal(wanted(host, facts), setOf(ends))
	return out, nil
}

// tunnelTypes names all types, so that the table's key, which begins with the type, is of use.
func tunnelTypes() store.Cond {
	return store.In("tunnel_type", []string{model.TypeVXLAN, model.TypeGRE, model.TypeGeneve})
}

func setOf(ends []tunnel.Endpoint) map[tunnel.Endpoint]bool {
	out := map[tunnel.Endpoint]bool{}
	for _, e := range ends {
		out[e] = true
	}
	return out
}

func wanted(host string, facts *wire.Facts) map[tunnel.Endpoint]bool {
	out := map[tunnel.Endpoint]bool{}
	if facts.TunnelIp != "" {
		for _, t := range facts.TunnelTypes {
			out[tunnel.Endpoint{Host: host, Type: t, IP: facts.TunnelIp}] = true
		}
	}
	return out
}

// describe puts what a host says of a role into its agent.
func describe(a *model.Agent, f *wire.AgentFacts) error {
	a.Binary, a.Topic, a.AvailabilityZone = f.Binary, f.Topic, nil
	if f.AvailabilityZone != "" {
		a.AvailabilityZone = &f.AvailabilityZone
	}
	a.StartedAt = model.AgentStamp(time.UnixMilli(f.StartedAt))
	a.Configurations = map[string]any{}
	if len(f.Configurations) > 0 {
		if err := json.Unmarshal(f.Configurations, &a.Configurations); err != nil {
			return fmt.Errorf("configurations of agent %s: %w", f.AgentType, err)
		}
	}
	return nil
}

// carry writes a plan, and says which forwarding entries moved with the host's tunnel endpoints.
func (p *Plugin) carry(ctx context.Context, tx store.WriteTx, host string, facts *wire.Facts, plan *plan) error {
	for i := range plan.insert {
		if err := p.Agents.Insert(ctx, tx, &plan.insert[i]); err != nil {
			return err
		}
	}
	for i := range plan.update {
		if err := p.Agents.Update(ctx, tx, &plan.update[i], -1); err != nil {
			return err
		}
	}
	if !plan.endpoints {
		return nil
	}
	moved := []string{host}
	if facts.TunnelIp != "" { // whoever had the address before loses it
		others, err := tunnel.Endpoints(ctx, tx, store.And(store.Eq("ip_address", facts.TunnelIp), store.Expr("host <> ?", host)))
		if err != nil {
			return err
		}
		for _, e := range others {
			moved = append(moved, e.Host)
		}
	}
	if _, err := tunnel.SetEndpoints(ctx, tx, host, facts.TunnelIp, facts.TunnelTypes); err != nil {
		return err
	}
	in := store.In("host", moved)
	return store.Each(ctx, tx, store.Q("SELECT id, network_id FROM ports WHERE "+in.SQL, in.Args...), func(scan func(...any) error) error {
		var id, network string
		if err := scan(&id, &network); err != nil {
			return err
		}
		tx.Changed(change.Key{Kind: wire.KindForward, ID: id}, change.NewSet(wire.FamilyNetwork, network))
		return nil
	})
}

// Run says every few seconds that this server lives, in one write, whatever number of hosts it serves; it brings back the rows of
// connected agents that somebody deleted, and settles those that died with their server. It ends with ctx.
func (p *Plugin) Run(ctx context.Context) error {
	every := max(p.DownTime/8, time.Second)
	for {
		if err := p.beat(ctx); err != nil && ctx.Err() == nil {
			p.Log.Error("this server could not say that it lives", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-p.Clock.After(every):
		}
	}
}

// serverLife is how long a server that is gone is remembered.
const serverLife = 24 * time.Hour

func (p *Plugin) beat(ctx context.Context) error {
	now := p.Clock.Now()
	err := p.Store.Write(ctx, func(tx store.WriteTx) error {
		n, err := tx.Exec(ctx, store.Q("UPDATE servers SET heartbeat_at = ? WHERE id = ?", now.UnixMilli(), p.ServerID))
		if err != nil || n > 0 {
			return err
		}
		if _, err := tx.Exec(ctx, store.Q("DELETE FROM servers WHERE heartbeat_at < ? AND id NOT IN (SELECT server FROM agents)", now.Add(-serverLife).UnixMilli())); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, store.Q("INSERT INTO servers (id, name, started_at, heartbeat_at) VALUES (?, ?, ?, ?)", p.ServerID, p.ServerName, p.started.UnixMilli(), now.UnixMilli()))
		return err
	})
	if err != nil {
		return err
	}
	return p.settle(ctx)
}

// settle compares the rows with who is here.
func (p *Plugin) settle(ctx context.Context) error {
	rows := map[string]int{} // connected here, by host
	var mine, dead []Seen
	err := p.Store.Read(ctx, func(tx store.Tx) error {
		clear(rows)
		mine, dead = nil, nil
		all, err := p.read(ctx, tx, store.Eq("a.connected", int64(1)))
		for _, s := range all {
			switch {
			case s.Server == p.ServerID:
				rows[s.Host]++
				mine = append(mine, s)
			case !s.Alive:
				dead = append(dead, s)
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	settled := p.Clock.Now().Sub(p.started) >= p.DownTime
	p.mu.Lock()
	for _, s := range mine {
		if settled && p.here[s.Host] == nil { // written again just as its session ended, or left by an earlier life of this server
			dead = append(dead, s)
		}
	}
	lost := map[string]*wire.Facts{}
	for host, f := range p.here {
		if rows[host] < len(f.Agents) {
			lost[host] = f
		}
	}
	p.mu.Unlock()
	for host, f := range lost {
		if err := p.assert(ctx, host, f); err != nil {
			return err
		}
	}
	if len(dead) == 0 {
		return nil
	}
	return p.Store.Write(ctx, func(tx store.WriteTx) error {
		for _, s := range dead {
			if _, err := tx.Exec(ctx, store.Q("UPDATE agents SET connected = 0, seen_at = ? WHERE id = ? AND server = ? AND connected = 1", s.Heard.UnixMilli(), s.ID, s.Server)); err != nil {
				return err
			}
		}
		return nil
	})
}
