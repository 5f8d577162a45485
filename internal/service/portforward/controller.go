package portforward

import (
	"context"
	"encoding/json"
	"net/netip"
	"slices"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/service/floatingip"
	"isospin/internal/store"
)

// controller is the controller of forwardings.
type controller struct{ *Plugin }

// Create forwards ports of a floating IP that leads nowhere itself; it goes through the router that reaches the port inside.
func (p controller) Create(ctx context.Context, tx store.WriteTx, in rest.Input[model.PortForwarding]) (model.PortForwarding, error) {
	f := in.Value
	fip, err := p.FloatingIPs.FloatingIPs.GetForUpdate(ctx, tx, in.Parent)
	if store.IsNotFound(err) {
		err = fault.FloatingIPNotFound(in.Parent)
	}
	if err != nil {
		return f, err
	}
	was := fip.Clone()
	f.ID, f.FloatingIPID, f.ProjectID = p.IDs.UUID(), fip.ID, fip.ProjectID
	if err := ranges(&f, in, span{}, span{}); err != nil {
		return f, err
	}
	if fip.PortID != nil {
		return f, fault.FloatingIPPortAlreadyAssociated(fip.FloatingIPAddress, fip.ID, f.InternalIPAddress, f.InternalPortID, fip.FloatingNetworkID)
	}
	port, err := p.lead(ctx, tx, &fip, &f)
	if err != nil {
		return f, err
	}
	if err := p.apart(ctx, tx, &f); err != nil {
		return f, err
	}
	if err := clash(p.Forwardings.Insert(ctx, tx, &f)); err != nil {
		return f, err
	}
	return f, p.touched(ctx, tx, &was, &fip, port)
}

// ranges makes numbers and ranges of both sides agree, and judges them.
func ranges(f *model.PortForwarding, in rest.Input[model.PortForwarding], outside, inside span) error {
	v := &in.Value
	outside, err := settle("external", v.ExternalPort, v.ExternalPortRange, outside)
	if err != nil {
		return err
	}
	inside, err = settle("internal", v.InternalPort, v.InternalPortRange, inside)
	if err != nil {
		return err
	}
	if f.Protocol == "" {
		return fault.BadInput("protocol is missing.")
	}
	if err := relate(outside, inside); err != nil {
		return err
	}
	f.ExternalPort, f.ExternalPortRange = outside.shown()
	f.InternalPort, f.InternalPortRange = inside.shown()
	return nil
}

// lead checks that a forwarding can lead where it says, through the router that its floating IP has or now gets, and keeps
// the port inside for this transaction alone.
func (p controller) lead(ctx context.Context, tx store.WriteTx, fip *model.FloatingIP, f *model.PortForwarding) (*model.Port, error) {
	port, err := p.FloatingIPs.Port(ctx, tx, f.InternalPortID, true)
	if err != nil {
		return nil, err
	}
	if err := p.free(ctx, tx, f); err != nil {
		return nil, err
	}
	in, err := inside(&port, f)
	if err != nil {
		return nil, err
	}
	router, err := p.FloatingIPs.Route(ctx, tx, in, fip.FloatingNetworkID)
	if fault.IsNotFound(err) {
		err = refuse("subnet " + in.SubnetID + " of port " + port.ID + " has no router to external network " + fip.FloatingNetworkID + ".")
	}
	if err != nil {
		return nil, err
	}
	if fip.RouterID != nil && *fip.RouterID != router.ID {
		return nil, refuse("floating IP " + fip.ID + " goes through router " + *fip.RouterID + ", which does not reach port " + port.ID + ".")
	}
	fip.RouterID = &router.ID
	return &port, nil
}

// free refuses a port that a floating IP leads to as a whole.
func (p controller) free(ctx context.Context, tx store.Tx, f *model.PortForwarding) error {
	have, err := p.FloatingIPs.FloatingIPs.Find(ctx, tx, store.List{Where: store.Eq("port_id", f.InternalPortID), Limit: 1})
	if err != nil || len(have) == 0 {
		return err
	}
	return fault.PortHasBindingFloatingIP(have[0].FloatingIPAddress, have[0].ID, f.InternalIPAddress, f.InternalPortID)
}

// inside finds the address of the port that a forwarding leads to; without one it is the port's first IPv4 address.
func inside(port *model.Port, f *model.PortForwarding) (floatingip.Inside, error) {
	four := floatingip.FourOf(port)
	if len(four) == 0 {
		return floatingip.Inside{}, refuse("port " + port.ID + " has no IPv4 address.")
	}
	at := 0
	if f.InternalIPAddress != "" {
		if a, err := netip.ParseAddr(f.InternalIPAddress); err == nil {
			f.InternalIPAddress = a.String()
		}
		at = slices.IndexFunc(four, func(x model.FixedIP) bool { return x.IPAddress == f.InternalIPAddress })
	}
	if at < 0 {
		return floatingip.Inside{}, refuse("internal_ip_address " + f.InternalIPAddress + " is not an IPv4 address of port " + port.ID + ".")
	}
	f.InternalIPAddress = four[at].IPAddress
	return floatingip.Inside{Port: *port, FixedIP: four[at]}, nil
}

