package floatingip

import (
	"context"
	"net/netip"
	"slices"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/service/ipam"
	"isospin/internal/store"
)

// associate makes a floating IP lead to an address of a port; fixed is the address wanted, "" where the port has one IPv4
// address only. What it refuses, and with what, is in neutron/db/l3_db.py (_internal_fip_assoc_data).
func (p *Plugin) associate(ctx context.Context, tx store.WriteTx, f *model.FloatingIP, portID, fixed string) error {
	port, err := p.Port(ctx, tx, portID, false)
	if err != nil {
		return err
	}
	if port.ProjectID != f.ProjectID && !all(ctx) {
		return fault.BadRequest("floatingip", "port "+port.ID+" is another project's.")
	}
	in, err := inside(&port, fixed)
	if err != nil {
		return err
	}
	router, err := p.Route(ctx, tx, in, f.FloatingNetworkID)
	if err != nil {
		return err
	}
	if router.Distributed {
		if err := p.reachable(ctx, tx, &port); err != nil {
			return err
		}
	}
	f.PortID, f.FixedIPAddress, f.RouterID = &port.ID, &in.IPAddress, &router.ID
	return nil
}

// inside picks the address of a port that a floating IP leads to.
func inside(port *model.Port, fixed string) (Inside, error) {
	refuse := func(why string) (Inside, error) { return Inside{}, fault.BadRequest("floatingip", why) }
	if port.DeviceOwner == ipam.OwnerDHCP {
		return refuse("port " + port.ID + " serves DHCP; no floating IP leads there.")
	}
	four := FourOf(port)
	if fixed == "" {
		switch len(four) {
		case 0:
			return refuse("port " + port.ID + " has no IPv4 address.")
		case 1:
			return Inside{Port: *port, FixedIP: four[0]}, nil
		}
		return refuse("port " + port.ID + " has several IPv4 addresses; fixed_ip_address has to say which.")
	}
	if a, err := netip.ParseAddr(fixed); err != nil || !a.Is4() {
		return refuse("fixed_ip_address " + fixed + " is not an IPv4 address.")
	}
	i := slices.IndexFunc(four, func(x model.FixedIP) bool { return x.IPAddress == fixed })
	if i < 0 {
		return refuse("port " + port.ID + " does not have the address " + fixed + ".")
	}
	return Inside{Port: *port, FixedIP: four[i]}, nil
}

// reachable refuses ports that a distributed router does not reach with a floating IP: those that no virtual bridge carries
// (neutron-lib's can_port_be_bound_to_virtual_bridge), and those that ports are forwarded to (services/portforwarding/pf_plugin.py).
func (p *Plugin) reachable(ctx context.Context, tx store.Tx, port *model.Port) error {
	if port.VNICType != model.VNICNormal && port.VNICType != "smart-nic" {
		return fault.BadRequest("floatingip", "a distributed router reaches no port of binding:vnic_type "+port.VNICType+".")
	}
	n, _, err := store.Int(ctx, tx, store.Q("SELECT COUNT(*) FROM port_forwardings WHERE internal_port_id = ?", port.ID))
	if err == nil && n > 0 {
		err = fault.PortHasPortForwarding(port.ID)
	}
	return err
}

// dissociate lets a floating IP lead nowhere. One that ports are forwarded from keeps its router.
func dissociate(f *model.FloatingIP) {
	if f.PortID != nil {
		f.RouterID = nil
	}
	f.PortID, f.FixedIPAddress = nil, nil
}
