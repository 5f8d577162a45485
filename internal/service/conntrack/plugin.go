// Package conntrack is the helpers of connection tracking that routers have: which protocol's connections to which port are looked
// into. rest calls it below a router, and the routers' plugin tells it of routers that go. It loads no module; hosts do.
package conntrack

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"isospin/internal/clock"
	"isospin/internal/fault"
	"isospin/internal/ident"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/service"
	"isospin/internal/store"
)

// Conntracks is the plugin's table, Routers that of the routers which have them.
type (
	Conntracks = store.Table[model.Conntrack]
	Routers    = store.Table[model.Router]
)

// NewTable declares the table of helpers.
func NewTable() *Conntracks {
	return store.NewTable("conntrack_helpers",
		func(h *model.Conntrack) string { return h.ID }, func(h *model.Conntrack) string { return h.ProjectID },
		store.Column[model.Conntrack]{Name: "router_id", Attr: "router_id", Of: func(h *model.Conntrack) any { return h.RouterID }},
		store.Column[model.Conntrack]{Name: "protocol", Attr: "protocol", Of: func(h *model.Conntrack) any { return h.Protocol }},
		store.Column[model.Conntrack]{Name: "port", Attr: "port", Of: func(h *model.Conntrack) any { return h.Port }},
		store.Column[model.Conntrack]{Name: "helper", Attr: "helper", Of: func(h *model.Conntrack) any { return h.Helper }},
	)
}

// Config is what the plugin is made of.
type Config struct {
	Helpers *Conntracks
	Routers *Routers
	// Allowed are the protocols of each helper that may be used (allowed_conntrack_helpers).
	Allowed map[string][]string
	// Dirty says that the document of a router changed; l3.Plugin does.
	Dirty func(ctx context.Context, tx store.WriteTx, router string) error
	Clock clock.Clock
	IDs   ident.Source
}

// Plugin is helpers of connection tracking.
type Plugin struct{ Config }

// New makes the plugin.
func New(c Config) *Plugin { return &Plugin{c} }

// Name is the plugin's name in `service_plugins`.
func (p *Plugin) Name() string { return "conntrack_helper" }

// Bindings are the helpers of a router.
func (p *Plugin) Bindings() []rest.Binding {
	return []rest.Binding{rest.Bind("conntrack_helpers", below{p.Helpers, p.Routers}, controller{p}, rest.Options{
		ParentColumn: "router_id",
		NotFound:     func(id string) error { return fault.ConntrackHelperNotFound(id) },
	})}
}

// below is the table of helpers for requests: who writes one keeps its router first, as those do who remove it.
type below struct {
	*Conntracks
	routers *Routers
}

// GetForUpdate keeps router and helper.
func (t below) GetForUpdate(ctx context.Context, tx store.WriteTx, id string) (model.Conntrack, error) {
	h, err := t.Get(ctx, tx, id)
	if err != nil {
		return h, err
	}
	if _, err := t.routers.GetForUpdate(ctx, tx, h.RouterID); err != nil {
		return h, err // the router went, and the helper with it
	}
	return t.Conntracks.GetForUpdate(ctx, tx, id)
}

// controller is the controller of helpers.
type controller struct{ *Plugin }

// Create gives a router a helper.
func (p controller) Create(ctx context.Context, tx store.WriteTx, in rest.Input[model.Conntrack]) (model.Conntrack, error) {
	h := in.Value
	if err := p.allowed(&h); err != nil {
		return h, err
	}
	r, err := p.Routers.GetForUpdate(ctx, tx, in.Parent)
	if store.IsNotFound(err) {
		err = fault.RouterNotFound(in.Parent)
	}
	if err != nil {
		return h, err
	}
	h.ID, h.RouterID, h.ProjectID = p.IDs.UUID(), r.ID, r.ProjectID
	if err := once(p.Helpers.Insert(ctx, tx, &h), &h); err != nil {
		return h, err
	}
	return h, p.touched(ctx, tx, r)
}

