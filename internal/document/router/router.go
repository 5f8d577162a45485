// Package router is the document of a router: what it is, its ports, gateways, routes and hosts. session renders it for the hosts that
// the router was given to. Networks and subnets are documents of their own, in the sets that it names; floating addresses are not here.
package router

import (
	"context"
	"fmt"
	"slices"

	"isospin/internal/change"
	"isospin/internal/document"
	"isospin/internal/model"
	"isospin/internal/service/l3"
	"isospin/internal/service/ml2"
	"isospin/internal/store"
	"isospin/internal/wire"
)

// Kind renders routers.
type Kind struct {
	routers *l3.Routers
	ports   *ml2.Ports
}

// New takes the tables of routers and ports.
func New(routers *l3.Routers, ports *ml2.Ports) Kind { return Kind{routers: routers, ports: ports} }

// Name is the wire name.
func (Kind) Name() string { return wire.KindRouter }

// Families: the document is in the set of each host that the router was given to.
func (Kind) Families() []string { return []string{wire.FamilyHost} }

// Members are the routers of hosts. One statement.
func (Kind) Members(ctx context.Context, tx store.Tx, sets []change.Set) (map[change.Set][]string, error) {
	return document.Where(ctx, tx, sets, "SELECT router_id, host FROM router_hosts", "host")
}

// Render reads routers with their hosts and ports. Three statements.
func (k Kind) Render(ctx context.Context, tx store.Tx, ids []string) (map[string]document.Rendered, error) {
	routers, err := k.routers.Find(ctx, tx, store.List{Where: store.In("id", ids)})
	if err != nil {
		return nil, fmt.Errorf("read routers: %w", err)
	}
	in := store.In("router_id", ids)
	ports, err := k.ports.Find(ctx, tx, store.List{Where: store.Expr("id IN (SELECT port_id FROM router_ports WHERE "+in.SQL+")", in.Args...)})
	if err != nil {
		return nil, fmt.Errorf("read the ports of routers: %w", err)
	}
	out := make(map[string]document.Rendered, len(routers))
	for i := range routers {
		out[routers[i].ID] = document.Rendered{Body: body(&routers[i])}
	}
	for i := range ports {
		if r, ok := out[ports[i].DeviceID]; ok {
			doc := r.Body.(*wire.Router)
			doc.Ports = append(doc.Ports, port(&ports[i]))
		}
	}
	err = store.Each(ctx, tx, store.Q("SELECT router_id, host, ha_port_id, priority FROM router_hosts WHERE "+in.SQL+" ORDER BY router_id, host", in.Args...),
		func(scan func(...any) error) error {
			var id string
			var priority int64
			h := &wire.RouterHost{}
			if err := scan(&id, &h.Host, &h.HaPortId, &priority); err != nil {
				return err
			}
			h.Priority = int32(priority) //nolint:gosec // priorities are small
			if r, ok := out[id]; ok {
				doc := r.Body.(*wire.Router)
				doc.Hosts = append(doc.Hosts, h)
				r.Sets = append(r.Sets, change.NewSet(wire.FamilyHost, h.Host))
				out[id] = r
			}
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("read the hosts of routers: %w", err)
	}
	for id, r := range out {
		if len(r.Sets) == 0 {
			delete(out, id) // nobody's
			continue
		}
		r.Refs = refs(r.Body.(*wire.Router))
		out[id] = r
	}
	return out, nil
}

// refs are the sets that a router's hosts hold besides: the networks of its ports, the QoS policies of its gateways.
func refs(doc *wire.Router) []change.Set {
	var out []change.Set
	add := func(s change.Set) {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	for _, p := range doc.Ports {
		add(change.NewSet(wire.FamilyNetwork, p.NetworkId))
	}
	for _, g := range doc.Gateways {
		if g.QosPolicyId != "" {
			add(change.NewSet(wire.FamilyQoS, g.QosPolicyId))
		}
	}
	return out
}

func body(r *model.Router) *wire.Router {
	doc := &wire.Router{Id: r.ID, AdminStateUp: r.AdminStateUp, Distributed: r.Distributed, Ha: r.HA, VrId: int32(r.VRID), //nolint:gosec // at most 254
		EnableNdpProxy: r.EnableNDPProxy, DefaultRouteBfd: r.EnableDefaultRouteBFD, DefaultRouteEcmp: r.EnableDefaultRouteECMP}
	for i, g := range r.ExternalGateways {
		gateway := &wire.RouterGateway{PortId: r.GatewayPorts[i], EnableSnat: g.EnableSNAT}
		if g.QoSPolicyID != nil {
			gateway.QosPolicyId = *g.QoSPolicyID
		}
		doc.Gateways = append(doc.Gateways, gateway)
	}
	for _, route := range r.Routes {
		doc.Routes = append(doc.Routes, &wire.HostRoute{Destination: route.Destination, Nexthop: route.Nexthop})
	}
	return doc
}

func port(p *model.Port) *wire.RouterPort {
	doc := &wire.RouterPort{Id: p.ID, DeviceOwner: p.DeviceOwner, NetworkId: p.NetworkID, MacAddress: p.MACAddress}
	for _, f := range p.FixedIPs {
		doc.FixedIps = append(doc.FixedIps, &wire.FixedIP{SubnetId: f.SubnetID, IpAddress: f.IPAddress})
	}
	return doc
}

var _ document.Kind = Kind{}
