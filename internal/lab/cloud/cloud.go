// Package cloud is the lab's client of the Networking API: it makes, binds and moves ports as Nova does.
// The lab calls it; it holds a token and nothing else, and never looks at what is behind the API.
package cloud

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/config"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/agents"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
)

// Access says where the API is and how one is admitted.
type Access struct {
	// URL is the API's root, without /v2.0; "": what the catalogue says. A catalogue of Keystone's may know another
	// Networking API than the one that is meant.
	URL string
	// Clouds is a clouds.yaml and Cloud an entry of it; both empty: the environment's (OS_CLIENT_CONFIG_FILE and OS_CLOUD,
	// or an openrc's variables: OS_AUTH_URL, OS_USERNAME ...).
	Clouds, Cloud string
	// NoAuth sends requests without a token.
	NoAuth bool
}

// Client speaks to one Networking API. It is safe for concurrent use.
type Client struct{ api *gophercloud.ServiceClient }

// New opens a client; with a token unless the access is without.
func New(ctx context.Context, a Access) (*Client, error) {
	root := strings.TrimSuffix(a.URL, "/") + "/"
	if a.NoAuth {
		provider := &gophercloud.ProviderClient{}
		provider.UseTokenLock()
		return &Client{&gophercloud.ServiceClient{
			ProviderClient: provider, Endpoint: root, ResourceBase: root + "v2.0/", Type: "network",
			MoreHeaders: map[string]string{"X-Roles": "admin", "X-User-Id": "lab", "X-Project-Id": "lab"},
		}}, nil
	}
	auth, endpoint, trust, err := a.credentials()
	if err != nil {
		return nil, err
	}
	auth.AllowReauth = true
	provider, err := config.NewProviderClient(ctx, auth, config.WithTLSConfig(trust))
	if err != nil {
		return nil, fmt.Errorf("ask for a token: %w", err)
	}
	if a.URL != "" {
		return &Client{&gophercloud.ServiceClient{ProviderClient: provider, Endpoint: root, ResourceBase: root + "v2.0/", Type: "network"}}, nil
	}
	api, err := openstack.NewNetworkV2(provider, endpoint)
	if err != nil {
		return nil, fmt.Errorf("find the network service: %w", err)
	}
	return &Client{api}, nil
}

// ErrNobody says that the environment names no cloud.
var ErrNobody = errors.New("nobody is named: set OS_CLIENT_CONFIG_FILE and OS_CLOUD, or OS_AUTH_URL and what belongs to it")

// credentials reads who asks, and where.
func (a Access) credentials() (gophercloud.AuthOptions, gophercloud.EndpointOpts, *tls.Config, error) {
	var options []clouds.ParseOption
	switch {
	case a.Clouds != "":
		options = append(options, clouds.WithLocations(a.Clouds), clouds.WithCloudName(a.Cloud))
	case os.Getenv("OS_CLOUD") != "":
	case os.Getenv("OS_AUTH_URL") != "":
		return fromRC()
	default:
		return gophercloud.AuthOptions{}, gophercloud.EndpointOpts{}, nil, ErrNobody
	}
	auth, endpoint, trust, err := clouds.Parse(options...)
	if err != nil {
		return auth, endpoint, nil, fmt.Errorf("read clouds.yaml: %w", err)
	}
	return auth, endpoint, trust, nil
}

// fromRC reads the variables of an openrc file.
func fromRC() (gophercloud.AuthOptions, gophercloud.EndpointOpts, *tls.Config, error) {
	endpoint := gophercloud.EndpointOpts{Region: os.Getenv("OS_REGION_NAME")}
	auth := gophercloud.AuthOptions{IdentityEndpoint: os.Getenv("OS_AUTH_URL"),
		Username: os.Getenv("OS_USERNAME"), UserID: os.Getenv("OS_USER_ID"), Password: os.Getenv("OS_PASSWORD"), TokenID: os.Getenv("OS_TOKEN"),
		ApplicationCredentialID:     os.Getenv("OS_APPLICATION_CREDENTIAL_ID"),
		ApplicationCredentialName:   os.Getenv("OS_APPLICATION_CREDENTIAL_NAME"),
		ApplicationCredentialSecret: os.Getenv("OS_APPLICATION_CREDENTIAL_SECRET")}
	if auth.UserID == "" && auth.Username != "" {
		auth.DomainID = os.Getenv("OS_USER_DOMAIN_ID")
		if auth.DomainID == "" {
			auth.DomainName = cmp.Or(os.Getenv("OS_USER_DOMAIN_NAME"), os.Getenv("OS_DOMAIN_NAME"), "Default")
		}
	}
	if id, name := os.Getenv("OS_PROJECT_ID"), os.Getenv("OS_PROJECT_NAME"); id != "" {
		auth.Scope = &gophercloud.AuthScope{ProjectID: id}
	} else if name != "" {
		auth.Scope = &gophercloud.AuthScope{ProjectName: name, DomainID: os.Getenv("OS_PROJECT_DOMAIN_ID")}
		if auth.Scope.DomainID == "" {
			auth.Scope.DomainName = cmp.Or(os.Getenv("OS_PROJECT_DOMAIN_NAME"), os.Getenv("OS_DOMAIN_NAME"), "Default")
		}
	}
	file := os.Getenv("OS_CACERT")
	if file == "" {
		return auth, endpoint, nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return auth, endpoint, nil, fmt.Errorf("OS_CACERT: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return auth, endpoint, nil, fmt.Errorf("OS_CACERT: no certificate in %s", file)
	}
	return auth, endpoint, &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}

// API is the client underneath, for what this package has no words for.
func (c *Client) API() *gophercloud.ServiceClient { return c.api }

// Network is what the lab needs to know of one.
type Network struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Project string `json:"project_id"`
	MTU     int    `json:"mtu"`
}

