// Package flavors is flavours and service profiles: kinds of service that administrators put together out of providers' drivers and
// that users choose. Services that take a flavour (routers) ask it for the provider, which keeps the flavour until the commit, and
// are counted by the uses that assemble hands in. It starts no service itself.
package flavors

import (
	"context"

	"isospin/internal/fault"
	"isospin/internal/ident"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/service/servicetype"
	"isospin/internal/store"
)

// Flavors, Profiles and Offers are the plugin's tables.
type (
	Flavors  = store.Table[model.Flavor]
	Profiles = store.Table[model.ServiceProfile]
	Offers   = store.Table[model.FlavorProfile]
)

// nobody: flavours and profiles belong to no project.
func nobody[T any](*T) string { return "" }

// NewFlavors declares the table of flavours.
func NewFlavors() *Flavors {
	return store.NewTable("flavors", func(f *model.Flavor) string { return f.ID }, nobody[model.Flavor],
		store.Column[model.Flavor]{Name: "name", Attr: "name", Of: func(f *model.Flavor) any { return f.Name }})
}

// NewProfiles declares the table of service profiles.
func NewProfiles() *Profiles {
	return store.NewTable("service_profiles", func(p *model.ServiceProfile) string { return p.ID }, nobody[model.ServiceProfile])
}

// NewOffers declares the table of profiles that flavours offer.
func NewOffers() *Offers {
	return store.NewTable("flavor_profiles", func(o *model.FlavorProfile) string { return offerID(o.FlavorID, o.ID) }, nobody[model.FlavorProfile],
		store.Column[model.FlavorProfile]{Name: "flavor_id", Of: func(o *model.FlavorProfile) any { return o.FlavorID }},
		store.Column[model.FlavorProfile]{Name: "service_profile_id", Of: func(o *model.FlavorProfile) any { return o.ID }},
		store.Column[model.FlavorProfile]{Name: "place", Of: func(o *model.FlavorProfile) any { return o.Place }})
}

// offerID is a row's id: it joins the flavour's and the profile's.
func offerID(flavor, profile string) string { return flavor + "_" + profile }

// Use tells whether anything of one service is made by a flavour, in one statement.
type Use func(ctx context.Context, tx store.Tx, flavor string) (bool, error)

// Config is what the plugin is made of.
type Config struct {
	Flavors   *Flavors
	Profiles  *Profiles
	Offers    *Offers
	Providers *servicetype.Plugin
	// Uses are asked before a flavour is deleted.
	Uses []Use
	IDs  ident.Source
}

// Plugin is flavours and service profiles.
type Plugin struct{ Config }

// New makes the plugin.
func New(c Config) *Plugin { return &Plugin{c} }

// Name is the plugin's name.
func (p *Plugin) Name() string { return "flavors" }

// Bindings are flavours, profiles, and what stands below a flavour.
func (p *Plugin) Bindings() []rest.Binding {
	all := func(context.Context) store.Cond { return store.Cond{} } // the rules judge the caller alone
	return []rest.Binding{
		rest.Bind("flavors", p.Flavors, flavors{p}, rest.Options{
			Visible: all, Splicer: flavors{p},
			NotFound: func(id string) error { return fault.FlavorNotFound(id) },
		}),
		rest.Bind("service_profiles", p.Profiles, profiles{p}, rest.Options{
			Visible:  all,
			NotFound: func(id string) error { return fault.ServiceProfileNotFound(id) },
		}),
		rest.Bind("flavors/service_profiles", p.Offers, offers{p}, rest.Options{
			ParentColumn: "flavor_id", RowID: offerID,
			NotFound: func(id string) error { return fault.FlavorServiceProfileBindingNotFound("service profile " + id) },
		}),
		rest.Special("next_providers", next{p}),
	}
}

// Provider is the provider that serves an object of a flavour: that of the first profile that the flavour offers
// (neutron/db/flavors_db.py). The flavour is kept until the commit, so that it cannot go meanwhile. Faults: FlavorNotFound,
// FlavorDisabled, FlavorServiceProfileBindingNotFound, ServiceProfileDisabled, ServiceProfileDriverNotFound, and
// ServiceProviderNotFound where the flavour is for another type of service. Three statements.
func (p *Plugin) Provider(ctx context.Context, tx store.WriteTx, flavor, serviceType string) (servicetype.Provider, error) {
	f, err := p.Flavors.GetForShare(ctx, tx, flavor)
	if store.IsNotFound(err) {
		err = fault.FlavorNotFound(flavor)
	}
	if err != nil {
		return servicetype.Provider{}, err
	}
	if !enabled(f.Enabled) {
		return servicetype.Provider{}, fault.FlavorDisabled()
	}
	if f.ServiceType != serviceType {
		return servicetype.Provider{}, fault.ServiceProviderNotFound("of flavour "+flavor, serviceType)
	}
	_, provider, err := p.first(ctx, tx, flavor)
	if err == nil && provider.ServiceType != serviceType {
		err = fault.ServiceProviderNotFound(provider.Name, serviceType)
	}
	return provider, err
}

// first is the profile that serves a flavour, and its provider. Two statements.
func (p *Plugin) first(ctx context.Context, tx store.Tx, flavor string) (model.ServiceProfile, servicetype.Provider, error) {
	var profile model.ServiceProfile
	var provider servicetype.Provider
	offered, err := p.Offers.Find(ctx, tx, store.List{Where: store.Eq("flavor_id", flavor), Order: []store.Order{{Expr: "place"}}, Limit: 1})
	if err == nil && len(offered) == 0 {
		err = fault.FlavorServiceProfileBindingNotFound("any service profile")
	}
	if err != nil {
		return profile, provider, err
	}
	if profile, err = p.Profiles.Get(ctx, tx, offered[0].ID); err != nil {
		return profile, provider, err
	}
	if !enabled(profile.Enabled) {
		return profile, provider, fault.ServiceProfileDisabled()
	}
	provider, ok := p.Providers.ByDriver(profile.Driver)
	if !ok {
		err = fault.ServiceProfileDriverNotFound(profile.Driver)
	}
	return profile, provider, err
}

func enabled(b *bool) bool { return b == nil || *b }
