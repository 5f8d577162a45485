//go:build conformance

package conformance

import (
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/apiversions"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/agents"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/dns"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/addressscopes"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/networkipavailabilities"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/portstrustedvif"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/provider"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/quotas"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/rbacpolicies"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/addressgroups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/segments"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/subnetpools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/trunk_details"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/trunks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/vlantransparent"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
)

// versions asks for what there is at the API's root, which is above the endpoint of resources.
func (g gopher) versions() {
	root := *g.c
	root.ResourceBase = ""
	v := one(g, apiversions.ListVersions(&root), apiversions.ExtractAPIVersions)
	if v.ID != "v2.0" || v.Status != "CURRENT" {
		g.t.Errorf("%+v", v)
	}
	names := []string{}
	for _, r := range all(g, apiversions.ListVersionResources(&root, "v2.0"), apiversions.ExtractVersionResources) {
		names = append(names, r.Collection)
	}
	for _, want := range []string{"networks", "subnets", "ports", "subnetpools"} {
		if !slices.Contains(names, want) {
			g.t.Errorf("%s is not in %v", want, names)
		}
	}
}

func (g gopher) agents() {
	alive := true
	list := all(g, agents.List(g.c, agents.ListOpts{Host: "h1", Alive: &alive, SortKey: "agent_type", SortDir: "asc"}), agents.ExtractAgents)
	types := []string{}
	for _, a := range list {
		types = append(types, a.AgentType)
	}
	if strings.Join(types, ", ") != "DHCP agent, L3 agent, Metadata agent, Open vSwitch agent" {
		g.t.Fatalf("%v", types)
	}
	is(g, list[3].Configurations["tunneling_ip"], any("192.0.2.1"))
	dhcp := list[0]
	text, off, on := "watched", false, true
	a := made(agents.Update(g.ctx, g.c, dhcp.ID, agents.UpdateOpts{Description: &text, AdminStateUp: &off}).Extract())(g)
	if a.Description != text || a.AdminStateUp {
		g.t.Errorf("%+v", a)
	}
	made(agents.Update(g.ctx, g.c, dhcp.ID, agents.UpdateOpts{AdminStateUp: &on}).Extract())(g)
	// Without a subnet nobody places them but this test.
	n := made(networks.Create(g.ctx, g.c, networks.CreateOpts{Name: "served"}).Extract())(g).ID
	other := made(networks.Create(g.ctx, g.c, networks.CreateOpts{Name: "other"}).Extract())(g).ID
	serves := func(id string) bool {
		return slices.ContainsFunc(made(agents.ListDHCPNetworks(g.ctx, g.c, dhcp.ID).Extract())(g), func(n networks.Network) bool { return n.ID == id })
	}
	for _, id := range []string{n, other} {
		must(g.t, agents.ScheduleDHCPNetwork(g.ctx, g.c, dhcp.ID, agents.ScheduleDHCPNetworkOpts{NetworkID: id}).ExtractErr())
		is(g, serves(id), true)
	}
	must(g.t, agents.RemoveDHCPNetwork(g.ctx, g.c, dhcp.ID, n).ExtractErr())
	is(g, serves(n), false)
	is(g, serves(other), true)
	metadata := one(g, agents.List(g.c, agents.ListOpts{Host: "h2", AgentType: "Metadata agent"}), agents.ExtractAgents)
	must(g.t, agents.Delete(g.ctx, g.c, metadata.ID).ExtractErr())
	if _, err := agents.Get(g.ctx, g.c, metadata.ID).Extract(); !gophercloud.ResponseCodeIs(err, 404) {
		g.t.Errorf("%v", err)
	}
	g.drop(n, other)
}

func (g gopher) tags() {
	n := made(networks.Create(g.ctx, g.c, networks.CreateOpts{Name: "tagged"}).Extract())(g)
	is(g, len(made(attributestags.ReplaceAll(g.ctx, g.c, "networks", n.ID, attributestags.ReplaceAllOpts{Tags: []string{"a", "b"}}).Extract())(g)), 2)
	must(g.t, attributestags.Add(g.ctx, g.c, "networks", n.ID, "c").ExtractErr())
	must(g.t, attributestags.Delete(g.ctx, g.c, "networks", n.ID, "a").ExtractErr())
	is(g, made(attributestags.Confirm(g.ctx, g.c, "networks", n.ID, "c").Extract())(g), true)
	is(g, made(attributestags.Confirm(g.ctx, g.c, "networks", n.ID, "a").Extract())(g), false)
	list := made(attributestags.List(g.ctx, g.c, "networks", n.ID).Extract())(g)
	slices.Sort(list)
	is(g, strings.Join(list, ","), "b,c")
	is(g, one(g, networks.List(g.c, networks.ListOpts{Tags: "b,c"}), networks.ExtractNetworks).ID, n.ID)
	must(g.t, attributestags.DeleteAll(g.ctx, g.c, "networks", n.ID).ExtractErr())
	is(g, len(made(attributestags.List(g.ctx, g.c, "networks", n.ID).Extract())(g)), 0)
	g.drop(n.ID)
}

