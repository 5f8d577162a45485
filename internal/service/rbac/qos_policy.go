package rbac

import (
	"context"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/service/qos"
	"isospin/internal/service/sharing"
	"isospin/internal/store"
)

// QoSPolicies are QoS policies as objects to share; users are what can have one.
func QoSPolicies(table *qos.Policies, users []qos.User) Kind {
	return Kind{
		Type: qos.ObjectType, Actions: []string{sharing.AsShared},
		Object: func(ctx context.Context, tx store.WriteTx, id string) (string, error) {
			p, err := table.GetForUpdate(ctx, tx, id)
			return p.ProjectID, err
		},
		NotFound: func(id string) error { return fault.QosPolicyNotFound(id) },
		Used: func(p *model.RBACPolicy) Use {
			return Use{Table: "used", From: qos.Used(users), Where: store.Eq("qos_policy_id", p.ObjectID), Why: "projects that would lose the QoS policy have it on something."}
		},
	}
}
