// Package localip is the document of a port that stands on its host for an address that each host serves by itself. session renders it for that
// host alone. It does not say where the port is plugged in: the port's own document does.
package localip

import (
	"context"
	"fmt"

	"isospin/internal/change"
	"isospin/internal/document"
	"isospin/internal/model"
	"isospin/internal/service/localip"
	"isospin/internal/store"
	"isospin/internal/wire"
)

// Kind renders associations of ports with local IPs.
type Kind struct {
	local *localip.LocalIPs
	ports *localip.Associations
}

// New takes the tables of local IPs and of the ports that stand for them.
func New(local *localip.LocalIPs, ports *localip.Associations) Kind {
	return Kind{local: local, ports: ports}
}

// Name is the wire name.
func (Kind) Name() string { return wire.KindLocalIP }

// Families: an association is its host's.
func (Kind) Families() []string { return []string{wire.FamilyHost} }

// Members are the associations of a host's ports. One statement.
func (Kind) Members(ctx context.Context, tx store.Tx, sets []change.Set) (map[change.Set][]string, error) {
	return document.Where(ctx, tx, sets, "SELECT id, host FROM local_ip_associations", "host")
}

// Render reads associations and their local IPs. Two statements.
func (k Kind) Render(ctx context.Context, tx store.Tx, ids []string) (map[string]document.Rendered, error) {
	rows, err := k.ports.Find(ctx, tx, store.List{Where: store.In("id", ids)})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	var named []string
	for i := range rows {
		named = append(named, rows[i].LocalIPID)
	}
	local, err := k.local.Find(ctx, tx, store.List{Where: store.In("id", named)})
	if err != nil {
		return nil, fmt.Errorf("read local IPs: %w", err)
	}
	modes := make(map[string]string, len(local))
	for i := range local {
		modes[local[i].ID] = local[i].IPMode
	}
	out := make(map[string]document.Rendered, len(rows))
	for i := range rows {
		if a := &rows[i]; a.Host != "" {
			out[a.ID] = document.Rendered{Sets: []change.Set{change.NewSet(wire.FamilyHost, a.Host)}, Body: body(a, modes[a.LocalIPID])}
		}
	}
	return out, nil
}

func body(a *model.LocalIPAssociation, mode string) *wire.LocalIP {
	doc := &wire.LocalIP{Id: a.ID, PortId: a.FixedPortID, Address: a.LocalIPAddress, Passthrough: mode == "passthrough"}
	if a.FixedIP != nil {
		doc.FixedIp = *a.FixedIP
	}
	return doc
}

var _ document.Kind = Kind{}
