package ml2

import (
	"context"
	"errors"
	"strings"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/service"
	"isospin/internal/service/ipam"
	"isospin/internal/service/sharing"
	"isospin/internal/store"
	"isospin/internal/wire"
)

// subnets is the controller of subnets.
type subnets struct{ *Plugin }

// belowNetwork is the table of subnets for requests: who writes a subnet keeps its network first, as those do who write
// a network and its subnets after it. In the other order the two would wait for each other.
type belowNetwork struct {
	*Subnets
	networks *Networks
}

// GetForUpdate keeps network and subnet.
func (t belowNetwork) GetForUpdate(ctx context.Context, tx store.WriteTx, id string) (model.Subnet, error) {
	s, err := t.Get(ctx, tx, id)
	if err != nil {
		return s, err
	}
	if _, err := t.networks.GetForUpdate(ctx, tx, s.NetworkID); err != nil {
		return s, err // the network went, and the subnet with it
	}
	return t.Subnets.GetForUpdate(ctx, tx, id)
}

// Create makes a subnet, opens its free ranges and, where hosts make their own addresses, gives one to each port.
func (p subnets) Create(ctx context.Context, tx store.WriteTx, in rest.Input[model.Subnet]) (model.Subnet, error) {
	s := in.Value
	n, err := p.Networks.GetForUpdate(ctx, tx, s.NetworkID)
	if store.IsNotFound(err) {
		err = fault.NetworkNotFound(s.NetworkID)
	}
	if err != nil {
		return s, err
	}
	p.stamp(&s.Standard, 0)
	s.PrefixLen = nil
	if err := p.complete(ctx, tx, &n, &s, in); err != nil {
		return s, err
	}
	w := service.Write[model.Subnet]{Op: service.Create, New: &s, Given: in.Given}
	if err := p.before(ctx, tx, w); err != nil {
		return s, err
	}
	if err := p.Subnets.Insert(ctx, tx, &s); err != nil {
		return s, err
	}
	if err := p.IPAM.Open(ctx, tx, &s); err != nil {
		return s, err
	}
	if s.SegmentID != nil {
		n.L2Adjacency = false
	}
	p.bump(&n.Standard)
	if err := p.Networks.Update(ctx, tx, &n, -1); err != nil {
		return s, err
	}
	if ipam.AutoAddress(&s) {
		if err := ports(p).autoAddress(ctx, tx, &n); err != nil {
			return s, err
		}
	}
	return s, p.after(ctx, tx, w)
}

func (p subnets) before(ctx context.Context, tx store.WriteTx, w service.Write[model.Subnet]) error {
	if err := p.Plugin.extensions.subnet(ctx, tx, w.Old, w.New); err != nil {
		return err
	}
	for _, g := range p.guards.Subnets {
		if err := g.Guard(ctx, tx, w); err != nil {
			return err
		}
	}
	return nil
}

func (p subnets) after(ctx context.Context, tx store.WriteTx, w service.Write[model.Subnet]) error {
	s := w.New
	if s == nil {
		s = w.Old
	}
	tx.Changed(key(wire.KindSubnet, s.ID), networkSet(s.NetworkID))
	for _, f := range p.guards.SubnetsWritten {
		if err := f.Follow(ctx, tx, w); err != nil {
			return err
		}
	}
	return nil
}

// Update changes a subnet; its pools are cut anew when they change. The caller has the network, so that nobody takes or
// gives back addresses meanwhile.
func (p subnets) Update(ctx context.Context, tx store.WriteTx, cur model.Subnet, in rest.Input[model.Subnet]) (model.Subnet, error) {
	s := cur
	if err := in.Apply(&s); err != nil {
		return s, err
	}
	s.PrefixLen = nil
	if err := p.checkUpdate(ctx, tx, &cur, &s, in); err != nil {
		return s, err
	}
	if same(&cur, &s) {
		return cur, nil
	}
	if err := p.toSegment(ctx, tx, &cur, &s); err != nil {
		return s, err
	}
	p.bump(&s.Standard)
	w := service.Write[model.Subnet]{Op: service.Update, Old: &cur, New: &s, Given: in.Given}
	if err := p.before(ctx, tx, w); err != nil {
		return s, err
	}
	if err := p.Subnets.Update(ctx, tx, &s, cur.Revision); err != nil {
		return s, err
	}
	if in.Given("allocation_pools") {
		if err := p.IPAM.Reopen(ctx, tx, &s); err != nil {
			return s, err
		}
	}
	return s, p.after(ctx, tx, w)
}

