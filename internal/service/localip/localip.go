package localip

import (
	"context"
	"net/netip"
	"slices"

	"isospin/internal/change"
	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/store"
	"isospin/internal/wire"
)

// localIPs is the controller of local addresses.
type localIPs struct{ *Plugin }

// Create makes a local address of a port's, or of a port that is made for it (neutron/db/local_ip_db.py).
func (p localIPs) Create(ctx context.Context, tx store.WriteTx, in rest.Input[model.LocalIP]) (model.LocalIP, error) {
	l := in.Value
	p.stamp(&l.Standard)
	l.ID = p.IDs.UUID()
	var port model.Port
	var err error
	switch {
	case l.LocalPortID != "":
		port, err = p.port(ctx, tx, l.LocalPortID, "local_ip")
	case l.NetworkID != "":
		port, err = p.make(ctx, tx, &l)
	default:
		err = fault.LocalIPPortOrNetworkRequired()
	}
	if err != nil {
		return l, err
	}
	if l.NetworkID != "" && l.NetworkID != port.NetworkID {
		return l, fault.BadRequest("local_ip", "port "+port.ID+" is not on network "+l.NetworkID+".")
	}
	address, err := pick(&port, l.LocalIPAddress, l.LocalPortID == "")
	if err != nil {
		return l, err
	}
	l.LocalPortID, l.NetworkID, l.LocalIPAddress = port.ID, port.NetworkID, &address
	return l, p.LocalIPs.Insert(ctx, tx, &l)
}

func (p *Plugin) stamp(s *model.Standard) {
	now := model.Stamp(p.Clock.Now())
	s.TenantID, s.CreatedAt, s.UpdatedAt, s.Tags = s.ProjectID, now, now, []string{}
}

// port reads a port that the caller has and keeps it until the commit.
func (p *Plugin) port(ctx context.Context, tx store.WriteTx, id, resource string) (model.Port, error) {
	port, err := p.Rows.GetForShare(ctx, tx, id)
	if store.IsNotFound(err) || err == nil && !owned(ctx, port.ProjectID) {
		err = fault.BadRequest(resource, "there is no port "+id+".")
	}
	return port, err
}

// make makes a port that holds the address, on a network with an IPv4 subnet. It is the local address's in all but name.
func (p localIPs) make(ctx context.Context, tx store.WriteTx, l *model.LocalIP) (model.Port, error) {
	_, err := p.Networks.GetForShare(ctx, tx, l.NetworkID)
	if store.IsNotFound(err) {
		err = fault.NetworkNotFound(l.NetworkID)
	}
	if err != nil {
		return model.Port{}, err
	}
	subnets, err := p.Subnets.Find(ctx, tx, store.List{Where: store.Eq("network_id", l.NetworkID)})
	if err != nil {
		return model.Port{}, err
	}
	if !slices.ContainsFunc(subnets, func(s model.Subnet) bool { return s.IPVersion == 4 }) {
		return model.Port{}, fault.BadRequest("local_ip", "network "+l.NetworkID+" has no IPv4 subnet.")
	}
	port := model.Port{NetworkID: l.NetworkID, DeviceOwner: model.OwnerLocalIP, DeviceID: l.ID, Status: model.StatusNotApplicable}
	port.Own(l.ProjectID)
	if l.LocalIPAddress != nil {
		port.FixedIPs = []model.FixedIP{{IPAddress: *l.LocalIPAddress}}
	}
	return p.Ports.CreatePort(ctx, tx, port)
}

// pick chooses among a port's addresses the one that was asked for, or the only one; of a port that was made for the purpose (any)
// an IPv4 one.
func pick(port *model.Port, want *string, any bool) (string, error) {
	if len(port.FixedIPs) == 0 {
		return "", fault.LocalIPNoIP(port.ID)
	}
	if want != nil {
		for _, f := range port.FixedIPs {
			if sameAddress(f.IPAddress, *want) {
				return f.IPAddress, nil
			}
		}
		return "", fault.LocalIPRequestedIPNotFound(port.ID, *want)
	}
	if any {
		for _, f := range port.FixedIPs {
			if a, err := netip.ParseAddr(f.IPAddress); err == nil && a.Is4() {
				return f.IPAddress, nil
			}
		}
	}
	if len(port.FixedIPs) > 1 {
		return "", fault.LocalIPNoRequestedIP(port.ID)
	}
	return port.FixedIPs[0].IPAddress, nil
}

