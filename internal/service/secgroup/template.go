package secgroup

import (
	"context"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/store"
)

// Templates is the table of the rules that new groups begin with.
type Templates = store.Table[model.SecurityGroupTemplate]

// NewTemplates declares the table of templates.
func NewTemplates() *Templates {
	return store.NewTable("default_security_group_rules",
		func(t *model.SecurityGroupTemplate) string { return t.ID }, func(t *model.SecurityGroupTemplate) string { return t.ProjectID },
		store.Column[model.SecurityGroupTemplate]{Name: "meaning", Of: func(t *model.SecurityGroupTemplate) any {
			r := ruleOf(t)
			return meaning(&r)
		}},
	)
}

// ruleOf is a template as a rule of no group.
func ruleOf(t *model.SecurityGroupTemplate) model.SecurityGroupRule {
	r := model.SecurityGroupRule{Direction: t.Direction, Ethertype: t.Ethertype, Protocol: t.Protocol, PortRangeMin: t.PortRangeMin,
		PortRangeMax: t.PortRangeMax, RemoteIPPrefix: t.RemoteIPPrefix, RemoteGroupID: t.RemoteGroupID, RemoteAddressGroupID: t.RemoteAddressGroupID}
	r.Description = t.Description
	return r
}

// templates is the controller of default security group rules.
type templates struct{ *Plugin }

// Create adds a template; groups that exist are left as they are.
func (p templates) Create(ctx context.Context, tx store.WriteTx, in rest.Input[model.SecurityGroupTemplate]) (model.SecurityGroupTemplate, error) {
	t := in.Value
	r := ruleOf(&t)
	if err := normalize(&r); err != nil {
		return t, err
	}
	t.ID, t.Protocol, t.ProjectID, t.TenantID = p.IDs.UUID(), r.Protocol, "", ""
	if found, err := p.remotes(ctx, tx, &r); err != nil || !found {
		if err == nil {
			err = missing(&r)
		}
		return t, err
	}
	err := p.templateRows.Insert(ctx, tx, &t)
	if _, dup := store.AsDuplicate(err); !dup {
		return t, err
	}
	id := ""
	err = store.Each(ctx, tx, store.Q("SELECT id FROM default_security_group_rules WHERE meaning = ?", meaning(&r)), func(scan func(...any) error) error { return scan(&id) })
	if err == nil {
		err = fault.DefaultSecurityGroupRuleExists(id)
	}
	return t, err
}

// Update is not served: the registry refuses it before.
func (p templates) Update(_ context.Context, _ store.WriteTx, cur model.SecurityGroupTemplate, _ rest.Input[model.SecurityGroupTemplate]) (model.SecurityGroupTemplate, error) {
	return cur, fault.BadRequest("default_security_group_rule", "a rule cannot be updated.")
}

// Delete removes a template.
func (p templates) Delete(ctx context.Context, tx store.WriteTx, cur model.SecurityGroupTemplate) error {
	return p.templateRows.Delete(ctx, tx, cur.ID)
}

// remotes keeps what a rule names at its other end until the commit; false when that is not there.
func (p *Plugin) remotes(ctx context.Context, tx store.WriteTx, r *model.SecurityGroupRule) (bool, error) {
	var err error
	switch {
	case r.RemoteGroupID != nil && *r.RemoteGroupID != model.RemoteParent && *r.RemoteGroupID != r.SecurityGroupID:
		_, err = p.Groups.GetForShare(ctx, tx, *r.RemoteGroupID)
	case r.RemoteAddressGroupID != nil:
		_, err = p.addressRows.GetForShare(ctx, tx, *r.RemoteAddressGroupID)
	}
	if store.IsNotFound(err) {
		return false, nil
	}
	return true, err
}

// missing is the fault for what remotes did not find.
func missing(r *model.SecurityGroupRule) error {
	if r.RemoteAddressGroupID != nil {
		return fault.AddressGroupNotFound(*r.RemoteAddressGroupID)
	}
	return fault.SecurityGroupNotFound(*r.RemoteGroupID)
}

// templates writes a new group's first rules. What a template names and is gone is passed over.
func (p *Plugin) templates(ctx context.Context, tx store.WriteTx, g *model.SecurityGroup) error {
	all, err := p.templateRows.Find(ctx, tx, store.List{})
	if err != nil {
		return err
	}
	for i := range all {
		if g.Name == defaultName && !all[i].InDefault || g.Name != defaultName && !all[i].InOthers {
			continue
		}
		r := ruleOf(&all[i])
		r.SecurityGroupID = g.ID
		if r.RemoteGroupID != nil && *r.RemoteGroupID == model.RemoteParent {
			r.RemoteGroupID = &g.ID
		}
		if err := normalize(&r); err != nil {
			return err
		}
		found, err := p.remotes(ctx, tx, &r)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		r.ProjectID = g.ProjectID
		p.stamp(&r.Standard, 0)
		if err := p.Rules.Insert(ctx, tx, &r); err != nil {
			return err
		}
	}
	return nil
}
