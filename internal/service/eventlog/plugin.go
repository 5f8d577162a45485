// Package eventlog is orders to log what security groups accept and drop. The logging is the hosts' work; here is what they are
// told, and what becomes of an order whose group or port goes. secgroup and ml2 run it inside their deletes.
package eventlog

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"isospin/internal/auth"
	"isospin/internal/change"
	"isospin/internal/clock"
	"isospin/internal/fault"
	"isospin/internal/ident"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/service"
	"isospin/internal/service/ml2"
	"isospin/internal/service/secgroup"
	"isospin/internal/service/sharing"
	"isospin/internal/store"
	"isospin/internal/wire"
)

// Logs is the plugin's table.
type Logs = store.Table[model.EventLog]

// NewLogs declares the table of orders.
func NewLogs() *Logs {
	return store.NewTable("logs",
		func(l *model.EventLog) string { return l.ID }, func(l *model.EventLog) string { return l.ProjectID },
		store.Column[model.EventLog]{Name: "revision", Attr: "revision_number", Of: func(l *model.EventLog) any { return l.Revision }},
		store.Column[model.EventLog]{Name: "name", Attr: "name", Of: func(l *model.EventLog) any { return l.Name }},
		store.Column[model.EventLog]{Name: "resource_id", Attr: "resource_id", Of: func(l *model.EventLog) any { return orNil(l.ResourceID) }},
		store.Column[model.EventLog]{Name: "target_id", Attr: "target_id", Of: func(l *model.EventLog) any { return orNil(l.TargetID) }})
}

func orNil(s *string) any {
	if s == nil {
		return nil
	}
	return *s
}

// SecurityGroup is the type of resource whose events hosts can log.
const SecurityGroup = "security_group"

// Config is what the plugin is made of.
type Config struct {
	Logs   *Logs
	Groups *secgroup.Groups
	Ports  *ml2.Ports
	Clock  clock.Clock
	IDs    ident.Source
}

// Plugin is logging.
type Plugin struct{ Config }

// New makes the plugin.
func New(c Config) *Plugin { return &Plugin{c} }

// Name is the plugin's name.
func (p *Plugin) Name() string { return "log" }

// Bindings are orders and the types of resources that they can be about.
func (p *Plugin) Bindings() []rest.Binding {
	return []rest.Binding{
		rest.Bind("logs", p.Logs, logs{p}, rest.Options{
			NotFound: func(id string) error { return fault.LogResourceNotFound(id) },
		}),
		rest.Computed("loggable_resources", "", loggable{}, rest.Options{
			Facts:    everyones,
			NotFound: func(id string) error { return fault.HTTPNotFound("There is no loggable resource " + id + ".") },
		}),
	}
}

// loggable lists the types of resources.
type loggable struct{}

// List makes the rows; it reads nothing.
func (loggable) List(context.Context, store.Tx, map[string][]string) ([]store.Row, error) {
	body, err := json.Marshal(map[string]string{"type": SecurityGroup})
	if err != nil {
		return nil, fmt.Errorf("encode a type: %w", err)
	}
	return []store.Row{{ID: SecurityGroup, Body: body}}, nil
}

// everyones are the facts that rules ask of the types, which name a project: the caller's own, since the types are the same for all.
func everyones(ctx context.Context, _ store.Tx, ids []string) (map[string]map[string]string, error) {
	out := map[string]map[string]string{}
	for _, id := range ids {
		out[id] = map[string]string{"project_id": auth.From(ctx).ProjectID}
	}
	return out, nil
}

// logs is the controller of orders.
type logs struct{ *Plugin }

// Create makes an order about groups and ports that the caller has.
func (p logs) Create(ctx context.Context, tx store.WriteTx, in rest.Input[model.EventLog]) (model.EventLog, error) {
	l := in.Value
	now := model.Stamp(p.Clock.Now())
	l.ID, l.TenantID, l.CreatedAt, l.UpdatedAt, l.Tags = p.IDs.UUID(), l.ProjectID, now, now, []string{}
	if l.ResourceType != SecurityGroup {
		return l, fault.InvalidLogResourceType(l.ResourceType)
	}
	if err := p.known(ctx, tx, &l); err != nil {
		return l, err
	}
	tell(tx, l.ID, l.ProjectID)
	return l, p.Logs.Insert(ctx, tx, &l)
}

