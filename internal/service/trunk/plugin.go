// Package trunk is trunks: ports that carry the networks of others, told apart by VLAN tags. rest calls its controller, ml2 its guard
// and its follower of ports. Subports are on the host of the port that carries them, by its binding; the package never talks to a host.
package trunk

import (
	"context"
	"slices"

	"isospin/internal/auth"
	"isospin/internal/clock"
	"isospin/internal/fault"
	"isospin/internal/ident"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/service/ml2"
	"isospin/internal/store"
)

// Trunks is the plugin's table.
type Trunks = store.Table[model.Trunk]

// NewTrunks declares the table of trunks.
func NewTrunks() *Trunks {
	return store.NewTable("trunks",
		func(t *model.Trunk) string { return t.ID }, func(t *model.Trunk) string { return t.ProjectID },
		store.Column[model.Trunk]{Name: "revision", Attr: "revision_number", Of: func(t *model.Trunk) any { return t.Revision }},
		store.Column[model.Trunk]{Name: "name", Attr: "name", Of: func(t *model.Trunk) any { return t.Name }},
		store.Column[model.Trunk]{Name: "port_id", Attr: "port_id", Of: func(t *model.Trunk) any { return t.PortID }},
		store.Column[model.Trunk]{Name: "status", Attr: "status", Of: func(t *model.Trunk) any { return t.Status }},
	).Counted("trunk")
}

// Binder changes ports with their bindings; ml2.Plugin is one.
type Binder interface {
	AdjustPort(ctx context.Context, tx store.WriteTx, id string, change func(*model.Port)) (model.Port, error)
	// Await has a port wait on exactly these hosts besides its own.
	Await(ctx context.Context, tx store.WriteTx, id string, hosts []string) error
}

// Config is what the plugin is made of.
type Config struct {
	Trunks   *Trunks
	Ports    *ml2.Ports
	Networks *ml2.Networks
	Binder   Binder
	Clock    clock.Clock
	IDs      ident.Source
}

// Plugin is trunks.
type Plugin struct{ Config }

// New makes the plugin.
func New(c Config) *Plugin { return &Plugin{c} }

// Name is the plugin's name in `service_plugins`.
func (p *Plugin) Name() string { return "trunk" }

// Bindings is the collection of trunks.
func (p *Plugin) Bindings() []rest.Binding {
	return []rest.Binding{rest.Bind("trunks", withPorts{p.Trunks, p.Ports}, trunks{p}, rest.Options{
		Actor: trunks{p}, NotFound: func(id string) error { return fault.TrunkNotFound(id) },
	})}
}

// withPorts is the table of trunks for requests: who writes a trunk keeps its ports first, as those do who write a port and then the
// trunk that it is of.
type withPorts struct {
	*Trunks
	ports *ml2.Ports
}

// GetForUpdate keeps the trunk's ports and the trunk.
func (t withPorts) GetForUpdate(ctx context.Context, tx store.WriteTx, id string) (model.Trunk, error) {
	trunk, err := t.Get(ctx, tx, id)
	if err != nil {
		return trunk, err
	}
	if _, err := t.ports.Find(ctx, tx, store.List{Where: store.In("id", portsOf(&trunk)), Lock: true}); err != nil {
		return trunk, err
	}
	return t.Trunks.GetForUpdate(ctx, tx, id)
}

// portsOf are the ids of all ports of a trunk, the one that carries it first.
func portsOf(t *model.Trunk) []string {
	out := []string{t.PortID}
	for _, s := range t.SubPorts {
		out = append(out, s.PortID)
	}
	return out
}

// ports reads ports by id and keeps them, each once. One statement.
func (p *Plugin) ports(ctx context.Context, tx store.WriteTx, ids []string) (map[string]model.Port, error) {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	rows, err := p.Ports.Find(ctx, tx, store.List{Where: store.In("id", slices.Compact(ids)), Lock: true})
	out := make(map[string]model.Port, len(rows))
	for _, port := range rows {
		out[port.ID] = port
	}
	return out, err
}

// networks reads the networks of ports. One statement.
func (p *Plugin) networks(ctx context.Context, tx store.Tx, ports map[string]model.Port) (map[string]model.Network, error) {
	var ids []string
	for _, port := range ports {
		if !slices.Contains(ids, port.NetworkID) {
			ids = append(ids, port.NetworkID)
		}
	}
	slices.Sort(ids)
	rows, err := p.Networks.Find(ctx, tx, store.List{Where: store.In("id", ids)})
	out := make(map[string]model.Network, len(rows))
	for _, n := range rows {
		out[n.ID] = n
	}
	return out, err
}

// sees tells whether the caller sees a port: its own, one on a network of its own, or any for administrators and for writes that no
// request makes.
func sees(ctx context.Context, port *model.Port, n *model.Network) bool {
	caller := auth.From(ctx)
	return caller == nil || caller.HasRole(auth.RoleAdmin) || caller.ProjectID == port.ProjectID || caller.ProjectID == n.ProjectID
}

// onHost tells whether a port is bound to a host.
func onHost(p *model.Port) bool {
	return p.HostID != "" && p.VIFType != model.VIFUnbound && p.VIFType != model.VIFBindingFailed
}

// settled tells whether a port is on a host in a way in which it cannot begin or cease to carry a trunk: Linux bridges can be given
// tags later, switches that are plugged through a bridge of the trunk cannot (can_trunk_bound_port of the drivers in
// neutron/services/trunk/drivers).
func settled(p *model.Port) bool { return p.HostID != "" && p.VIFType != model.VIFBridge }
