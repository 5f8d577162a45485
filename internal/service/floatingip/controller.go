package floatingip

import (
	"context"
	"encoding/json"
	"fmt"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/service"
	"isospin/internal/store"
)

// controller is the controller of floating IPs.
type controller struct{ *Plugin }

// Create takes an address of the external network, by a port that no project owns, and leads it to a port where one is given.
func (p controller) Create(ctx context.Context, tx store.WriteTx, in rest.Input[model.FloatingIP]) (model.FloatingIP, error) {
	f := in.Value
	if err := named(&f); err != nil {
		return f, err
	}
	port, fixed := text(f.PortID), text(f.FixedIPAddress)
	if fixed != "" && port == "" {
		return f, fault.BadRequest("floatingip", "fixed_ip_address goes only with a port_id.")
	}
	if err := p.external(ctx, tx, f.FloatingNetworkID); err != nil {
		return f, err
	}
	if f.QoSPolicyID != nil {
		if err := p.Usable(ctx, tx, *f.QoSPolicyID); err != nil {
			return f, err
		}
	}
	p.stamp(&f)
	holder, err := p.hold(ctx, tx, &f, in)
	if err != nil {
		return f, err
	}
	f.FloatingPortID, f.PortID, f.FixedIPAddress, f.RouterID = holder.ID, nil, nil, nil
	if port != "" {
		if err := p.associate(ctx, tx, &f, port, fixed); err != nil {
			return f, err
		}
	}
	if err := p.before(ctx, tx, service.Write[model.FloatingIP]{Op: service.Create, New: &f, Given: in.Given}); err != nil {
		return f, err
	}
	if err := once(p.FloatingIPs.Insert(ctx, tx, &f), &f); err != nil {
		return f, err
	}
	return f, p.dirty(ctx, tx, f.RouterID)
}

// named judges the DNS name of a new floating IP: name and domain come together (neutron/db/dns_db.py).
func named(f *model.FloatingIP) error {
	switch {
	case f.DNSDomain != "" && f.DNSName == "":
		return fault.BadRequest("floatingip", "dns_domain goes only with a dns_name.")
	case f.DNSName != "" && f.DNSDomain == "":
		return fault.BadRequest("floatingip", "dns_name goes only with a dns_domain.")
	}
	return nil
}

// stamp fills the standard attributes of a new floating IP, which is down until a host translates it.
func (p controller) stamp(f *model.FloatingIP) {
	now := model.Stamp(p.Clock.Now())
	f.ID, f.TenantID, f.CreatedAt, f.UpdatedAt, f.Status = p.IDs.UUID(), f.ProjectID, now, now, model.StatusDown
	if f.Tags == nil {
		f.Tags = []string{}
	}
}

// hold makes the port that holds the address.
func (p controller) hold(ctx context.Context, tx store.WriteTx, f *model.FloatingIP, in rest.Input[model.FloatingIP]) (model.Port, error) {
	port := model.Port{NetworkID: f.FloatingNetworkID, DeviceID: f.ID, DeviceOwner: model.OwnerFloatingIP, Status: model.StatusNotApplicable}
	want := model.FixedIP{IPAddress: f.FloatingIPAddress}
	if raw, ok := in.Raw("subnet_id"); ok && json.Unmarshal(raw, &want.SubnetID) != nil {
		return port, fault.BadInput("subnet_id is not an identifier.")
	}
	if want != (model.FixedIP{}) {
		port.FixedIPs = []model.FixedIP{want}
	}
	port, err := p.Ports.CreatePort(ctx, tx, port)
	if err != nil {
		return port, err
	}
	four := FourOf(&port)
	if len(four) == 0 {
		return port, fault.ExternalIpAddressExhausted(f.FloatingNetworkID)
	}
	f.FloatingIPAddress = four[0].IPAddress
	return port, nil
}

// once names the clash with another floating IP.
func once(err error, f *model.FloatingIP) error {
	dup, ok := store.AsDuplicate(err)
	switch {
	case ok && dup.Index == "floatingips_once":
		return fault.FloatingIPPortAlreadyAssociated(f.FloatingIPAddress, f.ID, text(f.FixedIPAddress), text(f.PortID), f.FloatingNetworkID)
	case ok:
		return fault.IpAddressAlreadyAllocated(f.FloatingIPAddress, f.FloatingNetworkID)
	}
	return err
}

func (p *Plugin) before(ctx context.Context, tx store.WriteTx, w service.Write[model.FloatingIP]) error {
	for _, g := range p.guards {
		if err := g.Guard(ctx, tx, w); err != nil {
			return err
		}
	}
	return nil
}

