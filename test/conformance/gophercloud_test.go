//go:build conformance

package conformance

import (
	"context"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/external"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/extradhcpopts"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/mtu"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/portsbinding"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/portsecurity"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/provider"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"isospin/isospintest"
	"isospin/test/rig"
)

// TestGophercloud goes through the resources with gophercloud on every database.
func TestGophercloud(t *testing.T) {
	for _, kind := range rig.Kinds() {
		t.Run(kind, func(t *testing.T) {
			s := isospintest.Start(t, isospintest.Options{Auth: "dev", Config: databases.Fresh(t, kind)})
			admin := loggedIn(t, s, "admin", "isospin", "admin")
			g := gopher{t, t.Context(), admin}
			n := g.networks()
			sub := g.subnets(n)
			group := g.groups()
			g.ports(n, sub, group)
			g.pages()
			g.gone(n, sub, group)
			gopher{t, t.Context(), loggedIn(t, s, "demo", "isospin-demo", "demo")}.member()
		})
	}
}

// loggedIn is the client of a user, whose password is that of a cloud in clouds.yaml, in a project.
func loggedIn(t *testing.T, s *isospintest.Server, user, cloud, project string) *gophercloud.ServiceClient {
	t.Helper()
	p, err := openstack.AuthenticatedClient(t.Context(), gophercloud.AuthOptions{IdentityEndpoint: s.URL + "/identity/v3",
		Username: user, Password: s.Password(t, cloud), DomainName: "Default", TenantName: project})
	must(t, err)
	c, err := openstack.NewNetworkV2(p, gophercloud.EndpointOpts{Region: "RegionOne"})
	must(t, err)
	return c
}

