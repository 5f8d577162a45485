package flavors

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/store"
)

// flavors is the controller of flavours.
type flavors struct{ *Plugin }

// Create makes a flavour with the profiles that the request names.
func (p flavors) Create(ctx context.Context, tx store.WriteTx, in rest.Input[model.Flavor]) (model.Flavor, error) {
	f := in.Value
	want := f.ServiceProfiles
	f.ID, f.ServiceProfiles = p.IDs.UUID(), nil
	if err := truth(f.Enabled); err != nil {
		return f, err
	}
	if err := p.Flavors.Insert(ctx, tx, &f); err != nil {
		return f, err
	}
	return f, p.offerAll(ctx, tx, f.ID, nil, want)
}

// truth refuses null: a flavour or profile is enabled or it is not.
func truth(b *bool) error {
	if b == nil {
		return fault.BadInput("enabled is neither true nor false.")
	}
	return nil
}

// offerAll brings what a flavour offers from have to want; the flavour is kept by the caller.
func (p *Plugin) offerAll(ctx context.Context, tx store.WriteTx, flavor string, have []model.FlavorProfile, want []string) error {
	var place int64
	for _, o := range have {
		place = max(place, o.Place)
		if !slices.Contains(want, o.ID) {
			if err := p.Offers.Delete(ctx, tx, offerID(flavor, o.ID)); err != nil {
				return err
			}
		}
	}
	for _, id := range want {
		if slices.ContainsFunc(have, func(o model.FlavorProfile) bool { return o.ID == id }) {
			continue
		}
		place++
		if err := p.offer(ctx, tx, &model.FlavorProfile{ID: id, FlavorID: flavor, Place: place}); err != nil {
			return err
		}
	}
	return nil
}

// offer adds a profile, which is kept until the commit so that it cannot go meanwhile.
func (p *Plugin) offer(ctx context.Context, tx store.WriteTx, o *model.FlavorProfile) error {
	_, err := p.Profiles.GetForShare(ctx, tx, o.ID)
	if store.IsNotFound(err) {
		err = fault.ServiceProfileNotFound(o.ID)
	}
	if err != nil {
		return err
	}
	err = p.Offers.Insert(ctx, tx, o)
	if _, dup := store.AsDuplicate(err); dup {
		err = fault.FlavorServiceProfileBindingExists(o.FlavorID, o.ID)
	}
	return err
}

// offered are the profiles that a flavour offers, in their order. One statement.
func (p *Plugin) offered(ctx context.Context, tx store.Tx, flavor string) ([]model.FlavorProfile, error) {
	return p.Offers.Find(ctx, tx, store.List{Where: store.Eq("flavor_id", flavor), Order: []store.Order{{Expr: "place"}}})
}

// Update changes a flavour; profiles that the request gives take the place of those that it offered.
func (p flavors) Update(ctx context.Context, tx store.WriteTx, cur model.Flavor, in rest.Input[model.Flavor]) (model.Flavor, error) {
	f := cur
	if err := in.Apply(&f); err != nil {
		return f, err
	}
	want := f.ServiceProfiles
	f.ServiceProfiles = nil
	if err := truth(f.Enabled); err != nil {
		return f, err
	}
	if err := p.Flavors.Update(ctx, tx, &f, -1); err != nil || !in.Given("service_profiles") {
		return f, err
	}
	have, err := p.offered(ctx, tx, f.ID)
	if err != nil {
		return f, err
	}
	return f, p.offerAll(ctx, tx, f.ID, have, want)
}

// Delete removes a flavour that nothing is made by.
func (p flavors) Delete(ctx context.Context, tx store.WriteTx, cur model.Flavor) error {
	for _, used := range p.Uses {
		yes, err := used(ctx, tx, cur.ID)
		if err != nil {
			return err
		}
		if yes {
			return fault.FlavorInUse(cur.ID)
		}
	}
	if _, err := tx.Exec(ctx, store.Q("DELETE FROM flavor_profiles WHERE flavor_id = ?", cur.ID)); err != nil {
		return err
	}
	return p.Flavors.Delete(ctx, tx, cur.ID)
}

