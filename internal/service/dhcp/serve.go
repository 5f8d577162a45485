package dhcp

import (
	"cmp"
	"context"
	"crypto/sha1"
	"fmt"
	"slices"
	"strings"

	"isospin/internal/model"
	"isospin/internal/store"
)

// owner is the device_owner of a server's port.
const owner = "network:dhcp"

// DeviceID is the device_id of a server's port: the host's name without its domain as a UUID of version 5 in the DNS namespace,
// and the network (get_dhcp_agent_device_id in neutron-lib's utils).
func DeviceID(host, network string) string {
	short, _, _ := strings.Cut(host, ".")
	namespace := [16]byte{0x6b, 0xa7, 0xb8, 0x10, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8}
	u := sha1.Sum(append(namespace[:], short...))
	u[6] = u[6]&0x0f | 0x50
	u[8] = u[8]&0x3f | 0x80
	return fmt.Sprintf("dhcp%x-%x-%x-%x-%x-%s", u[0:4], u[4:6], u[6:8], u[8:10], u[10:16], network)
}

// Serve brings the servers of a network in line with its subnets and with who is alive. It may be called at any time, by
// several servers at once: the network's row is what they wait for.
func (p *Plugin) Serve(ctx context.Context, network string) error {
	return p.Store.Write(ctx, func(tx store.WriteTx) error { return p.serve(ctx, tx, network) })
}

func (p *Plugin) serve(ctx context.Context, tx store.WriteTx, network string) error {
	n, err := p.Networks.GetForUpdate(ctx, tx, network)
	if store.IsNotFound(err) {
		return nil // its servers went with it
	}
	if err != nil {
		return err
	}
	all, err := p.Subnets.Find(ctx, tx, store.List{Where: store.Eq("network_id", network)})
	if err != nil {
		return err
	}
	subnets := slices.DeleteFunc(all, func(s model.Subnet) bool { return !s.EnableDHCP })
	rows, err := hosting(ctx, tx, network)
	if err != nil {
		return err
	}
	if len(subnets) == 0 {
		return p.withdraw(ctx, tx, network, rows)
	}
	if routed(subnets) {
		return p.serveRouted(ctx, tx, &n, subnets, rows)
	}
	before := len(rows)
	if rows, err = p.place(ctx, tx, &n, rows, func(string) bool { return true }); err != nil {
		return err
	}
	for _, r := range rows {
		if err := p.port(ctx, tx, &n, subnets, r); err != nil {
			return err
		}
	}
	if before == 0 && len(rows) > 0 {
		return dirty(ctx, tx, network)
	}
	return nil
}

// withdraw ends the serving of a network.
func (p *Plugin) withdraw(ctx context.Context, tx store.WriteTx, network string, rows []row) error {
	if len(rows) == 0 {
		return nil
	}
	for _, r := range rows {
		if err := p.Ports.DeletePort(ctx, tx, r.port); err != nil {
			return err
		}
	}
	if _, err := tx.Exec(ctx, store.Q("DELETE FROM dhcp_hosts WHERE network_id = ?", network)); err != nil {
		return err
	}
	changed(tx, network, rows)
	return dirty(ctx, tx, network)
}

// place decides which hosts serve a network: those that do and live, then the least loaded of the live ones. A dead host's place,
// with its port and addresses, goes to another when there is one; else it is kept for when the host comes back. may tells which hosts
// come into question.
func (p *Plugin) place(ctx context.Context, tx store.WriteTx, n *model.Network, rows []row, may func(host string) bool) ([]row, error) {
	seen, err := p.Agents.OfType(ctx, tx, model.AgentDHCP)
	if err != nil {
		return nil, err
	}
	off, err := refused(ctx, tx, n.ID)
	if err != nil {
		return nil, err
	}
	alive := map[string]bool{}
	var free []string
	for _, s := range seen {
		alive[s.Host] = s.Alive
		mine := slices.ContainsFunc(rows, func(r row) bool { return r.host == s.Host })
		if s.Alive && s.AdminStateUp && !mine && p.inZone(n, s.AvailabilityZone) && !slices.Contains(off[n.ID], s.Host) && may(s.Host) {
			free = append(free, s.Host)
		}
	}
	if len(free) > 0 {
		if err := byLoad(ctx, tx, free); err != nil {
			return nil, err
		}
	}
	for i := range rows {
		if len(free) == 0 {
			break
		}
		if alive[rows[i].host] || p.Stay {
			continue
		}
		old := rows[i]
		rows[i].host, free = free[0], free[1:]
		if _, err := tx.Exec(ctx, store.Q("UPDATE dhcp_hosts SET host = ? WHERE network_id = ? AND host = ?", rows[i].host, n.ID, old.host)); err != nil {
			return nil, err
		}
		changed(tx, n.ID, []row{old, rows[i]})
		p.Log.Info("a network moved to another DHCP host", "network", n.ID, "host", rows[i].host, "from", old.host)
	}
	for len(rows) < p.PerNetwork && len(free) > 0 {
		r := row{host: free[0]}
		free = free[1:]
		if _, err := tx.Exec(ctx, store.Q("INSERT INTO dhcp_hosts (network_id, host, port_id) VALUES (?, ?, '')", n.ID, r.host)); err != nil {
			return nil, err
		}
		rows = append(rows, r)
		changed(tx, n.ID, rows)
	}
	return rows, nil
}