// Network finds one by name or id.
func (c *Client) Network(ctx context.Context, ref string) (Network, error) {
	var n Network
	if err := networks.Get(ctx, c.api, ref).ExtractInto(&n); err == nil {
		return n, nil
	} else if !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return n, fmt.Errorf("get network %s: %w", ref, err)
	}
	pages, err := networks.List(c.api, networks.ListOpts{Name: ref}).AllPages(ctx)
	if err != nil {
		return n, fmt.Errorf("list networks: %w", err)
	}
	var found []Network
	if err := networks.ExtractNetworksInto(pages, &found); err != nil {
		return n, fmt.Errorf("read networks: %w", err)
	}
	if len(found) == 0 {
		return n, fmt.Errorf("no network is called %q", ref)
	}
	if len(found) != 1 {
		return n, fmt.Errorf("%d networks are called %q: give the id", len(found), ref)
	}
	return found[0], nil
}

// Subnet is what the lab needs to know of one.
type Subnet struct {
	ID         string       `json:"id"`
	CIDR       netip.Prefix `json:"cidr"`
	Gateway    string       `json:"gateway_ip"`
	DHCP       bool         `json:"enable_dhcp"`
	RAMode     string       `json:"ipv6_ra_mode"`
	AddrMode   string       `json:"ipv6_address_mode"`
	HostRoutes []HostRoute  `json:"host_routes"`
	DNS        []string     `json:"dns_nameservers"`
}

// HostRoute is a route that hosts of a subnet are told.
type HostRoute struct {
	To  netip.Prefix `json:"destination"`
	Via netip.Addr   `json:"nexthop"`
}

// Subnets lists the subnets of a network.
func (c *Client) Subnets(ctx context.Context, network string) ([]Subnet, error) {
	pages, err := subnets.List(c.api, subnets.ListOpts{NetworkID: network}).AllPages(ctx)
	if err != nil {
		return nil, fmt.Errorf("list subnets: %w", err)
	}
	var body struct {
		Subnets []Subnet `json:"subnets"`
	}
	if err := pages.(subnets.SubnetPage).ExtractInto(&body); err != nil {
		return nil, fmt.Errorf("read subnets: %w", err)
	}
	return body.Subnets, nil
}

// Routed lists the ids of those subnets of a network in which a router has an interface.
func (c *Client) Routed(ctx context.Context, network string) ([]string, error) {
	var ids []string
	for _, owner := range []string{"network:router_interface", "network:router_interface_distributed", "network:ha_router_replicated_interface"} {
		found, err := c.list(ctx, ports.ListOpts{NetworkID: network, DeviceOwner: owner})
		if err != nil {
			return nil, err
		}
		for _, p := range found {
			for _, ip := range p.FixedIPs {
				ids = append(ids, ip.Subnet)
			}
		}
	}
	return ids, nil
}

// AgentsAlive tells how many agents a host shows, and how many of them are alive.
func (c *Client) AgentsAlive(ctx context.Context, host string) (all, alive int, err error) {
	pages, err := agents.List(c.api, agents.ListOpts{Host: host}).AllPages(ctx)
	if err != nil {
		return 0, 0, fmt.Errorf("list agents: %w", err)
	}
	found, err := agents.ExtractAgents(pages)
	if err != nil {
		return 0, 0, fmt.Errorf("read agents: %w", err)
	}
	for _, a := range found {
		if a.Alive {
			alive++
		}
	}
	return len(found), alive, nil
}

// ErrTimeout says that a port did not reach the state that was waited for.
var ErrTimeout = errors.New("not in time")

// WaitActive returns the port when its status is ACTIVE. It asks again after 5 ms, then more slowly, up
// to every 50 ms.
func (c *Client) WaitActive(ctx context.Context, port string, within time.Duration) (Port, error) {
	limit := time.NewTimer(within)
	defer limit.Stop()
	for pause := 5 * time.Millisecond; ; pause = min(pause*3/2, 50*time.Millisecond) {
		p, err := c.Port(ctx, port)
		if err != nil || p.Status == "ACTIVE" {
			return p, err
		}
		if p.VIFType == "binding_failed" {
			return p, fmt.Errorf("binding of port %s to host %s failed", port, p.Host)
		}
		select {
		case <-ctx.Done():
			return p, ctx.Err()
		case <-limit.C:
			return p, fmt.Errorf("port %s is %s after %s, want ACTIVE: %w", port, p.Status, within, ErrTimeout)
		case <-time.After(pause):
		}
	}
}
