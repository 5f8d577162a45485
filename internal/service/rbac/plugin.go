// Package rbac is the RBAC policies API: who besides an object's owner may use it. What a policy means for lists and rules is in
// package sharing; the plugins that own the objects say here what they are (Kind). It changes no object but a network that
// becomes external.
package rbac

import (
	"context"

	"isospin/internal/auth"
	"isospin/internal/fault"
	"isospin/internal/ident"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/service/sharing"
	"isospin/internal/store"
)

// Kind is a type of objects that can be shared.
type Kind struct {
	// Type is object_type, Actions what may be granted.
	Type    string
	Actions []string
	// Object locks an object against its removal and tells its owner; a *store.NotFound or fault when there is none.
	Object func(ctx context.Context, tx store.WriteTx, id string) (owner string, err error)
	// NotFound is the fault for an object that is not there or that the caller may not see.
	NotFound func(id string) error
	// Granted acts on a new policy; may be nil.
	Granted func(ctx context.Context, tx store.WriteTx, p *model.RBACPolicy) error
	// Withdrawn acts before a policy that nobody else gets goes, when its use has been judged; may be nil.
	Withdrawn func(ctx context.Context, tx store.WriteTx, p *model.RBACPolicy) error
	// Used tells which rows use an object because of a policy; what their projects still do with it keeps the policy. An empty
	// Table says that nothing does. May be nil.
	Used func(p *model.RBACPolicy) Use
}

// Use is what objects are used by: rows of a table, which have a project, and how an error says it.
type Use struct {
	Table string
	// From is a subquery that is called Table, for what stands in several tables; "": the table itself.
	From  string
	Where store.Cond
	Why   string
}

// Config is what the plugin is made of.
type Config struct {
	Policies *sharing.Policies
	Kinds    []Kind
	IDs      ident.Source
}

// Plugin is RBAC policies.
type Plugin struct{ Config }

// New makes the plugin.
func New(c Config) *Plugin { return &Plugin{c} }

// Name is the plugin's name.
func (p *Plugin) Name() string { return "rbac" }

// Bindings is the collection of policies.
func (p *Plugin) Bindings() []rest.Binding {
	return []rest.Binding{rest.Bind("rbac_policies", below{p.Policies, p}, controller{p}, rest.Options{
		NotFound: func(id string) error { return fault.RbacPolicyNotFound(id, "any") },
	})}
}

// below is the table of policies for requests: who changes a policy keeps its object first, as those do who remove an object with
// its policies.
type below struct {
	*sharing.Policies
	p *Plugin
}

// GetForUpdate keeps object and policy.
func (t below) GetForUpdate(ctx context.Context, tx store.WriteTx, id string) (model.RBACPolicy, error) {
	v, err := t.Get(ctx, tx, id)
	if err != nil {
		return v, err
	}
	if k, err := t.p.kind(v.ObjectType); err == nil {
		if _, err := k.Object(ctx, tx, v.ObjectID); err != nil {
			return v, err // the object went, and the policy with it
		}
	}
	return t.Policies.GetForUpdate(ctx, tx, id)
}

type controller struct{ *Plugin }

var _ rest.Controller[model.RBACPolicy] = controller{}

func (p *Plugin) kind(objectType string) (Kind, error) {
	for _, k := range p.Kinds {
		if k.Type == objectType {
			return k, nil
		}
	}
	return Kind{}, fault.BadInput("object_type: objects of type %s cannot be shared here.", objectType)
}

