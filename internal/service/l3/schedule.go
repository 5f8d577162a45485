package l3

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"isospin/internal/change"
	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/service"
	"isospin/internal/service/agents"
	"isospin/internal/store"
	"isospin/internal/wire"
)

// Scheduler says which of the hosts that could take a router do (router_scheduler_driver).
type Scheduler string

// The schedulers.
const (
	Chance     Scheduler = "chance"   // any
	LeastFirst Scheduler = "least"    // those with the fewest routers
	LeastZones Scheduler = "least-az" // the same, and a highly available router is spread over availability zones
)

// Schedulers are the schedulers by the last part of their class in Neutron, as operators write them.
func Schedulers() map[string]Scheduler {
	return map[string]Scheduler{"ChanceScheduler": Chance, "LeastRoutersScheduler": LeastFirst, "AZLeastRoutersScheduler": LeastZones}
}

// States of a highly available router on a host; "" until the host said one.
const (
	stateActive  = "active"
	stateStandby = "standby"
)

// seat is one host that a router was given to.
type seat struct {
	host, port, state string
	priority          int64
}

// seats reads the hosts of a router, the preferred one first. One statement.
func seats(ctx context.Context, tx store.Tx, router string) ([]seat, error) {
	var out []seat
	err := store.Each(ctx, tx, store.Q("SELECT host, ha_port_id, ha_state, priority FROM router_hosts WHERE router_id = ? ORDER BY priority DESC, host", router),
		func(scan func(...any) error) error {
			var s seat
			err := scan(&s.host, &s.port, &s.state, &s.priority)
			out = append(out, s)
			return err
		})
	return out, err
}

// Dirty says that a router's document is dirty on its hosts: something changed that it shows, such as floating IPs. One statement.
func (p *Plugin) Dirty(ctx context.Context, tx store.WriteTx, router string) error {
	rows, err := seats(ctx, tx, router)
	for _, s := range rows {
		tx.Changed(change.Key{Kind: wire.KindRouter, ID: router}, change.NewSet(wire.FamilyHost, s.host))
	}
	return err
}

// Touch says that something that belongs to a router, whose row the caller keeps, changed: its documents are dirty, and it gets a host
// if it has none and one could take it.
func (p *Plugin) Touch(ctx context.Context, tx store.WriteTx, r *model.Router) error {
	if err := p.place(ctx, tx, r); err != nil {
		return err
	}
	return p.Dirty(ctx, tx, r.ID)
}

