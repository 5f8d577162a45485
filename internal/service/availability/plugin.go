// Package availability counts the addresses of networks, for administrators: how many their pools hold, how many are in use. rest
// asks it for the rows of a collection that no table holds. It never changes anything.
package availability

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"net/netip"
	"slices"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/service/ml2"
	"isospin/internal/store"
)

// Plugin is the counts of addresses.
type Plugin struct {
	networks *ml2.Networks
	subnets  *ml2.Subnets
}

// New makes the plugin.
func New(n *ml2.Networks, s *ml2.Subnets) *Plugin { return &Plugin{networks: n, subnets: s} }

// Name is the plugin's name.
func (p *Plugin) Name() string { return "network_ip_availability" }

// Bindings is the collection of counts.
func (p *Plugin) Bindings() []rest.Binding {
	return []rest.Binding{rest.Computed("network_ip_availabilities", "network_id", p, rest.Options{
		NotFound: func(id string) error { return fault.NetworkNotFound(id) },
	})}
}

// counts is one network. Pools of IPv6 hold more addresses than 64 bits tell.
type counts struct {
	NetworkID   string     `json:"network_id"`
	NetworkName string     `json:"network_name"`
	TenantID    string     `json:"tenant_id"`
	ProjectID   string     `json:"project_id"`
	Total       *big.Int   `json:"total_ips"`
	Used        int64      `json:"used_ips"`
	Subnets     []ofSubnet `json:"subnet_ip_availability"`
}

type ofSubnet struct {
	ID        string   `json:"subnet_id"`
	Name      string   `json:"subnet_name"`
	CIDR      *string  `json:"cidr"`
	IPVersion int64    `json:"ip_version"`
	Total     *big.Int `json:"total_ips"`
	Used      int64    `json:"used_ips"`
}

// List makes the counts. Three statements.
func (p *Plugin) List(ctx context.Context, tx store.Tx, want map[string][]string) ([]store.Row, error) {
	var of, on store.Cond
	if ids, ok := want["network_id"]; ok && len(ids) <= store.MaxIn {
		of, on = store.In("id", ids), store.In("network_id", ids)
	}
	networks, err := p.networks.Find(ctx, tx, store.List{Where: of})
	if err != nil {
		return nil, err
	}
	subnets, err := p.subnets.Find(ctx, tx, store.List{Where: on})
	if err != nil {
		return nil, err
	}
	used, err := inUse(ctx, tx, on)
	if err != nil {
		return nil, err
	}
	byNetwork := map[string][]model.Subnet{}
	for _, s := range subnets {
		if v, ok := want["ip_version"]; !ok || slices.Contains(v, fmt.Sprint(s.IPVersion)) {
			byNetwork[s.NetworkID] = append(byNetwork[s.NetworkID], s)
		}
	}
	_, byVersion := want["ip_version"]
	var rows []store.Row
	for i := range networks {
		n := &networks[i]
		if byVersion && len(byNetwork[n.ID]) == 0 {
			continue
		}
		body, err := json.Marshal(count(n, byNetwork[n.ID], used))
		if err != nil {
			return nil, fmt.Errorf("encode counts: %w", err)
		}
		rows = append(rows, store.Row{ID: n.ID, Project: n.ProjectID, Body: body})
	}
	return rows, nil
}

// inUse counts allocations by subnet. One statement.
func inUse(ctx context.Context, tx store.Tx, on store.Cond) (map[string]int64, error) {
	if on.True() {
		on = store.Expr("1 = 1")
	}
	used := map[string]int64{}
	err := store.Each(ctx, tx, store.Q("SELECT subnet_id, COUNT(*) FROM ip_allocations WHERE "+on.SQL+" GROUP BY subnet_id", on.Args...), func(scan func(...any) error) error {
		var id string
		var n int64
		err := scan(&id, &n)
		used[id] = n
		return err
	})
	return used, err
}

// count adds up one network.
func count(n *model.Network, subnets []model.Subnet, used map[string]int64) counts {
	out := counts{NetworkID: n.ID, NetworkName: n.Name, TenantID: n.ProjectID, ProjectID: n.ProjectID, Total: new(big.Int), Subnets: []ofSubnet{}}
	for i := range subnets {
		s := &subnets[i]
		one := ofSubnet{ID: s.ID, Name: s.Name, CIDR: s.CIDR, IPVersion: s.IPVersion, Total: size(s.AllocationPools), Used: used[s.ID]}
		out.Total.Add(out.Total, one.Total)
		out.Used += one.Used
		out.Subnets = append(out.Subnets, one)
	}
	return out
}

// size is how many addresses pools hold.
func size(pools []model.AllocationPool) *big.Int {
	sum := new(big.Int)
	for _, pool := range pools {
		first, err1 := netip.ParseAddr(pool.Start)
		last, err2 := netip.ParseAddr(pool.End)
		if err1 != nil || err2 != nil {
			continue // no subnet has such a pool
		}
		a, b := new(big.Int).SetBytes(first.AsSlice()), new(big.Int).SetBytes(last.AsSlice())
		sum.Add(sum, b.Sub(b, a).Add(b, big.NewInt(1)))
	}
	return sum
}

var _ rest.Lister = (*Plugin)(nil)
