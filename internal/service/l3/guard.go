package l3

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/service"
	"isospin/internal/service/ipam"
	"isospin/internal/store"
)

// PortGuard keeps requests from changing routers' ports into something else.
type PortGuard struct{ *Plugin }

// Guard refuses what would make a port that is a router's no longer fit, and a device_id that is another project's router.
func (g PortGuard) Guard(ctx context.Context, tx store.WriteTx, w service.Write[model.Port]) error {
	if isOurs(ctx) || w.Op == service.Delete {
		return nil
	}
	if w.Gave("device_id") || w.Gave("device_owner") {
		if err := g.claim(ctx, tx, w); err != nil {
			return err
		}
	}
	if w.Op != service.Update || !strings.HasPrefix(w.Old.DeviceOwner, "network:") {
		return nil
	}
	same := w.Old.DeviceID == w.New.DeviceID && w.Old.DeviceOwner == w.New.DeviceOwner
	readdressed := w.Gave("fixed_ips") && !slices.Equal(w.Old.FixedIPs, w.New.FixedIPs)
	if same && !readdressed {
		return nil
	}
	router, kind, err := owner(ctx, tx, w.Old.ID)
	if err != nil || router == "" {
		return err
	}
	if !same {
		return fault.PortInUse(w.Old.ID, w.Old.NetworkID, router)
	}
	// Alias l3-port-ip-change-not-allowed: an IPv4 address of an interface stays (neutron/db/ipam_pluggable_backend.py).
	if kind != model.OwnerRouterGateway && !slices.Equal(fours(w.Old.FixedIPs), fours(w.New.FixedIPs)) {
		return fault.BadRequest("ports", "the IPv4 address of port "+w.Old.ID+" cannot be changed: it is router "+router+"'s.")
	}
	return nil
}

func fours(all []model.FixedIP) []model.FixedIP {
	out := []model.FixedIP{}
	for _, f := range all {
		if a, err := netip.ParseAddr(f.IPAddress); err == nil && a.Is4() {
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b model.FixedIP) int { return strings.Compare(a.IPAddress, b.IPAddress) })
	return out
}

// claim refuses a port that says that it is an interface of another project's router (neutron/db/db_base_plugin_v2.py).
func (g PortGuard) claim(ctx context.Context, tx store.Tx, w service.Write[model.Port]) error {
	if admin(ctx) || w.New.DeviceID == "" || !model.RouterInterfaceOwner(w.New.DeviceOwner) {
		return nil
	}
	if w.Old != nil && w.Old.DeviceID == w.New.DeviceID && w.Old.DeviceOwner == w.New.DeviceOwner {
		return nil
	}
	n, _, err := store.Int(ctx, tx, store.Q("SELECT COUNT(*) FROM routers WHERE id = ? AND project_id <> ?", w.New.DeviceID, w.New.ProjectID))
	if err == nil && n > 0 {
		err = fault.DeviceIDNotOwnedByTenant(w.New.DeviceID)
	}
	return err
}

// PortFollower keeps what routers show of their gateways in line with the ports.
type PortFollower struct{ *Plugin }

// Follow writes a gateway's new addresses into its router, and says that documents are dirty.
func (f PortFollower) Follow(ctx context.Context, tx store.WriteTx, w service.Write[model.Port]) error {
	if isOurs(ctx) || w.Op != service.Update || !strings.HasPrefix(w.Old.DeviceOwner, "network:") || slices.Equal(w.Old.FixedIPs, w.New.FixedIPs) {
		return nil
	}
	id, kind, err := owner(ctx, tx, w.New.ID)
	if err != nil || id == "" {
		return err
	}
	if kind != model.OwnerRouterGateway {
		return f.Dirty(ctx, tx, id)
	}
	cur, err := f.Lock(ctx, tx, id)
	if err != nil {
		return err
	}
	r := cur.Clone()
	at := slices.Index(r.GatewayPorts, w.New.ID)
	if at < 0 {
		return nil
	}
	now := r.ExternalGateways[at]
	now.ExternalFixedIPs = slices.Clone(w.New.FixedIPs)
	if err := f.changes(ctx, tx, &r, &cur.ExternalGateways[at], &now); err != nil {
		return err
	}
	r.ExternalGateways[at] = now
	r.Lead()
	return f.save(ctx, tx, &cur, &r, nil)
}

// NetworkGuard keeps external networks external while routers use them.
type NetworkGuard struct{ *Plugin }

