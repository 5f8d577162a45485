package ml2

import (
	"bytes"
	"context"

	"isospin/internal/auth"
	"isospin/internal/rest"
	"isospin/internal/service/sharing"
	"isospin/internal/store"
)

// external are the networks that lead outside for the caller; for administrators, for anybody. more narrows them.
func external(ctx context.Context, more store.Cond) store.Cond {
	where := store.And(store.Eq("action", sharing.AsExternal), store.Eq("object_type", "network"), more)
	if p := auth.From(ctx); p != nil && !p.HasRole(auth.RoleAdmin) {
		where = store.And(where, store.In("target_project", []string{p.ProjectID, sharing.Everyone}))
	}
	return where
}

// Splice adds whether the network of a subnet leads outside. One statement.
func (p subnets) Splice(ctx context.Context, tx store.Tx, page *rest.Page) error {
	if !page.Wants("router:external") {
		return nil
	}
	of := make([]string, len(page.Rows))
	seen := map[string]bool{}
	var ids []string
	for i := range page.Rows {
		raw, _ := page.Member(i, "network_id")
		of[i] = string(bytes.Trim(raw, `"`))
		if !seen[of[i]] {
			seen[of[i]] = true
			ids = append(ids, of[i])
		}
	}
	more := store.Cond{}
	if len(ids) <= 500 {
		more = store.In("object_id", ids)
	}
	outside := map[string]bool{}
	where := external(ctx, more)
	err := store.Each(ctx, tx, store.Q("SELECT object_id FROM rbac_policies WHERE "+where.SQL, where.Args...), func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		outside[id] = true
		return err
	})
	if err != nil {
		return err
	}
	for i := range page.Rows {
		value := []byte("false")
		if outside[of[i]] {
			value = []byte("true")
		}
		page.Splice(i, "router:external", value)
	}
	return nil
}

// subnetFilters are the filters on what a subnet has of its network.
func subnetFilters() map[string]rest.Filter {
	return map[string]rest.Filter{
		"router:external": func(ctx context.Context, values []string) (store.Cond, error) {
			where := external(ctx, store.Cond{})
			in := store.Expr("network_id IN (SELECT object_id FROM rbac_policies WHERE "+where.SQL+")", where.Args...)
			any := store.Expr("1 = 0")
			for _, v := range values {
				yes, err := rest.Truth(v)
				switch {
				case err != nil:
					return store.Cond{}, err
				case yes:
					any = store.Or(any, in)
				default:
					any = store.Or(any, store.Not(in))
				}
			}
			return any, nil
		},
	}
}
