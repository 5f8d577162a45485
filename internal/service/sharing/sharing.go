// Package sharing tells who besides its owner may see or use an object: the RBAC policies of networks, security
// groups and other kinds. Plugins ask it for SQL conditions, so that the database decides what a list holds, and for
// facts that policy rules name ("shared"). It never filters rows in memory.
package sharing

import (
	"context"

	"isospin/internal/auth"
	"isospin/internal/store"
)

// Actions of RBAC policies.
const (
	AsShared   = "access_as_shared"
	AsExternal = "access_as_external"
)

// Everyone is the target that means every project.
const Everyone = "*"

// Visible is the condition under which an object of the type is seen by the caller: its own, or shared with it.
func Visible(ctx context.Context, objectType string) store.Cond {
	p := auth.From(ctx)
	return store.Or(store.Eq("project_id", p.ProjectID), store.Expr(
		"id IN (SELECT object_id FROM rbac_policies WHERE object_type = ? AND target_project IN (?, ?))", objectType, p.ProjectID, Everyone))
}

// Facts tells of objects what policy rules ask: "shared", whether they are shared with the caller, and "router:external", whether
// they are external networks for the caller. Values are "true" and "false", as rules write them. One statement.
func Facts(ctx context.Context, tx store.Tx, ids []string) (map[string]map[string]string, error) {
	out := make(map[string]map[string]string, len(ids))
	for _, id := range ids {
		out[id] = map[string]string{"shared": "false", "router:external": "false"}
	}
	if len(ids) == 0 {
		return out, nil
	}
	where := store.In("target_project", []string{Everyone, auth.From(ctx).ProjectID})
	if len(ids) <= 500 {
		where = store.And(where, store.In("object_id", ids))
	}
	err := store.Each(ctx, tx, store.Q("SELECT object_id, action FROM rbac_policies WHERE "+where.SQL, where.Args...), func(scan func(...any) error) error {
		var id, action string
		err := scan(&id, &action)
		if of := out[id]; of != nil {
			switch action {
			case AsShared:
				of["shared"] = "true"
			case AsExternal:
				of["router:external"] = "true"
			}
		}
		return err
	})
	return out, err
}

// Usable tells whether the caller may refer to an object by its id: administrators and services to all, others to what is their
// project's and to what is shared with them. What a caller may not refer to does not exist for it. One statement, none for
// whoever owns the object.
func Usable(ctx context.Context, tx store.Tx, owner, id string) (bool, error) {
	p := auth.From(ctx)
	if p == nil || p.HasRole(auth.RoleAdmin) || p.HasRole(auth.RoleService) || p.ProjectID == owner {
		return true, nil
	}
	shared, err := Shared(ctx, tx, []string{id})
	return shared[id], err
}

// Shared tells which of the objects are shared with the caller: a policy for everyone, or for the caller's project
// (behaviour.md, section 5). One statement.
func Shared(ctx context.Context, tx store.Tx, ids []string) (map[string]bool, error) {
	out := map[string]bool{}
	if len(ids) == 0 {
		return out, nil
	}
	where := store.And(store.Eq("action", AsShared),
		store.In("target_project", []string{Everyone, auth.From(ctx).ProjectID}))
	if len(ids) <= 500 {
		where = store.And(where, store.In("object_id", ids))
	}
	err := store.Each(ctx, tx, store.Q("SELECT object_id FROM rbac_policies WHERE "+where.SQL, where.Args...), func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		out[id] = true
		return err
	})
	return out, err
}
