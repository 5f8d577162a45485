// Package reservation is the document of the addresses that DHCP hands to one port. session renders it for the hosts that
// serve the network's DHCP. A port without addresses has none, and neither has a DHCP server's own port.
package reservation

import (
	"context"
	"strings"

	"isospin/internal/change"
	"isospin/internal/document"
	"isospin/internal/model"
	"isospin/internal/service/dns"
	"isospin/internal/service/ml2"
	"isospin/internal/store"
	"isospin/internal/wire"
)

// Kind renders reservations.
type Kind struct{ ports *ml2.Ports }

// New takes the table of ports.
func New(ports *ml2.Ports) Kind { return Kind{ports: ports} }

// Name is the wire name.
func (Kind) Name() string { return wire.KindReservation }

// Families: a reservation is in the DHCP set of its network.
func (Kind) Families() []string { return []string{wire.FamilyDHCP} }

// Members are the ports of a network. One statement.
func (Kind) Members(ctx context.Context, tx store.Tx, sets []change.Set) (map[change.Set][]string, error) {
	return document.Where(ctx, tx, sets, "SELECT id, network_id FROM ports", "network_id")
}

// serverOwner is the device_owner of a DHCP server's own port.
const serverOwner = "network:dhcp"

// Render reads ports. One statement.
func (k Kind) Render(ctx context.Context, tx store.Tx, ids []string) (map[string]document.Rendered, error) {
	rows, err := k.ports.Find(ctx, tx, store.List{Where: store.In("id", ids)})
	if err != nil {
		return nil, err
	}
	out := make(map[string]document.Rendered, len(rows))
	for i := range rows {
		p := &rows[i]
		if len(p.FixedIPs) == 0 || p.DeviceOwner == serverOwner {
			continue
		}
		doc := &wire.Reservation{PortId: p.ID, NetworkId: p.NetworkID, MacAddress: p.MACAddress, Wiring: p.Wiring, Hostname: hostname(p)}
		for _, f := range p.FixedIPs {
			doc.FixedIps = append(doc.FixedIps, &wire.FixedIP{SubnetId: f.SubnetID, IpAddress: f.IPAddress})
		}
		for _, o := range p.ExtraDHCPOpts {
			value := ""
			if o.Value != nil {
				value = *o.Value
			}
			doc.Options = append(doc.Options, &wire.DHCPOption{Name: o.Name, Value: value, IpVersion: int32(o.IPVersion)})
		}
		out[p.ID] = document.Rendered{Sets: []change.Set{change.NewSet(wire.FamilyDHCP, p.NetworkID)}, Body: doc}
	}
	return out, nil
}

// hostname is how a guest is called: by its dns_name, without one by its first address (agent/linux/dhcp.py in Neutron).
func hostname(p *model.Port) string {
	if p.DNSName != "" {
		return strings.TrimSuffix(p.DNSName, ".")
	}
	return dns.Host(p.FixedIPs[0].IPAddress)
}

var _ document.Kind = Kind{}
