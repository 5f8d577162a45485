package floatingip

import (
	"context"
	"encoding/json"
	"fmt"

	"isospin/internal/auth"
	"isospin/internal/rest"
	"isospin/internal/service/ml2"
	"isospin/internal/service/sharing"
	"isospin/internal/store"
)

// pools lists the IPv4 subnets that the caller's floating IPs come from.
type pools struct{ subnets *ml2.Subnets }

var _ rest.Lister = pools{}

// pool is one of them.
type pool struct {
	SubnetID   string  `json:"subnet_id"`
	SubnetName string  `json:"subnet_name"`
	ProjectID  string  `json:"project_id"`
	TenantID   string  `json:"tenant_id"`
	NetworkID  string  `json:"network_id"`
	CIDR       *string `json:"cidr"`
}

// List makes the pools of the external networks that the caller may see; each is shown as the caller's own. One statement.
func (p pools) List(ctx context.Context, tx store.Tx, _ map[string][]string) ([]store.Row, error) {
	subs, err := p.subnets.Find(ctx, tx, store.List{Where: outside(ctx)})
	if err != nil {
		return nil, err
	}
	caller := auth.From(ctx).ProjectID
	var rows []store.Row
	for i := range subs {
		s := &subs[i]
		if s.IPVersion != 4 {
			continue
		}
		body, err := json.Marshal(pool{SubnetID: s.ID, SubnetName: s.Name, ProjectID: caller, TenantID: caller, NetworkID: s.NetworkID, CIDR: s.CIDR})
		if err != nil {
			return nil, fmt.Errorf("encode a pool: %w", err)
		}
		rows = append(rows, store.Row{ID: s.ID, Project: caller, Body: body})
	}
	return rows, nil
}

// outside is the condition on subnets of external networks that the caller may see.
func outside(ctx context.Context) store.Cond {
	where := store.Expr("action = ?", sharing.AsExternal)
	if !all(ctx) {
		project := auth.From(ctx).ProjectID
		where = store.And(where, store.Or(store.In("target_project", []string{project, sharing.Everyone}),
			store.Expr("object_id IN (SELECT id FROM networks WHERE project_id = ?)", project)))
	}
	return store.Expr("network_id IN (SELECT object_id FROM rbac_policies WHERE "+where.SQL+")", where.Args...)
}