func (g gopher) pools() {
	s := made(addressscopes.Create(g.ctx, g.c, addressscopes.CreateOpts{Name: "s", IPVersion: 4}).Extract())(g)
	name, shared := "s2", true
	s = made(addressscopes.Update(g.ctx, g.c, s.ID, addressscopes.UpdateOpts{Name: &name, Shared: &shared}).Extract())(g)
	is(g, s.Shared, true)
	is(g, one(g, addressscopes.List(g.c, addressscopes.ListOpts{Name: "s2", IPVersion: 4}), addressscopes.ExtractAddressScopes).ID, s.ID)
	is(g, made(addressscopes.Get(g.ctx, g.c, s.ID).Extract())(g).Name, "s2")
	p := made(subnetpools.Create(g.ctx, g.c, subnetpools.CreateOpts{Name: "p", Prefixes: []string{"10.64.0.0/16"}, DefaultPrefixLen: 24, MinPrefixLen: 16, MaxPrefixLen: 28,
		AddressScopeID: s.ID, Description: "d", DefaultQuota: 1024}).Extract())(g)
	if p.DefaultPrefixLen != 24 || p.AddressScopeID != s.ID || p.DefaultQuota != 1024 || p.IPversion != 4 {
		g.t.Errorf("%+v", p)
	}
	list := made(subnetpools.AddPrefixes(g.ctx, g.c, p.ID, subnetpools.PrefixesOpsOpts{Prefixes: []string{"10.66.0.0/16"}}).Extract())(g)
	is(g, strings.Join(list, ","), "10.64.0.0/16,10.66.0.0/16")
	list = made(subnetpools.RemovePrefixes(g.ctx, g.c, p.ID, subnetpools.PrefixesOpsOpts{Prefixes: []string{"10.64.0.0/16"}}).Extract())(g)
	is(g, strings.Join(list, ","), "10.66.0.0/16")
	desc := "changed"
	p = made(subnetpools.Update(g.ctx, g.c, p.ID, subnetpools.UpdateOpts{Name: "p2", Description: &desc, DefaultPrefixLen: 26}).Extract())(g)
	is(g, p.DefaultPrefixLen, 26)
	is(g, made(subnetpools.Get(g.ctx, g.c, p.ID).Extract())(g).Description, desc)
	is(g, one(g, subnetpools.List(g.c, subnetpools.ListOpts{AddressScopeID: s.ID}), subnetpools.ExtractSubnetPools).ID, p.ID)
	if err := addressscopes.Delete(g.ctx, g.c, s.ID).ExtractErr(); !gophercloud.ResponseCodeIs(err, 409) {
		g.t.Errorf("%v", err)
	}
	must(g.t, subnetpools.Delete(g.ctx, g.c, p.ID).ExtractErr())
	must(g.t, addressscopes.Delete(g.ctx, g.c, s.ID).ExtractErr())
}

func (g gopher) quotas(project string) {
	usual := made(quotas.Get(g.ctx, g.c, project).Extract())(g)
	is(g, usual.Network, 100)
	is(g, usual.Router, 10)
	five, open := 5, -1
	q := made(quotas.Update(g.ctx, g.c, project, quotas.UpdateOpts{Router: &five, Trunk: &open, RBACPolicy: &five, SubnetPool: &five}).Extract())(g)
	if q.Router != 5 || q.Trunk != -1 || q.RBACPolicy != 5 || q.SubnetPool != 5 || q.Network != 100 {
		g.t.Errorf("%+v", q)
	}
	d := made(quotas.GetDetail(g.ctx, g.c, project).Extract())(g)
	if d.Router.Limit != 5 || d.Router.Used != 0 || d.Network.Limit != 100 || d.Trunk.Limit != -1 {
		g.t.Errorf("%+v", d)
	}
	must(g.t, quotas.Delete(g.ctx, g.c, project).ExtractErr())
	is(g, made(quotas.Get(g.ctx, g.c, project).Extract())(g).Router, 10)
}

