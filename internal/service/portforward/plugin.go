package portforward

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"isospin/internal/clock"
	"isospin/internal/fault"
	"isospin/internal/ident"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/service/floatingip"
	"isospin/internal/service/ml2"
	"isospin/internal/store"
)

// Forwardings is the plugin's table.
type Forwardings = store.Table[model.PortForwarding]

// NewForwardings declares the table of forwardings.
func NewForwardings() *Forwardings {
	return store.NewTable("port_forwardings",
		func(f *model.PortForwarding) string { return f.ID }, func(f *model.PortForwarding) string { return f.ProjectID },
		store.Column[model.PortForwarding]{Name: "floatingip_id", Attr: "floatingip_id", Of: func(f *model.PortForwarding) any { return f.FloatingIPID }},
		store.Column[model.PortForwarding]{Name: "internal_port_id", Attr: "internal_port_id", Of: func(f *model.PortForwarding) any { return f.InternalPortID }},
		store.Column[model.PortForwarding]{Name: "internal_ip_address", Of: func(f *model.PortForwarding) any { return f.InternalIPAddress }},
		store.Column[model.PortForwarding]{Name: "protocol", Attr: "protocol", Of: func(f *model.PortForwarding) any { return f.Protocol }},
		store.Column[model.PortForwarding]{Name: "external_first", Of: func(f *model.PortForwarding) any { return outsideOf(f).first }},
		store.Column[model.PortForwarding]{Name: "external_last", Of: func(f *model.PortForwarding) any { return outsideOf(f).last }},
		store.Column[model.PortForwarding]{Name: "internal_first", Of: func(f *model.PortForwarding) any { return insideOf(f).first }},
		store.Column[model.PortForwarding]{Name: "internal_last", Of: func(f *model.PortForwarding) any { return insideOf(f).last }},
	)
}

// Config is what the plugin is made of.
type Config struct {
	Forwardings *Forwardings
	FloatingIPs *floatingip.Plugin
	Ports       *ml2.Ports
	Clock       clock.Clock
	IDs         ident.Source
}

// Plugin is forwardings.
type Plugin struct{ Config }

// New makes the plugin.
func New(c Config) *Plugin { return &Plugin{c} }

// Name is the plugin's name in `service_plugins`.
func (p *Plugin) Name() string { return "port_forwarding" }

// Bindings are the forwardings of a floating IP.
func (p *Plugin) Bindings() []rest.Binding {
	return []rest.Binding{rest.Bind("port_forwardings", below{p.Forwardings, p.FloatingIPs.FloatingIPs}, controller{p}, rest.Options{
		ParentColumn: "floatingip_id",
		Filters:      map[string]rest.Filter{"external_port_range": outside},
		NotFound:     func(id string) error { return fault.PortForwardingNotFound(id) },
	})}
}

// below is the table of forwardings for requests: who writes one keeps its floating IP first, as those do who remove it.
type below struct {
	*Forwardings
	floating *floatingip.FloatingIPs
}

// GetForUpdate keeps floating IP and forwarding.
func (t below) GetForUpdate(ctx context.Context, tx store.WriteTx, id string) (model.PortForwarding, error) {
	f, err := t.Get(ctx, tx, id)
	if err != nil {
		return f, err
	}
	if _, err := t.floating.GetForUpdate(ctx, tx, f.FloatingIPID); err != nil {
		return f, err // the floating IP went, and the forwarding with it
	}
	return t.Forwardings.GetForUpdate(ctx, tx, id)
}

// outside filters by a range outside; a single port is a range of one.
func outside(_ context.Context, values []string) (store.Cond, error) {
	var any []store.Cond
	for _, v := range values {
		s, ok := parse(v)
		if !ok {
			return store.Cond{}, fault.BadInput("external_port_range '%s' is not a range of ports.", rest.Printable(v))
		}
		any = append(any, store.Expr("external_first = ? AND external_last = ?", s.first, s.last))
	}
	return store.Or(any...), nil
}

// Floating shows the forwardings of floating IPs.
type Floating struct{ *Plugin }

var _ rest.Splicer = Floating{}

// shown is a forwarding as its floating IP shows it (services/portforwarding/pf_plugin.py).
type shown struct {
	ID                string `json:"id"`
	Protocol          string `json:"protocol"`
	InternalIPAddress string `json:"internal_ip_address"`
	InternalPort      *int64 `json:"internal_port"`
	InternalPortID    string `json:"internal_port_id"`
	ExternalPort      *int64 `json:"external_port"`
}

// Splice adds the forwardings of a page of floating IPs. One statement.
func (p Floating) Splice(ctx context.Context, tx store.Tx, page *rest.Page) error {
	if !page.Wants("port_forwardings") {
		return nil
	}
	ids := page.IDs()
	var where store.Cond
	if len(ids) <= 500 {
		where = store.In("floatingip_id", ids)
	}
	rows, err := p.Forwardings.Find(ctx, tx, store.List{Where: where})
	if err != nil {
		return err
	}
	slices.SortStableFunc(rows, func(a, b model.PortForwarding) int { return int(outsideOf(&a).first - outsideOf(&b).first) })
	of := map[string][]shown{}
	for i := range rows {
		f := &rows[i]
		of[f.FloatingIPID] = append(of[f.FloatingIPID], shown{ID: f.ID, Protocol: f.Protocol, InternalIPAddress: f.InternalIPAddress,
			InternalPort: f.InternalPort, InternalPortID: f.InternalPortID, ExternalPort: f.ExternalPort})
	}
	for i, id := range ids {
		raw, err := json.Marshal(append([]shown{}, of[id]...))
		if err != nil {
			return fmt.Errorf("encode forwardings: %w", err)
		}
		page.Splice(i, "port_forwardings", raw)
	}
	return nil
}