// inZone tells whether an agent of a zone may serve a network.
func (p *Plugin) inZone(n *model.Network, zone *string) bool {
	hints := n.AvailabilityZoneHints
	if len(hints) == 0 {
		hints = p.Zones
	}
	return len(hints) == 0 || zone != nil && slices.Contains(hints, *zone)
}

// byLoad sorts hosts so that those that serve the fewest networks come first. One statement.
func byLoad(ctx context.Context, tx store.Tx, hosts []string) error {
	load := map[string]int64{}
	in := store.In("host", hosts)
	err := store.Each(ctx, tx, store.Q("SELECT host, COUNT(*) FROM dhcp_hosts WHERE "+in.SQL+" GROUP BY host", in.Args...), func(scan func(...any) error) error {
		var host string
		var n int64
		err := scan(&host, &n)
		load[host] = n
		return err
	})
	slices.SortFunc(hosts, func(a, b string) int { return cmp.Or(cmp.Compare(load[a], load[b]), cmp.Compare(a, b)) })
	return err
}

// port makes a server's port what it must be: on its host, with an address in each subnet that has DHCP.
func (p *Plugin) port(ctx context.Context, tx store.WriteTx, n *model.Network, subnets []model.Subnet, r row) error {
	if r.port != "" {
		_, err := p.Rows.Get(ctx, tx, r.port)
		if err == nil {
			_, err = p.Ports.AdjustPort(ctx, tx, r.port, func(port *model.Port) {
				port.HostID, port.DeviceID = r.host, DeviceID(r.host, n.ID)
				port.FixedIPs = addresses(port.FixedIPs, subnets)
			})
		}
		if !store.IsNotFound(err) {
			return err
		}
		// Somebody deleted it.
	}
	want := model.Port{NetworkID: n.ID, DeviceOwner: owner, DeviceID: DeviceID(r.host, n.ID), HostID: r.host, FixedIPs: addresses(nil, subnets)}
	want.Own(n.ProjectID)
	port, err := p.Ports.CreatePort(ctx, tx, want)
	if err != nil {
		return fmt.Errorf("port of the DHCP server on host %s: %w", r.host, err)
	}
	if _, err := tx.Exec(ctx, store.Q("UPDATE dhcp_hosts SET port_id = ? WHERE network_id = ? AND host = ?", port.ID, n.ID, r.host)); err != nil {
		return err
	}
	all, err := hosting(ctx, tx, n.ID)
	changed(tx, n.ID, all)
	return err
}

// addresses are those that a server's port keeps and those that it still needs, the latter by subnet alone.
func addresses(have []model.FixedIP, subnets []model.Subnet) []model.FixedIP {
	out := []model.FixedIP{}
	for i := range subnets {
		at := slices.IndexFunc(have, func(f model.FixedIP) bool { return f.SubnetID == subnets[i].ID })
		if at >= 0 {
			out = append(out, have[at])
		} else {
			out = append(out, model.FixedIP{SubnetID: subnets[i].ID})
		}
	}
	// In the order that the port has, so that the same addresses are no change.
	rank := func(f model.FixedIP) int {
		if i := slices.Index(have, f); i >= 0 {
			return i
		}
		return len(have)
	}
	slices.SortStableFunc(out, func(a, b model.FixedIP) int { return cmp.Compare(rank(a), rank(b)) })
	return out
}
