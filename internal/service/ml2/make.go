package ml2

import (
	"context"

	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/store"
)

// CreateNetwork makes a network on behalf of another plugin, in its transaction: of a type by its provider attributes, else as
// projects get them. Its MTU is the most that it carries.
func (p *Plugin) CreateNetwork(ctx context.Context, tx store.WriteTx, n model.Network) (model.Network, error) {
	n.PortSecurityEnabled = true
	if n.AvailabilityZoneHints == nil {
		n.AvailabilityZoneHints = []string{}
	}
	var given []string
	if a := n.ProviderAttributes; a != nil {
		given = append(given, "provider:network_type")
		if a.PhysicalNetwork != nil {
			given = append(given, "provider:physical_network")
		}
	}
	in, err := rest.Made(n, given...)
	if err != nil {
		return n, err
	}
	return networks{p}.Create(ctx, tx, in)
}

// CreateSubnet makes a subnet on behalf of another plugin, in its transaction; the attributes named count as given, the others
// are chosen.
func (p *Plugin) CreateSubnet(ctx context.Context, tx store.WriteTx, s model.Subnet, given ...string) (model.Subnet, error) {
	for _, list := range []*[]string{&s.DNSNameservers, &s.ServiceTypes} {
		if *list == nil {
			*list = []string{}
		}
	}
	if s.HostRoutes == nil {
		s.HostRoutes = []model.HostRoute{}
	}
	in, err := rest.Made(s, given...)
	if err != nil {
		return s, err
	}
	return subnets{p}.Create(ctx, tx, in)
}

// DeleteNetwork removes a network on behalf of another plugin, with its subnets and as a request would; none is no error.
func (p *Plugin) DeleteNetwork(ctx context.Context, tx store.WriteTx, id string) error {
	n, err := p.Networks.GetForUpdate(ctx, tx, id)
	if store.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return networks{p}.Delete(ctx, tx, n)
}

// AdjustNetwork changes a network's own attributes on behalf of another plugin, in its transaction.
func (p *Plugin) AdjustNetwork(ctx context.Context, tx store.WriteTx, id string, change func(*model.Network), given ...string) (model.Network, error) {
	n, err := p.Networks.GetForUpdate(ctx, tx, id)
	if err != nil {
		return n, err
	}
	want := n
	change(&want)
	in, err := rest.Made(want, given...)
	if err != nil {
		return n, err
	}
	return networks{p}.Update(ctx, tx, n, in)
}
