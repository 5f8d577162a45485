package ml2

import (
	"context"
	"errors"
	"slices"
	"strings"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/service"
	"isospin/internal/store"
	"isospin/internal/wire"
)

// This file is about bindings to further hosts: one that waits is bound there already, so that its host can be programmed
// before the port moves (behaviour.md, section 11; neutron/plugins/ml2/plugin.py).

// indexOfHost finds a binding that waits; -1 without one.
func indexOfHost(p *model.Port, host string) int {
	return slices.IndexFunc(p.Bindings, func(b model.PortBinding) bool { return b.Host == host })
}

// movable keeps a port that may have several bindings, and its network.
func (p *Plugin) movable(ctx context.Context, tx store.WriteTx, id string) (port model.Port, n model.Network, err error) {
	if port, err = p.Ports.GetForUpdate(ctx, tx, id); err != nil {
		if store.IsNotFound(err) {
			err = fault.PortNotFound(id)
		}
		return port, n, err
	}
	if !strings.HasPrefix(port.DeviceOwner, "compute:") && !strings.HasPrefix(port.DeviceOwner, "manila:") {
		return port, n, fault.BadRequest("port", "only ports of instances and of shares have bindings to handle.")
	}
	n, err = p.Networks.GetForShare(ctx, tx, port.NetworkID)
	return port, n, err
}

// AddBinding binds a port to a further host; the binding waits.
func (p *Plugin) AddBinding(ctx context.Context, tx store.WriteTx, id string, b model.PortBinding) (model.PortBinding, error) {
	port, n, err := p.movable(ctx, tx, id)
	if err != nil {
		return b, err
	}
	if b.Host == "" {
		return b, fault.BadInput("host is empty.")
	}
	if b.Host == port.HostID || indexOfHost(&port, b.Host) >= 0 {
		return b, fault.PortBindingAlreadyExists(id, b.Host)
	}
	if err := p.bindWaiting(ctx, tx, &port, &n, &b); err != nil {
		return b, err
	}
	now := port.Clone()
	now.Bindings = append(now.Bindings, b)
	return b, p.waiting(ctx, tx, &port, &now)
}

// bindWaiting binds a port to the host of b besides its own, and writes the result into b.
func (p *Plugin) bindWaiting(ctx context.Context, tx store.WriteTx, port *model.Port, n *model.Network, b *model.PortBinding) error {
	there := port.Clone()
	there.HostID, there.VNICType, there.Profile = b.Host, b.VNICType, b.Profile
	r, err := p.bindRequest(ctx, tx, &there, n)
	if err != nil {
		return err
	}
	if port.HostID != "" {
		r.From = port
	}
	o, err := p.Mechanisms.tree(ctx, r, false, func(ctx context.Context, want model.Segment) (model.Segment, error) {
		return p.reserveNext(ctx, tx, n.ID, want)
	})
	if errors.Is(err, ErrNoSegment) || err == nil && !o.bound {
		// A driver that must be asked outside the transaction has no answer to give here.
		return fault.PortBindingError(port.ID, b.Host)
	}
	if err != nil {
		return err
	}
	if err := p.settle(ctx, tx, &there, o); err != nil {
		return err
	}
	b.VIFType, b.VIFDetails, b.Status = there.VIFType, there.VIFDetails, model.BindingInactive
	return nil
}

// waiting writes a port whose bindings that wait changed; nothing else of it did.
func (p *Plugin) waiting(ctx context.Context, tx store.WriteTx, old, now *model.Port) error {
	if err := p.Ports.Update(ctx, tx, now, -1); err != nil {
		return err
	}
	return (ports{p}).after(ctx, tx, service.Write[model.Port]{Op: service.Update, Old: old, New: now})
}

// Await has a port wait on exactly these hosts besides its own, on behalf of another plugin, in its transaction. A host that cannot have the port
// is passed over: whether it can is asked again when the port moves there.
func (p *Plugin) Await(ctx context.Context, tx store.WriteTx, id string, hosts []string) error {
	cur, err := p.Ports.GetForUpdate(ctx, tx, id)
	if err != nil {
		return err
	}
	port := cur.Clone()
	port.Bindings = nil
	for _, b := range cur.Bindings {
		if slices.Contains(hosts, b.Host) {
			port.Bindings = append(port.Bindings, b)
			continue
		}
		if err := errors.Join(p.unbind(ctx, tx, id, b.Host), forgetWords(ctx, tx, id, b.Host)); err != nil {
			return err
		}
	}
	var n *model.Network
	for _, host := range hosts {
		if host == cur.HostID || indexOfHost(&port, host) >= 0 {
			continue
		}
		if n == nil {
			row, err := p.Networks.GetForShare(ctx, tx, cur.NetworkID)
			if err != nil {
				return err
			}
			n = &row
		}
		b := model.PortBinding{Host: host, VNICType: cur.VNICType, Profile: map[string]any{}}
		err := p.bindWaiting(ctx, tx, &cur, n, &b)
		if f := fault.Of(err); err != nil && f != nil && f.Name == "PortBindingError" {
			continue
		}
		if err != nil {
			return err
		}
		port.Bindings = append(port.Bindings, b)
	}
	if slices.EqualFunc(cur.Bindings, port.Bindings, func(a, b model.PortBinding) bool { return a.Host == b.Host }) {
		return nil
	}
	return p.waiting(ctx, tx, &cur, &port)
}

