package rbac

import (
	"context"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/service/secgroup"
	"isospin/internal/service/sharing"
	"isospin/internal/store"
)

// AddressGroups are address groups as objects to share.
func AddressGroups(table *secgroup.AddressGroups) Kind {
	return Kind{
		Type: "address_group", Actions: []string{sharing.AsShared},
		Object: func(ctx context.Context, tx store.WriteTx, id string) (string, error) {
			g, err := table.GetForUpdate(ctx, tx, id)
			return g.ProjectID, err
		},
		NotFound: func(id string) error { return fault.AddressGroupNotFound(id) },
		Used: func(p *model.RBACPolicy) Use {
			return Use{Table: "security_group_rules", Where: store.Eq("remote_address_group_id", p.ObjectID),
				Why: "projects that would lose the address group have rules that name it."}
		},
	}
}
