package qos

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/service/sharing"
	"isospin/internal/store"
)

// policies is the controller of policies.
type policies struct{ *Plugin }

var _ rest.Controller[model.QoSPolicy] = policies{}

// Create makes a policy, which has no rules yet.
func (p policies) Create(ctx context.Context, tx store.WriteTx, in rest.Input[model.QoSPolicy]) (model.QoSPolicy, error) {
	q := in.Value
	if q.ProjectID == "" {
		return q, fault.BadRequest("policies", "a QoS policy belongs to a project; give project_id.")
	}
	shared := q.Shared
	now := model.Stamp(p.Clock.Now())
	q.ID, q.TenantID, q.CreatedAt, q.UpdatedAt, q.Shared = p.IDs.UUID(), q.ProjectID, now, now, nil
	if q.Tags == nil {
		q.Tags = []string{}
	}
	if q.IsDefault {
		q.Revision = 1 // to become the default is a change of its own (neutron/db/qos/models.py)
	}
	if err := alone(p.Policies.Insert(ctx, tx, &q), &q); err != nil || shared == nil || !*shared {
		return q, err
	}
	return q, sharing.Grant(ctx, tx, p.IDs, q.ProjectID, ObjectType, q.ID, sharing.AsShared, sharing.Everyone)
}

// alone names the clash of two default policies of a project.
func alone(err error, q *model.QoSPolicy) error {
	if _, dup := store.AsDuplicate(err); dup {
		return fault.QoSPolicyDefaultAlreadyExists(q.ProjectID)
	}
	return err
}

// Update changes a policy, but not its rules.
func (p policies) Update(ctx context.Context, tx store.WriteTx, cur model.QoSPolicy, in rest.Input[model.QoSPolicy]) (model.QoSPolicy, error) {
	q := cur
	if err := in.Apply(&q); err != nil {
		return q, err
	}
	shared := q.Shared
	q.Shared = nil
	turned, err := p.share(ctx, tx, &q, shared)
	if err != nil {
		return q, err
	}
	if !turned && q.Name == cur.Name && q.Description == cur.Description && q.IsDefault == cur.IsDefault {
		return cur, nil
	}
	p.bump(&q.Standard)
	return q, alone(p.Policies.Update(ctx, tx, &q, cur.Revision), &q)
}

// share opens a policy to every project, or closes it unless a project that would lose it has it (neutron/objects/rbac_db.py).
// turned is whether anything changed.
func (p policies) share(ctx context.Context, tx store.WriteTx, q *model.QoSPolicy, shared *bool) (turned bool, err error) {
	if shared == nil {
		return false, nil
	}
	now, _, err := store.Int(ctx, tx, store.Q("SELECT COUNT(*) FROM rbac_policies WHERE object_id = ? AND action = ? AND target_project = ?", q.ID, sharing.AsShared, sharing.Everyone))
	if err != nil || *shared == (now > 0) {
		return false, err
	}
	if *shared {
		return true, sharing.Grant(ctx, tx, p.IDs, q.ProjectID, ObjectType, q.ID, sharing.AsShared, sharing.Everyone)
	}
	_, used, err := store.Int(ctx, tx, store.Q("SELECT 1 FROM "+Used(p.Users)+" WHERE qos_policy_id = ? AND project_id NOT IN ('', ?)"+
		" AND NOT EXISTS (SELECT 1 FROM rbac_policies o WHERE o.object_id = ? AND o.action = ? AND o.target_project = used.project_id) LIMIT 1",
		q.ID, q.ProjectID, q.ID, sharing.AsShared))
	if err == nil && used {
		err = fault.RbacPolicyInUse(q.ID, "projects that would lose the QoS policy have it on something.")
	}
	if err != nil {
		return false, err
	}
	return true, sharing.Revoke(ctx, tx, q.ID, sharing.AsShared, sharing.Everyone)
}

// Used is the table "used" of all that has a policy, with the columns kind, id, project_id and qos_policy_id.
func Used(users []User) string {
	parts := make([]string, len(users))
	for i, u := range users {
		parts[i] = "SELECT '" + u.Kind + "' AS kind, id, project_id, qos_policy_id FROM " + u.Table
	}
	return "(" + strings.Join(parts, " UNION ALL ") + ") used"
}

// Delete removes a policy that nothing has, with its rules.
func (p policies) Delete(ctx context.Context, tx store.WriteTx, cur model.QoSPolicy) error {
	kind, id := "", ""
	err := store.Each(ctx, tx, store.Q("SELECT kind, id FROM "+Used(p.Users)+" WHERE qos_policy_id = ? LIMIT 1", cur.ID), func(scan func(...any) error) error {
		return scan(&kind, &id)
	})
	if err == nil && id != "" {
		err = fault.QosPolicyInUse(cur.ID, kind, id)
	}
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, store.Q("DELETE FROM qos_rules WHERE qos_policy_id = ?", cur.ID)); err != nil {
		return err
	}
	if err := sharing.Forget(ctx, tx, cur.ID); err != nil {
		return err
	}
	changed(tx, cur.ID)
	return p.Policies.Delete(ctx, tx, cur.ID)
}

// Splice adds the policies' rules and whether they are shared, one statement each.
func (p policies) Splice(ctx context.Context, tx store.Tx, page *rest.Page) error {
	ids := page.IDs()
	if page.Wants("rules") {
		where := store.Cond{SQL: "1 = 1"}
		if len(ids) <= 500 {
			where = store.In("qos_policy_id", ids)
		}
		bodies := map[string][][]byte{}
		err := store.Each(ctx, tx, store.Q("SELECT qos_policy_id, "+tx.Dialect().Body("body")+" FROM qos_rules WHERE "+where.SQL+" ORDER BY rule_type, direction", where.Args...),
			func(scan func(...any) error) error {
				var policy string
				var body []byte
				err := scan(&policy, &body)
				bodies[policy] = append(bodies[policy], body)
				return err
			})
		if err != nil {
			return err
		}
		for i, id := range ids {
			list := append([]byte{'['}, bytes.Join(bodies[id], []byte{','})...)
			page.Splice(i, "rules", append(list, ']'))
		}
	}
	if !page.Wants("shared") {
		return nil
	}
	shared, err := sharing.Shared(ctx, tx, ids)
	if err != nil {
		return err
	}
	for i, id := range ids {
		page.Splice(i, "shared", strconv.AppendBool(nil, shared[id]))
	}
	return nil
}

// rulesOf reads the rules of a policy, of the types named or of all. One statement.
func rulesOf(ctx context.Context, tx store.Tx, policy string, kinds ...string) ([]model.QoSRule, error) {
	where := store.Eq("qos_policy_id", policy)
	if len(kinds) > 0 {
		where = store.And(where, store.In("rule_type", kinds))
	}
	return readRules(ctx, tx, where)
}

func readRules(ctx context.Context, tx store.Tx, where store.Cond) ([]model.QoSRule, error) {
	var out []model.QoSRule
	err := store.Each(ctx, tx, store.Q("SELECT "+tx.Dialect().Body("body")+" FROM qos_rules WHERE "+where.SQL+" ORDER BY id", where.Args...), func(scan func(...any) error) error {
		var body []byte
		if err := scan(&body); err != nil {
			return err
		}
		var r model.QoSRule
		err := json.Unmarshal(body, &r)
		out = append(out, r)
		return err
	})
	return out, err
}
