package subnetpool

import (
	"context"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/service/ipam"
	"isospin/internal/store"
)

func delegated() *string {
	id := ipam.DelegationPool
	return &id
}

// delegate settles a subnet whose prefix a provider delegates: it has a stand-in until then, and a cidr that is given
// makes it a subnet of no pool (neutron/db/db_base_plugin_v2.py).
func (p *Plugin) delegate(ctx context.Context, tx store.Tx, s *model.Subnet, others []model.Subnet, given bool) error {
	if given {
		s.SubnetPoolID = nil
		return p.affinity(ctx, tx, nil, s, others)
	}
	own := func(mode *string) bool { return mode != nil && (*mode == "slaac" || *mode == "dhcpv6-stateless") }
	switch {
	case s.IPVersion != 6:
		return fault.BadRequest("subnets", "prefix delegation is for subnets of IPv6.")
	case !own(s.IPv6RAMode):
		return fault.BadRequest("subnets", "prefix delegation needs ipv6_ra_mode slaac or dhcpv6-stateless.")
	case !own(s.IPv6AddressMode):
		return fault.BadRequest("subnets", "prefix delegation needs ipv6_address_mode slaac or dhcpv6-stateless.")
	}
	if err := p.affinity(ctx, tx, nil, s, others); err != nil {
		return err
	}
	cidr := ipam.DelegationPrefix
	s.CIDR = &cidr
	return nil
}
