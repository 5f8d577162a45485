// Package pvlan keeps private VLANs: which networks have them, and of what kind each port there is. assemble lists it among
// the guards of networks and ports and those who follow the writes of networks. It keeps nobody apart itself: that
// is for who reads the kinds.
package pvlan

import (
	"context"
	"strings"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/service"
	"isospin/internal/store"
)

// Adjuster changes ports in a transaction; ml2.Plugin is one.
type Adjuster interface {
	AdjustPort(ctx context.Context, tx store.WriteTx, id string, change func(*model.Port)) (model.Port, error)
}

// Plugin is private VLANs (neutron/services/pvlan/pvlan_plugin.py).
type Plugin struct {
	rows  *store.Table[model.Port]
	ports Adjuster
}

// New takes the table of ports and who changes them.
func New(rows *store.Table[model.Port], ports Adjuster) *Plugin {
	return &Plugin{rows: rows, ports: ports}
}

// Networks takes part in the writes of networks.
type Networks struct{ *Plugin }

// Ports takes part in the writes of ports.
type Ports struct{ *Plugin }

var (
	_ service.Guard[model.Network]    = Networks{}
	_ service.Follower[model.Network] = Networks{}
	_ service.Guard[model.Port]       = Ports{}
)

// Guard refuses private VLANs on a network without port security.
func (Networks) Guard(_ context.Context, _ store.WriteTx, w service.Write[model.Network]) error {
	if w.Op != service.Delete && w.New.PVLAN && !w.New.PortSecurityEnabled {
		return fault.PVLANNetworkPortSecurityDisabled(w.New.ID)
	}
	return nil
}

// Follow gives the ports of a network that gets private VLANs a kind, and takes it from them when it loses them.
func (n Networks) Follow(ctx context.Context, tx store.WriteTx, w service.Write[model.Network]) error {
	if w.Op != service.Update || w.Old.PVLAN == w.New.PVLAN {
		return nil
	}
	all, err := n.rows.Find(ctx, tx, store.List{Where: store.Eq("network_id", w.New.ID)})
	if err != nil {
		return err
	}
	for i := range all {
		if _, err := n.ports.AdjustPort(ctx, tx, all[i].ID, func(p *model.Port) {
			if !w.New.PVLAN {
				p.PVLANType, p.PVLANCommunity = nil, nil
			}
		}); err != nil {
			return err
		}
	}
	return nil
}

// Guard settles the kind of a port: promiscuous unless the request says another.
func (Ports) Guard(_ context.Context, _ store.WriteTx, w service.Write[model.Port]) error {
	if w.Op == service.Delete || w.Network == nil {
		return nil
	}
	p := w.New
	if !w.Network.PVLAN {
		if p.PVLANType != nil || p.PVLANCommunity != nil {
			return fault.PVLANNotEnabledOnNetwork(w.Network.ID)
		}
		return nil
	}
	if !p.PortSecurityEnabled && !trusted(p.DeviceOwner) {
		return fault.PVLANPortSecurityDisabled(p.ID)
	}
	if p.PVLANType == nil {
		kind := model.PVLANPromiscuous
		p.PVLANType = &kind
	}
	if *p.PVLANType != model.PVLANCommunity {
		// A port that leaves its community need not say so twice.
		if w.Op == service.Update && !w.Gave("pvlan_community") {
			p.PVLANCommunity = nil
		}
		if p.PVLANCommunity != nil {
			return fault.PVLANCannotSetCommunityName(p.ID)
		}
		return nil
	}
	if p.PVLANCommunity == nil && w.Old != nil {
		p.PVLANCommunity = w.Old.PVLANCommunity
	}
	if p.PVLANCommunity == nil {
		return fault.PVLANCommunityNameRequired(p.ID)
	}
	return nil
}

// trusted ports belong to the network itself and have no port security.
func trusted(owner string) bool { return strings.HasPrefix(owner, "network:") }
