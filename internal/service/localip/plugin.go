// Package localip is addresses that each host serves from a port of its own, and the ports that stand for them. The translation is the
// hosts' work; here is what they are told. It guards ports, so that none goes or moves from under a local address; ml2 runs it.
package localip

import (
	"context"
	"slices"

	"isospin/internal/auth"
	"isospin/internal/clock"
	"isospin/internal/fault"
	"isospin/internal/ident"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/service"
	"isospin/internal/service/ml2"
	"isospin/internal/service/sharing"
	"isospin/internal/store"
)

// LocalIPs and Associations are the plugin's tables.
type (
	LocalIPs     = store.Table[model.LocalIP]
	Associations = store.Table[model.LocalIPAssociation]
)

// NewLocalIPs declares the table of local addresses.
func NewLocalIPs() *LocalIPs {
	return store.NewTable("local_ips",
		func(l *model.LocalIP) string { return l.ID }, func(l *model.LocalIP) string { return l.ProjectID },
		store.Column[model.LocalIP]{Name: "revision", Attr: "revision_number", Of: func(l *model.LocalIP) any { return l.Revision }},
		store.Column[model.LocalIP]{Name: "name", Attr: "name", Of: func(l *model.LocalIP) any { return l.Name }},
		store.Column[model.LocalIP]{Name: "local_port_id", Attr: "local_port_id", Of: func(l *model.LocalIP) any { return l.LocalPortID }},
		store.Column[model.LocalIP]{Name: "network_id", Attr: "network_id", Of: func(l *model.LocalIP) any { return l.NetworkID }})
}

// NewAssociations declares the table of associations.
func NewAssociations() *Associations {
	type row = model.LocalIPAssociation
	return store.NewTable("local_ip_associations",
		func(a *row) string { return a.ID }, func(a *row) string { return a.ProjectID },
		store.Column[row]{Name: "revision", Attr: "revision_number", Of: func(a *row) any { return a.Revision }},
		store.Column[row]{Name: "local_ip_id", Attr: "local_ip_id", Of: func(a *row) any { return a.LocalIPID }},
		store.Column[row]{Name: "fixed_port_id", Attr: "fixed_port_id", Of: func(a *row) any { return a.FixedPortID }},
		store.Column[row]{Name: "host", Attr: "host", Of: func(a *row) any { return a.Host }})
}

// PortMaker makes and removes the ports that only hold an address; ml2.Plugin is one.
type PortMaker interface {
	CreatePort(ctx context.Context, tx store.WriteTx, port model.Port) (model.Port, error)
	DeletePort(ctx context.Context, tx store.WriteTx, id string) error
}

// Config is what the plugin is made of.
type Config struct {
	LocalIPs     *LocalIPs
	Associations *Associations
	Networks     *ml2.Networks
	Subnets      *ml2.Subnets
	Rows         *ml2.Ports
	Ports        PortMaker
	Clock        clock.Clock
	IDs          ident.Source
}

// Plugin is local addresses.
type Plugin struct{ Config }

// New makes the plugin.
func New(c Config) *Plugin { return &Plugin{c} }

// Name is the plugin's name.
func (p *Plugin) Name() string { return "local_ip" }

// Bindings are local addresses and the associations below them.
func (p *Plugin) Bindings() []rest.Binding {
	return []rest.Binding{
		rest.Bind("local_ips", p.LocalIPs, localIPs{p}, rest.Options{
			Parents: []rest.Parent{{Prefix: "network", Ref: "network_id", Table: p.Networks, Extra: sharing.Facts,
				Missing: func(id string) error { return fault.NetworkNotFound(id) }}},
			NotFound: func(id string) error { return fault.LocalIPNotFound(id) },
		}),
		rest.Bind("port_associations", p.Associations, associations{p}, rest.Options{
			ParentColumn: "local_ip_id", RowID: associationID,
			NotFound: func(id string) error { return fault.LocalIPAssociationNotFound(id) },
		}),
	}
}

// associationID is a row's id: it joins the local address and the port that stands for it.
func associationID(localIP, port string) string { return localIP + "_" + port }

// owned tells whether the caller may name things of a project: its own, any for administrators.
func owned(ctx context.Context, project string) bool {
	caller := auth.From(ctx)
	return caller == nil || caller.HasRole(auth.RoleAdmin) || caller.ProjectID == project
}

// Guard keeps ports from going, and addresses of ports from changing, under a local address. One statement, and none for updates that
// leave the addresses alone.
type Guard struct{ *Plugin }

// Guard judges a write of a port.
func (g Guard) Guard(ctx context.Context, tx store.WriteTx, w service.Write[model.Port]) error {
	switch {
	case w.Op == service.Update && !slices.Equal(w.Old.FixedIPs, w.New.FixedIPs):
		return g.keeps(ctx, tx, w)
	case w.Op != service.Delete:
		return nil
	}
	n, err := g.LocalIPs.Count(ctx, tx, store.Eq("local_port_id", w.Old.ID))
	if err == nil && n > 0 {
		err = fault.ServicePortInUse(w.Old.ID, "it holds a local address.")
	}
	return err
}

// keeps refuses to take from a port an address that a local address is, or is translated to.
func (g Guard) keeps(ctx context.Context, tx store.Tx, w service.Write[model.Port]) error {
	d := tx.Dialect()
	return store.Each(ctx, tx, store.Q("SELECT "+d.JSONText("body", "local_ip_address")+" FROM local_ips WHERE local_port_id = ? UNION ALL SELECT "+
		d.JSONText("body", "fixed_ip")+" FROM local_ip_associations WHERE fixed_port_id = ?", w.Old.ID, w.Old.ID),
		func(scan func(...any) error) error {
			var address string
			if err := scan(&address); err != nil {
				return err
			}
			if !slices.ContainsFunc(w.New.FixedIPs, func(f model.FixedIP) bool { return f.IPAddress == address }) {
				return fault.IPAddressChangeNotAllowed(address, w.Old.ID)
			}
			return nil
		})
}

// Follower removes the associations of a port that went, and keeps their host in step with the port's.
type Follower struct{ *Plugin }

// Follow acts on a write of a port that goes or changes its host: one statement to find its associations, and one for each; hosts are told.
func (f Follower) Follow(ctx context.Context, tx store.WriteTx, w service.Write[model.Port]) error {
	gone := w.Op == service.Delete
	if !gone && (w.Op != service.Update || w.Old.HostID == w.New.HostID) {
		return nil
	}
	all, err := f.Associations.Find(ctx, tx, store.List{Where: store.Eq("fixed_port_id", w.Old.ID), Lock: true})
	if err != nil {
		return err
	}
	for i := range all {
		a := &all[i]
		if gone {
			tell(tx, a.ID, a.Host)
			err = f.Associations.Delete(ctx, tx, a.ID)
		} else {
			tell(tx, a.ID, a.Host, w.New.HostID)
			a.Host = w.New.HostID
			err = f.Associations.Update(ctx, tx, a, -1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

var (
	_ service.Guard[model.Port]    = Guard{}
	_ service.Follower[model.Port] = Follower{}
)
