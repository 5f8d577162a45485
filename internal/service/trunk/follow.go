package trunk

import (
	"context"
	"slices"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/service"
	"isospin/internal/store"
)

// Ports takes part in the writes of ports: those of trunks stay, subports are where the port is that carries them, and a trunk is what
// its ports are.
type Ports struct{ *Plugin }

var (
	_ service.Guard[model.Port]    = Ports{}
	_ service.Follower[model.Port] = Ports{}
)

// Guard refuses to delete a port of a trunk. No statement.
func (p Ports) Guard(_ context.Context, _ store.WriteTx, w service.Write[model.Port]) error {
	switch {
	case w.Op != service.Delete || w.Old.TrunkID == "":
		return nil
	case w.Old.TrunkDetails != nil:
		return fault.PortInUseAsTrunkParent(w.Old.ID, w.Old.TrunkID)
	}
	return fault.PortInUseAsSubPort(w.Old.ID, w.Old.TrunkID)
}

// Follow acts on ports of trunks that moved, changed their MAC or their status. No statement for other ports.
func (p Ports) Follow(ctx context.Context, tx store.WriteTx, w service.Write[model.Port]) error {
	if w.Op != service.Update || w.New.TrunkID == "" {
		return nil
	}
	moved := w.Old.HostID != w.New.HostID || w.Old.VIFType != w.New.VIFType
	if d := w.New.TrunkDetails; d != nil {
		if !moved && !slices.Equal(awaited(w.Old), awaited(w.New)) {
			for i := range d.SubPorts {
				if err := p.Binder.Await(ctx, tx, d.SubPorts[i].PortID, awaited(w.New)); err != nil {
					return err
				}
			}
		}
		if !moved && w.Old.Status == w.New.Status {
			return nil
		}
		for i := range d.SubPorts {
			if !moved {
				break
			}
			if _, err := p.follow(ctx, tx, d.SubPorts[i].PortID, w.New); err != nil {
				return err
			}
		}
		return p.rejudge(ctx, tx, w.New.TrunkID)
	}
	if w.Old.MACAddress != w.New.MACAddress {
		if err := p.remember(ctx, tx, w.New); err != nil {
			return err
		}
	}
	if (moved || w.Old.Status != w.New.Status) && ctx.Value(together{}) == nil {
		return p.rejudge(ctx, tx, w.New.TrunkID)
	}
	return nil
}

// together marks the context of subports that move with their trunk, which is judged once and not with each of them.
type together struct{}

// follow brings a port to where the one is that carries its trunk; nil: to no host (update_subport_bindings in
// neutron/services/trunk/rpc/server.py).
func (p *Plugin) follow(ctx context.Context, tx store.WriteTx, id string, parent *model.Port) (model.Port, error) {
	port, err := p.Binder.AdjustPort(context.WithValue(ctx, together{}, true), tx, id, func(port *model.Port) {
		switch {
		case parent != nil && onHost(parent):
			port.HostID, port.DeviceOwner = parent.HostID, model.OwnerSubport
		case parent != nil:
			port.HostID = ""
		case port.DeviceOwner == model.OwnerSubport:
			port.HostID, port.DeviceOwner = "", ""
		}
	})
	if elsewhere(err) { // nothing was written; the trunk will say that it is not whole
		port, err = p.Ports.Get(ctx, tx, id)
	}
	if err != nil {
		return port, err
	}
	if hosts := awaited(parent); len(hosts) > 0 || len(port.Bindings) > 0 {
		if err := p.Binder.Await(ctx, tx, id, hosts); err != nil {
			return port, err
		}
		return p.Ports.Get(ctx, tx, id)
	}
	return port, nil
}

// awaited are the hosts that wait for the port that carries a trunk, and so for those inside.
func awaited(parent *model.Port) (hosts []string) {
	if parent == nil {
		return nil
	}
	for _, b := range parent.Bindings {
		if b.VIFType != model.VIFUnbound {
			hosts = append(hosts, b.Host)
		}
	}
	return hosts
}

// elsewhere tells whether a subport of a routed network cannot have addresses on the host of its trunk.
func elsewhere(err error) bool {
	if err == nil {
		return false
	}
	f := fault.Of(err)
	return f != nil && (f.Name == "HostNotConnectedToAnySegment" || f.Name == "HostNotCompatibleWithFixedIps")
}

// remember writes a subport's new MAC into what the port shows that carries the trunk. Three statements.
func (p *Plugin) remember(ctx context.Context, tx store.WriteTx, sub *model.Port) error {
	t, err := p.Trunks.Get(ctx, tx, sub.TrunkID)
	if err != nil {
		return err
	}
	parent, err := p.Ports.GetForUpdate(ctx, tx, t.PortID)
	if err != nil || parent.TrunkDetails == nil {
		return err
	}
	d := &model.TrunkDetails{TrunkID: t.ID, SubPorts: []model.SubPortDetail{}}
	for _, s := range parent.TrunkDetails.SubPorts {
		if s.PortID == sub.ID {
			s.MACAddress = sub.MACAddress
		}
		d.SubPorts = append(d.SubPorts, s)
	}
	parent.TrunkDetails = d
	return p.Ports.Update(ctx, tx, &parent, -1)
}

// rejudge makes a trunk's status what its ports say. The trunk is locked first: of two hosts' words the second sees the first.
func (p *Plugin) rejudge(ctx context.Context, tx store.WriteTx, trunk string) error {
	t, err := p.Trunks.GetForUpdate(ctx, tx, trunk)
	if store.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	rows, err := p.Ports.Find(ctx, tx, store.List{Where: store.In("id", portsOf(&t))})
	if err != nil {
		return err
	}
	ports := make(map[string]model.Port, len(rows))
	for _, port := range rows {
		ports[port.ID] = port
	}
	status := judge(&t, ports)
	if status == t.Status {
		return nil
	}
	t.Status = status
	return p.save(ctx, tx, &t)
}

// judge is a trunk's status: DOWN while the port that carries it is on no host or not wired there, DEGRADED where the host cannot have
// some of the subports, BUILD until all are wired.
func judge(t *model.Trunk, ports map[string]model.Port) string {
	parent := ports[t.PortID]
	if !onHost(&parent) || parent.Status == model.StatusDown {
		return model.StatusDown
	}
	status := model.StatusActive
	if parent.Status != model.StatusActive {
		status = model.StatusBuild
	}
	for _, s := range t.SubPorts {
		sub := ports[s.PortID]
		switch {
		case sub.VIFType == model.VIFBindingFailed, sub.HostID != parent.HostID:
			return model.StatusDegraded
		case sub.Status != model.StatusActive:
			status = model.StatusBuild
		}
	}
	return status
}
