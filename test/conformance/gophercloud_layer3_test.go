//go:build conformance

package conformance

import (
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/agents"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/dns"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/external"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/extraroutes"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/portforwarding"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
)

// network makes a network and a subnet; they go when the part of the test ends.
func (g gopher) network(name, cidr string, outside bool) (network, subnet string) {
	g.t.Helper()
	n, err := networks.Create(g.ctx, g.c, external.CreateOptsExt{CreateOptsBuilder: networks.CreateOpts{Name: name}, External: &outside}).Extract()
	must(g.t, err)
	s, err := subnets.Create(g.ctx, g.c, subnets.CreateOpts{NetworkID: n.ID, IPVersion: gophercloud.IPv4, CIDR: cidr, Name: name}).Extract()
	must(g.t, err)
	return n.ID, s.ID
}

// drop deletes networks with what is in them by then: nothing but what servers of DHCP have.
func (g gopher) drop(ids ...string) {
	g.t.Helper()
	for _, id := range ids {
		must(g.t, networks.Delete(g.ctx, g.c, id).ExtractErr())
	}
}

func (g gopher) routers() {
	outer, outerSub := g.network("outer", "198.51.100.0/24", true)
	inner, innerSub := g.network("inner", "10.1.0.0/24", false)
	second, secondSub := g.network("second", "10.2.0.0/24", false)
	off, on := false, true
	r := made(routers.Create(g.ctx, g.c, routers.CreateOpts{Name: "r", Description: "d", AdminStateUp: &on, Distributed: &off, AvailabilityZoneHints: []string{"nova"},
		GatewayInfo: &routers.GatewayInfo{NetworkID: outer, EnableSNAT: &off, ExternalFixedIPs: []routers.ExternalFixedIP{{SubnetID: outerSub, IPAddress: "198.51.100.9"}}}}).Extract())(g)
	if r.Status != "ACTIVE" || r.GatewayInfo.ExternalFixedIPs[0].IPAddress != "198.51.100.9" || *r.GatewayInfo.EnableSNAT || r.AvailabilityZoneHints[0] != "nova" || r.Distributed {
		g.t.Errorf("%+v", r)
	}
	i := made(routers.AddInterface(g.ctx, g.c, r.ID, routers.AddInterfaceOpts{SubnetID: innerSub}).Extract())(g)
	is(g, i.SubnetID, innerSub)
	is(g, i.ID, r.ID)
	p := made(ports.Get(g.ctx, g.c, i.PortID).Extract())(g)
	is(g, p.DeviceOwner, "network:router_interface")
	is(g, p.FixedIPs[0].IPAddress, "10.1.0.1")
	leg := made(ports.Create(g.ctx, g.c, ports.CreateOpts{NetworkID: second, Name: "leg"}).Extract())(g)
	is(g, made(routers.AddInterface(g.ctx, g.c, r.ID, routers.AddInterfaceOpts{PortID: leg.ID}).Extract())(g).SubnetID, secondSub)
	if err := ports.Delete(g.ctx, g.c, leg.ID).ExtractErr(); !gophercloud.ResponseCodeIs(err, 409) {
		g.t.Errorf("%v", err)
	}
	got := one(g, routers.List(g.c, routers.ListOpts{Name: "r", ProjectID: r.ProjectID}), routers.ExtractRouters)
	is(g, got.ID, r.ID)
	g.routes(r.ID)
	g.placed(r.ID)
	is(g, made(routers.RemoveInterface(g.ctx, g.c, r.ID, routers.RemoveInterfaceOpts{SubnetID: innerSub}).Extract())(g).PortID, i.PortID)
	made(routers.RemoveInterface(g.ctx, g.c, r.ID, routers.RemoveInterfaceOpts{PortID: leg.ID}).Extract())(g)
	must(g.t, routers.Delete(g.ctx, g.c, r.ID).ExtractErr())
	if _, err := routers.Get(g.ctx, g.c, r.ID).Extract(); !gophercloud.ResponseCodeIs(err, 404) {
		g.t.Errorf("%v", err)
	}
	g.drop(outer, inner, second)
}

