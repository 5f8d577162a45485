package l3

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"

	"isospin/internal/model"
	"isospin/internal/service/ipam"
	"isospin/internal/store"
)

// gatewayAsked is one gateway as requests ask for it.
type gatewayAsked struct {
	NetworkID        string          `json:"network_id"`
	ExternalFixedIPs []model.FixedIP `json:"external_fixed_ips"`
	EnableSNAT       *bool           `json:"enable_snat"`
	QoSPolicyID      json.RawMessage `json:"qos_policy_id"` // nil: not given
}

// asked decodes external_gateway_info; nil for none.
func asked(raw json.RawMessage, given bool) (*gatewayAsked, error) {
	if !given || string(raw) == "null" {
		return nil, nil
	}
	var g gatewayAsked
	if err := json.Unmarshal(raw, &g); err != nil {
		return nil, fmt.Errorf("decode external_gateway_info: %w", err)
	}
	return &g, nil
}

// policy is the QoS policy asked for, old where the request says none.
func (g *gatewayAsked) policy(old *string) (*string, error) {
	if g.QoSPolicyID == nil {
		return old, nil
	}
	var id *string
	err := json.Unmarshal(g.QoSPolicyID, &id)
	return id, err
}

// regate makes the router's first gateway what a request asks for; nil takes it away. A second gateway then comes first.
func (p *Plugin) regate(ctx context.Context, tx store.WriteTx, r *model.Router, g *gatewayAsked) error {
	var err error
	switch {
	case len(r.ExternalGateways) == 0 && g == nil:
		return nil
	case len(r.ExternalGateways) == 0:
		err = p.gate(ctx, tx, r, 0, g)
	case g == nil:
		err = p.ungate(ctx, tx, r, 0)
	case r.ExternalGateways[0].NetworkID == g.NetworkID:
		err = p.readdress(ctx, tx, r, 0, g)
	default:
		err = p.move(ctx, tx, r, 0, g)
	}
	if err != nil || len(r.Routes) == 0 {
		return err
	}
	return p.checkRoutes(ctx, tx, r)
}

// gate adds a gateway at a place of the list.
func (p *Plugin) gate(ctx context.Context, tx store.WriteTx, r *model.Router, at int, g *gatewayAsked) error {
	now, err := p.wanted(ctx, tx, r, nil, g)
	if err != nil {
		return err
	}
	if err := p.changes(ctx, tx, r, nil, now); err != nil {
		return err
	}
	if err := p.open(ctx, tx, r, at, now); err != nil {
		return err
	}
	return p.centralize(ctx, tx, r)
}

// ungate takes a gateway away.
func (p *Plugin) ungate(ctx context.Context, tx store.WriteTx, r *model.Router, at int) error {
	old := r.ExternalGateways[at]
	if err := p.changes(ctx, tx, r, &old, nil); err != nil {
		return err
	}
	if err := p.shut(ctx, tx, r, at); err != nil {
		return err
	}
	if len(r.ExternalGateways) == 0 {
		r.EnableSNAT = p.SNAT
	}
	return p.centralize(ctx, tx, r)
}

// move takes a gateway to another network.
func (p *Plugin) move(ctx context.Context, tx store.WriteTx, r *model.Router, at int, g *gatewayAsked) error {
	old := r.ExternalGateways[at]
	now, err := p.wanted(ctx, tx, r, &old, g)
	if err != nil {
		return err
	}
	if err := p.changes(ctx, tx, r, &old, now); err != nil {
		return err
	}
	if err := p.shut(ctx, tx, r, at); err != nil {
		return err
	}
	return p.open(ctx, tx, r, at, now)
}

// readdress changes a gateway on its network: addresses where the request names others, SNAT, QoS.
func (p *Plugin) readdress(ctx context.Context, tx store.WriteTx, r *model.Router, at int, g *gatewayAsked) error {
	old := r.ExternalGateways[at]
	now, err := p.wanted(ctx, tx, r, &old, g)
	if err != nil {
		return err
	}
	if moved(old.ExternalFixedIPs, g.ExternalFixedIPs) {
		if err := p.changes(ctx, tx, r, &old, now); err != nil {
			return err
		}
		port, err := p.Ports.AdjustPort(ours(ctx), tx, r.GatewayPorts[at], func(port *model.Port) { port.FixedIPs = slices.Clone(g.ExternalFixedIPs) })
		if err != nil {
			return err
		}
		now.ExternalFixedIPs = port.FixedIPs
	} else {
		now.ExternalFixedIPs = old.ExternalFixedIPs
	}
	r.ExternalGateways[at] = *now
	r.Lead()
	return nil
}

// moved tells whether addresses asked for differ from those that the gateway has (neutron/db/l3_db.py).
func moved(have, want []model.FixedIP) bool {
	if len(want) == 0 {
		return false
	}
	subnets := func(all []model.FixedIP) map[string]bool {
		out := map[string]bool{}
		for _, f := range all {
			if f.SubnetID != "" {
				out[f.SubnetID] = true
			}
		}
		return out
	}
	addresses := func(all []model.FixedIP) map[string]bool {
		out := map[string]bool{}
		for _, f := range all {
			if f.IPAddress != "" {
				out[f.IPAddress] = true
			}
		}
		return out
	}
	equal := func(a, b map[string]bool) bool {
		for k := range a {
			if !b[k] {
				return false
			}
		}
		return len(a) == len(b)
	}
	if !equal(subnets(have), subnets(want)) {
		return true
	}
	return len(addresses(want)) > 0 && !equal(addresses(have), addresses(want))
}

// changes asks those who depend on a gateway.
func (p *Plugin) changes(ctx context.Context, tx store.WriteTx, r *model.Router, old, now *model.GatewayInfo) error {
	for _, g := range p.guards.Gateways {
		if err := g.GatewayChanges(ctx, tx, r, old, now); err != nil {
			return err
		}
	}
	return nil
}

