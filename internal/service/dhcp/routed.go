package dhcp

import (
	"context"
	"maps"
	"slices"

	"isospin/internal/model"
	"isospin/internal/service/ml2"
	"isospin/internal/store"
)

// This file is about routed networks: a server is of use on its own segment alone, so each segment with DHCP has servers of its own
// (neutron/scheduler/dhcp_agent_scheduler.py).

func routed(subnets []model.Subnet) bool {
	return slices.ContainsFunc(subnets, func(s model.Subnet) bool { return s.SegmentID != nil })
}

// serveRouted brings the servers of a routed network in line: each of its segments is served by hosts that reach it, each host serves the
// first segment that it reaches.
func (p *Plugin) serveRouted(ctx context.Context, tx store.WriteTx, n *model.Network, subnets []model.Subnet, rows []row) error {
	of := map[string][]model.Subnet{} // by segment
	for _, s := range subnets {
		if s.SegmentID != nil {
			of[*s.SegmentID] = append(of[*s.SegmentID], s)
		}
	}
	at, err := p.segmentOf(ctx, tx, n.ID, slices.Sorted(maps.Keys(of)))
	if err != nil {
		return err
	}
	before := len(rows)
	var lost, all []row
	for _, r := range rows {
		if at[r.host] == "" {
			lost = append(lost, r)
		}
	}
	for _, r := range lost {
		if err := p.dismiss(ctx, tx, n.ID, r); err != nil {
			return err
		}
	}
	for _, segment := range slices.Sorted(maps.Keys(of)) {
		var mine []row
		for _, r := range rows {
			if at[r.host] == segment {
				mine = append(mine, r)
			}
		}
		if mine, err = p.place(ctx, tx, n, mine, func(host string) bool { return at[host] == segment }); err != nil {
			return err
		}
		for _, r := range mine {
			if err := p.port(ctx, tx, n, of[segment], r); err != nil {
				return err
			}
		}
		all = append(all, mine...)
	}
	if (before == 0) != (len(all) == 0) {
		return dirty(ctx, tx, n.ID)
	}
	return nil
}

// segmentOf is the segment that each host serves, the first of those named that it reaches. Two statements.
func (p *Plugin) segmentOf(ctx context.Context, tx store.Tx, network string, segments []string) (map[string]string, error) {
	seen, err := p.Agents.All(ctx, tx)
	if err != nil {
		return nil, err
	}
	hosts := map[string]model.Host{}
	for _, s := range seen {
		h := hosts[s.Host]
		h.Name, h.Agents = s.Host, append(h.Agents, s.Agent)
		hosts[s.Host] = h
	}
	all, err := ml2.SegmentsOf(ctx, tx, []string{network})
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for name, h := range hosts {
		for _, id := range segments {
			i := slices.IndexFunc(all[network], func(s model.Segment) bool { return s.ID == id })
			if i >= 0 && p.Ports.Reaches(h, all[network][i]) {
				out[name] = id
				break
			}
		}
	}
	return out, nil
}

// dismiss ends the serving of a network by a host that reaches none of its segments.
func (p *Plugin) dismiss(ctx context.Context, tx store.WriteTx, network string, r row) error {
	if r.port != "" {
		if err := p.Ports.DeletePort(ctx, tx, r.port); err != nil {
			return err
		}
	}
	changed(tx, network, []row{r})
	_, err := tx.Exec(ctx, store.Q("DELETE FROM dhcp_hosts WHERE network_id = ? AND host = ?", network, r.host))
	return err
}

// segmented counts the segments of routed networks that have subnets. One statement.
func segmented(ctx context.Context, tx store.Tx) (map[string]int, error) {
	out := map[string]int{}
	err := store.Each(ctx, tx, store.Q("SELECT network_id, COUNT(DISTINCT segment_id) FROM subnets WHERE segment_id IS NOT NULL GROUP BY network_id"), func(scan func(...any) error) error {
		var network string
		var n int64
		err := scan(&network, &n)
		out[network] = int(n)
		return err
	})
	return out, err
}
