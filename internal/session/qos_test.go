package session_test

import (
	"context"
	"testing"

	"isospin/internal/agent/simulate"
	"isospin/internal/change"
	"isospin/internal/document/qos"
	"isospin/internal/model"
	qosservice "isospin/internal/service/qos"
	"isospin/internal/session"
	"isospin/internal/store"
	"isospin/internal/wire"
	"isospin/test/sessiontest"
)

// TestAHostIsToldPolicies: a host holds the QoS policies that its ports and their networks name, as they are now, and no other.
func TestAHostIsToldPolicies(t *testing.T) {
	c, rules := sessiontest.New(t), qosservice.NewRules()
	s := c.Start(sessiontest.Options{Config: func(sc *session.Config) { sc.Kinds = append(sc.Kinds, qos.New(rules)) }})
	h := c.Host(c.Enrol("h1", s.Address), sessiontest.Facts(1), nil)
	c.Wait(h, synced)
	live(t, s, "h1")
	own, nets, other := "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002", "00000000-0000-4000-8000-000000000003"
	limit := func(id, policy string, kbps int64) *model.QoSRule {
		return &model.QoSRule{ID: id, PolicyID: policy, Type: model.QoSBandwidthLimit, Direction: model.DirectionIngress, MaxKbps: &kbps}
	}
	s.Write(func(ctx context.Context, tx store.WriteTx) error {
		for _, policy := range []string{own, nets, other} {
			if err := rules.Insert(ctx, tx, limit(policy, policy, 1000)); err != nil {
				return err
			}
		}
		return nil
	})
	n := s.Network(model.TypeVXLAN, 11)
	p := s.Port(n, func(p *model.Port) { p.HostID, p.QoSPolicyID = "h1", &own })
	c.Wait(h, holds(map[string]int{"host:h1": 1, "net:" + n: 2, "qos:" + own: 1}))

	// The network gets a policy: its document names it.
	s.Write(func(ctx context.Context, tx store.WriteTx) error {
		row, err := s.Networks.GetForUpdate(ctx, tx, n)
		if err != nil {
			return err
		}
		row.QoSPolicyID = &nets
		tx.Changed(change.Key{Kind: wire.KindNetwork, ID: n}, change.NewSet(wire.FamilyNetwork, n))
		return s.Networks.Update(ctx, tx, &row, -1)
	})
	c.Wait(h, holds(map[string]int{"host:h1": 1, "net:" + n: 2, "qos:" + own: 1, "qos:" + nets: 1}))

	// A rule changes: one document.
	before := h.Counts()
	s.Write(func(ctx context.Context, tx store.WriteTx) error {
		tx.Changed(change.Key{Kind: wire.KindQoS, ID: own}, change.NewSet(wire.FamilyQoS, own))
		return rules.Update(ctx, tx, limit(own, own, 2000), -1)
	})
	var doc wire.QoSPolicy
	c.Wait(h, func(v simulate.View) bool {
		return v.Get("qos:"+own, wire.KindQoS, own, &doc) && len(doc.Rules) == 1 && doc.Rules[0].Value == 2000
	})
	if got := h.Counts(); got.Documents-before.Documents != 1 {
		t.Errorf("a changed rule took %d documents", got.Documents-before.Documents)
	}
	s.Write(func(ctx context.Context, tx store.WriteTx) error { return s.ML2.DeletePort(ctx, tx, p.ID) })
	c.Wait(h, holds(map[string]int{"host:h1": 0}))
}
