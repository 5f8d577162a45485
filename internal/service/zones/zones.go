// Package zones is the availability zones: the API's list of them, the check of hints, and the zones in which a network is
// served. A zone is what agents say of themselves; nothing is stored here, and no agent or network is changed.
package zones

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/service"
	"isospin/internal/service/agents"
	"isospin/internal/store"
)

// Agents tells of agents; agents.Plugin is one.
type Agents interface {
	// OfType reads the agents of a type, dead ones too.
	OfType(ctx context.Context, tx store.Tx, agentType string) ([]agents.Seen, error)
}

// Plugin is the availability zones.
type Plugin struct{ agents Agents }

// New makes the plugin.
func New(a Agents) *Plugin { return &Plugin{agents: a} }

// Name is the plugin's name.
func (p *Plugin) Name() string { return "availability-zones" }

// Bindings is the collection of zones. Single zones cannot be shown: a name may stand for two.
func (p *Plugin) Bindings() []rest.Binding {
	return []rest.Binding{rest.Computed("availability_zones", "", p, rest.Options{
		NotFound: func(id string) error { return fault.AvailabilityZoneNotFound(id) },
	})}
}

// The kinds of resources that have zones, by the agents that serve them.
const (
	forNetworks = "network"
	forRouters  = "router"
)

func servers(resource string) string {
	if resource == forRouters {
		return model.AgentL3
	}
	return model.AgentDHCP
}

type zone struct {
	Name     string `json:"name"`
	Resource string `json:"resource"`
	State    string `json:"state"`
}

// List makes the zones: available where one of the agents takes work (neutron/db/agents_db.py). Two statements.
func (p *Plugin) List(ctx context.Context, tx store.Tx, _ map[string][]string) ([]store.Row, error) {
	var rows []store.Row
	for _, resource := range []string{forNetworks, forRouters} {
		names, able, err := p.of(ctx, tx, resource)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			z := zone{Name: name, Resource: resource, State: "unavailable"}
			if able[name] {
				z.State = "available"
			}
			body, err := json.Marshal(z)
			if err != nil {
				return nil, fmt.Errorf("encode a zone: %w", err)
			}
			rows = append(rows, store.Row{ID: name + " " + resource, Body: body})
		}
	}
	return rows, nil
}

// of are the zones of agents that serve a resource, sorted, and whether one of their agents takes work. One statement.
func (p *Plugin) of(ctx context.Context, tx store.Tx, resource string) (names []string, able map[string]bool, err error) {
	all, err := p.agents.OfType(ctx, tx, servers(resource))
	able = map[string]bool{}
	for _, a := range all {
		if a.AvailabilityZone != nil && *a.AvailabilityZone != "" {
			able[*a.AvailabilityZone] = able[*a.AvailabilityZone] || a.AdminStateUp
		}
	}
	for name := range able {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, able, err
}

// Check refuses hints of zones that no agent of the resource's kind is in. One statement, none without hints.
func (p *Plugin) Check(ctx context.Context, tx store.Tx, resource string, hints []string) error {
	if len(hints) == 0 {
		return nil
	}
	names, _, err := p.of(ctx, tx, resource)
	if err != nil {
		return err
	}
	for _, hint := range hints {
		if !slices.Contains(names, hint) {
			return fault.AvailabilityZoneNotFound(hint)
		}
	}
	return nil
}

// Networks takes part in the writes and lists of networks.
type Networks struct{ *Plugin }

var (
	_ service.Guard[model.Network] = Networks{}
	_ rest.Splicer                 = Networks{}
	_ rest.Lister                  = (*Plugin)(nil)
)

// Guard checks the hints of a new network.
func (n Networks) Guard(ctx context.Context, tx store.WriteTx, w service.Write[model.Network]) error {
	if w.Op != service.Create || !w.Gave("availability_zone_hints") {
		return nil
	}
	return n.Check(ctx, tx, forNetworks, w.New.AvailabilityZoneHints)
}

// Splice shows the zones of the hosts that serve a network's DHCP. One statement.
func (Networks) Splice(ctx context.Context, tx store.Tx, page *rest.Page) error {
	return Show(ctx, tx, page, model.AgentDHCP, "dhcp_hosts", "network_id")
}

// Show puts availability_zones into a page: the zones of the agents of a type on the hosts that a table gives to each row by the
// column named. One statement.
func Show(ctx context.Context, tx store.Tx, page *rest.Page, agentType, table, column string) error {
	if !page.Wants("availability_zones") {
		return nil
	}
	ids := page.IDs()
	where := store.Eq("a.agent_type", agentType)
	if len(ids) <= 500 {
		where = store.And(where, store.In("h."+column, ids))
	}
	of := map[string][]string{}
	err := store.Each(ctx, tx, store.Q("SELECT DISTINCT h."+column+", "+tx.Dialect().JSONText("a.body", "availability_zone")+
		" FROM "+table+" h JOIN agents a ON a.host = h.host WHERE "+where.SQL, where.Args...), func(scan func(...any) error) error {
		var id string
		var zone *string
		err := scan(&id, &zone)
		if zone != nil && *zone != "" {
			of[id] = append(of[id], *zone)
		}
		return err
	})
	if err != nil {
		return err
	}
	for i, id := range ids {
		zones := of[id]
		if len(zones) == 0 {
			continue // the body says []
		}
		slices.Sort(zones)
		raw, err := json.Marshal(slices.Compact(zones))
		if err != nil {
			return fmt.Errorf("encode zones: %w", err)
		}
		page.Replace(i, "availability_zones", raw)
	}
	return nil
}
