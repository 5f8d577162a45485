package l3

import (
	"context"
	"net/netip"
	"slices"

	"isospin/internal/auth"
	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/service"
	"isospin/internal/service/ipam"
	"isospin/internal/service/sharing"
	"isospin/internal/store"
)

// interfaceAsked is the body of add_router_interface and remove_router_interface.
type interfaceAsked struct {
	SubnetID *string `json:"subnet_id"`
	PortID   *string `json:"port_id"`
}

// ownerOf is the device_owner of a router's interfaces (neutron/db/l3_dvr_db.py, l3_hamode_db.py).
func ownerOf(r *model.Router) string {
	switch {
	case r.Distributed:
		return model.OwnerRouterDVR
	case r.HA:
		return model.OwnerRouterReplicated
	}
	return model.OwnerRouterInterface
}

// AddSubnet joins a subnet to a router, whose row the caller keeps.
func (p *Plugin) AddSubnet(ctx context.Context, tx store.WriteTx, r model.Router, subnet string) (model.InterfaceInfo, error) {
	return p.add(ctx, tx, r, interfaceAsked{SubnetID: &subnet})
}

// RemoveSubnet takes a subnet off a router, whose row the caller keeps.
func (p *Plugin) RemoveSubnet(ctx context.Context, tx store.WriteTx, r model.Router, subnet string) (model.InterfaceInfo, error) {
	return p.take(ctx, tx, r, interfaceAsked{SubnetID: &subnet})
}

// add answers add_router_interface.
func (p *Plugin) add(ctx context.Context, tx store.WriteTx, r model.Router, in interfaceAsked) (model.InterfaceInfo, error) {
	var (
		port    model.Port
		subnets []model.Subnet
		err     error
	)
	switch {
	case in.PortID == nil && in.SubnetID == nil:
		return model.InterfaceInfo{}, bad("give subnet_id or port_id.")
	case in.PortID != nil && in.SubnetID != nil:
		return model.InterfaceInfo{}, bad("give either subnet_id or port_id, not both.")
	case in.PortID != nil:
		port, subnets, err = p.addPort(ctx, tx, &r, *in.PortID)
	default:
		port, subnets, err = p.addSubnet(ctx, tx, &r, *in.SubnetID)
	}
	if err != nil {
		return model.InterfaceInfo{}, err
	}
	return p.joined(ctx, tx, &r, &port, subnets, subnets[len(subnets)-1].ID)
}

// joined writes the router after its interfaces changed, and makes the answer.
func (p *Plugin) joined(ctx context.Context, tx store.WriteTx, r *model.Router, port *model.Port, subnets []model.Subnet, first string) (model.InterfaceInfo, error) {
	out := model.InterfaceInfo{ID: r.ID, ProjectID: port.ProjectID, TenantID: port.ProjectID, PortID: port.ID, NetworkID: port.NetworkID,
		SubnetID: first, SubnetIDs: []string{}}
	for i := range subnets {
		out.SubnetIDs = append(out.SubnetIDs, subnets[i].ID)
	}
	if err := p.centralize(ctx, tx, r); err != nil {
		return out, err
	}
	cur := r.Clone()
	if err := p.write(ctx, tx, &cur, r); err != nil {
		return out, err
	}
	if err := p.place(ctx, tx, r); err != nil {
		return out, err
	}
	return out, p.after(ctx, tx, service.Write[model.Router]{Op: service.Update, Old: &cur, New: r})
}

// addSubnet joins a subnet by its gateway's address: with a port of its own, or beside the other IPv6 subnets of its network.
func (p *Plugin) addSubnet(ctx context.Context, tx store.WriteTx, r *model.Router, id string) (model.Port, []model.Subnet, error) {
	s, err := p.subnet(ctx, tx, id)
	if err != nil {
		return model.Port{}, nil, err
	}
	// Held until the commit, so that the gateway stays the one that the interface takes.
	if _, err := p.Networks.GetForShare(ctx, tx, s.NetworkID); err != nil {
		return model.Port{}, nil, err
	}
	if s, err = p.subnet(ctx, tx, id); err != nil {
		return model.Port{}, nil, err
	}
	if s.GatewayIP == nil {
		return model.Port{}, nil, bad("subnet " + id + " has no gateway.")
	}
	if err := p.mayJoin(ctx, tx, &s); err != nil {
		return model.Port{}, nil, err
	}
	if err := advertised(&s); err != nil {
		return model.Port{}, nil, err
	}
	subnets := []model.Subnet{s}
	if err := p.apart(ctx, tx, r, subnets, false, ""); err != nil {
		return model.Port{}, nil, err
	}
	address := model.FixedIP{SubnetID: s.ID, IPAddress: *s.GatewayIP}
	if s.IPVersion == 6 {
		ports, err := p.interfaces(ctx, tx, r.ID, s.NetworkID)
		if err != nil {
			return model.Port{}, nil, err
		}
		if i := slices.IndexFunc(ports, func(port model.Port) bool { return six(&port) }); i >= 0 {
			port, err := p.Ports.AdjustPort(ours(ctx), tx, ports[i].ID, func(port *model.Port) { port.FixedIPs = append(port.FixedIPs, address) })
			return port, subnets, err
		}
	}
	want := model.Port{NetworkID: s.NetworkID, DeviceID: r.ID, DeviceOwner: ownerOf(r), FixedIPs: []model.FixedIP{address}}
	want.Own(r.ProjectID)
	port, err := p.Ports.CreatePort(ours(ctx), tx, want)
	if err != nil {
		return port, nil, err
	}
	return port, subnets, own(ctx, tx, r.ID, &port)
}

