package sharing

import (
	"context"
	"database/sql"
	"encoding/json"

	"isospin/internal/auth"
	"isospin/internal/ident"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/store"
)

// Policies is the table of RBAC policies.
type Policies = store.Table[model.RBACPolicy]

const counted = "rbac_policy"

// NewPolicies declares the table of RBAC policies.
func NewPolicies() *Policies {
	return store.NewTable("rbac_policies",
		func(p *model.RBACPolicy) string { return p.ID }, func(p *model.RBACPolicy) string { return p.ProjectID },
		store.Column[model.RBACPolicy]{Name: "object_type", Attr: "object_type", Of: func(p *model.RBACPolicy) any { return p.ObjectType }},
		store.Column[model.RBACPolicy]{Name: "object_id", Attr: "object_id", Of: func(p *model.RBACPolicy) any { return p.ObjectID }},
		store.Column[model.RBACPolicy]{Name: "action", Attr: "action", Of: func(p *model.RBACPolicy) any { return p.Action }},
		store.Column[model.RBACPolicy]{Name: "target_project", Attr: "target_tenant", Of: func(p *model.RBACPolicy) any { return p.TargetTenant }},
	).Counted(counted)
}

// Grant writes a policy; an equal one that exists is kept.
func Grant(ctx context.Context, tx store.WriteTx, ids ident.Source, project, objectType, objectID, action, target string) error {
	p := model.RBACPolicy{ID: ids.UUID(), ProjectID: project, TenantID: project, ObjectType: objectType, ObjectID: objectID, Action: action, TargetTenant: target}
	body, err := json.Marshal(&p)
	if err != nil {
		return err
	}
	head, tail := tx.Dialect().InsertIgnore()
	n, err := tx.Exec(ctx, store.Q(head+" rbac_policies (id, project_id, revision, body, object_type, object_id, action, target_project) VALUES (?, ?, 0, ?, ?, ?, ?, ?) "+tail,
		p.ID, project, string(body), objectType, objectID, action, target))
	if n > 0 {
		tx.Count(counted, project, 1)
	}
	return err
}

// Revoke removes a policy.
func Revoke(ctx context.Context, tx store.WriteTx, objectID, action, target string) error {
	return remove(ctx, tx, store.Expr("object_id = ? AND action = ? AND target_project = ?", objectID, action, target))
}

// Withdraw removes the policies of an object with an action, whoever they are for.
func Withdraw(ctx context.Context, tx store.WriteTx, objectID, action string) error {
	return remove(ctx, tx, store.Expr("object_id = ? AND action = ?", objectID, action))
}

// Forget removes every policy of an object that goes.
func Forget(ctx context.Context, tx store.WriteTx, objectID string) error {
	return remove(ctx, tx, store.Eq("object_id", objectID))
}

func remove(ctx context.Context, tx store.WriteTx, where store.Cond) error {
	return store.Each(ctx, tx, store.Q("DELETE FROM rbac_policies WHERE "+where.SQL+" RETURNING project_id", where.Args...), func(scan func(...any) error) error {
		var owner sql.NullString
		err := scan(&owner)
		tx.Count(counted, owner.String, -1)
		return err
	})
}

// Filter finds objects by whether they are shared with the caller.
func Filter(ctx context.Context, values []string) (store.Cond, error) {
	var any []store.Cond
	for _, v := range values {
		on, err := rest.Truth(v)
		if err != nil {
			return store.Cond{}, err
		}
		c := store.Expr("id IN (SELECT object_id FROM rbac_policies WHERE action = ? AND target_project IN (?, ?))", AsShared, auth.From(ctx).ProjectID, Everyone)
		if !on {
			c = store.Not(c)
		}
		any = append(any, c)
	}
	return store.Or(any...), nil
}