// Create grants.
func (c controller) Create(ctx context.Context, tx store.WriteTx, in rest.Input[model.RBACPolicy]) (model.RBACPolicy, error) {
	p := in.Value
	k, err := c.kind(p.ObjectType)
	if err != nil {
		return p, err
	}
	allowed := false
	for _, a := range k.Actions {
		allowed = allowed || a == p.Action
	}
	if !allowed {
		return p, fault.BadInput("action: %s cannot be granted on objects of type %s.", p.Action, p.ObjectType)
	}
	owner, err := k.Object(ctx, tx, p.ObjectID)
	if store.IsNotFound(err) {
		err = k.NotFound(p.ObjectID)
	}
	if err != nil {
		return p, err
	}
	if caller := auth.From(ctx); owner != caller.ProjectID && !caller.HasRole(auth.RoleAdmin) {
		facts, err := sharing.Facts(ctx, tx, []string{p.ObjectID})
		if err != nil {
			return p, err
		}
		if f := facts[p.ObjectID]; f["shared"] != "true" && f["router:external"] != "true" {
			return p, k.NotFound(p.ObjectID) // not there for who may not see it
		}
		return p, fault.BadInput("object_id: only its owner and administrators share an object.")
	}
	p.ID = c.IDs.UUID()
	p.TenantID = p.ProjectID
	err = c.Policies.Insert(ctx, tx, &p)
	if _, dup := store.AsDuplicate(err); dup {
		err = fault.DuplicateRbacPolicy()
	}
	if err != nil || k.Granted == nil {
		return p, err
	}
	return p, k.Granted(ctx, tx, &p)
}

// Update gives the right to another project.
func (c controller) Update(ctx context.Context, tx store.WriteTx, cur model.RBACPolicy, in rest.Input[model.RBACPolicy]) (model.RBACPolicy, error) {
	p := cur
	if err := in.Apply(&p); err != nil {
		return p, err
	}
	if p.TargetTenant == cur.TargetTenant {
		return cur, nil
	}
	if err := c.withdraw(ctx, tx, &cur, p.TargetTenant); err != nil {
		return p, err
	}
	err := c.Policies.Update(ctx, tx, &p, -1)
	if _, dup := store.AsDuplicate(err); dup {
		err = fault.DuplicateRbacPolicy()
	}
	return p, err
}

// Delete withdraws the right.
func (c controller) Delete(ctx context.Context, tx store.WriteTx, cur model.RBACPolicy) error {
	if err := c.withdraw(ctx, tx, &cur, ""); err != nil {
		return err
	}
	if k, err := c.kind(cur.ObjectType); err == nil && k.Withdrawn != nil {
		if err := k.Withdrawn(ctx, tx, &cur); err != nil {
			return err
		}
	}
	return c.Policies.Delete(ctx, tx, cur.ID)
}

// withdraw refuses to take a right that is used. next is who gets it instead, "" for nobody. Those keep their right whom another
// policy names, and the owner.
func (c controller) withdraw(ctx context.Context, tx store.WriteTx, cur *model.RBACPolicy, next string) error {
	k, err := c.kind(cur.ObjectType)
	if err != nil || k.Used == nil || next == sharing.Everyone {
		return err
	}
	owner, err := k.Object(ctx, tx, cur.ObjectID)
	if err != nil || cur.TargetTenant == owner {
		return err
	}
	use := k.Used(cur)
	if use.Table == "" {
		return nil
	}
	losing := store.And(use.Where, store.Expr("project_id <> '' AND project_id <> ?", owner),
		store.Expr("NOT EXISTS (SELECT 1 FROM rbac_policies o WHERE o.object_id = ? AND o.action = ? AND o.id <> ? AND (o.target_project = ? OR o.target_project = "+use.Table+".project_id))",
			cur.ObjectID, cur.Action, cur.ID, sharing.Everyone))
	if cur.TargetTenant != sharing.Everyone {
		losing = store.And(losing, store.Eq("project_id", cur.TargetTenant))
	}
	if next != "" {
		losing = store.And(losing, store.Expr("project_id <> ?", next))
	}
	from := use.From
	if from == "" {
		from = use.Table
	}
	_, used, err := store.Int(ctx, tx, store.Q("SELECT 1 FROM "+from+" WHERE "+losing.SQL+" LIMIT 1", losing.Args...))
	if err == nil && used {
		err = fault.RbacPolicyInUse(cur.ObjectID, use.Why)
	}
	return err
}
