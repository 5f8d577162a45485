package secgroup

import (
	"bytes"
	"context"
	"strings"

	"isospin/internal/auth"
	"isospin/internal/change"
	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/service/sharing"
	"isospin/internal/store"
	"isospin/internal/wire"
)

// groups is the controller of security groups.
type groups struct{ *Plugin }

// Create makes a group with the two egress rules.
func (p groups) Create(ctx context.Context, tx store.WriteTx, in rest.Input[model.SecurityGroup]) (model.SecurityGroup, error) {
	g := in.Value
	if strings.EqualFold(g.Name, defaultName) {
		return g, fault.SecurityGroupDefaultAlreadyExists()
	}
	if _, err := p.ensureDefault(ctx, tx, g.ProjectID); err != nil {
		return g, err
	}
	if !in.Given("stateful") {
		var err error
		if g.Stateful, err = p.statefulFor(ctx, tx, g.ProjectID); err != nil {
			return g, err
		}
	}
	p.stamp(&g.Standard, 1)
	if err := p.Groups.Insert(ctx, tx, &g); err != nil {
		return g, err
	}
	return g, p.templates(ctx, tx, &g)
}

// Update changes a group.
func (p groups) Update(ctx context.Context, tx store.WriteTx, cur model.SecurityGroup, in rest.Input[model.SecurityGroup]) (model.SecurityGroup, error) {
	g := cur
	if err := in.Apply(&g); err != nil {
		return g, err
	}
	if in.Given("name") {
		switch {
		case cur.Name == defaultName:
			return g, fault.SecurityGroupCannotUpdateDefault()
		case strings.EqualFold(g.Name, defaultName):
			return g, fault.SecurityGroupDefaultAlreadyExists()
		}
	}
	if g.Stateful != cur.Stateful {
		used, _, err := store.Int(ctx, tx, store.Q("SELECT COUNT(*) FROM port_security_groups WHERE security_group_id = ?", cur.ID))
		if err != nil {
			return g, err
		}
		if used > 0 {
			return g, fault.SecurityGroupInUse(cur.ID, "its ports would change between stateful and stateless")
		}
	}
	if g.Name == cur.Name && g.Description == cur.Description && g.Stateful == cur.Stateful {
		return cur, nil
	}
	p.bump(&g.Standard)
	if err := p.Groups.Update(ctx, tx, &g, cur.Revision); err != nil {
		return g, err
	}
	if g.Stateful != cur.Stateful {
		tx.Changed(change.Key{Kind: wire.KindGroup, ID: g.ID}, groupSet(g.ID))
	}
	return g, nil
}

// Delete removes a group that no port uses, with its rules and the rules elsewhere that name it as remote.
func (p groups) Delete(ctx context.Context, tx store.WriteTx, cur model.SecurityGroup) error {
	used, _, err := store.Int(ctx, tx, store.Q("SELECT COUNT(*) FROM port_security_groups WHERE security_group_id = ?", cur.ID))
	if err != nil {
		return err
	}
	if used > 0 {
		return fault.SecurityGroupInUse(cur.ID, "ports use it")
	}
	if caller := auth.From(ctx); cur.Name == defaultName && (caller == nil || !caller.HasRole(auth.RoleAdmin)) {
		return fault.SecurityGroupCannotRemoveDefault()
	}
	rs, err := p.Rules.Find(ctx, tx, store.List{Where: store.Or(store.Eq("security_group_id", cur.ID), store.Eq("remote_group_id", cur.ID))})
	if err != nil {
		return err
	}
	for i := range rs {
		if err := rules(p).drop(ctx, tx, &rs[i]); err != nil {
			return err
		}
	}
	if err := sharing.Forget(ctx, tx, cur.ID); err != nil {
		return err
	}
	if err := p.left(ctx, tx, cur.ID); err != nil {
		return err
	}
	if err := p.Groups.Delete(ctx, tx, cur.ID); err != nil {
		return err
	}
	tx.Changed(change.Key{Kind: wire.KindGroup, ID: cur.ID}, groupSet(cur.ID))
	return nil
}

// Splice adds each group's rules and whether it is shared, one statement each.
func (p groups) Splice(ctx context.Context, tx store.Tx, page *rest.Page) error {
	ids := page.IDs()
	if page.Wants("security_group_rules") {
		bodies := map[string][][]byte{}
		where := store.Cond{SQL: "1 = 1"}
		if len(ids) <= 1000 {
			where = store.In("security_group_id", ids)
		}
		err := store.Each(ctx, tx, store.Q("SELECT security_group_id, body FROM security_group_rules WHERE "+where.SQL+" ORDER BY id", where.Args...),
			func(scan func(...any) error) error {
				var group string
				var body []byte
				err := scan(&group, &body)
				bodies[group] = append(bodies[group], body)
				return err
			})
		if err != nil {
			return err
		}
		for i, id := range ids {
			list := append([]byte{'['}, bytes.Join(bodies[id], []byte{','})...)
			page.Splice(i, "security_group_rules", append(list, ']'))
		}
	}
	if !page.Wants("shared") {
		return nil
	}
	shared, err := sharing.Shared(ctx, tx, ids)
	if err != nil {
		return err
	}
	for i, id := range ids {
		page.Splice(i, "shared", truth(shared[id]))
	}
	return nil
}

func truth(b bool) []byte {
	if b {
		return []byte("true")
	}
	return []byte("false")
}
