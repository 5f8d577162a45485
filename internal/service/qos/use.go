package qos

import (
	"context"
	"slices"

	"isospin/internal/auth"
	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/service"
	"isospin/internal/service/sharing"
	"isospin/internal/store"
)

// Usable is a QosPolicyNotFound unless the policy is there and the caller may use it: its own, shared with it, or any for
// administrators and for writes that no request makes. The policy stays until the commit. One statement, one more for a policy of
// another project.
func Usable(ctx context.Context, tx store.WriteTx, policy string) error {
	ok, err := mayUse(ctx, tx, policy)
	if err == nil && !ok {
		err = fault.QosPolicyNotFound(policy)
	}
	return err
}

// mayUse judges a shared policy twice: whoever withdraws it holds it, and what he did is seen by a statement alone that begins when this
// one has it.
func mayUse(ctx context.Context, tx store.WriteTx, policy string) (bool, error) {
	where, own := store.Eq("id", policy), store.Cond{SQL: "1 = 1"}
	if caller := auth.From(ctx); caller != nil && !caller.HasRole(auth.RoleAdmin) {
		where, own = store.And(where, sharing.Visible(ctx, ObjectType)), store.Eq("project_id", caller.ProjectID)
	}
	q := store.Q("SELECT CASE WHEN "+own.SQL+" THEN 1 ELSE 0 END FROM qos_policies WHERE "+where.SQL+tx.Dialect().ForShare(), append(slices.Clone(own.Args), where.Args...)...)
	mine, ok, err := store.Int(ctx, tx, q)
	if err == nil && ok && mine == 0 {
		_, ok, err = store.Int(ctx, tx, q)
	}
	return ok, err
}

// Removable is a PolicyRemoveAuthorizationError unless the caller may take the policy away from what has it: who may use it may
// (neutron/core_extensions/qos.py). One statement.
func Removable(ctx context.Context, tx store.WriteTx, policy string) error {
	ok, err := mayUse(ctx, tx, policy)
	if err == nil && !ok {
		err = fault.PolicyRemoveAuthorizationError(policy)
	}
	return err
}

// swap judges a change of what has a policy from old to now, "" for none; given is whether a request says so.
func swap(ctx context.Context, tx store.WriteTx, old, now string, given bool) error {
	if old != "" && given {
		if err := Removable(ctx, tx, old); err != nil {
			return err
		}
	}
	if now == "" || now == old {
		return nil
	}
	return Usable(ctx, tx, now)
}

// Networks settles the policies of networks.
type Networks struct{ *Plugin }

// Ports settles the policies of ports.
type Ports struct{ *Plugin }

var (
	_ service.Guard[model.Network] = Networks{}
	_ service.Guard[model.Port]    = Ports{}
)

// Guard gives a new network its project's default policy unless it names one, and refuses policies that may not be used or cannot be
// kept.
func (p Networks) Guard(ctx context.Context, tx store.WriteTx, w service.Write[model.Network]) error {
	if w.Op == service.Delete {
		return nil
	}
	old := ""
	if w.Old != nil {
		old = text(w.Old.QoSPolicyID)
	}
	if w.Op == service.Create && w.New.QoSPolicyID == nil && w.New.ProjectID != "" {
		var err error
		if w.New.QoSPolicyID, err = p.usual(ctx, tx, w.New.ProjectID); err != nil {
			return err
		}
	} else if err := swap(ctx, tx, old, text(w.New.QoSPolicyID), w.Gave("qos_policy_id")); err != nil {
		return err
	}
	now := text(w.New.QoSPolicyID)
	if now == "" || now == old {
		return nil
	}
	rules, err := rulesOf(ctx, tx, now)
	if err != nil || len(rules) == 0 {
		return err
	}
	for i := range rules {
		if !p.keptOn(&rules[i], physical(w.New)) {
			return fault.QosRuleNotSupportedByNetwork(w.New.ID, rules[i].Type)
		}
	}
	if w.Op == service.Create {
		return nil
	}
	ports, err := p.carriers(ctx, tx, store.Expr("p.network_id = ? AND p.qos_policy_id IS NULL", w.New.ID))
	if err != nil {
		return err
	}
	for i := range rules {
		if err := p.keptBy(rules[i], ports); err != nil {
			return err
		}
	}
	return nil
}