// Update leads a floating IP elsewhere or nowhere. A body without any attribute means nowhere, one without port_id leaves it as it
// is (behaviour.md, section 14).
func (p controller) Update(ctx context.Context, tx store.WriteTx, cur model.FloatingIP, in rest.Input[model.FloatingIP]) (model.FloatingIP, error) {
	f := cur.Clone()
	if err := in.Apply(&f); err != nil {
		return f, err
	}
	port, fixed := text(in.Value.PortID), text(in.Value.FixedIPAddress)
	if fixed != "" && port == "" {
		return f, fault.BadRequest("floatingip", "fixed_ip_address goes only with a port_id.")
	}
	f.PortID, f.FixedIPAddress = cur.PortID, cur.FixedIPAddress
	switch {
	case port != "":
		if err := p.associate(ctx, tx, &f, port, fixed); err != nil {
			return f, err
		}
	case in.Given("port_id") || empty(in):
		dissociate(&f)
	}
	if f.QoSPolicyID != nil && text(f.QoSPolicyID) != text(cur.QoSPolicyID) {
		if err := p.Usable(ctx, tx, *f.QoSPolicyID); err != nil {
			return f, err
		}
	}
	if err := p.before(ctx, tx, service.Write[model.FloatingIP]{Op: service.Update, Old: &cur, New: &f, Given: in.Given}); err != nil {
		return f, err
	}
	if same(&cur, &f) {
		return cur, nil
	}
	return f, once(p.Bump(ctx, tx, &cur, &f), &f)
}

// empty tells whether a request gave none of what can be changed.
func empty(in rest.Input[model.FloatingIP]) bool {
	for _, name := range []string{"description", "fixed_ip_address", "port_id", "qos_policy_id"} {
		if in.Given(name) {
			return false
		}
	}
	return true
}

func same(a, b *model.FloatingIP) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && string(x) == string(y)
}

// Delete gives the address back.
func (p controller) Delete(ctx context.Context, tx store.WriteTx, cur model.FloatingIP) error {
	return p.remove(ctx, tx, &cur)
}

// remove deletes a floating IP, and then the port that holds its address: in the other order the port would be refused.
func (p *Plugin) remove(ctx context.Context, tx store.WriteTx, f *model.FloatingIP) error {
	if err := p.before(ctx, tx, service.Write[model.FloatingIP]{Op: service.Delete, Old: f}); err != nil {
		return err
	}
	if err := p.FloatingIPs.Delete(ctx, tx, f.ID); err != nil {
		return err
	}
	if err := p.Ports.DeletePort(ctx, tx, f.FloatingPortID); err != nil {
		return err
	}
	return p.dirty(ctx, tx, f.RouterID)
}

// details is what a floating IP shows of the port that it leads to (neutron/db/l3_fip_port_details.py).
type details struct {
	Name         string `json:"name"`
	NetworkID    string `json:"network_id"`
	MACAddress   string `json:"mac_address"`
	AdminStateUp bool   `json:"admin_state_up"`
	Status       string `json:"status"`
	DeviceID     string `json:"device_id"`
	DeviceOwner  string `json:"device_owner"`
}

// Splice adds the details of the ports, in one statement, and what others show.
func (p controller) Splice(ctx context.Context, tx store.Tx, page *rest.Page) error {
	if page.Wants("port_details") {
		if err := p.spliceDetails(ctx, tx, page); err != nil {
			return err
		}
	}
	for _, other := range p.pages {
		if err := other.Splice(ctx, tx, page); err != nil {
			return err
		}
	}
	return nil
}

func (p controller) spliceDetails(ctx context.Context, tx store.Tx, page *rest.Page) error {
	of := make([]string, len(page.Rows))
	var ids []string
	for i := range page.Rows {
		raw, ok := page.Member(i, "port_id")
		if ok && len(raw) > 2 && raw[0] == '"' {
			of[i] = string(raw[1 : len(raw)-1])
			ids = append(ids, of[i])
		}
	}
	shown := map[string]json.RawMessage{}
	if len(ids) > 0 {
		where := store.In("id", ids)
		if len(ids) > 500 {
			where = store.Expr("id IN (SELECT port_id FROM floatingips WHERE port_id IS NOT NULL)")
		}
		ports, err := p.Rows.Find(ctx, tx, store.List{Where: where, AnyOrder: true})
		if err != nil {
			return err
		}
		for i := range ports {
			x := &ports[i]
			if shown[x.ID], err = json.Marshal(details{Name: x.Name, NetworkID: x.NetworkID, MACAddress: x.MACAddress, AdminStateUp: x.AdminStateUp,
				Status: x.Status, DeviceID: x.DeviceID, DeviceOwner: x.DeviceOwner}); err != nil {
				return fmt.Errorf("encode the details of port %s: %w", x.ID, err)
			}
		}
	}
	for i := range page.Rows {
		value := shown[of[i]]
		if value == nil {
			value = json.RawMessage("null")
		}
		page.Splice(i, "port_details", value)
	}
	return nil
}