func (g gopher) sharing(project string) {
	n := made(networks.Create(g.ctx, g.c, networks.CreateOpts{Name: "lent"}).Extract())(g)
	r := made(rbacpolicies.Create(g.ctx, g.c, rbacpolicies.CreateOpts{Action: rbacpolicies.ActionAccessShared, ObjectType: "network", ObjectID: n.ID, TargetTenant: project}).Extract())(g)
	is(g, r.TargetTenant, project)
	is(g, one(g, rbacpolicies.List(g.c, rbacpolicies.ListOpts{ObjectID: n.ID, Action: rbacpolicies.ActionAccessShared}), rbacpolicies.ExtractRBACPolicies).ID, r.ID)
	is(g, made(rbacpolicies.Update(g.ctx, g.c, r.ID, rbacpolicies.UpdateOpts{TargetTenant: "*"}).Extract())(g).TargetTenant, "*")
	is(g, made(rbacpolicies.Get(g.ctx, g.c, r.ID).Extract())(g).ObjectID, n.ID)
	is(g, made(networks.Get(g.ctx, g.c, n.ID).Extract())(g).Shared, true)
	must(g.t, rbacpolicies.Delete(g.ctx, g.c, r.ID).ExtractErr())
	is(g, made(networks.Get(g.ctx, g.c, n.ID).Extract())(g).Shared, false)
	g.drop(n.ID)
}

func (g gopher) addresses() {
	a := made(addressgroups.Create(g.ctx, g.c, addressgroups.CreateOpts{Name: "a", Description: "d", Addresses: []string{"192.0.2.1/32"}}).Extract())(g)
	is(g, a.Addresses[0], "192.0.2.1/32")
	a = made(addressgroups.AddAddresses(g.ctx, g.c, a.ID, addressgroups.UpdateAddressesOpts{Addresses: []string{"198.51.100.0/24"}}).Extract())(g)
	is(g, len(a.Addresses), 2)
	a = made(addressgroups.RemoveAddresses(g.ctx, g.c, a.ID, addressgroups.UpdateAddressesOpts{Addresses: []string{"192.0.2.1/32"}}).Extract())(g)
	is(g, strings.Join(a.Addresses, ","), "198.51.100.0/24")
	name := "b"
	is(g, made(addressgroups.Update(g.ctx, g.c, a.ID, addressgroups.UpdateOpts{Name: &name}).Extract())(g).Name, "b")
	is(g, made(addressgroups.Get(g.ctx, g.c, a.ID).Extract())(g).Description, "d")
	is(g, one(g, addressgroups.List(g.c, addressgroups.ListOpts{Name: "b"}), addressgroups.ExtractGroups).ID, a.ID)
	group := made(groups.Create(g.ctx, g.c, groups.CreateOpts{Name: "uses"}).Extract())(g)
	rule := func(port int) rules.CreateOpts {
		return rules.CreateOpts{SecGroupID: group.ID, Direction: rules.DirIngress, EtherType: rules.EtherType4, Protocol: rules.ProtocolTCP, PortRangeMin: port, PortRangeMax: port,
			RemoteAddressGroupID: a.ID}
	}
	two := made(rules.CreateBulk(g.ctx, g.c, []rules.CreateOpts{rule(80), rule(443)}).Extract())(g)
	is(g, len(two), 2)
	is(g, made(rules.Get(g.ctx, g.c, two[0].ID).Extract())(g).RemoteAddressGroupID, a.ID)
	is(g, one(g, rules.List(g.c, rules.ListOpts{SecGroupID: group.ID, PortRangeMin: 443}), rules.ExtractRules).ID, two[1].ID)
	if err := addressgroups.Delete(g.ctx, g.c, a.ID).ExtractErr(); !gophercloud.ResponseCodeIs(err, 409) {
		g.t.Errorf("%v", err)
	}
	is(g, len(made(groups.Get(g.ctx, g.c, group.ID).Extract())(g).Rules), 4)
	is(g, one(g, groups.List(g.c, groups.ListOpts{Name: "uses"}), groups.ExtractGroups).ID, group.ID)
	must(g.t, groups.Delete(g.ctx, g.c, group.ID).ExtractErr())
	must(g.t, addressgroups.Delete(g.ctx, g.c, a.ID).ExtractErr())
}