// known checks the group and the port of an order and keeps them until the commit: an order goes with them
// (neutron/services/logapi/common/sg_validate.py).
func (p logs) known(ctx context.Context, tx store.WriteTx, l *model.EventLog) error {
	if l.ResourceID != nil {
		g, err := p.Groups.GetForShare(ctx, tx, *l.ResourceID)
		seen := err == nil
		if err == nil && !owned(ctx, g.ProjectID) {
			var shared map[string]bool
			shared, err = sharing.Shared(ctx, tx, []string{g.ID})
			seen = shared[g.ID]
		}
		if store.IsNotFound(err) || err == nil && !seen {
			err = fault.ResourceNotFound(*l.ResourceID)
		}
		if err != nil {
			return err
		}
	}
	if l.TargetID == nil {
		return nil
	}
	port, err := p.Ports.GetForShare(ctx, tx, *l.TargetID)
	if store.IsNotFound(err) || err == nil && !owned(ctx, port.ProjectID) {
		err = fault.TargetResourceNotFound(*l.TargetID)
	}
	switch {
	case err != nil:
		return err
	case !able(&port):
		return fault.LoggingTypeNotSupported(SecurityGroup, port.ID)
	case l.ResourceID != nil && !slices.Contains(port.SecurityGroups, *l.ResourceID):
		return fault.InvalidResourceConstraint(SecurityGroup, *l.ResourceID, "port", port.ID)
	}
	return nil
}

// owned tells whether the caller may name things of a project: its own, any for administrators.
func owned(ctx context.Context, project string) bool {
	caller := auth.From(ctx)
	return caller == nil || caller.HasRole(auth.RoleAdmin) || caller.ProjectID == project
}

// able tells whether the switch that a port is on, or will be on, can log (neutron/services/logapi/drivers/openvswitch).
func able(port *model.Port) bool {
	switch port.VIFType {
	case model.VIFUnbound, model.VIFBindingFailed:
		return port.VNICType == model.VNICNormal
	case model.VIFOVS, "vhostuser":
		return true
	}
	return false
}

// Update changes name, description and whether the order is in force.
func (p logs) Update(ctx context.Context, tx store.WriteTx, cur model.EventLog, in rest.Input[model.EventLog]) (model.EventLog, error) {
	l := cur
	if err := in.Apply(&l); err != nil {
		return l, err
	}
	if l.Name == cur.Name && l.Description == cur.Description && l.Enabled == cur.Enabled {
		return cur, nil
	}
	l.UpdatedAt = model.Stamp(p.Clock.Now())
	l.Revision++
	if l.Enabled != cur.Enabled {
		tell(tx, l.ID, l.ProjectID)
	}
	return l, p.Logs.Update(ctx, tx, &l, cur.Revision)
}

// Delete removes an order.
func (p logs) Delete(ctx context.Context, tx store.WriteTx, cur model.EventLog) error {
	tell(tx, cur.ID, cur.ProjectID)
	return p.Logs.Delete(ctx, tx, cur.ID)
}

// GroupGone removes the orders about a security group that goes. One statement.
func (p *Plugin) GroupGone(ctx context.Context, tx store.WriteTx, id string) error {
	return gone(ctx, tx, "resource_id", id)
}

// Ports follows the writes of ports.
type Ports struct{ *Plugin }

// Follow removes the orders about a port that went. One statement.
func (Ports) Follow(ctx context.Context, tx store.WriteTx, w service.Write[model.Port]) error {
	if w.Op != service.Delete {
		return nil
	}
	return gone(ctx, tx, "target_id", w.Old.ID)
}

// gone removes the orders about what a column names, and tells the hosts. One statement.
func gone(ctx context.Context, tx store.WriteTx, column, id string) error {
	return store.Each(ctx, tx, store.Q("DELETE FROM logs WHERE "+column+" = ? RETURNING id, project_id", id), func(scan func(...any) error) error {
		var order string
		var project *string
		if err := scan(&order, &project); err != nil {
			return err
		}
		if project != nil {
			tell(tx, order, *project)
		}
		return nil
	})
}

// Set is the set of a project's orders, which hosts of its ports hold.
func Set(project string) change.Set { return change.NewSet(wire.FamilyLogs, project) }

// tell has the hosts of a project look at an order; nobody's order is about nobody's ports.
func tell(tx store.WriteTx, id, project string) {
	if project != "" {
		tx.Changed(change.Key{Kind: wire.KindLog, ID: id}, Set(project))
	}
}

var (
	_ service.Follower[model.Port] = Ports{}
	_ rest.Lister                  = loggable{}
)