// routes sets a router's routes whole and one by one.
func (g gopher) routes(id string) {
	route := func(to, by string) routers.Route { return routers.Route{DestinationCIDR: to, NextHop: by} }
	desc, list := "changed", []routers.Route{route("192.0.2.0/25", "10.1.0.8")}
	r := made(routers.Update(g.ctx, g.c, id, routers.UpdateOpts{Name: "r2", Description: &desc, Routes: &list}).Extract())(g)
	if r.Name != "r2" || r.Description != desc || len(r.Routes) != 1 || r.Routes[0] != list[0] {
		g.t.Errorf("%+v", r)
	}
	more := []routers.Route{route("192.0.2.128/25", "10.1.0.9"), route("203.0.113.0/25", "10.2.0.9")}
	r = made(extraroutes.Add(g.ctx, g.c, id, extraroutes.Opts{Routes: &more}).Extract())(g)
	is(g, len(r.Routes), 3)
	r = made(extraroutes.Remove(g.ctx, g.c, id, extraroutes.Opts{Routes: &list}).Extract())(g)
	is(g, len(r.Routes), 2)
	if _, err := routers.RemoveInterface(g.ctx, g.c, id, routers.RemoveInterfaceOpts{SubnetID: g.subnet("second")}).Extract(); !gophercloud.ResponseCodeIs(err, 409) {
		g.t.Errorf("a subnet that routes lead through goes: %v", err)
	}
	r = made(routers.Get(g.ctx, g.c, id).Extract())(g)
	none := []routers.Route{}
	if _, err := routers.Update(g.ctx, g.c, id, routers.UpdateOpts{Routes: &none, RevisionNumber: new(int)}).Extract(); !gophercloud.ResponseCodeIs(err, 412) {
		g.t.Errorf("%v", err)
	}
	made(routers.Update(g.ctx, g.c, id, routers.UpdateOpts{Routes: &none, RevisionNumber: &r.RevisionNumber}).Extract())(g)
	is(g, len(made(routers.Get(g.ctx, g.c, id).Extract())(g).Routes), 0)
}

func (g gopher) subnet(name string) string {
	g.t.Helper()
	return one(g, subnets.List(g.c, subnets.ListOpts{Name: name}), subnets.ExtractSubnets).ID
}

// placed moves a router by hand from one host to another.
func (g gopher) placed(id string) {
	at := one(g, routers.ListL3Agents(g.c, id), routers.ExtractL3Agents)
	is(g, at.AgentType, "L3 agent")
	must(g.t, agents.RemoveL3Router(g.ctx, g.c, at.ID, id).ExtractErr())
	is(g, len(all(g, routers.ListL3Agents(g.c, id), routers.ExtractL3Agents)), 0)
	for _, a := range all(g, agents.List(g.c, agents.ListOpts{AgentType: "L3 agent"}), agents.ExtractAgents) {
		if a.ID == at.ID {
			continue
		}
		must(g.t, agents.ScheduleL3Router(g.ctx, g.c, a.ID, agents.ScheduleL3RouterOpts{RouterID: id}).ExtractErr())
		is(g, one(g, routers.ListL3Agents(g.c, id), routers.ExtractL3Agents).ID, a.ID)
		found := false
		for _, r := range made(agents.ListL3Routers(g.ctx, g.c, a.ID).Extract())(g) {
			found = found || r.ID == id
		}
		is(g, found, true)
	}
}

// gateways gives a router several external networks.
func (g gopher) gateways() {
	first, _ := g.network("first", "198.51.100.0/25", true)
	second, _ := g.network("second", "198.51.100.128/25", true)
	r := made(routers.Create(g.ctx, g.c, routers.CreateOpts{Name: "many", GatewayInfo: &routers.GatewayInfo{NetworkID: first}}).Extract())(g)
	list := func(networks ...string) (all []routers.GatewayInfo) {
		for _, n := range networks {
			all = append(all, routers.GatewayInfo{NetworkID: n})
		}
		return all
	}
	shown := func(want ...string) {
		g.t.Helper()
		var body struct {
			Router struct {
				Gateways []routers.GatewayInfo `json:"external_gateways"`
			}
		}
		must(g.t, routers.Get(g.ctx, g.c, r.ID).ExtractInto(&body))
		if len(body.Router.Gateways) != len(want) {
			g.t.Fatalf("%+v", body)
		}
		for i, n := range want {
			is(g, body.Router.Gateways[i].NetworkID, n)
		}
	}
	shown(first)
	made(routers.AddExternalGateways(g.ctx, g.c, r.ID, routers.AddExternalGatewaysOpts{ExternalGateways: list(second)}).Extract())(g)
	shown(first, second)
	made(routers.UpdateExternalGateways(g.ctx, g.c, r.ID, routers.UpdateExternalGatewaysOpts{ExternalGateways: list(first, second)}).Extract())(g)
	shown(first, second)
	made(routers.RemoveExternalGateways(g.ctx, g.c, r.ID, routers.RemoveExternalGatewaysOpts{ExternalGateways: list(second)}).Extract())(g)
	shown(first)
	must(g.t, routers.Delete(g.ctx, g.c, r.ID).ExtractErr())
	g.drop(first, second)
}

type floatingIP struct {
	floatingips.FloatingIP
	dns.FloatingIPDNSExt
}

