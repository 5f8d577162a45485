package l3

import (
	"context"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/store"
)

// Nets makes the networks of highly available routers; ml2.Plugin is one.
type Nets interface {
	CreateNetwork(ctx context.Context, tx store.WriteTx, n model.Network) (model.Network, error)
	CreateSubnet(ctx context.Context, tx store.WriteTx, s model.Subnet, given ...string) (model.Subnet, error)
	DeleteNetwork(ctx context.Context, tx store.WriteTx, id string) error
}

// Numbers of highly available routers on a network are VRRP's (RFC 5798, section 5.2.3); 255 is left to the owner of an
// address, as Neutron leaves it.
const lastVRID = 254

// number gives a router a number on its project's network of highly available routers, which is made for the first. The network's row
// is kept, so that two routers do not choose alike.
func (p *Plugin) number(ctx context.Context, tx store.WriteTx, r *model.Router) error {
	network, err := p.haNetwork(ctx, tx, r.ProjectID)
	if err != nil {
		return err
	}
	used := map[int64]bool{}
	err = store.Each(ctx, tx, store.Q("SELECT vr_id FROM router_vrids WHERE network_id = ?", network), func(scan func(...any) error) error {
		var n int64
		err := scan(&n)
		used[n] = true
		return err
	})
	if err != nil {
		return err
	}
	for n := int64(1); n <= lastVRID; n++ {
		if used[n] {
			continue
		}
		r.VRID = n
		_, err := tx.Exec(ctx, store.Q("INSERT INTO router_vrids (network_id, vr_id, router_id) VALUES (?, ?, ?)", network, n, r.ID))
		return err
	}
	return fault.NoVRIDAvailable(r.ID)
}

// keepNetwork reads and keeps the row of a project's network of highly available routers; "" without one.
func keepNetwork(ctx context.Context, tx store.WriteTx, project string) (string, error) {
	network := ""
	err := store.Each(ctx, tx, store.Q("SELECT network_id FROM router_ha_networks WHERE project_id = ?"+tx.Dialect().ForUpdate(false), project),
		func(scan func(...any) error) error { return scan(&network) })
	return network, err
}

// haNetwork is the project's network of highly available routers: nobody's, so that no member sees it.
func (p *Plugin) haNetwork(ctx context.Context, tx store.WriteTx, project string) (string, error) {
	network, err := keepNetwork(ctx, tx, project)
	if err != nil || network != "" {
		return network, err
	}
	n := model.Network{Name: "HA network project " + project, AdminStateUp: true}
	n.Own("")
	if p.HANetwork.Type != "" {
		n.ProviderAttributes = &model.ProviderAttributes{NetworkType: &p.HANetwork.Type}
		if p.HANetwork.Physical != "" {
			n.PhysicalNetwork = &p.HANetwork.Physical
		}
	}
	if n, err = p.Nets.CreateNetwork(ctx, tx, n); err != nil {
		return "", err
	}
	cidr := p.HANetwork.Prefix.String()
	s := model.Subnet{Name: "HA subnet project " + project, NetworkID: n.ID, IPVersion: 4, CIDR: &cidr}
	if p.HANetwork.Prefix.Addr().Is6() {
		s.IPVersion = 6
	}
	s.Own("")
	if _, err := p.Nets.CreateSubnet(ctx, tx, s, "cidr", "gateway_ip", "enable_dhcp", "ip_version"); err != nil {
		return "", err
	}
	_, err = tx.Exec(ctx, store.Q("INSERT INTO router_ha_networks (project_id, network_id) VALUES (?, ?)", project, n.ID))
	if _, dup := store.AsDuplicate(err); dup {
		// Another router of the project made one meanwhile: begin anew and find it.
		return "", &store.Stale{Table: "router_ha_networks", ID: project}
	}
	return n.ID, err
}

// unnumber gives a router's number back; the network goes with its last.
func (p *Plugin) unnumber(ctx context.Context, tx store.WriteTx, r *model.Router) error {
	network, err := keepNetwork(ctx, tx, r.ProjectID)
	if err != nil || network == "" {
		return err
	}
	if _, err := tx.Exec(ctx, store.Q("DELETE FROM router_vrids WHERE network_id = ? AND router_id = ?", network, r.ID)); err != nil {
		return err
	}
	r.VRID = 0
	left, _, err := store.Int(ctx, tx, store.Q("SELECT COUNT(*) FROM router_vrids WHERE network_id = ?", network))
	if err != nil || left > 0 {
		return err
	}
	stays, _, err := store.Int(ctx, tx, store.Q("SELECT COUNT(*) FROM ports WHERE network_id = ?", network))
	if err != nil || stays > 0 {
		return err // somebody has a port there: the network stays, as in Neutron
	}
	n, err := p.Networks.Get(ctx, tx, network)
	if err != nil || n.ProjectID != "" {
		return err // a project made it for itself
	}
	if _, err := tx.Exec(ctx, store.Q("DELETE FROM router_ha_networks WHERE project_id = ?", r.ProjectID)); err != nil {
		return err
	}
	return p.Nets.DeleteNetwork(ours(ctx), tx, network)
}
