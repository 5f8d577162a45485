package ml2

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"

	"isospin/internal/auth"
	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/service/sharing"
	"isospin/internal/store"
)

// same tells whether two values have the same body: then an update changes nothing and the revision stays.
func same[T any](a, b *T) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// projectOf is the caller's project; "" for writes that no request makes.
func projectOf(ctx context.Context) string {
	if p := auth.From(ctx); p != nil {
		return p.ProjectID
	}
	return ""
}

// administrator tells whether the caller is one, or the write is nobody's.
func administrator(ctx context.Context) bool {
	p := auth.From(ctx)
	return p == nil || p.HasRole(auth.RoleAdmin)
}

func segmentIn(column string, values []string) (store.Cond, error) {
	if column != "segmentation_id" {
		return store.In(column, values), nil
	}
	var ids []int64
	for _, v := range values {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return store.Cond{}, fault.BadInput("'%s' is not a segmentation id.", v)
		}
		ids = append(ids, n)
	}
	return store.In(column, ids), nil
}

// stillSeen is a NetworkNotFound for a network that was withdrawn after the request looked at it: whoever withdraws it holds it, and what
// he did is seen by a statement that begins when this transaction has it. One statement; none for its owner and for administrators.
func (p *Plugin) stillSeen(ctx context.Context, tx store.Tx, n *model.Network) error {
	caller := auth.From(ctx)
	if caller == nil || caller.ProjectID == n.ProjectID || caller.HasRole(auth.RoleAdmin) || caller.HasRole(auth.RoleService) {
		return nil
	}
	where := store.And(store.Eq("id", n.ID), sharing.Visible(ctx, "network"))
	_, ok, err := store.Int(ctx, tx, store.Q("SELECT 1 FROM networks WHERE "+where.SQL, where.Args...))
	if err == nil && !ok {
		err = fault.NetworkNotFound(n.ID)
	}
	return err
}