// projectOf is the id of the project that a client is logged in to.
func projectOf(t *testing.T, c *gophercloud.ServiceClient) string {
	t.Helper()
	r, ok := c.GetAuthResult().(tokens.CreateResult)
	if !ok {
		t.Fatal("this is no token of the identity API's third version")
	}
	p, err := r.ExtractProject()
	must(t, err)
	return p.ID
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type gopher struct {
	t   *testing.T
	ctx context.Context //nolint:containedctx // of one test
	c   *gophercloud.ServiceClient
}

type network struct {
	networks.Network
	provider.NetworkProviderExt
	external.NetworkExternalExt
	mtu.NetworkMTUExt
	portsecurity.PortSecurityExt
}

func (g gopher) networks() string {
	up, on := true, true
	var n network
	err := networks.Create(g.ctx, g.c, provider.CreateOptsExt{
		CreateOptsBuilder: mtu.CreateOptsExt{CreateOptsBuilder: external.CreateOptsExt{
			CreateOptsBuilder: portsecurity.NetworkCreateOptsExt{CreateOptsBuilder: networks.CreateOpts{Name: "n", AdminStateUp: &up, Description: "d"}, PortSecurityEnabled: &on},
			External:          &on}, MTU: 1400},
		Segments: []provider.Segment{{NetworkType: "vlan", PhysicalNetwork: "physnet1", SegmentationID: 42}},
	}).ExtractInto(&n)
	must(g.t, err)
	// One segment is shown as provider attributes.
	if n.Name != "n" || n.NetworkType != "vlan" || n.SegmentationID != "42" || n.PhysicalNetwork != "physnet1" || !n.External || n.MTU != 1400 || !n.PortSecurityEnabled || n.RevisionNumber != 1 {
		g.t.Errorf("%+v", n)
	}
	name := "m"
	got, err := networks.Update(g.ctx, g.c, n.ID, networks.UpdateOpts{Name: &name, RevisionNumber: &n.RevisionNumber}).Extract()
	must(g.t, err)
	if got.Name != "m" || got.RevisionNumber != 2 || got.CreatedAt.IsZero() {
		g.t.Errorf("%+v", got)
	}
	_, err = networks.Update(g.ctx, g.c, n.ID, networks.UpdateOpts{Name: &name, RevisionNumber: &n.RevisionNumber}).Extract()
	if !gophercloud.ResponseCodeIs(err, 412) {
		g.t.Errorf("%v", err)
	}
	page, err := networks.List(g.c, networks.ListOpts{Name: "m"}).AllPages(g.ctx)
	must(g.t, err)
	all, err := networks.ExtractNetworks(page)
	must(g.t, err)
	if len(all) != 1 || all[0].ID != n.ID {
		g.t.Errorf("%+v", all)
	}
	return n.ID
}

func (g gopher) subnets(n string) string {
	s, err := subnets.Create(g.ctx, g.c, subnets.CreateOpts{NetworkID: n, IPVersion: gophercloud.IPv4, CIDR: "10.0.0.0/24", Name: "s",
		DNSNameservers: []string{"9.9.9.9"}, HostRoutes: []subnets.HostRoute{{DestinationCIDR: "192.0.2.0/24", NextHop: "10.0.0.9"}},
		AllocationPools: []subnets.AllocationPool{{Start: "10.0.0.10", End: "10.0.0.20"}}}).Extract()
	must(g.t, err)
	if s.GatewayIP != "10.0.0.1" || s.CIDR != "10.0.0.0/24" || len(s.HostRoutes) != 1 || s.AllocationPools[0].End != "10.0.0.20" {
		g.t.Errorf("%+v", s)
	}
	none := ""
	_, err = subnets.Update(g.ctx, g.c, s.ID, subnets.UpdateOpts{GatewayIP: &none}).Extract()
	must(g.t, err)
	s, err = subnets.Get(g.ctx, g.c, s.ID).Extract()
	must(g.t, err)
	if s.GatewayIP != "" {
		g.t.Errorf("%+v", s)
	}
	got, err := networks.Get(g.ctx, g.c, n).Extract()
	must(g.t, err)
	if len(got.Subnets) != 1 || got.Subnets[0] != s.ID {
		g.t.Errorf("%+v", got)
	}
	return s.ID
}

func (g gopher) groups() string {
	group, err := groups.Create(g.ctx, g.c, groups.CreateOpts{Name: "g", Description: "d"}).Extract()
	must(g.t, err)
	if len(group.Rules) != 2 {
		g.t.Errorf("%+v", group)
	}
	rule, err := rules.Create(g.ctx, g.c, rules.CreateOpts{SecGroupID: group.ID, Direction: rules.DirIngress, EtherType: rules.EtherType4, Protocol: rules.ProtocolTCP,
		PortRangeMin: 22, PortRangeMax: 23, RemoteIPPrefix: "192.0.2.0/24"}).Extract()
	must(g.t, err)
	if rule.PortRangeMax != 23 || rule.RemoteIPPrefix != "192.0.2.0/24" {
		g.t.Errorf("%+v", rule)
	}
	_, err = groups.Update(g.ctx, g.c, group.ID, groups.UpdateOpts{Name: "h"}).Extract()
	must(g.t, err)
	must(g.t, rules.Delete(g.ctx, g.c, rule.ID).ExtractErr())
	return group.ID
}

type port struct {
	ports.Port
	portsbinding.PortsBindingExt
	portsecurity.PortSecurityExt
	extradhcpopts.ExtraDHCPOptsExt
}

func (g gopher) ports(n, sub, group string) {
	var p port
	err := ports.Create(g.ctx, g.c, extradhcpopts.CreateOptsExt{
		CreateOptsBuilder: portsbinding.CreateOptsExt{
			CreateOptsBuilder: ports.CreateOpts{NetworkID: n, Name: "p", FixedIPs: []ports.IP{{SubnetID: sub, IPAddress: "10.0.0.15"}}, SecurityGroups: &[]string{group},
				AllowedAddressPairs: []ports.AddressPair{{IPAddress: "10.0.0.200"}}, DeviceOwner: "compute:nova"},
			HostID: "h1", VNICType: "normal"},
		ExtraDHCPOpts: []extradhcpopts.CreateExtraDHCPOpt{{OptName: "mtu", OptValue: "1400", IPVersion: gophercloud.IPv4}},
	}).ExtractInto(&p)
	must(g.t, err)
	if p.HostID != "h1" || p.VIFType != "binding_failed" || p.FixedIPs[0].IPAddress != "10.0.0.15" || len(p.ExtraDHCPOpts) != 1 || !p.PortSecurityEnabled ||
		p.AllowedAddressPairs[0].MACAddress != p.MACAddress || p.SecurityGroups[0] != group || p.Status != "DOWN" {
		g.t.Errorf("%+v", p)
	}
	host, off := "", false
	err = ports.Update(g.ctx, g.c, p.ID, portsecurity.PortUpdateOptsExt{UpdateOptsBuilder: portsbinding.UpdateOptsExt{
		UpdateOptsBuilder: ports.UpdateOpts{SecurityGroups: &[]string{}, AllowedAddressPairs: &[]ports.AddressPair{}}, HostID: &host}, PortSecurityEnabled: &off}).ExtractInto(&p)
	must(g.t, err)
	if p.VIFType != "unbound" || p.PortSecurityEnabled || len(p.SecurityGroups) != 0 {
		g.t.Errorf("%+v", p)
	}
	page, err := ports.List(g.c, ports.ListOpts{FixedIPs: []ports.FixedIPOpts{{IPAddress: "10.0.0.15"}}}).AllPages(g.ctx)
	must(g.t, err)
	all, err := ports.ExtractPorts(page)
	must(g.t, err)
	if len(all) != 1 || all[0].ID != p.ID {
		g.t.Errorf("%+v", all)
	}
	if err := networks.Delete(g.ctx, g.c, n).ExtractErr(); !gophercloud.ResponseCodeIs(err, 409) {
		g.t.Errorf("%v", err)
	}
	must(g.t, ports.Delete(g.ctx, g.c, p.ID).ExtractErr())
	if _, err := ports.Get(g.ctx, g.c, p.ID).Extract(); !gophercloud.ResponseCodeIs(err, 404) {
		g.t.Errorf("%v", err)
	}
}

// pages walks a list page by page by the links, and sorted.
func (g gopher) pages() {
	for range 7 {
		_, err := networks.Create(g.ctx, g.c, networks.CreateOpts{Name: "page"}).Extract()
		must(g.t, err)
	}
	page, err := networks.List(g.c, networks.ListOpts{Name: "page", Limit: 3, SortKey: "id", SortDir: "asc"}).AllPages(g.ctx)
	must(g.t, err)
	all, err := networks.ExtractNetworks(page)
	must(g.t, err)
	if len(all) != 7 {
		g.t.Errorf("%d networks", len(all))
	}
	for i := range all {
		if i > 0 && all[i].ID <= all[i-1].ID {
			g.t.Error("not in order")
		}
		must(g.t, networks.Delete(g.ctx, g.c, all[i].ID).ExtractErr())
	}
}

func (g gopher) gone(n, sub, group string) {
	must(g.t, subnets.Delete(g.ctx, g.c, sub).ExtractErr())
	must(g.t, networks.Delete(g.ctx, g.c, n).ExtractErr())
	must(g.t, groups.Delete(g.ctx, g.c, group).ExtractErr())
}

// member is what a user without further rights can do.
func (g gopher) member() {
	n, err := networks.Create(g.ctx, g.c, networks.CreateOpts{Name: "mine"}).Extract()
	must(g.t, err)
	shared := true
	if _, err := networks.Create(g.ctx, g.c, networks.CreateOpts{Shared: &shared}).Extract(); !gophercloud.ResponseCodeIs(err, 403) {
		g.t.Errorf("%v", err)
	}
	p, err := ports.Create(g.ctx, g.c, ports.CreateOpts{NetworkID: n.ID}).Extract()
	must(g.t, err)
	if len(p.SecurityGroups) != 1 {
		g.t.Errorf("%+v", p)
	}
	must(g.t, ports.Delete(g.ctx, g.c, p.ID).ExtractErr())
	must(g.t, networks.Delete(g.ctx, g.c, n.ID).ExtractErr())
}
