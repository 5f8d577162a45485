package secgroup

import (
	"context"
	"slices"
	"strings"

	"isospin/internal/change"
	"isospin/internal/document"
	"isospin/internal/service/secgroup"
	"isospin/internal/store"
	"isospin/internal/wire"
)

// Address renders the addresses of address groups, for the hosts of ports whose rules name the group.
type Address struct{ groups *secgroup.AddressGroups }

// NewAddress takes the table of address groups.
func NewAddress(groups *secgroup.AddressGroups) Address { return Address{groups: groups} }

// Name is the wire name.
func (Address) Name() string { return wire.KindAddress }

// Families: an address is in the set of its group.
func (Address) Families() []string { return []string{wire.FamilyAddresses} }

// Members are the addresses of groups; ids are group/address. One statement.
func (k Address) Members(ctx context.Context, tx store.Tx, sets []change.Set) (map[change.Set][]string, error) {
	names, family := document.Names(sets)
	rows, err := k.groups.Find(ctx, tx, store.List{Where: store.In("id", names)})
	out := make(map[change.Set][]string, len(rows))
	for i := range rows {
		s := change.NewSet(family, rows[i].ID)
		for _, a := range rows[i].Addresses {
			out[s] = append(out[s], rows[i].ID+"/"+a)
		}
	}
	return out, err
}

// Render reads the groups of the addresses. One statement.
func (k Address) Render(ctx context.Context, tx store.Tx, ids []string) (map[string]document.Rendered, error) {
	asked := map[string][]string{} // by group
	var groups []string
	for _, id := range ids {
		group, address, ok := strings.Cut(id, "/")
		if !ok {
			continue
		}
		if asked[group] == nil {
			groups = append(groups, group)
		}
		asked[group] = append(asked[group], address)
	}
	rows, err := k.groups.Find(ctx, tx, store.List{Where: store.In("id", groups)})
	if err != nil {
		return nil, err
	}
	out := make(map[string]document.Rendered, len(ids))
	for i := range rows {
		g := &rows[i]
		for _, a := range asked[g.ID] {
			if slices.Contains(g.Addresses, a) {
				out[g.ID+"/"+a] = document.Rendered{Sets: []change.Set{change.NewSet(wire.FamilyAddresses, g.ID)},
					Body: &wire.AddressGroupEntry{AddressGroupId: g.ID, Address: a}}
			}
		}
	}
	return out, nil
}

var _ document.Kind = Address{}