// mayJoin refuses subnets of others, unless their network is shared with the caller's project by name: one that is shared with all
// is nobody's to give a gateway (neutron/db/l3_db.py).
func (p *Plugin) mayJoin(ctx context.Context, tx store.Tx, s *model.Subnet) error {
	if admin(ctx) || s.ProjectID == auth.From(ctx).ProjectID {
		return nil
	}
	n, _, err := store.Int(ctx, tx, store.Q("SELECT COUNT(*) FROM rbac_policies WHERE object_id = ? AND action = ? AND target_project = ?",
		s.NetworkID, sharing.AsShared, auth.From(ctx).ProjectID))
	if err == nil && n == 0 {
		err = bad("subnet " + s.ID + " is another project's.")
	}
	return err
}

// advertised refuses an IPv6 subnet whose hosts wait for another router's advertisements.
func advertised(s *model.Subnet) error {
	if s.IPVersion == 6 && s.IPv6RAMode == nil && s.IPv6AddressMode != nil {
		return bad("the hosts of subnet " + s.ID + " are told their addresses by another router: it has an ipv6_address_mode and no ipv6_ra_mode.")
	}
	return nil
}

func six(p *model.Port) bool {
	return slices.ContainsFunc(p.FixedIPs, func(f model.FixedIP) bool {
		a, err := netip.ParseAddr(f.IPAddress)
		return err == nil && !a.Is4()
	})
}

// interfaces reads a router's interfaces on a network. One statement.
func (p *Plugin) interfaces(ctx context.Context, tx store.Tx, router, network string) ([]model.Port, error) {
	return p.Rows.Find(ctx, tx, store.List{Where: store.Expr(
		"id IN (SELECT port_id FROM router_ports WHERE router_id = ? AND network_id = ? AND port_type IN (?, ?, ?))",
		router, network, model.OwnerRouterInterface, model.OwnerRouterReplicated, model.OwnerRouterDVR)})
}

// addPort makes a port that exists the router's interface.
func (p *Plugin) addPort(ctx context.Context, tx store.WriteTx, r *model.Router, id string) (model.Port, []model.Subnet, error) {
	port, err := p.port(ctx, tx, id)
	if err != nil {
		return port, nil, err
	}
	if port, err = p.Rows.GetForUpdate(ctx, tx, id); err != nil {
		return port, nil, err
	}
	if port.DeviceID != "" {
		return port, nil, fault.PortInUse(port.ID, port.NetworkID, port.DeviceID)
	}
	if len(port.FixedIPs) == 0 {
		return port, nil, bad("port " + id + " has no address.")
	}
	subnets, err := p.ofPort(ctx, tx, &port)
	if err != nil {
		return port, nil, err
	}
	if err := p.fits(ctx, tx, r, &port, subnets); err != nil {
		return port, nil, err
	}
	port, err = p.Ports.AdjustPort(ours(ctx), tx, id, func(port *model.Port) { port.DeviceID, port.DeviceOwner = r.ID, ownerOf(r) })
	if err != nil {
		return port, nil, err
	}
	return port, subnets, own(ctx, tx, r.ID, &port)
}

// ofPort reads the subnets of a port's addresses, in their order. One statement.
func (p *Plugin) ofPort(ctx context.Context, tx store.Tx, port *model.Port) ([]model.Subnet, error) {
	var ids []string
	for _, f := range port.FixedIPs {
		if !slices.Contains(ids, f.SubnetID) {
			ids = append(ids, f.SubnetID)
		}
	}
	found, err := p.Subnets.Find(ctx, tx, store.List{Where: store.In("id", ids)})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b model.Subnet) int { return slices.Index(ids, a.ID) - slices.Index(ids, b.ID) })
	return found, nil
}

// fits judges a port that is to become an interface.
func (p *Plugin) fits(ctx context.Context, tx store.Tx, r *model.Router, port *model.Port, subnets []model.Subnet) error {
	four := 0
	for i := range subnets {
		if err := advertised(&subnets[i]); err != nil {
			return err
		}
		if subnets[i].IPVersion == 4 {
			four++
		}
	}
	if six(port) {
		ports, err := p.interfaces(ctx, tx, r.ID, port.NetworkID)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(ports, func(o model.Port) bool { return six(&o) }); i >= 0 {
			return bad("port " + ports[i].ID + " has the router's IPv6 subnets of network " + port.NetworkID + "; there can be one such port.")
		}
	}
	if err := p.apart(ctx, tx, r, subnets, false, ""); err != nil {
		return err
	}
	if four > 1 {
		return bad("port " + port.ID + " has addresses of several IPv4 subnets.")
	}
	return inside(ctx, port, subnets)
}

