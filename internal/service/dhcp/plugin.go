// Package dhcp decides which hosts serve the DHCP of which networks, and keeps a port for each of them. It follows subnets and
// networks inside their transactions and agents as they come and die; what it decides becomes documents of the hosts. It
// serves no DHCP itself.
package dhcp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"isospin/internal/change"
	"isospin/internal/clock"
	"isospin/internal/model"
	"isospin/internal/service"
	"isospin/internal/service/agents"
	"isospin/internal/service/ml2"
	"isospin/internal/store"
	"isospin/internal/wire"
)

// Ports makes the servers' ports; ml2.Plugin is one.
type Ports interface {
	CreatePort(ctx context.Context, tx store.WriteTx, port model.Port) (model.Port, error)
	AdjustPort(ctx context.Context, tx store.WriteTx, id string, change func(*model.Port)) (model.Port, error)
	DeletePort(ctx context.Context, tx store.WriteTx, id string) error
	// Reaches tells whether a host's agents could carry a segment of a physical network.
	Reaches(h model.Host, s model.Segment) bool
}

// Config is what the plugin is made of.
type Config struct {
	Store    store.Store
	Networks *ml2.Networks
	Subnets  *ml2.Subnets
	Rows     *ml2.Ports
	Ports    Ports
	Agents   *agents.Plugin
	Clock    clock.Clock
	Log      *slog.Logger
	// Recheck judges the ports of a network that no longer wait for DHCP (status.Plugin.Recheck); may be nil.
	Recheck func(ctx context.Context, tx store.WriteTx, network string) error
	// PerNetwork is how many hosts serve a network (dhcp_agents_per_network); zero is 1.
	PerNetwork int
	// Zones are the availability zones of networks that name none (default_availability_zones); empty: any.
	Zones []string
	// Stay keeps networks on hosts whose agent died (allow_automatic_dhcp_failover = false), Wait leaves networks that
	// nobody serves to their next change (network_auto_schedule = false).
	Stay, Wait bool
	// Every is how often networks on dead hosts are looked for; zero is a quarter of agent_down_time.
	Every time.Duration
}

// Plugin is the scheduling of DHCP.
type Plugin struct {
	Config
	*agents.Comers // hosts that come may serve what nobody serves
}

// New makes the plugin.
func New(c Config) *Plugin {
	if c.PerNetwork == 0 {
		c.PerNetwork = 1
	}
	if c.Every == 0 {
		c.Every = max(c.Agents.DownTime/4, time.Second)
	}
	return &Plugin{Config: c, Comers: agents.NewComers(c.Clock, c.Every)}
}

// The task that brings a network's servers in line with its subnets. It comes after the commit, as Neutron's agents do: a subnet
// without a free address must not fail because of its server's own.
const taskServe = "dhcp.serve"

type servePayload struct {
	Network string `json:"network"`
}

func owe(tx store.WriteTx, network string) error {
	raw, err := json.Marshal(servePayload{Network: network})
	if err != nil {
		return fmt.Errorf("encode task %s: %w", taskServe, err)
	}
	tx.Owe(change.Task{Name: taskServe, Payload: raw})
	return nil
}

// Handlers are the plugin's task handlers.
func (p *Plugin) Handlers() []service.TaskHandler { return []service.TaskHandler{handler{p}} }

type handler struct{ *Plugin }

// Name is the task's name.
func (handler) Name() string { return taskServe }

// Handle brings one network in line.
func (h handler) Handle(ctx context.Context, payload json.RawMessage) error {
	var t servePayload
	if err := json.Unmarshal(payload, &t); err != nil {
		return fmt.Errorf("decode task: %w", err)
	}
	return h.Serve(ctx, t.Network)
}

// SubnetFollower follows subnets: DHCP that is switched on or off, subnets that come and go.
type SubnetFollower struct{ *Plugin }

// Follow owes the work that a subnet's write makes.
func (f SubnetFollower) Follow(ctx context.Context, tx store.WriteTx, w service.Write[model.Subnet]) error {
	on := func(s *model.Subnet) bool { return s != nil && s.EnableDHCP }
	if on(w.Old) == on(w.New) {
		if w.Op != service.Update || !on(w.New) || (w.Old.SegmentID == nil) == (w.New.SegmentID == nil) {
			return nil
		}
		return owe(tx, w.New.NetworkID) // it came to a segment, which has servers of its own
	}
	s := w.New
	if s == nil {
		s = w.Old
	}
	if w.Op == service.Update {
		// Ports with addresses there wait for DHCP from now on, or no longer.
		if err := dirty(ctx, tx, s.NetworkID); err != nil {
			return err
		}
		if !on(w.New) && f.Recheck != nil {
			if err := f.Recheck(ctx, tx, s.NetworkID); err != nil {
				return err
			}
		}
	}
	return owe(tx, s.NetworkID)
}

// NetworkFollower follows networks: one that goes is served no more, one whose zones change is looked at again.
type NetworkFollower struct{ *Plugin }