// place gives a router the hosts that it lacks, as far as there are any, and binds its ports there.
func (p *Plugin) place(ctx context.Context, tx store.WriteTx, r *model.Router) error {
	rows, err := seats(ctx, tx, r.ID)
	if err != nil {
		return err
	}
	if len(rows) == 0 || r.HA {
		all, err := p.Agents.OfType(ctx, tx, model.AgentL3)
		if err != nil {
			return err
		}
		free := p.able(all, r, rows)
		want := 1
		if r.HA {
			want = p.PerRouter
			if want == 0 {
				want = len(rows) + len(free)
			}
		}
		chosen, err := p.choose(ctx, tx, free, max(want-len(rows), 0), r.HA)
		if err != nil {
			return err
		}
		for _, a := range chosen {
			s, err := p.seat(ctx, tx, r, a.Agent)
			if err != nil {
				return err
			}
			rows = append(rows, s)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return p.bind(ctx, tx, r, rows)
}

// able are the agents that could take a router besides those that have it: alive, up, in its zones, and made for its kind
// (get_l3_agent_candidates in neutron/db/l3_agentschedulers_db.py).
func (p *Plugin) able(all []agents.Seen, r *model.Router, rows []seat) []agents.Seen {
	return slices.DeleteFunc(slices.Clone(all), func(a agents.Seen) bool {
		return !a.Alive || !a.AdminStateUp || !p.inZone(r, a.AvailabilityZone) || !suits(&a.Agent, r) ||
			slices.ContainsFunc(rows, func(s seat) bool { return s.host == a.Host })
	})
}

// Modes of L3 agents (agent_mode).
const (
	modeLegacy = "legacy"
	modeDVR    = "dvr"
	modeNoExt  = "dvr_no_external"
	modeSNAT   = "dvr_snat"
)

func mode(a *model.Agent) string {
	if m, ok := a.Configurations["agent_mode"].(string); ok && m != "" {
		return m
	}
	return modeLegacy
}

// suits tells whether an agent is made for a router's kind.
func suits(a *model.Agent, r *model.Router) bool {
	if only, ok := a.Configurations["handle_internal_only_routers"].(bool); ok && !only && len(r.ExternalGateways) == 0 {
		return false
	}
	switch mode(a) {
	case modeDVR, modeNoExt:
		return false
	case modeSNAT:
		return true
	}
	return !r.Distributed
}

func (p *Plugin) inZone(r *model.Router, zone *string) bool {
	hints := r.AvailabilityZoneHints
	if len(hints) == 0 {
		hints = p.Zones
	}
	return len(hints) == 0 || zone != nil && slices.Contains(hints, *zone)
}

// choose picks n of the agents. At most one statement.
func (p *Plugin) choose(ctx context.Context, tx store.Tx, free []agents.Seen, n int, spread bool) ([]agents.Seen, error) {
	if n == 0 || len(free) == 0 {
		return nil, nil
	}
	if p.Scheduler == Chance {
		for i := len(free) - 1; i > 0; i-- {
			j := int(p.IDs.Uint64() % uint64(i+1))
			free[i], free[j] = free[j], free[i]
		}
		return free[:min(n, len(free))], nil
	}
	hosts := make([]string, len(free))
	for i := range free {
		hosts[i] = free[i].Host
	}
	load := map[string]int64{}
	in := store.In("host", hosts)
	err := store.Each(ctx, tx, store.Q("SELECT host, COUNT(*) FROM router_hosts WHERE "+in.SQL+" GROUP BY host", in.Args...), func(scan func(...any) error) error {
		var host string
		var n int64
		err := scan(&host, &n)
		load[host] = n
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(free, func(a, b agents.Seen) int {
		return cmp.Or(cmp.Compare(load[a.Host], load[b.Host]), cmp.Compare(a.Host, b.Host))
	})
	if spread && p.Scheduler == LeastZones {
		free = overZones(free)
	}
	return free[:min(n, len(free))], nil
}

// overZones takes agents from one zone after the other, in their order within each.
func overZones(all []agents.Seen) []agents.Seen {
	byZone := map[string][]agents.Seen{}
	var order []string
	for _, a := range all {
		zone := ""
		if a.AvailabilityZone != nil {
			zone = *a.AvailabilityZone
		}
		if byZone[zone] == nil {
			order = append(order, zone)
		}
		byZone[zone] = append(byZone[zone], a)
	}
	out := make([]agents.Seen, 0, len(all))
	for len(out) < len(all) {
		for _, zone := range order {
			if list := byZone[zone]; len(list) > 0 {
				out, byZone[zone] = append(out, list[0]), list[1:]
			}
		}
	}
	return out
}

// seat gives a router to a host; a highly available one gets its port there.
func (p *Plugin) seat(ctx context.Context, tx store.WriteTx, r *model.Router, a model.Agent) (seat, error) {
	s := seat{host: a.Host}
	if a.HAChassisPriority != nil {
		s.priority = *a.HAChassisPriority
	}
	if r.HA {
		network, err := keepNetwork(ctx, tx, r.ProjectID)
		if err != nil {
			return s, err
		}
		if network == "" {
			return s, fault.RouterSchedulingFailed(r.ID, a.ID)
		}
		port := model.Port{NetworkID: network, Name: "HA port project " + r.ProjectID, DeviceID: r.ID, DeviceOwner: model.OwnerRouterHA, HostID: a.Host}
		port.Own("")
		if port, err = p.Ports.CreatePort(ours(ctx), tx, port); err != nil {
			return s, err
		}
		if err := own(ctx, tx, r.ID, &port); err != nil {
			return s, err
		}
		s.port = port.ID
	}
	_, err := tx.Exec(ctx, store.Q("INSERT INTO router_hosts (router_id, host, ha_port_id, ha_state, priority) VALUES (?, ?, ?, '', ?)", r.ID, s.host, s.port, s.priority))
	return s, err
}

// bind puts a router's ports where it works: all but a distributed router's interfaces, which are everywhere, and the ports by which a
// highly available router's hosts speak, which stay.
func (p *Plugin) bind(ctx context.Context, tx store.WriteTx, r *model.Router, rows []seat) error {
	host := ""
	if len(rows) > 0 {
		host = rows[0].host
	}
	for _, s := range rows {
		if s.state == stateActive {
			host = s.host
			break
		}
	}
	ports, err := p.portsOf(ctx, tx, r.ID)
	if err != nil {
		return err
	}
	for i := range ports {
		port := &ports[i]
		if port.HostID == host || port.DeviceOwner == model.OwnerRouterDVR || port.DeviceOwner == model.OwnerRouterHA {
			continue
		}
		if _, err := p.Ports.AdjustPort(ours(ctx), tx, port.ID, func(port *model.Port) { port.HostID = host }); err != nil {
			return err
		}
	}
	return nil
}

// displace takes a router from all its hosts.
func (p *Plugin) displace(ctx context.Context, tx store.WriteTx, r *model.Router) error {
	rows, err := seats(ctx, tx, r.ID)
	if err != nil || len(rows) == 0 {
		return err
	}
	for _, s := range rows {
		if err := p.unseat(ctx, tx, r.ID, s); err != nil {
			return err
		}
	}
	return p.bind(ctx, tx, r, nil)
}

// unseat takes a router from a host.
func (p *Plugin) unseat(ctx context.Context, tx store.WriteTx, router string, s seat) error {
	tx.Changed(change.Key{Kind: wire.KindRouter, ID: router}, change.NewSet(wire.FamilyHost, s.host))
	if s.port != "" {
		if err := p.drop(ctx, tx, s.port); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, store.Q("DELETE FROM router_hosts WHERE router_id = ? AND host = ?", router, s.host))
	return err
}

// SetState writes what a host says of a highly available router, whose row the caller keeps: active, standby. The ports
// go where it is active.
func (p *Plugin) SetState(ctx context.Context, tx store.WriteTx, r *model.Router, host, state string) error {
	n, err := tx.Exec(ctx, store.Q("UPDATE router_hosts SET ha_state = ? WHERE router_id = ? AND host = ? AND ha_state <> ?", state, r.ID, host, state))
	if err != nil || n == 0 {
		return err
	}
	rows, err := seats(ctx, tx, r.ID)
	if err != nil {
		return err
	}
	if state == stateActive { // of two that say so the one that said it last is right
		if _, err := tx.Exec(ctx, store.Q("UPDATE router_hosts SET ha_state = ? WHERE router_id = ? AND host <> ? AND ha_state = ?", stateStandby, r.ID, host, stateActive)); err != nil {
			return err
		}
		for i := range rows {
			if rows[i].host != host && rows[i].state == stateActive {
				rows[i].state = stateStandby
			}
		}
	}
	return p.bind(ctx, tx, r, rows)
}

// Run gives routers that lack hosts to hosts that come, and looks for such routers every so often. It only reads while there is
// nothing to do. It ends with ctx.
func (p *Plugin) Run(ctx context.Context) error {
	return p.Comers.Run(ctx, p.Sweep, func(err error) { p.Log.Error("routers could not be given to hosts", "err", err) })
}

// Sweep places every router that lacks a host and could have one.
func (p *Plugin) Sweep(ctx context.Context) error {
	if p.Wait {
		return nil
	}
	var todo []string
	err := p.Store.Read(ctx, func(tx store.Tx) (err error) {
		todo, err = p.lacking(ctx, tx)
		return err
	})
	if err != nil {
		return err
	}
	for _, id := range todo {
		err := p.Store.Write(ctx, func(tx store.WriteTx) error {
			r, err := p.Lock(ctx, tx, id)
			if fault.IsNotFound(err) {
				return nil
			}
			if err != nil {
				return err
			}
			if err := p.leave(ctx, tx, &r); err != nil {
				return err
			}
			return p.Touch(ctx, tx, &r)
		})
		if err != nil {
			return fmt.Errorf("router %s: %w", id, err)
		}
	}
	return nil
}

// leave takes a router from hosts whose L3 agent an administrator removed. Dead agents keep theirs.
func (p *Plugin) leave(ctx context.Context, tx store.WriteTx, r *model.Router) error {
	var gone []seat
	err := store.Each(ctx, tx, store.Q("SELECT host, ha_port_id FROM router_hosts h WHERE router_id = ? AND "+orphaned, r.ID, model.AgentL3), func(scan func(...any) error) error {
		var s seat
		err := scan(&s.host, &s.port)
		gone = append(gone, s)
		return err
	})
	if err != nil {
		return err
	}
	for _, s := range gone {
		if err := p.unseat(ctx, tx, r.ID, s); err != nil {
			return err
		}
	}
	return nil
}

// orphaned says of a row h of router_hosts that its host has no L3 agent any more.
const orphaned = "NOT EXISTS (SELECT 1 FROM agents a WHERE a.host = h.host AND a.agent_type = ?)"

// lacking are the routers that have fewer hosts than they could. Two statements, one without L3 agents that take work.
func (p *Plugin) lacking(ctx context.Context, tx store.Tx) ([]string, error) {
	all, err := p.Agents.OfType(ctx, tx, model.AgentL3)
	if err != nil {
		return nil, err
	}
	able := 0
	for _, a := range all {
		if a.Alive && a.AdminStateUp {
			able++
		}
	}
	if able == 0 {
		return nil, nil
	}
	want := able
	if p.PerRouter > 0 {
		want = min(want, p.PerRouter)
	}
	var out []string
	err = store.Each(ctx, tx, store.Q(`SELECT id FROM routers r WHERE NOT EXISTS (SELECT 1 FROM router_hosts h WHERE h.router_id = r.id)
OR EXISTS (SELECT 1 FROM router_hosts h WHERE h.router_id = r.id AND `+orphaned+`)
OR vr_id > 0 AND (SELECT COUNT(*) FROM router_hosts h WHERE h.router_id = r.id) < ? ORDER BY id`, model.AgentL3, int64(want)), func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		out = append(out, id)
		return err
	})
	return out, err
}

var (
	_ service.Runner      = (*Plugin)(nil)
	_ agents.HostFollower = (*Plugin)(nil)
	_ agents.Committer    = (*Plugin)(nil)
)