// allowed refuses helpers that the configuration does not name, and protocols that a helper does not know
// (services/conntrack_helper/plugin.py).
func (p *Plugin) allowed(h *model.Conntrack) error {
	known, ok := p.Allowed[h.Helper]
	switch {
	case !ok:
		return fault.ConntrackHelperNotAllowed(h.Helper)
	case h.Protocol == "":
		return fault.BadInput("protocol is missing.")
	case !slices.Contains(known, h.Protocol):
		return fault.InvalidProtocolForHelper(h.Helper, h.Protocol, strings.Join(known, ", "))
	}
	return nil
}

// once names the clash with an equal helper of the router.
func once(err error, h *model.Conntrack) error {
	if _, dup := store.AsDuplicate(err); dup {
		return fault.BadRequest("conntrack_helper", fmt.Sprintf("router %s has helper %s for %s port %d already.", h.RouterID, h.Helper, h.Protocol, h.Port))
	}
	return err
}

// touched bumps the router of a helper that came, changed or went.
func (p *Plugin) touched(ctx context.Context, tx store.WriteTx, r model.Router) error {
	r.UpdatedAt = model.Stamp(p.Clock.Now())
	r.Revision++
	if err := p.Routers.Update(ctx, tx, &r, r.Revision-1); err != nil {
		return err
	}
	return p.Dirty(ctx, tx, r.ID)
}

// Update changes a helper.
func (p controller) Update(ctx context.Context, tx store.WriteTx, cur model.Conntrack, in rest.Input[model.Conntrack]) (model.Conntrack, error) {
	h := cur
	if err := in.Apply(&h); err != nil {
		return h, err
	}
	if err := p.allowed(&h); err != nil || h == cur {
		return h, err
	}
	r, err := p.Routers.GetForUpdate(ctx, tx, h.RouterID)
	if err != nil {
		return h, err
	}
	if err := once(p.Helpers.Update(ctx, tx, &h, -1), &h); err != nil {
		return h, err
	}
	return h, p.touched(ctx, tx, r)
}

// Delete takes a helper from its router.
func (p controller) Delete(ctx context.Context, tx store.WriteTx, cur model.Conntrack) error {
	r, err := p.Routers.GetForUpdate(ctx, tx, cur.RouterID)
	if err != nil {
		return err
	}
	if err := p.Helpers.Delete(ctx, tx, cur.ID); err != nil {
		return err
	}
	return p.touched(ctx, tx, r)
}

// OnRouter shows the helpers of routers, and lets them go with a router.
type OnRouter struct{ *Plugin }

var (
	_ service.Guard[model.Router] = OnRouter{}
	_ rest.Splicer                = OnRouter{}
)

// Guard removes the helpers of a router that goes.
func (p OnRouter) Guard(ctx context.Context, tx store.WriteTx, w service.Write[model.Router]) error {
	if w.Op != service.Delete {
		return nil
	}
	_, err := tx.Exec(ctx, store.Q("DELETE FROM conntrack_helpers WHERE router_id = ?", w.Old.ID))
	return err
}

// shown is a helper as its router shows it.
type shown struct {
	Protocol string `json:"protocol"`
	Port     int64  `json:"port"`
	Helper   string `json:"helper"`
}

// Splice adds the helpers of a page of routers. One statement.
func (p OnRouter) Splice(ctx context.Context, tx store.Tx, page *rest.Page) error {
	if !page.Wants("conntrack_helpers") {
		return nil
	}
	ids := page.IDs()
	var where store.Cond
	if len(ids) <= 500 {
		where = store.In("router_id", ids)
	}
	rows, err := p.Helpers.Find(ctx, tx, store.List{Where: where, Order: []store.Order{{Expr: "port"}, {Expr: "helper"}}})
	if err != nil {
		return err
	}
	of := map[string][]shown{}
	for _, h := range rows {
		of[h.RouterID] = append(of[h.RouterID], shown{h.Protocol, h.Port, h.Helper})
	}
	for i, id := range ids {
		raw, err := json.Marshal(append([]shown{}, of[id]...))
		if err != nil {
			return fmt.Errorf("encode helpers: %w", err)
		}
		page.Splice(i, "conntrack_helpers", raw)
	}
	return nil
}