// ActivateBinding moves a port to a host that waits for it: that binding is in force, the one before waits, unbound. Who asks
// second finds it done.
func (p *Plugin) ActivateBinding(ctx context.Context, tx store.WriteTx, id, host string) (model.PortBinding, error) {
	cur, n, err := p.movable(ctx, tx, id)
	if err != nil {
		return model.PortBinding{}, err
	}
	if cur.HostID == host && host != "" {
		return model.PortBinding{}, fault.PortBindingAlreadyActive(id, host)
	}
	i := indexOfHost(&cur, host)
	if i < 0 {
		return model.PortBinding{}, fault.PortBindingNotFound(id, host)
	}
	b := cur.Bindings[i]
	if b.VIFType == model.VIFUnbound { // it was in force once
		if err := p.bindWaiting(ctx, tx, &cur, &n, &b); err != nil {
			return b, err
		}
	}
	port := cur.Clone()
	port.Bindings = slices.Delete(port.Bindings, i, i+1)
	if before, ok := cur.Binding(); ok {
		if err := p.unbind(ctx, tx, id, cur.HostID); err != nil {
			return b, err
		}
		before.VIFType, before.VIFDetails, before.Status = model.VIFUnbound, map[string]any{}, model.BindingInactive
		port.Bindings = append(port.Bindings, before)
	}
	port.HostID, port.VIFType, port.VIFDetails, port.VNICType, port.Profile = b.Host, b.VIFType, b.VIFDetails, b.VNICType, b.Profile
	port.Status = model.StatusDown
	if b.VIFType == model.VIFHostdevPhysical { // nobody has to act
		port.Status = model.StatusActive
	}
	port.Wiring++
	p.bump(&port.Standard)
	w := service.Write[model.Port]{Op: service.Update, Old: &cur, New: &port}
	if err := (ports{p}).before(ctx, tx, w); err != nil {
		return b, err
	}
	if err := p.Ports.Update(ctx, tx, &port, cur.Revision); err != nil {
		return b, err
	}
	b.Status = model.BindingActive
	return b, (ports{p}).after(ctx, tx, w)
}

// DropBinding removes a port's binding to a host; without the one in force the port is on no host.
func (p *Plugin) DropBinding(ctx context.Context, tx store.WriteTx, id, host string) error {
	cur, n, err := p.movable(ctx, tx, id)
	if err != nil {
		return err
	}
	port := cur.Clone()
	if cur.HostID == host && host != "" {
		port.HostID, port.Profile = "", map[string]any{}
		return (ports{p}).save(ctx, tx, &n, &cur, &port, nil)
	}
	i := indexOfHost(&cur, host)
	if i < 0 {
		return fault.PortBindingNotFound(id, host)
	}
	port.Bindings = slices.Delete(port.Bindings, i, i+1)
	if err := p.unbind(ctx, tx, id, host); err != nil {
		return err
	}
	if err := forgetWords(ctx, tx, id, host); err != nil {
		return err
	}
	return p.waiting(ctx, tx, &cur, &port)
}

// forgetWords forgets what a host said of a port that it no longer waits for; not as who serves its DHCP, which is no matter of bindings.
func forgetWords(ctx context.Context, tx store.WriteTx, id, host string) error {
	_, err := tx.Exec(ctx, store.Q("DELETE FROM provisioning WHERE port_id = ? AND host = ? AND entity <> ?", id, host, wire.EntityDHCP))
	return err
}

// ChangeBinding binds anew with what change makes of a binding, also to another host.
func (p *Plugin) ChangeBinding(ctx context.Context, tx store.WriteTx, id, host string, change func(*model.PortBinding) error) (model.PortBinding, error) {
	cur, n, err := p.movable(ctx, tx, id)
	if err != nil {
		return model.PortBinding{}, err
	}
	i := indexOfHost(&cur, host)
	b, active := cur.Binding()
	if active = active && cur.HostID == host; !active {
		if i < 0 {
			return b, fault.PortBindingNotFound(id, host)
		}
		b = cur.Bindings[i]
	}
	if err := change(&b); err != nil {
		return b, err
	}
	switch {
	case b.Host == "":
		return b, fault.BadInput("host is empty.")
	case b.Host != host && (b.Host == cur.HostID || indexOfHost(&cur, b.Host) >= 0):
		return b, fault.PortBindingAlreadyExists(id, b.Host)
	}
	port := cur.Clone()
	if active {
		port.HostID, port.VNICType, port.Profile = b.Host, b.VNICType, b.Profile
		if err := (ports{p}).rehost(ctx, tx, &n, &cur, &port, false); err != nil {
			return b, err
		}
		if err := (ports{p}).save(ctx, tx, &n, &cur, &port, nil); err != nil {
			return b, err
		}
		if port.VIFType == model.VIFBindingFailed {
			return b, fault.PortBindingError(id, b.Host)
		}
		b, _ = port.Binding()
		return b, nil
	}
	if err := p.unbind(ctx, tx, id, host); err != nil {
		return b, err
	}
	if b.Host != host {
		if err := forgetWords(ctx, tx, id, host); err != nil {
			return b, err
		}
	}
	if err := p.bindWaiting(ctx, tx, &cur, &n, &b); err != nil {
		return b, err
	}
	port.Bindings[i] = b
	return b, p.waiting(ctx, tx, &cur, &port)
}