// Guard refuses to make a network internal that gateways are on.
func (g NetworkGuard) Guard(ctx context.Context, tx store.WriteTx, w service.Write[model.Network]) error {
	if w.Op != service.Update || !w.Old.External || w.New.External {
		return nil
	}
	n, _, err := store.Int(ctx, tx, store.Q("SELECT COUNT(*) FROM router_ports WHERE network_id = ? AND port_type = ?", w.Old.ID, model.OwnerRouterGateway))
	if err == nil && n > 0 {
		err = fault.ExternalNetworkInUse(w.Old.ID)
	}
	return err
}

// NetworkFollower knows the networks of highly available routers that requests make and remove.
type NetworkFollower struct{ *Plugin }

// Follow remembers a network that was made to be its project's (alias network_ha), and forgets one that went.
func (NetworkFollower) Follow(ctx context.Context, tx store.WriteTx, w service.Write[model.Network]) error {
	switch {
	case w.Op == service.Create && w.New.HA:
		_, err := tx.Exec(ctx, store.Q("INSERT INTO router_ha_networks (project_id, network_id) VALUES (?, ?)", w.New.ProjectID, w.New.ID))
		if _, dup := store.AsDuplicate(err); dup {
			err = fault.DuplicatedHANetwork(w.New.ProjectID)
		}
		return err
	case w.Op == service.Delete && (w.Old.HA || w.Old.ProjectID == ""): // those that routers make are nobody's
		if _, err := tx.Exec(ctx, store.Q("DELETE FROM router_ha_networks WHERE network_id = ?", w.Old.ID)); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, store.Q("DELETE FROM router_vrids WHERE network_id = ?", w.Old.ID))
		return err
	}
	return nil
}

// SubnetFollower gives gateways addresses in new subnets of external networks, and tells routers of changed subnets.
type SubnetFollower struct{ *Plugin }

// Follow acts on a subnet's write.
func (f SubnetFollower) Follow(ctx context.Context, tx store.WriteTx, w service.Write[model.Subnet]) error {
	switch w.Op {
	case service.Create:
		if ipam.AutoAddress(w.New) {
			return nil // gateways make their addresses there as other ports do
		}
		return f.widen(ctx, tx, w.New)
	case service.Update:
		var ids []string
		err := store.Each(ctx, tx, store.Q("SELECT DISTINCT r.router_id FROM ip_allocations a JOIN router_ports r ON r.port_id = a.port_id WHERE a.subnet_id = ?", w.New.ID),
			func(scan func(...any) error) error {
				var id string
				err := scan(&id)
				ids = append(ids, id)
				return err
			})
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := f.Dirty(ctx, tx, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// widen gives the gateways on a network an address in its new subnet where they have none of its IP version, as far as there are any
// (_update_router_gw_ports in neutron/db/db_base_plugin_v2.py).
func (f SubnetFollower) widen(ctx context.Context, tx store.WriteTx, s *model.Subnet) error {
	ports, err := f.Rows.Find(ctx, tx, store.List{Where: store.Expr(
		"id IN (SELECT port_id FROM router_ports WHERE network_id = ? AND port_type = ?)", s.NetworkID, model.OwnerRouterGateway)})
	if err != nil || len(ports) == 0 {
		return err
	}
	others, err := f.Subnets.Find(ctx, tx, store.List{Where: store.Eq("network_id", s.NetworkID)})
	if err != nil {
		return err
	}
	for i := range ports {
		if has(&ports[i], others, s.IPVersion) {
			continue
		}
		_, err := f.Ports.AdjustPort(ctx, tx, ports[i].ID, func(port *model.Port) {
			port.FixedIPs = append(port.FixedIPs, model.FixedIP{SubnetID: s.ID})
		})
		if known := fault.Of(err); err != nil && known.Name == "IpAddressGenerationFailure" {
			return nil // the subnet is full: the rest of the gateways stay as they are
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// has tells whether a gateway has an address of the IP version already that it did not make itself, or two addresses.
func has(port *model.Port, subnets []model.Subnet, version int64) bool {
	n := 0
	for _, f := range port.FixedIPs {
		i := slices.IndexFunc(subnets, func(s model.Subnet) bool { return s.ID == f.SubnetID })
		if i < 0 || ipam.AutoAddress(&subnets[i]) {
			continue
		}
		n++
		if subnets[i].IPVersion == version {
			return true
		}
	}
	return n > 1
}

var (
	_ service.Guard[model.Port]       = PortGuard{}
	_ service.Guard[model.Network]    = NetworkGuard{}
	_ service.Follower[model.Port]    = PortFollower{}
	_ service.Follower[model.Network] = NetworkFollower{}
	_ service.Follower[model.Subnet]  = SubnetFollower{}
)