func sameAddress(a, b string) bool {
	x, err1 := netip.ParseAddr(a)
	y, err2 := netip.ParseAddr(b)
	return a == b || err1 == nil && err2 == nil && x == y
}

// Update changes name and description.
func (p localIPs) Update(ctx context.Context, tx store.WriteTx, cur model.LocalIP, in rest.Input[model.LocalIP]) (model.LocalIP, error) {
	l := cur
	if err := in.Apply(&l); err != nil {
		return l, err
	}
	if l.Name == cur.Name && l.Description == cur.Description {
		return cur, nil
	}
	l.UpdatedAt = model.Stamp(p.Clock.Now())
	l.Revision++
	return l, p.LocalIPs.Update(ctx, tx, &l, cur.Revision)
}

// Delete removes a local address that no port stands for, with the port that was made for it.
func (p localIPs) Delete(ctx context.Context, tx store.WriteTx, cur model.LocalIP) error {
	n, err := p.Associations.Count(ctx, tx, store.Eq("local_ip_id", cur.ID))
	if err == nil && n > 0 {
		err = fault.LocalIPInUse(cur.ID)
	}
	if err != nil {
		return err
	}
	port, err := p.Rows.Get(ctx, tx, cur.LocalPortID)
	if err != nil {
		return err
	}
	if err := p.LocalIPs.Delete(ctx, tx, cur.ID); err != nil || port.DeviceOwner != model.OwnerLocalIP || port.DeviceID != cur.ID {
		return err
	}
	return p.Ports.DeletePort(ctx, tx, port.ID)
}

// associations is the controller of the ports that stand for a local address.
type associations struct{ *Plugin }

// Create associates a port of the caller's; the local address is kept until the commit, so that it cannot go meanwhile.
func (p associations) Create(ctx context.Context, tx store.WriteTx, in rest.Input[model.LocalIPAssociation]) (model.LocalIPAssociation, error) {
	a := in.Value
	l, err := p.LocalIPs.GetForShare(ctx, tx, in.Parent)
	if store.IsNotFound(err) {
		err = fault.LocalIPNotFound(in.Parent)
	}
	if err != nil {
		return a, err
	}
	port, err := p.port(ctx, tx, a.FixedPortID, "local_ip_port_association")
	if err != nil {
		return a, err
	}
	address, err := pick(&port, a.FixedIP, false)
	if err != nil {
		return a, err
	}
	a.ProjectID = l.ProjectID
	p.stamp(&a.Standard)
	a.ID, a.LocalIPID, a.FixedIP, a.Host = associationID(l.ID, port.ID), l.ID, &address, port.HostID
	if l.LocalIPAddress != nil {
		a.LocalIPAddress = *l.LocalIPAddress
	}
	err = p.Associations.Insert(ctx, tx, &a)
	if _, dup := store.AsDuplicate(err); dup {
		err = fault.NeutronDbObjectDuplicateEntry("LocalIPAssociation", "local_ip_id, fixed_port_id")
	}
	tell(tx, a.ID, a.Host)
	return a, err
}

// tell has the hosts look at an association; "" is none.
func tell(tx store.WriteTx, id string, hosts ...string) {
	var sets []change.Set
	for _, h := range hosts {
		if h != "" {
			sets = append(sets, change.NewSet(wire.FamilyHost, h))
		}
	}
	if len(sets) > 0 {
		tx.Changed(change.Key{Kind: wire.KindLocalIP, ID: id}, sets...)
	}
}

// Update is never asked for: the definition refuses it.
func (p associations) Update(_ context.Context, _ store.WriteTx, cur model.LocalIPAssociation, _ rest.Input[model.LocalIPAssociation]) (model.LocalIPAssociation, error) {
	return cur, nil
}

// Delete ends an association.
func (p associations) Delete(ctx context.Context, tx store.WriteTx, cur model.LocalIPAssociation) error {
	tell(tx, cur.ID, cur.Host)
	return p.Associations.Delete(ctx, tx, cur.ID)
}
