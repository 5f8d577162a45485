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

// details tell the addresses of prefixes and those of pools apart.
type details struct {
	TotalInSubnet *big.Int `json:"total_ips_in_subnet"`
	TotalInPools  *big.Int `json:"total_ips_in_allocation_pool"`
	UsedInSubnet  int64    `json:"used_ips_in_subnet"`
	UsedInPools   int64    `json:"used_ips_in_allocation_pool"`
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
	Details     details    `json:"ip_availability_details"`
}

type ofSubnet struct {
	ID        string   `json:"subnet_id"`
	Name      string   `json:"subnet_name"`
	CIDR      *string  `json:"cidr"`
	IPVersion int64    `json:"ip_version"`
	Total     *big.Int `json:"total_ips"`
	Used      int64    `json:"used_ips"`
	Details   details  `json:"ip_availability_details"`
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
	bySubnet := make(map[string]*tally, len(subnets))
	byNetwork := map[string][]*tally{}
	for i := range subnets {
		s := &subnets[i]
		if v, ok := want["ip_version"]; !ok || slices.Contains(v, fmt.Sprint(s.IPVersion)) {
			t := newTally(s)
			bySubnet[s.ID] = t
			byNetwork[s.NetworkID] = append(byNetwork[s.NetworkID], t)
		}
	}
	if err := inUse(ctx, tx, on, bySubnet); err != nil {
		return nil, err
	}
	_, byVersion := want["ip_version"]
	var rows []store.Row
	for i := range networks {
		n := &networks[i]
		if byVersion && len(byNetwork[n.ID]) == 0 {
			continue
		}
		body, err := json.Marshal(count(n, byNetwork[n.ID]))
		if err != nil {
			return nil, fmt.Errorf("encode counts: %w", err)
		}
		rows = append(rows, store.Row{ID: n.ID, Project: n.ProjectID, Body: body})
	}
	return rows, nil
}

// inUse goes through the addresses in use. One statement.
func inUse(ctx context.Context, tx store.Tx, on store.Cond, bySubnet map[string]*tally) error {
	if on.True() {
		on = store.Expr("1 = 1")
	}
	return store.Each(ctx, tx, store.Q("SELECT subnet_id, ip_address FROM ip_allocations WHERE "+on.SQL, on.Args...), func(scan func(...any) error) error {
		var id, text string
		if err := scan(&id, &text); err != nil {
			return err
		}
		if t := bySubnet[id]; t != nil {
			t.use(text)
		}
		return nil
	})
}

// span is a pool's first and last address.
type span struct{ first, last netip.Addr }

// tally counts one subnet.
type tally struct {
	subnet *model.Subnet
	pools  []span
	used   int64
	pooled int64
}

func newTally(s *model.Subnet) *tally {
	t := &tally{subnet: s}
	for _, pool := range s.AllocationPools {
		first, err1 := netip.ParseAddr(pool.Start)
		last, err2 := netip.ParseAddr(pool.End)
		if err1 == nil && err2 == nil { // no subnet has others
			t.pools = append(t.pools, span{first, last})
		}
	}
	return t
}

func (t *tally) use(text string) {
	t.used++
	a, err := netip.ParseAddr(text)
	if err != nil {
		return // nothing writes such an address
	}
	for _, p := range t.pools {
		if a.Compare(p.first) >= 0 && a.Compare(p.last) <= 0 {
			t.pooled++
			return
		}
	}
}

// inPools is how many addresses the pools hold.
func (t *tally) inPools() *big.Int {
	sum := new(big.Int)
	for _, p := range t.pools {
		a, b := new(big.Int).SetBytes(p.first.AsSlice()), new(big.Int).SetBytes(p.last.AsSlice())
		sum.Add(sum, b.Sub(b, a).Add(b, big.NewInt(1)))
	}
	return sum
}

// inPrefix are all addresses of the prefix, and those that hosts can have: in IPv4 not the network's and the broadcast one.
func (t *tally) inPrefix() (all, usable *big.Int) {
	all, usable = new(big.Int), new(big.Int)
	if t.subnet.CIDR == nil {
		return all, usable
	}
	prefix, err := netip.ParsePrefix(*t.subnet.CIDR)
	if err != nil {
		return all, usable // no subnet has such a prefix
	}
	host := prefix.Addr().BitLen() - prefix.Bits()
	all.Lsh(big.NewInt(1), uint(host))
	usable.Set(all)
	if prefix.Addr().Is4() && host > 1 {
		usable.Sub(usable, big.NewInt(2))
	}
	return all, usable
}

// show is the subnet's entry; total_ips are the pools' addresses, or without pools the prefix's.
func (t *tally) show() ofSubnet {
	all, usable := t.inPrefix()
	out := ofSubnet{ID: t.subnet.ID, Name: t.subnet.Name, CIDR: t.subnet.CIDR, IPVersion: t.subnet.IPVersion, Total: t.inPools(), Used: t.used}
	out.Details = details{TotalInSubnet: usable, TotalInPools: out.Total, UsedInSubnet: t.used, UsedInPools: t.pooled}
	if len(t.pools) == 0 {
		out.Total = all
	}
	return out
}

// count adds up one network.
func count(n *model.Network, subnets []*tally) counts {
	out := counts{NetworkID: n.ID, NetworkName: n.Name, TenantID: n.ProjectID, ProjectID: n.ProjectID, Total: new(big.Int), Subnets: []ofSubnet{}}
	d := &out.Details
	d.TotalInSubnet, d.TotalInPools = new(big.Int), new(big.Int)
	for _, t := range subnets {
		one := t.show()
		out.Total.Add(out.Total, one.Total)
		out.Used += one.Used
		d.TotalInSubnet.Add(d.TotalInSubnet, one.Details.TotalInSubnet)
		d.TotalInPools.Add(d.TotalInPools, one.Details.TotalInPools)
		d.UsedInSubnet += one.Details.UsedInSubnet
		d.UsedInPools += one.Details.UsedInPools
		out.Subnets = append(out.Subnets, one)
	}
	return out
}

var _ rest.Lister = (*Plugin)(nil)
