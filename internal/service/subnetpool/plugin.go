package subnetpool

import (
	"context"
	"slices"
	"strconv"

	"isospin/internal/clock"
	"isospin/internal/fault"
	"isospin/internal/ident"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/service/ml2"
	"isospin/internal/service/sharing"
	"isospin/internal/store"
)

// Pools and Scopes are the plugin's tables.
type (
	Pools  = store.Table[model.SubnetPool]
	Scopes = store.Table[model.AddressScope]
)

// NewPools declares the table of subnet pools.
func NewPools() *Pools {
	return store.NewTable("subnetpools",
		func(p *model.SubnetPool) string { return p.ID }, func(p *model.SubnetPool) string { return p.ProjectID },
		store.Column[model.SubnetPool]{Name: "revision", Attr: "revision_number", Of: func(p *model.SubnetPool) any { return p.Revision }},
		store.Column[model.SubnetPool]{Name: "name", Attr: "name", Of: func(p *model.SubnetPool) any { return p.Name }},
		store.Column[model.SubnetPool]{Name: "ip_version", Attr: "ip_version", Of: func(p *model.SubnetPool) any { return p.IPVersion }},
		store.Column[model.SubnetPool]{Name: "address_scope_id", Attr: "address_scope_id", Of: func(p *model.SubnetPool) any { return orNil(p.AddressScopeID) }},
		store.Column[model.SubnetPool]{Name: "default_for", Of: func(p *model.SubnetPool) any {
			if p.IsDefault {
				return strconv.FormatInt(p.IPVersion, 10)
			}
			return nil
		}},
	).Counted("subnetpool")
}

// NewScopes declares the table of address scopes.
func NewScopes() *Scopes {
	return store.NewTable("address_scopes",
		func(s *model.AddressScope) string { return s.ID }, func(s *model.AddressScope) string { return s.ProjectID },
		store.Column[model.AddressScope]{Name: "name", Attr: "name", Of: func(s *model.AddressScope) any { return s.Name }},
	)
}

func orNil(s *string) any {
	if s == nil {
		return nil
	}
	return *s
}

// The object types of RBAC policies that the plugin owns.
const (
	typePool  = "subnetpool"
	typeScope = "address_scope"
)

// Config is what the plugin is made of.
type Config struct {
	Pools    *Pools
	Scopes   *Scopes
	Subnets  *ml2.Subnets
	Networks *ml2.Networks
	Clock    clock.Clock
	IDs      ident.Source
	// Delegate makes prefix delegation the usual pool of IPv6, ipv6_pd_enabled.
	Delegate bool
}

// Plugin is subnet pools and address scopes.
type Plugin struct{ Config }

// New makes the plugin.
func New(c Config) *Plugin { return &Plugin{c} }

// Name is the plugin's name.
func (p *Plugin) Name() string { return "subnetpool" }

// Bindings are pools and scopes.
func (p *Plugin) Bindings() []rest.Binding {
	return []rest.Binding{
		rest.Bind("subnetpools", p.Pools, pools{p}, rest.Options{
			Visible: func(ctx context.Context) store.Cond { return sharing.Visible(ctx, typePool) },
			Filters: map[string]rest.Filter{"shared": sharing.Filter}, Splicer: sharedSplicer{}, Facts: sharing.Facts, Actor: pools{p},
			NotFound: func(id string) error { return fault.SubnetPoolNotFound(id) },
		}),
		rest.Bind("address_scopes", p.Scopes, scopes{p}, rest.Options{
			Visible: func(ctx context.Context) store.Cond { return sharing.Visible(ctx, typeScope) },
			Filters: map[string]rest.Filter{"shared": sharing.Filter}, Splicer: sharedSplicer{}, Facts: sharing.Facts,
			NotFound: func(id string) error { return fault.AddressScopeNotFound(id) },
		}),
	}
}

// sharedSplicer adds shared, in one statement.
type sharedSplicer struct{}