// Follow forgets the servers of a network that goes; their ports went with it.
func (f NetworkFollower) Follow(ctx context.Context, tx store.WriteTx, w service.Write[model.Network]) error {
	if w.Op != service.Delete {
		return nil
	}
	if _, err := tx.Exec(ctx, store.Q("DELETE FROM dhcp_refused WHERE network_id = ?", w.Old.ID)); err != nil {
		return err
	}
	rows, err := hosting(ctx, tx, w.Old.ID)
	if err != nil || len(rows) == 0 {
		return err
	}
	changed(tx, w.Old.ID, rows)
	_, err = tx.Exec(ctx, store.Q("DELETE FROM dhcp_hosts WHERE network_id = ?", w.Old.ID))
	return err
}

// Run looks for networks without enough servers, and for those on dead hosts, when a host comes and every so often. It only reads
// while there is nothing to do. It ends with ctx.
func (p *Plugin) Run(ctx context.Context) error {
	return p.Comers.Run(ctx, p.Sweep, func(err error) { p.Log.Error("networks could not be given to DHCP servers", "err", err) })
}

// atOnce is how many networks are worked on at the same time: their commits share writes to the disk.
const atOnce = 8

// Sweep serves every network that lacks a server and could have one.
func (p *Plugin) Sweep(ctx context.Context) error {
	var todo []string
	err := p.Store.Read(ctx, func(tx store.Tx) (err error) {
		todo, err = p.lacking(ctx, tx)
		return err
	})
	if err != nil || len(todo) == 0 {
		return err
	}
	var (
		work  sync.WaitGroup
		slots = make(chan struct{}, atOnce)
		mu    sync.Mutex
		first error
	)
	for _, network := range todo {
		slots <- struct{}{}
		work.Go(func() {
			defer func() { <-slots }()
			if err := p.Serve(ctx, network); err != nil {
				mu.Lock()
				defer mu.Unlock()
				if first == nil {
					first = fmt.Errorf("network %s: %w", network, err)
				}
			}
		})
	}
	work.Wait()
	return first
}

// lacking are the networks with DHCP that too few live hosts serve while another live one could. Five statements.
func (p *Plugin) lacking(ctx context.Context, tx store.Tx) ([]string, error) {
	served := map[string][]string{}
	err := store.Each(ctx, tx, store.Q("SELECT network_id, host FROM dhcp_hosts"), func(scan func(...any) error) error {
		var network, host string
		err := scan(&network, &host)
		served[network] = append(served[network], host)
		return err
	})
	if err != nil {
		return nil, err
	}
	var networks []string
	err = store.Each(ctx, tx, store.Q("SELECT DISTINCT network_id FROM subnets WHERE "+tx.Dialect().JSONText("body", "enable_dhcp")+" IN ('true', '1') ORDER BY network_id"),
		func(scan func(...any) error) error {
			var network string
			err := scan(&network)
			if !p.Wait || len(served[network]) > 0 {
				networks = append(networks, network)
			}
			return err
		})
	if err != nil || len(networks) == 0 {
		return nil, err
	}
	seen, err := p.Agents.OfType(ctx, tx, model.AgentDHCP)
	if err != nil {
		return nil, err
	}
	off, err := refused(ctx, tx, "")
	if err != nil {
		return nil, err
	}
	parts, err := segmented(ctx, tx)
	if err != nil {
		return nil, err
	}
	alive, able := map[string]bool{}, map[string]bool{}
	for _, s := range seen {
		alive[s.Host] = s.Alive
		if s.Alive && s.AdminStateUp {
			able[s.Host] = true
		}
	}
	return slices.DeleteFunc(networks, func(network string) bool {
		living := 0
		for _, host := range served[network] {
			if alive[host] || p.Stay {
				living++
			}
		}
		could := len(able)
		for _, host := range off[network] {
			if able[host] {
				could--
			}
		}
		return living >= min(p.PerNetwork*max(1, parts[network]), could)
	}), nil
}

// row is one host that serves a network.
type row struct{ host, port string }

// hosting reads who serves a network. One statement.
func hosting(ctx context.Context, tx store.Tx, network string) ([]row, error) {
	var out []row
	err := store.Each(ctx, tx, store.Q("SELECT host, port_id FROM dhcp_hosts WHERE network_id = ? ORDER BY host", network), func(scan func(...any) error) error {
		var r row
		err := scan(&r.host, &r.port)
		out = append(out, r)
		return err
	})
	return out, err
}

// changed says that the document of a network is dirty on hosts.
func changed(tx store.WriteTx, network string, rows []row) {
	for _, r := range rows {
		tx.Changed(change.Key{Kind: wire.KindDHCP, ID: network}, change.NewSet(wire.FamilyHost, r.host))
	}
}

// dirty says that the documents of a network's ports are dirty on all hosts that they are bound to: what they wait for has changed.
func dirty(ctx context.Context, tx store.WriteTx, network string) error {
	return store.Each(ctx, tx, store.Q("SELECT p.id, l.host FROM ports p JOIN binding_levels l ON l.port_id = p.id AND l.level = 0 WHERE p.network_id = ?", network), func(scan func(...any) error) error {
		var id, host string
		if err := scan(&id, &host); err != nil {
			return err
		}
		tx.Changed(change.Key{Kind: wire.KindPort, ID: id}, change.NewSet(wire.FamilyHost, host))
		return nil
	})
}

var (
	_ service.Follower[model.Subnet]  = SubnetFollower{}
	_ service.Follower[model.Network] = NetworkFollower{}
	_ agents.HostFollower             = (*Plugin)(nil)
	_ service.Runner                  = (*Plugin)(nil)
)
