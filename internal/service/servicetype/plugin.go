// Package servicetype is the providers of services: the API's list of them, and the drivers by which flavours choose one. assemble
// says which there are; flavors asks. Nothing is stored here.
package servicetype

import (
	"context"
	"encoding/json"
	"fmt"

	"isospin/internal/fault"
	"isospin/internal/rest"
	"isospin/internal/store"
)

// RouterService is the service type of routers.
const RouterService = "L3_ROUTER_NAT"

// Provider is one provider of a service.
type Provider struct {
	ServiceType string `json:"service_type"`
	Name        string `json:"name"`
	Default     bool   `json:"default"`
	// Driver is how service profiles name it.
	Driver string `json:"-"`
}

// Routers are the providers of routers under the names that Neutron has for them and their drivers
// (neutron/services/l3_router/service_providers).
func Routers() []Provider {
	const path = "neutron.services.l3_router.service_providers."
	return []Provider{
		{ServiceType: RouterService, Name: "dvrha", Driver: path + "dvrha.DvrHaDriver"},
		{ServiceType: RouterService, Name: "dvr", Driver: path + "dvr.DvrDriver"},
		{ServiceType: RouterService, Name: "ha", Driver: path + "ha.HaDriver"},
		{ServiceType: RouterService, Name: "single_node", Driver: path + "single_node.SingleNodeDriver"},
	}
}

// Plugin is the providers of services.
type Plugin struct{ providers []Provider }

// New makes the plugin.
func New(providers ...Provider) *Plugin { return &Plugin{providers: providers} }

// Name is the plugin's name.
func (p *Plugin) Name() string { return "service-type" }

// ByDriver finds the provider that has a driver.
func (p *Plugin) ByDriver(driver string) (Provider, bool) {
	for _, x := range p.providers {
		if x.Driver == driver {
			return x, true
		}
	}
	return Provider{}, false
}

// Bindings is the collection of providers; they cannot be shown one by one.
func (p *Plugin) Bindings() []rest.Binding {
	return []rest.Binding{rest.Computed("service_providers", "", p, rest.Options{
		NotFound: func(id string) error { return fault.HTTPNotFound("There is no service provider " + id + ".") },
	})}
}

// List makes the rows; it reads nothing.
func (p *Plugin) List(context.Context, store.Tx, map[string][]string) ([]store.Row, error) {
	rows := make([]store.Row, 0, len(p.providers))
	for _, x := range p.providers {
		body, err := json.Marshal(x)
		if err != nil {
			return nil, fmt.Errorf("encode a provider: %w", err)
		}
		rows = append(rows, store.Row{ID: x.ServiceType + " " + x.Name, Body: body})
	}
	return rows, nil
}

var _ rest.Lister = (*Plugin)(nil)