// Splice adds whether each row is shared with the caller.
func (sharedSplicer) Splice(ctx context.Context, tx store.Tx, page *rest.Page) error {
	if !page.Wants("shared") {
		return nil
	}
	ids := page.IDs()
	shared, err := sharing.Shared(ctx, tx, ids)
	if err != nil {
		return err
	}
	for i, id := range ids {
		page.Splice(i, "shared", strconv.AppendBool(nil, shared[id]))
	}
	return nil
}

// scopes is the controller of address scopes.
type scopes struct{ *Plugin }

// Create makes a scope.
func (p scopes) Create(ctx context.Context, tx store.WriteTx, in rest.Input[model.AddressScope]) (model.AddressScope, error) {
	s := in.Value
	shared := s.Shared
	s.ID, s.TenantID, s.Shared = p.IDs.UUID(), s.ProjectID, nil
	if err := p.Scopes.Insert(ctx, tx, &s); err != nil || shared == nil || !*shared {
		return s, err
	}
	return s, sharing.Grant(ctx, tx, p.IDs, s.ProjectID, typeScope, s.ID, sharing.AsShared, sharing.Everyone)
}

// Update changes a scope; what is shared with all stays so (neutron/db/address_scope_db.py).
func (p scopes) Update(ctx context.Context, tx store.WriteTx, cur model.AddressScope, in rest.Input[model.AddressScope]) (model.AddressScope, error) {
	s := cur
	if err := in.Apply(&s); err != nil {
		return s, err
	}
	shared := s.Shared
	s.Shared = nil
	if shared != nil {
		now, _, err := store.Int(ctx, tx, store.Q("SELECT COUNT(*) FROM rbac_policies WHERE object_id = ? AND action = ? AND target_project = ?", s.ID, sharing.AsShared, sharing.Everyone))
		switch {
		case err != nil:
			return s, err
		case now > 0 && !*shared:
			return s, fault.AddressScopeUpdateError(s.ID, "what is shared with every project stays so.")
		case now == 0 && *shared:
			if err := sharing.Grant(ctx, tx, p.IDs, s.ProjectID, typeScope, s.ID, sharing.AsShared, sharing.Everyone); err != nil {
				return s, err
			}
		}
	}
	return s, p.Scopes.Update(ctx, tx, &s, -1)
}

// Delete removes a scope that no pool is in.
func (p scopes) Delete(ctx context.Context, tx store.WriteTx, cur model.AddressScope) error {
	n, err := p.Pools.Count(ctx, tx, store.Eq("address_scope_id", cur.ID))
	if err != nil {
		return err
	}
	if n > 0 {
		return fault.AddressScopeInUse(cur.ID)
	}
	if err := sharing.Forget(ctx, tx, cur.ID); err != nil {
		return err
	}
	return p.Scopes.Delete(ctx, tx, cur.ID)
}

// join checks that a pool may be in its scope: the scope is the caller's or shared with it (neutron/db/db_base_plugin_v2.py), of its IP version, and no other pool there has its
// addresses. The scope's row is kept, so that two pools that come at once see each other.
func (p *Plugin) join(ctx context.Context, tx store.WriteTx, pool *model.SubnetPool) error {
	if pool.AddressScopeID == nil {
		return nil
	}
	s, err := p.Scopes.GetForUpdate(ctx, tx, *pool.AddressScopeID)
	if store.IsNotFound(err) {
		err = fault.AddressScopeNotFound(*pool.AddressScopeID)
	}
	if err != nil {
		return err
	}
	usable, err := sharing.Usable(ctx, tx, s.ProjectID, s.ID)
	if err == nil && !usable {
		err = fault.AddressScopeNotFound(s.ID)
	}
	if err != nil {
		return err
	}
	if s.IPVersion != pool.IPVersion {
		return fault.IllegalSubnetPoolIpVersionAssociationToAddressScope(pool.ID, s.ID)
	}
	others, err := p.Pools.Find(ctx, tx, store.List{Where: store.Eq("address_scope_id", s.ID)})
	if err != nil {
		return err
	}
	mine := parse(pool.Prefixes)
	if slices.ContainsFunc(others, func(o model.SubnetPool) bool { return o.ID != pool.ID && overlap(mine, parse(o.Prefixes)) }) {
		return fault.AddressScopePrefixConflict()
	}
	return nil
}
