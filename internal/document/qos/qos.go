// Package qos is the document of a QoS policy: its rules, which hosts keep for the ports that have it. session renders it for the
// hosts of ports and networks that name it. It does not say who has the policy.
package qos

import (
	"context"
	"fmt"

	"isospin/internal/change"
	"isospin/internal/document"
	"isospin/internal/model"
	"isospin/internal/service/qos"
	"isospin/internal/store"
	"isospin/internal/wire"
)

// Kind renders policies.
type Kind struct{ rules *qos.Rules }

// New takes the table of rules.
func New(rules *qos.Rules) Kind { return Kind{rules: rules} }

// Name is the wire name.
func (Kind) Name() string { return wire.KindQoS }

// Families: a policy is in the set of its own.
func (Kind) Families() []string { return []string{wire.FamilyQoS} }

// Members are the policies that have rules: of one without there is nothing to tell. One statement.
func (Kind) Members(ctx context.Context, tx store.Tx, sets []change.Set) (map[change.Set][]string, error) {
	return document.Where(ctx, tx, sets, "SELECT DISTINCT qos_policy_id, qos_policy_id FROM qos_rules", "qos_policy_id")
}

// Render reads the policies' rules. One statement.
func (k Kind) Render(ctx context.Context, tx store.Tx, ids []string) (map[string]document.Rendered, error) {
	rows, err := k.rules.Find(ctx, tx, store.List{Where: store.In("qos_policy_id", ids), Order: []store.Order{{Expr: "rule_type"}, {Expr: "direction"}}})
	if err != nil {
		return nil, fmt.Errorf("read QoS rules: %w", err)
	}
	bodies := map[string]*wire.QoSPolicy{}
	for i := range rows {
		r := &rows[i]
		doc := bodies[r.PolicyID]
		if doc == nil {
			doc = &wire.QoSPolicy{Id: r.PolicyID}
			bodies[r.PolicyID] = doc
		}
		doc.Rules = append(doc.Rules, rule(r))
	}
	out := make(map[string]document.Rendered, len(bodies))
	for id, doc := range bodies {
		out[id] = document.Rendered{Sets: []change.Set{change.NewSet(wire.FamilyQoS, id)}, Body: doc}
	}
	return out, nil
}

func rule(r *model.QoSRule) *wire.QoSRule {
	doc := &wire.QoSRule{Type: r.Type, Direction: r.Direction}
	for _, n := range []*int64{r.MaxKbps, r.MinKbps, r.MaxKpps, r.MinKpps, r.DSCPMark} {
		if n != nil {
			doc.Value = *n
		}
	}
	for _, n := range []*int64{r.MaxBurstKbps, r.MaxBurstKpps} {
		if n != nil {
			doc.Burst = *n
		}
	}
	return doc
}

var _ document.Kind = Kind{}