type trunkPort struct {
	ports.Port
	trunk_details.TrunkDetailsExt
}

func (g gopher) trunks() {
	n := made(networks.Create(g.ctx, g.c, networks.CreateOpts{Name: "trunked"}).Extract())(g)
	var ids []string
	for range 3 {
		ids = append(ids, made(ports.Create(g.ctx, g.c, ports.CreateOpts{NetworkID: n.ID}).Extract())(g).ID)
	}
	sub := func(id string, vlan int) []trunks.Subport {
		return []trunks.Subport{{PortID: id, SegmentationType: "vlan", SegmentationID: vlan}}
	}
	up := true
	k := made(trunks.Create(g.ctx, g.c, trunks.CreateOpts{PortID: ids[0], Name: "t", Description: "d", AdminStateUp: &up, Subports: sub(ids[1], 10)}).Extract())(g)
	if k.PortID != ids[0] || len(k.Subports) != 1 || k.Status != "DOWN" || !k.AdminStateUp {
		g.t.Errorf("%+v", k)
	}
	k = made(trunks.AddSubports(g.ctx, g.c, k.ID, trunks.AddSubportsOpts{Subports: sub(ids[2], 20)}).Extract())(g)
	is(g, len(k.Subports), 2)
	if _, err := trunks.AddSubports(g.ctx, g.c, k.ID, trunks.AddSubportsOpts{Subports: sub(ids[2], 30)}).Extract(); !gophercloud.ResponseCodeIs(err, 409) {
		g.t.Errorf("%v", err)
	}
	var p trunkPort
	must(g.t, ports.Get(g.ctx, g.c, ids[0]).ExtractInto(&p))
	if p.TrunkID != k.ID || len(p.SubPorts) != 2 || p.SubPorts[0].MACAddress == "" {
		g.t.Errorf("%+v", p.TrunkDetails)
	}
	k = made(trunks.RemoveSubports(g.ctx, g.c, k.ID, trunks.RemoveSubportsOpts{Subports: []trunks.RemoveSubport{{PortID: ids[1]}}}).Extract())(g)
	is(g, len(k.Subports), 1)
	is(g, made(trunks.GetSubports(g.ctx, g.c, k.ID).Extract())(g)[0].SegmentationID, 20)
	name := "t2"
	made(trunks.Update(g.ctx, g.c, k.ID, trunks.UpdateOpts{Name: &name}).Extract())(g)
	is(g, one(g, trunks.List(g.c, trunks.ListOpts{Name: "t2", PortID: ids[0]}), trunks.ExtractTrunks).ID, k.ID)
	is(g, made(trunks.Get(g.ctx, g.c, k.ID).Extract())(g).Name, name)
	for _, id := range []string{ids[0], ids[2]} {
		if err := ports.Delete(g.ctx, g.c, id).ExtractErr(); !gophercloud.ResponseCodeIs(err, 409) {
			g.t.Errorf("a port of a trunk goes: %v", err)
		}
	}
	must(g.t, trunks.Delete(g.ctx, g.c, k.ID).ExtractErr())
	for _, id := range ids {
		must(g.t, ports.Delete(g.ctx, g.c, id).ExtractErr())
	}
	g.drop(n.ID)
}

func (g gopher) segments() {
	n := made(networks.Create(g.ctx, g.c, provider.CreateOptsExt{CreateOptsBuilder: networks.CreateOpts{Name: "wide"},
		Segments: []provider.Segment{{NetworkType: "vlan", PhysicalNetwork: "physnet1", SegmentationID: 300}}}).Extract())(g)
	first := one(g, segments.List(g.c, segments.ListOpts{NetworkID: n.ID}), segments.ExtractSegments)
	is(g, first.SegmentationID, 300)
	s := made(segments.Create(g.ctx, g.c, segments.CreateOpts{Name: "s", Description: "d", NetworkID: n.ID, NetworkType: "vlan", PhysicalNetwork: "public", SegmentationID: 301}).Extract())(g)
	if s.PhysicalNetwork != "public" || s.SegmentationID != 301 || s.NetworkType != "vlan" {
		g.t.Errorf("%+v", s)
	}
	name := "s2"
	is(g, made(segments.Update(g.ctx, g.c, s.ID, segments.UpdateOpts{Name: &name}).Extract())(g).Name, name)
	is(g, made(segments.Get(g.ctx, g.c, s.ID).Extract())(g).Description, "d")
	is(g, len(all(g, segments.List(g.c, segments.ListOpts{NetworkID: n.ID, NetworkType: "vlan"}), segments.ExtractSegments)), 2)
	must(g.t, segments.Delete(g.ctx, g.c, s.ID).ExtractErr())
	g.drop(n.ID)
}