func (g gopher) floating() {
	outer, outerSub := g.network("outer", "198.51.100.0/24", true)
	inner, innerSub := g.network("inner", "10.1.0.0/24", false)
	r := made(routers.Create(g.ctx, g.c, routers.CreateOpts{Name: "r", GatewayInfo: &routers.GatewayInfo{NetworkID: outer}}).Extract())(g)
	made(routers.AddInterface(g.ctx, g.c, r.ID, routers.AddInterfaceOpts{SubnetID: innerSub}).Extract())(g)
	p := made(ports.Create(g.ctx, g.c, ports.CreateOpts{NetworkID: inner, FixedIPs: []ports.IP{{SubnetID: innerSub, IPAddress: "10.1.0.50"}, {SubnetID: innerSub, IPAddress: "10.1.0.51"}}}).Extract())(g)
	var f floatingIP
	must(g.t, floatingips.Create(g.ctx, g.c, dns.FloatingIPCreateOptsExt{DNSName: "www", DNSDomain: "example.org.", CreateOptsBuilder: floatingips.CreateOpts{
		FloatingNetworkID: outer, SubnetID: outerSub, FloatingIP: "198.51.100.77", PortID: p.ID, FixedIP: "10.1.0.51", Description: "d"}}).ExtractInto(&f))
	if f.FloatingIP.FloatingIP != "198.51.100.77" || f.FixedIP != "10.1.0.51" || f.RouterID != r.ID || f.PortID != p.ID || f.DNSName != "www" || f.DNSDomain != "example.org." {
		g.t.Errorf("%+v", f)
	}
	is(g, one(g, floatingips.List(g.c, floatingips.ListOpts{PortID: p.ID, RouterID: r.ID}), floatingips.ExtractFloatingIPs).ID, f.ID)
	none := ""
	free := made(floatingips.Update(g.ctx, g.c, f.ID, floatingips.UpdateOpts{PortID: &none}).Extract())(g)
	if free.PortID != "" || free.FixedIP != "" || free.RouterID != "" {
		g.t.Errorf("%+v", free)
	}
	if _, err := floatingips.Update(g.ctx, g.c, f.ID, floatingips.UpdateOpts{PortID: &p.ID, FixedIP: "10.1.0.99"}).Extract(); !gophercloud.ResponseCodeIs(err, 400) {
		g.t.Errorf("%v", err)
	}
	g.forwarded(f.ID, p.ID)
	made(floatingips.Update(g.ctx, g.c, f.ID, floatingips.UpdateOpts{PortID: &p.ID, FixedIP: "10.1.0.50"}).Extract())(g)
	is(g, made(floatingips.Get(g.ctx, g.c, f.ID).Extract())(g).FixedIP, "10.1.0.50")
	if _, err := routers.RemoveInterface(g.ctx, g.c, r.ID, routers.RemoveInterfaceOpts{SubnetID: innerSub}).Extract(); !gophercloud.ResponseCodeIs(err, 409) {
		g.t.Errorf("an interface that floating IPs need goes: %v", err)
	}
	must(g.t, floatingips.Delete(g.ctx, g.c, f.ID).ExtractErr())
	must(g.t, ports.Delete(g.ctx, g.c, p.ID).ExtractErr())
	made(routers.RemoveInterface(g.ctx, g.c, r.ID, routers.RemoveInterfaceOpts{SubnetID: innerSub}).Extract())(g)
	must(g.t, routers.Delete(g.ctx, g.c, r.ID).ExtractErr())
	g.drop(outer, inner)
}

// forwarded gives ports of a floating IP to a port.
func (g gopher) forwarded(fip, port string) {
	f := made(portforwarding.Create(g.ctx, g.c, fip, portforwarding.CreateOpts{Description: "web", InternalPortID: port, InternalIPAddress: "10.1.0.50", InternalPort: 80,
		ExternalPort: 8080, Protocol: "tcp"}).Extract())(g)
	if f.InternalPort != 80 || f.ExternalPort != 8080 || f.Description != "web" || f.InternalIPAddress != "10.1.0.50" {
		g.t.Errorf("%+v", f)
	}
	many := made(portforwarding.Create(g.ctx, g.c, fip, portforwarding.CreateOpts{InternalPortID: port, InternalIPAddress: "10.1.0.50", InternalPortRange: "100:109",
		ExternalPortRange: "200:209", Protocol: "udp"}).Extract())(g)
	is(g, many.ExternalPortRange, "200:209")
	is(g, one(g, portforwarding.List(g.c, portforwarding.ListOpts{Protocol: "tcp"}, fip), portforwarding.ExtractPortForwardings).ID, f.ID)
	safe := "safe"
	got := made(portforwarding.Update(g.ctx, g.c, fip, f.ID, portforwarding.UpdateOpts{Description: &safe, InternalPort: 443, ExternalPort: 8443}).Extract())(g)
	is(g, got.InternalPort, 443)
	is(g, made(portforwarding.Get(g.ctx, g.c, fip, f.ID).Extract())(g).ExternalPort, 8443)
	for _, id := range []string{f.ID, many.ID} {
		must(g.t, portforwarding.Delete(g.ctx, g.c, fip, id).ExtractErr())
	}
}
