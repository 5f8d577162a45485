// Package dhcp is the document that makes a host serve a network's DHCP. session renders it for the hosts that the network
// was scheduled to. Subnets and reservations are documents of their own, in the sets that it names.
package dhcp

import (
	"context"
	"time"

	"isospin/internal/change"
	"isospin/internal/document"
	"isospin/internal/store"
	"isospin/internal/wire"
)

// Kind renders which networks hosts serve.
type Kind struct {
	domain string
	lease  time.Duration
}

// New takes the domain that leases name (dns_domain) and how long they last (dhcp_lease_duration; negative: for ever).
func New(domain string, lease time.Duration) Kind { return Kind{domain: domain, lease: lease} }

// Name is the wire name.
func (Kind) Name() string { return wire.KindDHCP }

// Families: the document is in the set of each host that serves the network.
func (Kind) Families() []string { return []string{wire.FamilyHost} }

// Members are the networks that a host serves. One statement.
func (Kind) Members(ctx context.Context, tx store.Tx, sets []change.Set) (map[change.Set][]string, error) {
	return document.Where(ctx, tx, sets, "SELECT network_id, host FROM dhcp_hosts", "host")
}

// Render reads the hosts and ports that serve networks. One statement.
func (k Kind) Render(ctx context.Context, tx store.Tx, ids []string) (map[string]document.Rendered, error) {
	seconds := int64(-1)
	if k.lease >= 0 {
		seconds = int64(k.lease / time.Second)
	}
	in := store.In("network_id", ids)
	out := make(map[string]document.Rendered, len(ids))
	err := store.Each(ctx, tx, store.Q("SELECT network_id, host, port_id FROM dhcp_hosts WHERE "+in.SQL+" ORDER BY network_id, host", in.Args...), func(scan func(...any) error) error {
		var network, host, port string
		if err := scan(&network, &host, &port); err != nil {
			return err
		}
		r, ok := out[network]
		if !ok {
			r = document.Rendered{
				Refs: []change.Set{change.NewSet(wire.FamilyNetwork, network), change.NewSet(wire.FamilyDHCP, network)},
				Body: &wire.DHCPNetwork{NetworkId: network, Ports: map[string]string{}, DnsDomain: k.domain, LeaseDuration: seconds},
			}
		}
		r.Sets = append(r.Sets, change.NewSet(wire.FamilyHost, host))
		r.Body.(*wire.DHCPNetwork).Ports[host] = port
		out[network] = r
		return nil
	})
	return out, err
}

var _ document.Kind = Kind{}