// Delete removes a subnet unless somebody uses an address of it that was not made by itself.
func (p subnets) Delete(ctx context.Context, tx store.WriteTx, cur model.Subnet) error {
	n, err := p.Networks.GetForUpdate(ctx, tx, cur.NetworkID)
	if err != nil {
		return err
	}
	if err := p.remove(ctx, tx, &n, cur, false); err != nil {
		return err
	}
	if err := p.adjacent(ctx, tx, &n); err != nil {
		return err
	}
	p.bump(&n.Standard)
	return p.Networks.Update(ctx, tx, &n, -1)
}

// remove removes a subnet, by itself or with its network.
func (p subnets) remove(ctx context.Context, tx store.WriteTx, n *model.Network, cur model.Subnet, cascade bool) error {
	if err := p.vacate(ctx, tx, n, &cur); err != nil {
		return err
	}
	w := service.Write[model.Subnet]{Op: service.Delete, Old: &cur, Cascade: cascade}
	if err := p.before(ctx, tx, w); err != nil {
		return err
	}
	if err := p.IPAM.Close(ctx, tx, cur.ID); err != nil {
		return err
	}
	if err := p.Subnets.Delete(ctx, tx, cur.ID); err != nil {
		return err
	}
	if p.guards.Prefixes != nil {
		if err := p.guards.Prefixes.Give(ctx, tx, &cur); err != nil {
			return err
		}
	}
	return p.after(ctx, tx, w)
}

// vacate takes the subnet's addresses from ports that may lose them: those that services made for themselves, and those
// whose address made itself (behaviour.md, section 9). Any other address holds the subnet.
func (p subnets) vacate(ctx context.Context, tx store.WriteTx, n *model.Network, s *model.Subnet) error {
	users, err := p.Ports.Find(ctx, tx, store.List{Where: store.Expr("id IN (SELECT port_id FROM ip_allocations WHERE subnet_id = ?)", s.ID), Lock: true})
	if err != nil {
		return err
	}
	for i := range users {
		if ipam.RouterOwner(users[i].DeviceOwner) || !autoDelete(users[i].DeviceOwner) && !ipam.AutoAddress(s) {
			return fault.SubnetInUse(s.ID, "ports have addresses of it")
		}
	}
	for i := range users {
		port := users[i].Clone()
		rest := port.FixedIPs[:0:0]
		var gone []model.FixedIP
		for _, f := range port.FixedIPs {
			if f.SubnetID == s.ID {
				gone = append(gone, f)
			} else {
				rest = append(rest, f)
			}
		}
		if s.SegmentID != nil && len(rest) == 0 && !autoDelete(port.DeviceOwner) {
			return fault.SubnetInUse(s.ID, "ports of a routed network have no other address")
		}
		if err := p.IPAM.Release(ctx, tx, port.ID, nil, gone); err != nil {
			return err
		}
		port.FixedIPs = rest
		if err := ports(p).save(ctx, tx, n, &users[i], &port, nil); err != nil {
			return err
		}
	}
	return nil
}

// subnetsOf reads a network's subnets. One statement.
func (p *Plugin) subnetsOf(ctx context.Context, tx store.Tx, network string) ([]model.Subnet, error) {
	return p.Subnets.Find(ctx, tx, store.List{Where: store.Eq("network_id", network)})
}

// elsewhere turns the allocator's word that a subnet is not the network's into the right fault.
func (p *Plugin) elsewhere(ctx context.Context, tx store.Tx, err error) error {
	var e *ipam.Elsewhere
	if !errors.As(err, &e) {
		return err
	}
	s, err := p.Subnets.Get(ctx, tx, e.SubnetID)
	usable := err == nil
	if usable { // who sees the network sees its subnets
		usable, err = sharing.Usable(ctx, tx, s.ProjectID, s.NetworkID)
	}
	switch {
	case store.IsNotFound(err), err == nil && !usable:
		return fault.SubnetNotFound(e.SubnetID)
	case err != nil:
		return err
	}
	return fault.BadInput("Failed to create port on the network, because fixed_ips names subnet %s, which is of another network or on a segment that the port cannot use.", strings.TrimSpace(e.SubnetID))
}
