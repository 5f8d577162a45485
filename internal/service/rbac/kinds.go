package rbac

import (
	"context"

	"isospin/internal/clock"
	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/service/ml2"
	"isospin/internal/service/secgroup"
	"isospin/internal/service/sharing"
	"isospin/internal/service/subnetpool"
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
		Withdrawn: func(ctx context.Context, tx store.WriteTx, p *model.RBACPolicy) error {
			return external(ctx, tx, table, c, p)
		},
		Used: func(p *model.RBACPolicy) Use {
			if p.Action != sharing.AsShared {
				// Gateways and floating IPs (neutron/db/external_net_db.py).
				return Use{Table: "external_uses", From: externalUses, Where: store.Eq("network_id", p.ObjectID),
					Why: "projects that would lose the external network have routers or floating IPs on it."}
			}
			return Use{Table: "ports", Where: store.Eq("network_id", p.ObjectID), Why: "projects that would lose the network have ports on it."}
		},
	}
}

const externalUses = "(SELECT r.project_id AS project_id, g.network_id AS network_id FROM routers r JOIN router_ports g ON g.router_id = r.id AND g.port_type = 'network:router_gateway'" +
	" UNION ALL SELECT project_id, floating_network_id FROM floatingips) external_uses"

// external judges that a policy to use a network as external goes: the default external network stays everybody's, and one that is
// external for nobody any more is not external, which it must be while there are gateways (neutron/db/external_net_db.py).
func external(ctx context.Context, tx store.WriteTx, table *ml2.Networks, c clock.Clock, p *model.RBACPolicy) error {
	if p.Action != sharing.AsExternal {
		return nil
	}
	n, err := table.GetForUpdate(ctx, tx, p.ObjectID)
	if err != nil {
		return err
	}
	if n.IsDefault != nil && *n.IsDefault && p.TargetTenant == sharing.Everyone {
		return fault.RbacPolicyInUse(p.ObjectID, "it is the default external network, which every project may use.")
	}
	left, _, err := store.Int(ctx, tx, store.Q("SELECT COUNT(*) FROM rbac_policies WHERE object_id = ? AND action = ? AND id <> ?", p.ObjectID, sharing.AsExternal, p.ID))
	if err != nil || left > 0 || !n.External {
		return err
	}
	used, _, err := store.Int(ctx, tx, store.Q("SELECT COUNT(*) FROM "+externalUses+" WHERE network_id = ?", p.ObjectID))
	if err != nil {
		return err
	}
	if used > 0 {
		return fault.ExternalNetworkInUse(p.ObjectID)
	}
	n.External, n.IsDefault, n.UpdatedAt, n.Revision = false, nil, model.Stamp(c.Now()), n.Revision+1
	return table.Update(ctx, tx, &n, -1)
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
		Used: func(p *model.RBACPolicy) Use {
			return Use{Table: "ports", Where: store.Expr("id IN (SELECT port_id FROM port_security_groups WHERE security_group_id = ?)", p.ObjectID),
				Why: "projects that would lose the security group use it for their ports."}
		},
	}
}

// Pools are subnet pools as objects to share.
func Pools(table *subnetpool.Pools) Kind {
	return Kind{
		Type: "subnetpool", Actions: []string{sharing.AsShared},
		Object: func(ctx context.Context, tx store.WriteTx, id string) (string, error) {
			p, err := table.GetForUpdate(ctx, tx, id)
			return p.ProjectID, err
		},
		NotFound: func(id string) error { return fault.SubnetPoolNotFound(id) },
		Used: func(p *model.RBACPolicy) Use {
			return Use{Table: "subnets", Where: store.Eq("subnetpool_id", p.ObjectID), Why: "projects that would lose the subnet pool have subnets of it."}
		},
	}
}

// Scopes are address scopes as objects to share.
func Scopes(table *subnetpool.Scopes) Kind {
	return Kind{
		Type: "address_scope", Actions: []string{sharing.AsShared},
		Object: func(ctx context.Context, tx store.WriteTx, id string) (string, error) {
			s, err := table.GetForUpdate(ctx, tx, id)
			return s.ProjectID, err
		},
		NotFound: func(id string) error { return fault.AddressScopeNotFound(id) },
		Used: func(p *model.RBACPolicy) Use {
			return Use{Table: "subnetpools", Where: store.Eq("address_scope_id", p.ObjectID), Why: "projects that would lose the address scope have subnet pools in it."}
		},
	}
}
