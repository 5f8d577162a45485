package rbac

import (
	"context"

	"isospin/internal/clock"
	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/service/ml2"
	"isospin/internal/service/secgroup"
	"isospin/internal/service/sharing"
	"isospin/internal/store"
)

// Networks are networks as objects to share: as shared, or as external.
func Networks(table *ml2.Networks, c clock.Clock) Kind {
	return Kind{
		Type: "network", Actions: []string{sharing.AsShared, sharing.AsExternal},
		Object: func(ctx context.Context, tx store.WriteTx, id string) (string, error) {
			n, err := table.GetForUpdate(ctx, tx, id)
			return n.ProjectID, err
		},
		NotFound: func(id string) error { return fault.NetworkNotFound(id) },
		// A network that is external for somebody is an external network (neutron/db/external_net_db.py).
		Granted: func(ctx context.Context, tx store.WriteTx, p *model.RBACPolicy) error {
			if p.Action != sharing.AsExternal {
				return nil
			}
			n, err := table.GetForUpdate(ctx, tx, p.ObjectID)
			if err != nil || n.External {
				return err
			}
			n.External, n.UpdatedAt, n.Revision = true, model.Stamp(c.Now()), n.Revision+1
			return table.Update(ctx, tx, &n, -1)
		},
		Used: func(ctx context.Context, tx store.Tx, p *model.RBACPolicy, losing store.Cond) (string, error) {
			if p.Action != sharing.AsShared {
				return "", nil // gateways and floating IPs look here once there are any
			}
			used, err := anyPort(ctx, tx, store.And(store.Eq("network_id", p.ObjectID), losing))
			if err != nil || !used {
				return "", err
			}
			return "ports of projects that would lose the network are on it.", nil
		},
	}
}

// Groups are security groups as objects to share.
func Groups(table *secgroup.Groups) Kind {
	return Kind{
		Type: "security_group", Actions: []string{sharing.AsShared},
		Object: func(ctx context.Context, tx store.WriteTx, id string) (string, error) {
			g, err := table.GetForUpdate(ctx, tx, id)
			return g.ProjectID, err
		},
		NotFound: func(id string) error { return fault.SecurityGroupNotFound(id) },
		Used: func(ctx context.Context, tx store.Tx, p *model.RBACPolicy, losing store.Cond) (string, error) {
			used, err := anyPort(ctx, tx, store.And(store.Expr("id IN (SELECT port_id FROM port_security_groups WHERE security_group_id = ?)", p.ObjectID), losing))
			if err != nil || !used {
				return "", err
			}
			return "ports of projects that would lose the security group use it.", nil
		},
	}
}

func anyPort(ctx context.Context, tx store.Tx, where store.Cond) (bool, error) {
	n, ok, err := store.Int(ctx, tx, store.Q("SELECT 1 FROM ports WHERE "+where.SQL+" LIMIT 1", where.Args...))
	return ok && n == 1, err
}