// Splice shows the profiles that each flavour offers. One statement.
func (p flavors) Splice(ctx context.Context, tx store.Tx, page *rest.Page) error {
	if !page.Wants("service_profiles") {
		return nil
	}
	ids := page.IDs()
	where := store.Cond{SQL: "1 = 1"}
	if len(ids) <= 500 {
		where = store.In("flavor_id", ids)
	}
	of := map[string][]string{}
	err := store.Each(ctx, tx, store.Q("SELECT flavor_id, service_profile_id FROM flavor_profiles WHERE "+where.SQL+" ORDER BY flavor_id, place", where.Args...),
		func(scan func(...any) error) error {
			var flavor, profile string
			err := scan(&flavor, &profile)
			of[flavor] = append(of[flavor], profile)
			return err
		})
	if err != nil {
		return err
	}
	for i, id := range ids {
		list := of[id]
		if list == nil {
			list = []string{}
		}
		raw, err := json.Marshal(list)
		if err != nil {
			return fmt.Errorf("encode profiles: %w", err)
		}
		page.Splice(i, "service_profiles", raw)
	}
	return nil
}

// offers is the controller of the profiles below a flavour.
type offers struct{ *Plugin }

// Create adds a profile behind those that the flavour offers.
func (p offers) Create(ctx context.Context, tx store.WriteTx, in rest.Input[model.FlavorProfile]) (model.FlavorProfile, error) {
	o := model.FlavorProfile{ID: in.Value.ID, FlavorID: in.Parent}
	_, err := p.Flavors.GetForUpdate(ctx, tx, o.FlavorID)
	if store.IsNotFound(err) {
		err = fault.FlavorNotFound(o.FlavorID)
	}
	if err != nil {
		return o, err
	}
	have, err := p.offered(ctx, tx, o.FlavorID)
	if err != nil {
		return o, err
	}
	if n := len(have); n > 0 {
		o.Place = have[n-1].Place
	}
	o.Place++
	return o, p.offer(ctx, tx, &o)
}

// Update is never asked for: the definition refuses it.
func (p offers) Update(_ context.Context, _ store.WriteTx, cur model.FlavorProfile, _ rest.Input[model.FlavorProfile]) (model.FlavorProfile, error) {
	return cur, nil
}

// Delete takes a profile away.
func (p offers) Delete(ctx context.Context, tx store.WriteTx, cur model.FlavorProfile) error {
	return p.Offers.Delete(ctx, tx, offerID(cur.FlavorID, cur.ID))
}

// next answers which provider would serve a flavour's next object.
type next struct{ *Plugin }

// Handle answers GET /flavors/{id}/next_providers.
func (p next) Handle(ctx context.Context, c *rest.Call) error {
	switch {
	case len(c.Rest) > 0:
		return c.Nothing()
	case c.Method != http.MethodGet:
		return c.NotAllowed()
	}
	if _, err := c.Filters(); err != nil {
		return err
	}
	fields, err := c.Fields()
	if err != nil {
		return err
	}
	shown := map[string]any{}
	err = c.Read(ctx, func(tx store.Tx) error {
		if err := c.ParentSeen(ctx, tx); err != nil {
			return err
		}
		if err := c.May(ctx, "get_flavor_next_provider", nil); err != nil {
			return err
		}
		profile, provider, err := p.first(ctx, tx, c.Parent)
		shown = map[string]any{"driver": profile.Driver, "provider": provider.Name, "metainfo": profile.Metainfo}
		return err
	})
	if err != nil {
		return err
	}
	for name := range shown {
		if len(fields) > 0 && !slices.Contains(fields, name) {
			delete(shown, name)
		}
	}
	return c.Answer(http.StatusOK, map[string]any{"next_providers": []any{shown}})
}

var (
	_ rest.Splicer = flavors{}
	_ rest.Handler = next{}
)