// inside refuses addresses outside the allocation pools of other projects' subnets: their gateway is not the caller's to take.
func inside(ctx context.Context, port *model.Port, subnets []model.Subnet) error {
	if admin(ctx) {
		return nil
	}
	mine := project(ctx)
	for _, f := range port.FixedIPs {
		i := slices.IndexFunc(subnets, func(s model.Subnet) bool { return s.ID == f.SubnetID })
		if i < 0 || subnets[i].ProjectID == mine {
			continue
		}
		if a, err := netip.ParseAddr(f.IPAddress); err != nil || !ipam.InPools(&subnets[i], a) {
			return bad("port " + port.ID + " has an address outside the allocation pools of subnet " + f.SubnetID + ", which is another project's.")
		}
	}
	return nil
}

// take answers remove_router_interface.
func (p *Plugin) take(ctx context.Context, tx store.WriteTx, r model.Router, in interfaceAsked) (model.InterfaceInfo, error) {
	switch {
	case in.PortID != nil:
		return p.takePort(ctx, tx, &r, *in.PortID, in.SubnetID)
	case in.SubnetID != nil:
		return p.takeSubnet(ctx, tx, &r, *in.SubnetID)
	}
	return model.InterfaceInfo{}, bad("give subnet_id or port_id.")
}

// takePort removes an interface with its port, also one that was made before it became an interface.
func (p *Plugin) takePort(ctx context.Context, tx store.WriteTx, r *model.Router, id string, subnet *string) (model.InterfaceInfo, error) {
	whose, kind, err := owner(ctx, tx, id)
	if err != nil {
		return model.InterfaceInfo{}, err
	}
	if whose != r.ID || !model.RouterInterfaceOwner(kind) {
		return model.InterfaceInfo{}, fault.RouterInterfaceNotFound(r.ID, id)
	}
	port, err := p.Rows.GetForUpdate(ctx, tx, id)
	if err != nil {
		return model.InterfaceInfo{}, err
	}
	if subnet != nil && !slices.ContainsFunc(port.FixedIPs, func(f model.FixedIP) bool { return f.SubnetID == *subnet }) {
		return model.InterfaceInfo{}, fault.SubnetMismatchForPort(*subnet, id)
	}
	subnets, err := p.ofPort(ctx, tx, &port)
	if err != nil {
		return model.InterfaceInfo{}, err
	}
	for i := range subnets {
		if err := p.goes(ctx, tx, r, &port, &subnets[i]); err != nil {
			return model.InterfaceInfo{}, err
		}
	}
	first := ""
	if len(subnets) > 0 {
		first = subnets[0].ID
	}
	if err := p.drop(ctx, tx, id); err != nil {
		return model.InterfaceInfo{}, err
	}
	return p.joined(ctx, tx, r, &port, subnets, first)
}

// takeSubnet removes an interface from a subnet: with its port, or one address of a port of several IPv6 subnets.
func (p *Plugin) takeSubnet(ctx context.Context, tx store.WriteTx, r *model.Router, id string) (model.InterfaceInfo, error) {
	s, err := p.subnet(ctx, tx, id)
	if err != nil {
		return model.InterfaceInfo{}, err
	}
	ports, err := p.interfaces(ctx, tx, r.ID, s.NetworkID)
	if err != nil {
		return model.InterfaceInfo{}, err
	}
	here := func(f model.FixedIP) bool { return f.SubnetID == id }
	i := slices.IndexFunc(ports, func(port model.Port) bool { return slices.ContainsFunc(port.FixedIPs, here) })
	if i < 0 {
		return model.InterfaceInfo{}, fault.RouterInterfaceNotFoundForSubnet(r.ID, id)
	}
	port := ports[i]
	if err := p.goes(ctx, tx, r, &port, &s); err != nil {
		return model.InterfaceInfo{}, err
	}
	if slices.ContainsFunc(port.FixedIPs, func(f model.FixedIP) bool { return !here(f) }) {
		port, err = p.Ports.AdjustPort(ours(ctx), tx, port.ID, func(port *model.Port) { port.FixedIPs = slices.DeleteFunc(port.FixedIPs, here) })
	} else {
		err = p.drop(ctx, tx, port.ID)
	}
	if err != nil {
		return model.InterfaceInfo{}, err
	}
	return p.joined(ctx, tx, r, &port, []model.Subnet{s}, id)
}

// drop removes one of a router's ports.
func (p *Plugin) drop(ctx context.Context, tx store.WriteTx, port string) error {
	if err := disown(ctx, tx, port); err != nil {
		return err
	}
	return p.Ports.DeletePort(ours(ctx), tx, port)
}

// goes asks those who depend on an interface in a subnet.
func (p *Plugin) goes(ctx context.Context, tx store.WriteTx, r *model.Router, port *model.Port, s *model.Subnet) error {
	for _, g := range p.guards.Interfaces {
		if err := g.InterfaceGoes(ctx, tx, r, port, s); err != nil {
			return err
		}
	}
	if routed(r, s) {
		return fault.RouterInterfaceInUseByRoute(r.ID, s.ID)
	}
	return nil
}
