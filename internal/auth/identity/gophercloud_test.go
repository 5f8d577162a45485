package identity

import (
	"context"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"
)

func (w *world) gopher(opts gophercloud.AuthOptions) *gophercloud.ProviderClient {
	w.t.Helper()
	opts.IdentityEndpoint = w.url + "/identity/v3"
	c, err := openstack.AuthenticatedClient(w.t.Context(), opts)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// TestGophercloud logs in as Terraform and Kubernetes do: names from the environment, then discovery.
func TestGophercloud(t *testing.T) {
	w := newWorld(t)
	pw := w.password("isospin")
	t.Setenv("OS_AUTH_URL", w.url+"/identity/v3")
	t.Setenv("OS_USERNAME", "admin")
	t.Setenv("OS_PASSWORD", pw)
	t.Setenv("OS_PROJECT_NAME", "admin")
	t.Setenv("OS_DOMAIN_NAME", "Default")
	opts, err := openstack.AuthOptionsFromEnv()
	if err != nil {
		t.Fatal(err)
	}
	c := w.gopher(opts)
	where := gophercloud.EndpointOpts{Region: "RegionOne"}
	net, err := openstack.NewNetworkV2(c, where)
	if err != nil || net.ServiceURL("networks") != w.url+"/v2.0/networks" {
		t.Fatalf("network endpoint %v, %v", net, err)
	}
	for name, o := range map[string]gophercloud.AuthOptions{
		"system":  {Username: "admin", Password: pw, DomainID: "default", Scope: &gophercloud.AuthScope{System: true}},
		"project": {Username: "admin", Password: pw, DomainName: "Default", Scope: &gophercloud.AuthScope{ProjectName: "admin", DomainName: "Default"}},
		"token":   {TokenID: c.TokenID, Scope: &gophercloud.AuthScope{ProjectName: "admin", DomainID: "default"}},
	} {
		if w.gopher(o).TokenID == "" {
			t.Errorf("%s: no token", name)
		}
	}
	keystone, err := openstack.NewIdentityV3(c, where)
	if err != nil {
		t.Fatal(err)
	}
	w.gopherAdministers(t.Context(), keystone)
}

// gopherAdministers makes a project with a user in it, all through the client's typed calls.
func (w *world) gopherAdministers(ctx context.Context, keystone *gophercloud.ServiceClient) {
	t := w.t
	t.Helper()
	p, err := projects.Create(ctx, keystone, projects.CreateOpts{Name: "gophers", DomainID: "default", Tags: []string{"a"}}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	u, err := users.Create(ctx, keystone, users.CreateOpts{Name: "gopher", DomainID: "default", Password: "a gopher's", DefaultProjectID: p.ID}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	page, err := roles.List(keystone, roles.ListOpts{Name: "member"}).AllPages(ctx)
	if err != nil {
		t.Fatal(err)
	}
	rs, err := roles.ExtractRoles(page)
	if err != nil || len(rs) != 1 {
		t.Fatalf("roles %v, %v", rs, err)
	}
	if err := roles.Assign(ctx, keystone, rs[0].ID, roles.AssignOpts{UserID: u.ID, ProjectID: p.ID}).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	gopher := w.gopher(gophercloud.AuthOptions{UserID: u.ID, Password: "a gopher's"})
	own, err := openstack.NewIdentityV3(gopher, gophercloud.EndpointOpts{Region: "RegionOne"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := tokens.Get(ctx, own, gopher.TokenID).ExtractProject()
	if err != nil || got.Name != "gophers" {
		t.Errorf("the token's project: %+v, %v", got, err)
	}
	_, err = users.Create(ctx, own, users.CreateOpts{Name: "more"}).Extract()
	if !gophercloud.ResponseCodeIs(err, 403) || !strings.Contains(err.Error(), "not authorized") {
		t.Errorf("a member makes users: %v", err)
	}
	if err := projects.Delete(ctx, keystone, p.ID).ExtractErr(); err != nil {
		t.Error(err)
	}
}
