package qos

import (
	"context"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/store"
)

// ruleTypes are the types of rules, in the order in which they are shown.
func ruleTypes() []string {
	return []string{model.QoSBandwidthLimit, model.QoSDSCPMarking, model.QoSMinimumBandwidth, model.QoSMinimumPacketRate, model.QoSPacketRateLimit}
}

// guaranteed tells whether rules of a type guarantee something, which Placement has to set aside.
func guaranteed(kind string) bool {
	return kind == model.QoSMinimumBandwidth || kind == model.QoSMinimumPacketRate
}

// ofType is the table of the rules of one type. Who writes a rule keeps its policy first, as those do who remove a policy with its
// rules: in the other order the two would wait for each other.
type ofType struct {
	*Rules
	policies *Policies
	kind     string
}

// Bodies reads rules of the type.
func (t ofType) Bodies(ctx context.Context, tx store.Tx, l store.List) ([]store.Row, error) {
	l.Where = store.And(l.Where, store.Eq("rule_type", t.kind))
	return t.Rules.Bodies(ctx, tx, l)
}

// Count counts rules of the type.
func (t ofType) Count(ctx context.Context, tx store.Tx, where store.Cond) (int64, error) {
	return t.Rules.Count(ctx, tx, store.And(where, store.Eq("rule_type", t.kind)))
}

// GetForUpdate keeps policy and rule.
func (t ofType) GetForUpdate(ctx context.Context, tx store.WriteTx, id string) (model.QoSRule, error) {
	r, err := t.Get(ctx, tx, id)
	if err != nil {
		return r, err
	}
	if r.Type != t.kind {
		return r, &store.NotFound{Table: t.TableName(), ID: id}
	}
	if _, err := t.policies.GetForUpdate(ctx, tx, r.PolicyID); err != nil {
		return r, err // the policy went, and the rule with it
	}
	return t.Rules.GetForUpdate(ctx, tx, id)
}

// rules is the controller of the rules of one type.
type rules struct {
	*Plugin
	kind string
}

var _ rest.Controller[model.QoSRule] = rules{}

// Create adds a rule to its policy.
func (p rules) Create(ctx context.Context, tx store.WriteTx, in rest.Input[model.QoSRule]) (model.QoSRule, error) {
	r := in.Value
	r.ID, r.PolicyID, r.Type = p.IDs.UUID(), in.Parent, p.kind
	q, err := p.Policies.GetForUpdate(ctx, tx, in.Parent)
	if store.IsNotFound(err) {
		err = fault.QosPolicyNotFound(in.Parent)
	}
	if err != nil {
		return r, err
	}
	if err := p.fits(ctx, tx, &r, in.Given); err != nil {
		return r, err
	}
	if err := p.Rules.Insert(ctx, tx, &r); err != nil {
		return r, err
	}
	return r, p.touched(ctx, tx, &q, &r, true)
}

// Update changes a rule.
func (p rules) Update(ctx context.Context, tx store.WriteTx, cur model.QoSRule, in rest.Input[model.QoSRule]) (model.QoSRule, error) {
	r := cur
	if err := in.Apply(&r); err != nil {
		return r, err
	}
	q, err := p.Policies.GetForUpdate(ctx, tx, cur.PolicyID)
	if err != nil {
		return r, err
	}
	if err := p.fits(ctx, tx, &r, in.Given); err != nil {
		return r, err
	}
	if sameRule(&cur, &r) {
		return cur, nil
	}
	if err := p.Rules.Update(ctx, tx, &r, -1); err != nil {
		return r, err
	}
	return r, p.touched(ctx, tx, &q, &r, true)
}

// Delete removes a rule.
func (p rules) Delete(ctx context.Context, tx store.WriteTx, cur model.QoSRule) error {
	q, err := p.Policies.GetForUpdate(ctx, tx, cur.PolicyID)
	if err != nil {
		return err
	}
	if err := p.Rules.Delete(ctx, tx, cur.ID); err != nil {
		return err
	}
	return p.touched(ctx, tx, &q, &cur, false)
}

func sameRule(a, b *model.QoSRule) bool {
	for _, name := range []string{"max_kbps", "max_burst_kbps", "min_kbps", "max_kpps", "max_burst_kpps", "min_kpps", "dscp_mark", "direction"} {
		if value(a, name) != value(b, name) {
			return false
		}
	}
	return true
}

// value is a rule's parameter by its name in the API: an int64, a direction, or nil where the rule has none.
func value(r *model.QoSRule, name string) any {
	var n *int64
	switch name {
	case "direction":
		return r.Direction
	case "max_kbps":
		n = r.MaxKbps
	case "max_burst_kbps":
		n = r.MaxBurstKbps
	case "min_kbps":
		n = r.MinKbps
	case "max_kpps":
		n = r.MaxKpps
	case "max_burst_kpps":
		n = r.MaxBurstKpps
	case "min_kpps":
		n = r.MinKpps
	case "dscp_mark":
		n = r.DSCPMark
	}
	if n == nil {
		return nil
	}
	return *n
}

// fits refuses a rule that contradicts another of its policy, which is locked: one of its type and direction, a guarantee above a
// limit in either direction, a guarantee for both directions together beside one for either
// (neutron/objects/qos/qos_policy_validator.py). One statement.
func (p rules) fits(ctx context.Context, tx store.Tx, r *model.QoSRule, given func(string) bool) error {
	others, err := rulesOf(ctx, tx, r.PolicyID)
	if err != nil {
		return err
	}
	for i := range others {
		o := &others[i]
		switch {
		case o.ID == r.ID:
		case r.Type == model.QoSBandwidthLimit && o.Type == model.QoSMinimumBandwidth && given("max_kbps") && *o.MinKbps > *r.MaxKbps:
			return fault.QoSRuleParameterConflict(*r.MaxKbps, o.Type, r.PolicyID, *o.MinKbps)
		case r.Type == model.QoSMinimumBandwidth && o.Type == model.QoSBandwidthLimit && given("min_kbps") && *o.MaxKbps < *r.MinKbps:
			return fault.QoSRuleParameterConflict(*r.MinKbps, o.Type, r.PolicyID, *o.MaxKbps)
		case r.Type != o.Type:
		case r.Direction == o.Direction:
			return fault.QoSRulesConflict(r.Type, o.ID, r.PolicyID)
		case r.Type == model.QoSMinimumPacketRate && (r.Direction == model.DirectionAny || o.Direction == model.DirectionAny):
			return fault.QoSRuleParameterConflict(r.Direction, o.Type, r.PolicyID, o.Direction)
		}
	}
	return nil
}

// touched bumps the policy of a rule that came, changed or went, and says that hosts must know. What has the policy must be able to
// keep a rule that is there, and what Placement has set aside for servers cannot change under them
// (neutron/services/qos/qos_plugin.py). Three statements.
func (p rules) touched(ctx context.Context, tx store.WriteTx, q *model.QoSPolicy, r *model.QoSRule, there bool) error {
	ports, err := p.carriers(ctx, tx, having(q.ID))
	if err != nil {
		return err
	}
	if there {
		if err := p.keptBy(*r, ports); err != nil {
			return err
		}
	}
	for _, c := range ports {
		if c.server && guaranteed(r.Type) {
			return fault.NotImplementedError("changing guarantees of QoS policies that servers' ports have")
		}
	}
	p.bump(&q.Standard)
	changed(tx, q.ID)
	return p.Policies.Update(ctx, tx, q, -1)
}