type named struct {
	ports.Port
	dns.PortDNSExt
}

func (g gopher) names() {
	var n struct {
		networks.Network
		dns.NetworkDNSExt
	}
	must(g.t, networks.Create(g.ctx, g.c, dns.NetworkCreateOptsExt{CreateOptsBuilder: networks.CreateOpts{Name: "n"}, DNSDomain: "a.example.org."}).ExtractInto(&n))
	is(g, n.DNSDomain, "a.example.org.")
	domain, host := "b.example.org.", "db"
	must(g.t, networks.Update(g.ctx, g.c, n.ID, dns.NetworkUpdateOptsExt{UpdateOptsBuilder: networks.UpdateOpts{}, DNSDomain: &domain}).ExtractInto(&n))
	is(g, n.DNSDomain, domain)
	var p named
	must(g.t, ports.Create(g.ctx, g.c, dns.PortCreateOptsExt{CreateOptsBuilder: ports.CreateOpts{NetworkID: n.ID}, DNSName: "web"}).ExtractInto(&p))
	is(g, p.DNSName, "web")
	must(g.t, ports.Update(g.ctx, g.c, p.ID, dns.PortUpdateOptsExt{UpdateOptsBuilder: ports.UpdateOpts{}, DNSName: &host}).ExtractInto(&p))
	is(g, p.DNSName, host)
	if _, err := ports.List(g.c, dns.PortListOptsExt{ListOptsBuilder: ports.ListOpts{}, DNSName: host}).AllPages(g.ctx); !gophercloud.ResponseCodeIs(err, 400) {
		g.t.Errorf("dns_name is no filter in Neutron: %v", err)
	}
	must(g.t, ports.Delete(g.ctx, g.c, p.ID).ExtractErr())
	g.drop(n.ID)
}

func (g gopher) availability() {
	n, s := g.network("counted", "10.7.0.0/28", false)
	a := made(networkipavailabilities.Get(g.ctx, g.c, n).Extract())(g)
	is(g, a.NetworkName, "counted")
	is(g, a.TotalIPs, "13")
	is(g, a.SubnetIPAvailabilities[0].SubnetID, s)
	is(g, one(g, networkipavailabilities.List(g.c, networkipavailabilities.ListOpts{NetworkName: "counted", IPVersion: "4"}), networkipavailabilities.ExtractNetworkIPAvailabilities).NetworkID, n)
	g.drop(n)
}

// portsMore is what ports and networks have of cards and switches.
func (g gopher) portsMore() {
	off, on := false, true
	var n struct {
		networks.Network
		vlantransparent.TransparentExt
	}
	must(g.t, networks.Create(g.ctx, g.c, vlantransparent.CreateOptsExt{CreateOptsBuilder: networks.CreateOpts{Name: "opaque"}, VLANTransparent: &off}).ExtractInto(&n))
	is(g, n.VLANTransparent, false)
	is(g, one(g, networks.List(g.c, vlantransparent.ListOptsExt{ListOptsBuilder: networks.ListOpts{Name: "opaque"}, VLANTransparent: &off}), networks.ExtractNetworks).ID, n.ID)
	var p struct {
		ports.Port
		portstrustedvif.PortTrustedVIFExt
	}
	must(g.t, ports.Create(g.ctx, g.c, portstrustedvif.PortCreateOptsExt{CreateOptsBuilder: ports.CreateOpts{NetworkID: n.ID}, PortTrustedVIF: &on}).ExtractInto(&p))
	is(g, *p.PortTrustedVIF, true)
	must(g.t, ports.Update(g.ctx, g.c, p.ID, portstrustedvif.PortUpdateOptsExt{UpdateOptsBuilder: ports.UpdateOpts{}, PortTrustedVIF: &off}).ExtractInto(&p))
	is(g, *p.PortTrustedVIF, false)
	must(g.t, ports.Delete(g.ctx, g.c, p.ID).ExtractErr())
	g.drop(n.ID)
}
