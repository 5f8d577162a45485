package secgroup

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"isospin/internal/change"
	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/service/sharing"
	"isospin/internal/store"
	"isospin/internal/wire"
)

// AddressGroups is the table of address groups.
type AddressGroups = store.Table[model.AddressGroup]

// NewAddressGroups declares the table of address groups.
func NewAddressGroups() *AddressGroups {
	return store.NewTable("address_groups",
		func(g *model.AddressGroup) string { return g.ID }, func(g *model.AddressGroup) string { return g.ProjectID },
		store.Column[model.AddressGroup]{Name: "revision", Attr: "revision_number", Of: func(g *model.AddressGroup) any { return g.Revision }},
		store.Column[model.AddressGroup]{Name: "name", Attr: "name", Of: func(g *model.AddressGroup) any { return g.Name }},
	)
}

// typeAddressGroup is the object type of RBAC policies.
const typeAddressGroup = "address_group"

// addressGroups is the controller of address groups.
type addressGroups struct{ *Plugin }

// Create makes a group.
func (p addressGroups) Create(ctx context.Context, tx store.WriteTx, in rest.Input[model.AddressGroup]) (model.AddressGroup, error) {
	g := in.Value
	p.stamp(&g.Standard, 0)
	var err error
	if g.Addresses, err = networks(g.Addresses); err != nil {
		return g, err
	}
	if err := p.addressRows.Insert(ctx, tx, &g); err != nil {
		return g, err
	}
	p.dirty(tx, g.ID, g.Addresses)
	return g, nil
}

// networks are addresses in the one way of writing that tells equal ones: host bits cut, each once, in order
// (neutron/db/address_group_db.py).
func networks(given []string) ([]string, error) {
	out := []netip.Prefix{}
	for _, text := range given {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fault.BadInput("'%s' is not a prefix.", text)
		}
		out = append(out, p.Masked())
	}
	slices.SortFunc(out, func(a, b netip.Prefix) int {
		if c := a.Addr().Compare(b.Addr()); c != 0 {
			return c
		}
		return a.Bits() - b.Bits()
	})
	texts := make([]string, 0, len(out))
	for _, p := range slices.Compact(out) {
		texts = append(texts, p.String())
	}
	return texts, nil
}

// dirty says that hosts must look at addresses of a group.
func (p addressGroups) dirty(tx store.WriteTx, id string, addresses []string) {
	for _, a := range addresses {
		tx.Changed(change.Key{Kind: wire.KindAddress, ID: id + "/" + a}, change.NewSet(wire.FamilyAddresses, id))
	}
}

// Update changes name and description.
func (p addressGroups) Update(ctx context.Context, tx store.WriteTx, cur model.AddressGroup, in rest.Input[model.AddressGroup]) (model.AddressGroup, error) {
	g := cur
	if err := in.Apply(&g); err != nil {
		return g, err
	}
	if g.Name == cur.Name && g.Description == cur.Description {
		return cur, nil
	}
	p.bump(&g.Standard)
	return g, p.addressRows.Update(ctx, tx, &g, cur.Revision)
}

// Delete removes a group that no rule names.
func (p addressGroups) Delete(ctx context.Context, tx store.WriteTx, cur model.AddressGroup) error {
	n, err := p.Rules.Count(ctx, tx, store.Eq("remote_address_group_id", cur.ID))
	if err != nil {
		return err
	}
	if n > 0 {
		return fault.AddressGroupInUse(cur.ID)
	}
	if err := sharing.Forget(ctx, tx, cur.ID); err != nil {
		return err
	}
	p.dirty(tx, cur.ID, cur.Addresses)
	return p.addressRows.Delete(ctx, tx, cur.ID)
}

// Act answers add_addresses and remove_addresses with the group as it is then.
func (p addressGroups) Act(ctx context.Context, tx store.WriteTx, id, action string, in json.RawMessage) (any, error) {
	var asked struct {
		Addresses []string `json:"addresses"`
	}
	if err := json.Unmarshal(in, &asked); err != nil {
		return nil, fmt.Errorf("decode the action %s: %w", action, err)
	}
	want, err := networks(asked.Addresses)
	if err != nil {
		return nil, err
	}
	cur, err := p.addressRows.Get(ctx, tx, id)
	if err != nil {
		return nil, err
	}
	g := cur
	if action == "add_addresses" {
		g.Addresses, err = networks(append(slices.Clone(cur.Addresses), want...))
		if err != nil {
			return nil, err
		}
	} else {
		absent := slices.DeleteFunc(slices.Clone(want), func(a string) bool { return slices.Contains(cur.Addresses, a) })
		if len(absent) > 0 {
			return nil, fault.AddressesNotFound(id, strings.Join(absent, ", "))
		}
		g.Addresses = slices.DeleteFunc(slices.Clone(cur.Addresses), func(a string) bool { return slices.Contains(want, a) })
	}
	if len(g.Addresses) != len(cur.Addresses) {
		p.bump(&g.Standard)
		if err := p.addressRows.Update(ctx, tx, &g, cur.Revision); err != nil {
			return nil, err
		}
		p.dirty(tx, id, want)
	}
	return map[string]any{"address_group": shown(&g)}, nil
}

// shown is what the actions answer of a group.
func shown(g *model.AddressGroup) map[string]any {
	return map[string]any{"id": g.ID, "name": g.Name, "description": g.Description, "project_id": g.ProjectID, "addresses": g.Addresses,
		"created_at": g.CreatedAt, "updated_at": g.UpdatedAt, "revision_number": g.Revision}
}

// addressGroup keeps the address group that a rule names until the commit and refuses one that is not there for the caller.
func (p *Plugin) addressGroup(ctx context.Context, tx store.WriteTx, id string) error {
	g, err := p.addressRows.GetForShare(ctx, tx, id)
	if store.IsNotFound(err) {
		return fault.AddressGroupNotFound(id)
	}
	if err != nil {
		return err
	}
	usable, err := sharing.Usable(ctx, tx, g.ProjectID, id)
	if err == nil && !usable {
		err = fault.AddressGroupNotFound(id)
	}
	return err
}

// more are the bindings of templates and address groups.
func (p *Plugin) more() []rest.Binding {
	return []rest.Binding{
		settings{p}.binding(),
		rest.Bind("default_security_group_rules", p.templateRows, templates{p}, rest.Options{
			Visible:  func(context.Context) store.Cond { return store.Cond{} },
			NotFound: func(id string) error { return fault.DefaultSecurityGroupRuleNotFound(id) },
		}),
		rest.Bind("address_groups", p.addressRows, addressGroups{p}, rest.Options{
			Visible: func(ctx context.Context) store.Cond { return sharing.Visible(ctx, typeAddressGroup) },
			Facts:   sharing.Facts, Actor: addressGroups{p},
			NotFound: func(id string) error { return fault.AddressGroupNotFound(id) },
		}),
	}
}
