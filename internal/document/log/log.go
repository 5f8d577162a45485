// Package log is the document of an order to write down which packets of a project's ports security groups let pass or refuse. session renders it
// for the hosts of the project's ports. Orders that are not in force have none. It does not say which ports an order concerns: hosts find out.
package log

import (
	"context"
	"fmt"

	"isospin/internal/change"
	"isospin/internal/document"
	"isospin/internal/model"
	"isospin/internal/service/eventlog"
	"isospin/internal/store"
	"isospin/internal/wire"
)

// Kind renders orders.
type Kind struct{ logs *eventlog.Logs }

// New takes the table of orders.
func New(logs *eventlog.Logs) Kind { return Kind{logs: logs} }

// Name is the wire name.
func (Kind) Name() string { return wire.KindLog }

// Families: an order is its project's.
func (Kind) Families() []string { return []string{wire.FamilyLogs} }

// Members are the orders in force of projects, which have few. One statement.
func (k Kind) Members(ctx context.Context, tx store.Tx, sets []change.Set) (map[change.Set][]string, error) {
	names, _ := document.Names(sets)
	rows, err := k.logs.Find(ctx, tx, store.List{Where: store.In("project_id", names)})
	if err != nil {
		return nil, fmt.Errorf("read the orders of projects: %w", err)
	}
	out := map[change.Set][]string{}
	for i := range rows {
		if l := &rows[i]; l.Enabled {
			s := eventlog.Set(l.ProjectID)
			out[s] = append(out[s], l.ID)
		}
	}
	return out, nil
}

// Render reads orders. One statement.
func (k Kind) Render(ctx context.Context, tx store.Tx, ids []string) (map[string]document.Rendered, error) {
	rows, err := k.logs.Find(ctx, tx, store.List{Where: store.In("id", ids)})
	if err != nil {
		return nil, fmt.Errorf("read orders: %w", err)
	}
	out := make(map[string]document.Rendered, len(rows))
	for i := range rows {
		if l := &rows[i]; l.Enabled && l.ProjectID != "" {
			out[l.ID] = document.Rendered{Sets: []change.Set{eventlog.Set(l.ProjectID)}, Body: body(l)}
		}
	}
	return out, nil
}

func body(l *model.EventLog) *wire.Log {
	doc := &wire.Log{Id: l.ID, ProjectId: l.ProjectID, Event: l.Event}
	if l.ResourceID != nil {
		doc.SecurityGroupId = *l.ResourceID
	}
	if l.TargetID != nil {
		doc.PortId = *l.TargetID
	}
	return doc
}

var _ document.Kind = Kind{}