// wanted checks a gateway asked for and completes it; old is the gateway that it takes the place of.
func (p *Plugin) wanted(ctx context.Context, tx store.WriteTx, r *model.Router, old *model.GatewayInfo, g *gatewayAsked) (*model.GatewayInfo, error) {
	n, err := p.network(ctx, tx, g.NetworkID)
	if err != nil {
		return nil, err
	}
	if !n.External {
		return nil, bad("network " + n.ID + " is not external.")
	}
	subnets, err := p.Subnets.Find(ctx, tx, store.List{Where: store.Eq("network_id", n.ID)})
	if err != nil {
		return nil, err
	}
	for _, f := range g.ExternalFixedIPs {
		if f.IPAddress != "" && slices.ContainsFunc(subnets, func(s model.Subnet) bool { return s.GatewayIP != nil && sameAddress(*s.GatewayIP, f.IPAddress) }) {
			return nil, bad("the external address " + f.IPAddress + " is that of a subnet's gateway.")
		}
	}
	if old == nil || old.NetworkID != n.ID {
		goes := ""
		if old != nil {
			goes = old.NetworkID
		}
		if err := p.apart(ctx, tx, r, subnets, true, goes); err != nil {
			return nil, err
		}
	}
	now := &model.GatewayInfo{NetworkID: n.ID, ExternalFixedIPs: g.ExternalFixedIPs, EnableSNAT: p.SNAT}
	if g.EnableSNAT != nil {
		now.EnableSNAT = *g.EnableSNAT
	}
	var before *string
	if old != nil {
		before = old.QoSPolicyID
	}
	if now.QoSPolicyID, err = g.policy(before); err != nil {
		return nil, err
	}
	return now, p.checkPolicy(ctx, tx, before, now.QoSPolicyID)
}

func sameAddress(a, b string) bool {
	x, err1 := netip.ParseAddr(a)
	y, err2 := netip.ParseAddr(b)
	return err1 == nil && err2 == nil && x == y
}

// checkPolicy refuses a QoS policy that the caller may not use. One statement, none for the policy that is there already.
func (p *Plugin) checkPolicy(ctx context.Context, tx store.WriteTx, old, now *string) error {
	if now == nil || old != nil && *old == *now {
		return nil
	}
	return p.Usable(ctx, tx, *now)
}

// open makes the port of a gateway.
func (p *Plugin) open(ctx context.Context, tx store.WriteTx, r *model.Router, at int, now *model.GatewayInfo) error {
	want := model.Port{NetworkID: now.NetworkID, DeviceID: r.ID, DeviceOwner: model.OwnerRouterGateway}
	if len(now.ExternalFixedIPs) > 0 {
		want.FixedIPs = now.ExternalFixedIPs
	}
	want.Own("") // nobody's: the project that owns the router does not see it
	port, err := p.Ports.CreatePort(ours(ctx), tx, want)
	if err != nil {
		return err
	}
	if err := own(ctx, tx, r.ID, &port); err != nil {
		return err
	}
	now.ExternalFixedIPs = port.FixedIPs
	r.ExternalGateways = slices.Insert(r.ExternalGateways, at, *now)
	r.GatewayPorts = slices.Insert(r.GatewayPorts, at, port.ID)
	r.Lead()
	return nil
}

// shut removes the port of a gateway.
func (p *Plugin) shut(ctx context.Context, tx store.WriteTx, r *model.Router, at int) error {
	id := r.GatewayPorts[at]
	if err := disown(ctx, tx, id); err != nil {
		return err
	}
	if err := p.Ports.DeletePort(ours(ctx), tx, id); err != nil {
		return err
	}
	r.ExternalGateways = slices.Delete(r.ExternalGateways, at, at+1)
	r.GatewayPorts = slices.Delete(r.GatewayPorts, at, at+1)
	r.Lead()
	return nil
}

// apart refuses subnets that overlap what the router has already: the subnets of its interfaces, and all those of the networks of its
// gateways. Several gateways may be on one network; goes is the network that a gateway is leaving. One statement.
func (p *Plugin) apart(ctx context.Context, tx store.Tx, r *model.Router, news []model.Subnet, gateway bool, goes string) error {
	if len(news) == 0 {
		return nil
	}
	have, err := p.Subnets.Find(ctx, tx, store.List{Where: store.Or(
		store.Expr("id IN (SELECT a.subnet_id FROM ip_allocations a JOIN router_ports r ON r.port_id = a.port_id WHERE r.router_id = ?)", r.ID),
		store.Expr("network_id IN (SELECT network_id FROM router_ports WHERE router_id = ? AND port_type = ?)", r.ID, model.OwnerRouterGateway))})
	if err != nil {
		return err
	}
	provisional := func(s *model.Subnet) bool { return *s.CIDR == ipam.DelegationPrefix } // its prefix is yet to come
	for i := range have {
		h := &have[i]
		if h.NetworkID == goes || gateway && slices.ContainsFunc(r.ExternalGateways, func(g model.GatewayInfo) bool { return g.NetworkID == h.NetworkID }) &&
			news[0].NetworkID == h.NetworkID {
			continue
		}
		for j := range news {
			n := &news[j]
			if h.ID == n.ID {
				return bad("the router has a port in subnet " + n.ID + " already.")
			}
			if !provisional(h) && !provisional(n) && ipam.Prefix(h).Overlaps(ipam.Prefix(n)) {
				return bad(fmt.Sprintf("%s of subnet %s overlaps %s of subnet %s, which the router has.", *n.CIDR, n.ID, *h.CIDR, h.ID))
			}
		}
	}
	return nil
}