// apart refuses a forwarding whose ports another one has, outside or inside; floating IP and port are kept, so that no other
// comes meanwhile. One statement.
func (p controller) apart(ctx context.Context, tx store.Tx, f *model.PortForwarding) error {
	out, in := outsideOf(f), insideOf(f)
	others, err := p.Forwardings.Find(ctx, tx, store.List{Where: store.And(
		store.Expr("id <> ? AND protocol = ?", f.ID, f.Protocol),
		store.Or(
			store.Expr("floatingip_id = ? AND external_first <= ? AND external_last >= ?", f.FloatingIPID, out.last, out.first),
			store.Expr("internal_port_id = ? AND internal_ip_address = ? AND internal_first <= ? AND internal_last >= ?", f.InternalPortID, f.InternalIPAddress, in.last, in.first)),
	), Limit: 1})
	if err != nil || len(others) == 0 {
		return err
	}
	o := &others[0]
	if o.FloatingIPID == f.FloatingIPID && out.overlaps(outsideOf(o)) {
		return refuse("the external ports " + out.String() + " meet those of forwarding " + o.ID + ", " + outsideOf(o).String() + ".")
	}
	return refuse("the internal ports " + in.String() + " are forwarded to already: " + insideOf(o).String() + ".")
}

// clash names the clash of two forwardings that an index found.
func clash(err error) error {
	if _, dup := store.AsDuplicate(err); dup {
		return refuse("there is such a forwarding already.")
	}
	return err
}

// touched bumps what a forwarding belongs to: its floating IP and the port inside.
func (p *Plugin) touched(ctx context.Context, tx store.WriteTx, old, fip *model.FloatingIP, ports ...*model.Port) error {
	if err := p.FloatingIPs.Bump(ctx, tx, old, fip); err != nil {
		return err
	}
	for _, port := range ports {
		if port == nil {
			continue
		}
		port.UpdatedAt = model.Stamp(p.Clock.Now())
		port.Revision++
		if err := p.Ports.Update(ctx, tx, port, port.Revision-1); err != nil {
			return err
		}
	}
	return nil
}

// Update changes a forwarding. Where it leads elsewhere it is judged as a new one.
func (p controller) Update(ctx context.Context, tx store.WriteTx, cur model.PortForwarding, in rest.Input[model.PortForwarding]) (model.PortForwarding, error) {
	f := cur
	if err := in.Apply(&f); err != nil {
		return f, err
	}
	if err := ranges(&f, in, outsideOf(&cur), insideOf(&cur)); err != nil {
		return f, err
	}
	if f.InternalPortID != cur.InternalPortID && !in.Given("internal_ip_address") {
		f.InternalIPAddress = "" // the new port's first
	}
	fip, err := p.FloatingIPs.FloatingIPs.GetForUpdate(ctx, tx, f.FloatingIPID)
	if err != nil {
		return f, err
	}
	was := fip.Clone()
	now, old, err := p.ends(ctx, tx, &fip, &cur, &f, in.Given("internal_port_id"))
	if err != nil {
		return f, err
	}
	if same(&cur, &f) {
		return cur, nil
	}
	if err := p.apart(ctx, tx, &f); err != nil {
		return f, err
	}
	if err := clash(p.Forwardings.Update(ctx, tx, &f, -1)); err != nil {
		return f, err
	}
	return f, p.touched(ctx, tx, &was, &fip, now, old)
}

// ends keeps the port that a changed forwarding leads to and, where it is another, the one that it led to.
func (p controller) ends(ctx context.Context, tx store.WriteTx, fip *model.FloatingIP, cur, f *model.PortForwarding, asked bool) (now, old *model.Port, err error) {
	if f.InternalPortID == cur.InternalPortID && f.InternalIPAddress == cur.InternalIPAddress {
		if asked {
			if err := p.free(ctx, tx, f); err != nil {
				return nil, nil, err
			}
		}
		port, err := p.Ports.GetForUpdate(ctx, tx, cur.InternalPortID)
		return &port, nil, err
	}
	if now, err = p.lead(ctx, tx, fip, f); err != nil || f.InternalPortID == cur.InternalPortID {
		return now, nil, err
	}
	port, err := p.Ports.GetForUpdate(ctx, tx, cur.InternalPortID)
	return now, &port, err
}

// alone tells whether a forwarding is the only one of its floating IP.
func (p *Plugin) alone(ctx context.Context, tx store.Tx, f *model.PortForwarding) (bool, error) {
	n, err := p.Forwardings.Count(ctx, tx, store.Expr("floatingip_id = ? AND id <> ?", f.FloatingIPID, f.ID))
	return n == 0, err
}

func same(a, b *model.PortForwarding) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && string(x) == string(y)
}

// Delete ends a forwarding; with the last one the floating IP leaves its router.
func (p controller) Delete(ctx context.Context, tx store.WriteTx, cur model.PortForwarding) error {
	fip, err := p.FloatingIPs.FloatingIPs.GetForUpdate(ctx, tx, cur.FloatingIPID)
	if err != nil {
		return err
	}
	port, err := p.Ports.GetForUpdate(ctx, tx, cur.InternalPortID)
	if err != nil {
		return err
	}
	was := fip.Clone()
	if err := p.drop(ctx, tx, &fip, &cur); err != nil {
		return err
	}
	return p.touched(ctx, tx, &was, &fip, &port)
}

// drop removes a forwarding's row.
func (p *Plugin) drop(ctx context.Context, tx store.WriteTx, fip *model.FloatingIP, f *model.PortForwarding) error {
	alone, err := p.alone(ctx, tx, f)
	if err != nil {
		return err
	}
	if alone {
		fip.RouterID = nil
	}
	return p.Forwardings.Delete(ctx, tx, f.ID)
}