// usual is a project's default policy, which stays until the commit. One statement.
func (p *Plugin) usual(ctx context.Context, tx store.WriteTx, project string) (id *string, err error) {
	err = store.Each(ctx, tx, store.Q("SELECT id FROM qos_policies WHERE default_of = ?"+tx.Dialect().ForShare(), project), func(scan func(...any) error) error {
		return scan(&id)
	})
	return id, err
}

// physical tells whether a network's first segment is of a physical network.
func physical(n *model.Network) bool {
	switch {
	case n.ProviderAttributes != nil:
		return text(n.PhysicalNetwork) != ""
	case len(n.Segments) > 0:
		return text(n.Segments[0].PhysicalNetwork) != ""
	}
	return false
}

// Guard refuses policies that may not be used or cannot be kept. A port without a policy costs no statement unless its network has one.
func (p Ports) Guard(ctx context.Context, tx store.WriteTx, w service.Write[model.Port]) error {
	if w.Op == service.Delete {
		return nil
	}
	old, now := "", text(w.New.QoSPolicyID)
	if w.Old != nil {
		old = text(w.Old.QoSPolicyID)
	}
	if err := swap(ctx, tx, old, now, w.Gave("qos_policy_id")); err != nil {
		return err
	}
	if w.Op == service.Create && now == "" {
		now = text(w.Network.QoSPolicyID)
	}
	if now == "" || now == old {
		return nil
	}
	rules, err := rulesOf(ctx, tx, now)
	if err != nil || len(rules) == 0 {
		return err
	}
	c := []carrier{{port: w.New.ID, vif: w.New.VIFType, vnic: w.New.VNICType, physical: physical(w.Network)}}
	for i := range rules {
		if err := p.keptBy(rules[i], c); err != nil {
			return err
		}
	}
	return nil
}

// carrier stands for ports that are alike where rules are concerned.
type carrier struct {
	port      string // one of them
	vif, vnic string
	physical  bool // whether the first segment of their network is of a physical network
	server    bool // whether one of them is a server's
}

// having is the condition of ports for which a policy is in force: it is theirs, or their network's and they have none. The
// COALESCE keeps databases from looking for all ports without a policy first.
func having(policy string) store.Cond {
	return store.Expr("p.id IN (SELECT id FROM ports WHERE qos_policy_id = ? UNION ALL SELECT q.id FROM networks n JOIN ports q ON q.network_id = n.id"+
		" WHERE n.qos_policy_id = ? AND COALESCE(q.qos_policy_id, '') = '')", policy, policy)
}

// carriers are the kinds of ports that fit a condition. One statement.
func (p *Plugin) carriers(ctx context.Context, tx store.Tx, where store.Cond) ([]carrier, error) {
	d := tx.Dialect()
	var out []carrier
	err := store.Each(ctx, tx, store.Q("SELECT MIN(p.id), "+d.JSONText("p.body", "binding:vif_type")+", "+d.JSONText("p.body", "binding:vnic_type")+
		", (SELECT s.physical_network FROM segments s WHERE s.network_id = p.network_id AND s.is_dynamic = 0 ORDER BY s.segment_index, s.id LIMIT 1)"+
		", MAX(CASE WHEN p.device_owner LIKE 'compute:%' THEN 1 ELSE 0 END) FROM ports p WHERE "+where.SQL+" GROUP BY 2, 3, 4", where.Args...),
		func(scan func(...any) error) error {
			var c carrier
			var vif, vnic, net *string
			var server int64
			err := scan(&c.port, &vif, &vnic, &net, &server)
			c.vif, c.vnic, c.physical, c.server = text(vif), text(vnic), text(net) != "", server != 0
			out = append(out, c)
			return err
		})
	return out, err
}

// keptBy refuses a rule that no driver keeps for one of the ports.
func (p *Plugin) keptBy(r model.QoSRule, ports []carrier) error {
	for _, c := range ports {
		if !slices.ContainsFunc(p.Drivers, func(d Driver) bool { return d.serves(c.vif, c.vnic) && d.keeps(&r, c.physical) }) {
			return fault.QosRuleNotSupported(c.port, r.Type)
		}
	}
	return nil
}

// keptOn tells whether a driver keeps a rule on networks whose first segment is (not) of a physical network.
func (p *Plugin) keptOn(r *model.QoSRule, physical bool) bool {
	return slices.ContainsFunc(p.Drivers, func(d Driver) bool { return d.keeps(r, physical) })
}
