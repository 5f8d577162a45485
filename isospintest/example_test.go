package isospintest_test

import (
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"

	"isospin/isospintest"
)

// TestAClient is how a client's own test looks: a server, a client that logs in, and what the client does.
func TestAClient(t *testing.T) {
	s := isospintest.Start(t, isospintest.Options{Auth: "dev"})
	provider, err := openstack.AuthenticatedClient(t.Context(), gophercloud.AuthOptions{
		IdentityEndpoint: s.URL + "/identity/v3", Username: "demo", Password: s.Password(t, "isospin-demo"), DomainName: "Default",
		TenantName: "demo",
	})
	if err != nil {
		t.Fatal(err)
	}
	client, err := openstack.NewNetworkV2(provider, gophercloud.EndpointOpts{Region: "RegionOne"})
	if err != nil {
		t.Fatal(err)
	}
	n, err := networks.Create(t.Context(), client, networks.CreateOpts{Name: "mine"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if n.Name != "mine" || n.Status != "ACTIVE" {
		t.Errorf("the network is %+v", n)
	}
}

// TestWithoutAuthentication: the headers say who calls.
func TestWithoutAuthentication(t *testing.T) {
	a, b := isospintest.Start(t, isospintest.Options{}), isospintest.Start(t, isospintest.Options{})
	for _, s := range []*isospintest.Server{a, b} {
		client := &gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{}, Endpoint: s.Endpoint(), ResourceBase: s.Endpoint() + "v2.0/",
			MoreHeaders: map[string]string{"X-Project-Id": "p", "X-Roles": "member,reader"}}
		if _, err := networks.Create(t.Context(), client, networks.CreateOpts{Name: "mine"}).Extract(); err != nil {
			t.Fatal(err)
		}
		page, err := networks.List(client, nil).AllPages(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all, err := networks.ExtractNetworks(page)
		if err != nil || len(all) != 1 {
			t.Errorf("%v, %v: each server has its own database", all, err)
		}
	}
}
