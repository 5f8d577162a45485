package session_test

import (
	"context"
	"testing"

	"isospin/internal/agent/simulate"
	"isospin/internal/change"
	"isospin/internal/document/log"
	"isospin/internal/model"
	"isospin/internal/service"
	"isospin/internal/service/eventlog"
	"isospin/internal/session"
	"isospin/internal/store"
	"isospin/internal/wire"
	"isospin/test/sessiontest"
)

// TestAHostIsToldOrders: a host that has a filtered port of a project holds the project's orders to log that are in force, and no others; one more is
// one document.
func TestAHostIsToldOrders(t *testing.T) {
	c, logs := sessiontest.New(t), eventlog.NewLogs()
	s := c.Start(sessiontest.Options{Config: func(sc *session.Config) { sc.Kinds = append(sc.Kinds, log.New(logs)) }})
	h := c.Host(c.Enrol("h1", s.Address), sessiontest.Facts(1), nil)
	c.Wait(h, synced)
	live(t, s, "h1")
	group := s.Group()
	p := s.Port(s.Network(model.TypeVXLAN, 11), func(p *model.Port) { p.HostID, p.SecurityGroups = "h1", []string{group} })
	order := func(id, project, event string, enabled bool) *model.EventLog {
		l := &model.EventLog{Event: event, Enabled: enabled, TargetID: &p.ID, ResourceID: &group}
		l.ID, l.ProjectID = id, project
		return l
	}
	write := func(l *model.EventLog, write func(context.Context, store.WriteTx, *model.EventLog) error) {
		s.Write(func(ctx context.Context, tx store.WriteTx) error {
			tx.Changed(change.Key{Kind: wire.KindLog, ID: l.ID}, eventlog.Set(l.ProjectID))
			return write(ctx, tx, l)
		})
	}
	update := func(ctx context.Context, tx store.WriteTx, l *model.EventLog) error {
		return logs.Update(ctx, tx, l, -1)
	}
	set := "logs:" + p.ProjectID
	holding := func(n int) func(simulate.View) bool {
		return func(v simulate.View) bool { have, ok := v.Sets()[set]; return ok && have == n && v.Synced() }
	}
	c.Wait(h, holding(0))
	before := h.Counts()
	write(order("other", "somebody else", "ALL", true), logs.Insert)
	write(order("off", p.ProjectID, "ALL", false), logs.Insert)
	write(order("on", p.ProjectID, "DROP", true), logs.Insert)
	c.Wait(h, holding(1))
	var doc wire.Log
	c.Wait(h, func(v simulate.View) bool {
		return v.Get(set, wire.KindLog, "on", &doc) && doc.Event == "DROP" && doc.PortId == p.ID && doc.SecurityGroupId == group && doc.ProjectId == p.ProjectID
	})
	if got := h.Counts(); got.Documents-before.Documents != 1 {
		t.Errorf("an order took %d documents", got.Documents-before.Documents)
	}
	write(order("off", p.ProjectID, "ALL", true), update)
	c.Wait(h, holding(2))
	write(order("on", p.ProjectID, "DROP", false), update)
	c.Wait(h, holding(1))
	// Who takes orders along with a group or a port tells the hosts.
	plugin := eventlog.New(eventlog.Config{Logs: logs})
	s.Write(func(ctx context.Context, tx store.WriteTx) error { return plugin.GroupGone(ctx, tx, group) })
	c.Wait(h, holding(0))
	write(order("again", p.ProjectID, "ALL", true), logs.Insert)
	c.Wait(h, holding(1))
	s.Write(func(ctx context.Context, tx store.WriteTx) error {
		return eventlog.Ports{Plugin: plugin}.Follow(ctx, tx, service.Write[model.Port]{Op: service.Delete, Old: &p})
	})
	c.Wait(h, holding(0))
	s.Write(func(ctx context.Context, tx store.WriteTx) error { return s.ML2.DeletePort(ctx, tx, p.ID) })
	c.Wait(h, holds(map[string]int{"host:h1": 0}))
}
