package ml2

import (
	"context"
	"net/netip"
	"slices"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/service/ipam"
	"isospin/internal/store"
)

// Limits are how long the lists of a subnet may be: max_dns_nameservers and max_subnet_host_routes.
type Limits struct{ Nameservers, HostRoutes int }

// limits are those of the configuration, else Neutron's.
func (p *Plugin) limits() Limits {
	if p.Limits != nil {
		return *p.Limits
	}
	return Limits{Nameservers: 5, HostRoutes: 20}
}

// minMTU6 is the smallest MTU that IPv6 allows (RFC 8200, section 5).
const minMTU6 = 1280

// complete checks a new subnet and fills what the request left out (behaviour.md, section 9).
func (p subnets) complete(ctx context.Context, tx store.WriteTx, n *model.Network, s *model.Subnet, in rest.Input[model.Subnet]) error {
	others, err := p.subnetsOf(ctx, tx, s.NetworkID)
	if err != nil {
		return err
	}
	if err := p.prefix(ctx, tx, s, others, in); err != nil {
		return err
	}
	prefix, err := netip.ParsePrefix(deref(s.CIDR))
	if err != nil {
		return fault.BadInput("'%s' is not a prefix.", deref(s.CIDR))
	}
	prefix = prefix.Masked()
	text := prefix.String()
	s.CIDR = &text
	if prefix.Addr().Is4() != (s.IPVersion == 4) {
		return fault.BadInput("cidr %s is not of IP version %d.", text, s.IPVersion)
	}
	if err := p.checkPrefix(n, s, prefix); err != nil {
		return err
	}
	if err := checkOverlap(others, prefix); err != nil {
		return err
	}
	if err := p.onSegment(ctx, tx, n, s, others); err != nil {
		return err
	}
	if !in.Given("gateway_ip") {
		s.GatewayIP = defaultGateway(s, prefix)
	}
	if err := checkGateway(s, prefix); err != nil {
		return err
	}
	if in.Given("allocation_pools") && !in.Null("allocation_pools") {
		if err := checkPools(s, prefix); err != nil {
			return err
		}
	} else {
		s.AllocationPools = defaultPools(s, prefix)
	}
	return p.checkLists(s)
}

func (p subnets) checkPrefix(n *model.Network, s *model.Subnet, prefix netip.Prefix) error {
	bits := prefix.Bits()
	a := prefix.Addr()
	switch {
	case a.IsMulticast() || a.IsLoopback() || bits > 0 && a.IsUnspecified() && s.IPVersion == 4:
		return fault.BadInput("cidr %s is not one that hosts can have addresses of.", prefix)
	case bits == 0:
		return fault.BadInput("cidr %s is all addresses there are.", prefix)
	case s.IPVersion == 4 && s.EnableDHCP && bits > 30:
		return fault.BadInput("cidr %s is too small for DHCP.", prefix)
	case s.IPVersion == 6 && n.MTU > 0 && n.MTU < minMTU6:
		return fault.NetworkMTUSubnetConflict(n.MTU, 6, n.ID)
	}
	ra, mode := deref(s.IPv6RAMode), deref(s.IPv6AddressMode)
	if s.IPVersion == 4 {
		if ra != "" || mode != "" {
			return fault.BadInput("ipv6_ra_mode and ipv6_address_mode are for subnets of IP version 6.")
		}
		return nil
	}
	switch {
	case (ra != "" || mode != "") && !s.EnableDHCP:
		return fault.BadInput("ipv6_ra_mode and ipv6_address_mode need enable_dhcp.")
	case ra != "" && mode != "" && ra != mode:
		return fault.BadInput("ipv6_ra_mode %s and ipv6_address_mode %s differ.", ra, mode)
	}
	for _, m := range []string{ra, mode} {
		if (m == "slaac" || m == "dhcpv6-stateless") && bits != 64 {
			return fault.BadInput("cidr %s must be a /64: hosts make their own addresses there.", prefix)
		}
	}
	return nil
}

// noPools is what a server without subnet pools says of a subnet that needs one.
func noPools(s *model.Subnet) error {
	if s.SubnetPoolID != nil {
		return fault.SubnetPoolNotFound(*s.SubnetPoolID)
	}
	if s.CIDR == nil || *s.CIDR == "" {
		return fault.HTTPBadRequest("A subnet needs a cidr, and there is no subnet pool to take one from.")
	}
	return nil
}

func checkOverlap(others []model.Subnet, prefix netip.Prefix) error {
	for i := range others {
		if ipam.Delegated(&others[i]) && deref(others[i].CIDR) == ipam.DelegationPrefix {
			continue // nobody has the stand-in
		}
		if o := ipam.Prefix(&others[i]); o.IsValid() && o.Overlaps(prefix) {
			return fault.BadInput("cidr %s overlaps with another subnet of the network: %s of subnet %s.", prefix, o, others[i].ID)
		}
	}
	return nil
}

// defaultGateway is the first host, and for IPv6 the prefix's own address unless a pool gave it, as in Neutron.
func defaultGateway(s *model.Subnet, prefix netip.Prefix) *string {
	if s.IPVersion == 4 && prefix.Bits() > 30 {
		return nil // upstream-faults.md: such a prefix has no address to spare
	}
	a := prefix.Addr()
	if s.IPVersion == 4 || s.SubnetPoolID != nil && prefix.Bits() < 128 && !ipam.Delegated(s) {
		a = a.Next()
	}
	text := a.String()
	return &text
}

func checkGateway(s *model.Subnet, prefix netip.Prefix) error {
	if s.GatewayIP == nil {
		return nil
	}
	g, err := netip.ParseAddr(*s.GatewayIP)
	if err != nil || g.Zone() != "" {
		return fault.BadInput("gateway_ip '%s' is not an address.", *s.GatewayIP)
	}
	if g.Is4() != (s.IPVersion == 4) {
		return fault.BadInput("gateway_ip %s is not of IP version %d.", g, s.IPVersion)
	}
	if s.IPVersion == 4 && prefix.Bits() < 31 && (g == prefix.Addr() || g == ipam.Last(prefix)) {
		return fault.BadInput("gateway_ip %s is the network's or the broadcast address.", g)
	}
	text := g.String()
	s.GatewayIP = &text
	return nil
}

// defaultPools are all hosts of the prefix but the gateway, which splits them.
func defaultPools(s *model.Subnet, prefix netip.Prefix) []model.AllocationPool {
	first, last := prefix.Addr(), ipam.Last(prefix)
	if s.IPVersion == 4 && prefix.Bits() < 31 {
		first, last = first.Next(), last.Prev()
	} else if s.IPVersion == 6 && prefix.Bits() < 127 {
		first = first.Next()
	}
	pools := []model.AllocationPool{}
	add := func(a, b netip.Addr) {
		if a.Compare(b) <= 0 {
			pools = append(pools, model.AllocationPool{Start: a.String(), End: b.String()})
		}
	}
	g, err := netip.ParseAddr(deref(s.GatewayIP))
	if err != nil || g.Compare(first) < 0 || g.Compare(last) > 0 {
		add(first, last)
		return pools
	}
	if g != first {
		add(first, g.Prev())
	}
	if g != last {
		add(g.Next(), last)
	}
	return pools
}

// checkPools judges the pools that a request gave.
func checkPools(s *model.Subnet, prefix netip.Prefix) error {
	type span struct{ first, last netip.Addr }
	var spans []span
	low, high := prefix.Addr(), ipam.Last(prefix)
	if s.IPVersion == 4 && prefix.Bits() < 31 {
		low, high = low.Next(), high.Prev()
	}
	for _, pool := range s.AllocationPools {
		a, err1 := netip.ParseAddr(pool.Start)
		b, err2 := netip.ParseAddr(pool.End)
		name := pool.Start + "-" + pool.End
		if err1 != nil || err2 != nil || a.Is4() != b.Is4() || a.Compare(b) > 0 || a.Is4() != (s.IPVersion == 4) {
			return fault.InvalidAllocationPool(name)
		}
		if a.Compare(low) < 0 || b.Compare(high) > 0 {
			return fault.OutOfBoundsAllocationPool(name, prefix)
		}
		spans = append(spans, span{a, b})
	}
	slices.SortFunc(spans, func(x, y span) int { return x.first.Compare(y.first) })
	for i := 1; i < len(spans); i++ {
		if spans[i].first.Compare(spans[i-1].last) <= 0 {
			return fault.OverlappingAllocationPools(
				spans[i-1].first.String()+"-"+spans[i-1].last.String(), spans[i].first.String()+"-"+spans[i].last.String(), prefix)
		}
	}
	if g, err := netip.ParseAddr(deref(s.GatewayIP)); err == nil {
		for _, x := range spans {
			if g.Compare(x.first) >= 0 && g.Compare(x.last) <= 0 {
				return fault.GatewayConflictWithAllocationPools(g, x.first.String()+"-"+x.last.String())
			}
		}
	}
	return nil
}

// checkLists judges nameservers, routes and service types.
func (p subnets) checkLists(s *model.Subnet) error {
	limits := p.limits()
	if s.DNSNameservers == nil {
		s.DNSNameservers = []string{}
	}
	if s.HostRoutes == nil {
		s.HostRoutes = []model.HostRoute{}
	}
	if s.ServiceTypes == nil {
		s.ServiceTypes = []string{}
	}
	if len(s.DNSNameservers) > limits.Nameservers {
		return fault.DNSNameServersExhausted(s.ID, limits.Nameservers)
	}
	if len(s.HostRoutes) > limits.HostRoutes {
		return fault.HostRoutesExhausted(s.ID, limits.HostRoutes)
	}
	for _, r := range s.HostRoutes {
		p, err1 := netip.ParsePrefix(r.Destination)
		h, err2 := netip.ParseAddr(r.Nexthop)
		if err1 != nil || err2 != nil || p.Addr().Is4() != (s.IPVersion == 4) || h.Is4() != (s.IPVersion == 4) {
			return fault.BadInput("host route to %s by %s is not of IP version %d.", r.Destination, r.Nexthop, s.IPVersion)
		}
	}
	for _, ns := range s.DNSNameservers {
		if a, err := netip.ParseAddr(ns); err != nil || a.Is4() != (s.IPVersion == 4) {
			return fault.BadInput("nameserver %s is not an address of IP version %d.", ns, s.IPVersion)
		}
	}
	return nil
}

// checkUpdate judges what a PUT changes.
func (p subnets) checkUpdate(ctx context.Context, tx store.Tx, cur, s *model.Subnet, in rest.Input[model.Subnet]) error {
	prefix := ipam.Prefix(cur)
	if in.Given("gateway_ip") {
		if err := checkGateway(s, prefix); err != nil {
			return err
		}
		if deref(cur.GatewayIP) != deref(s.GatewayIP) && cur.GatewayIP != nil {
			port, err := p.gatewayHolder(ctx, tx, cur)
			if err != nil {
				return err
			}
			if port != "" {
				return fault.GatewayIpInUse(*cur.GatewayIP, port)
			}
		}
	}
	if in.Null("allocation_pools") {
		s.AllocationPools = defaultPools(s, prefix)
	}
	if in.Given("allocation_pools") || in.Given("gateway_ip") {
		if err := checkPools(s, prefix); err != nil {
			return err
		}
	}
	if in.Given("enable_dhcp") && s.EnableDHCP && s.IPVersion == 4 && prefix.Bits() > 30 {
		return fault.BadInput("cidr %s is too small for DHCP.", prefix)
	}
	if in.Given("enable_dhcp") && !s.EnableDHCP && (s.IPv6RAMode != nil || s.IPv6AddressMode != nil) {
		return fault.BadInput("A subnet with ipv6_ra_mode or ipv6_address_mode needs enable_dhcp.")
	}
	return p.checkLists(s)
}

// gatewayHolder finds the router port that has the subnet's gateway address, "" without one.
func (p subnets) gatewayHolder(ctx context.Context, tx store.Tx, s *model.Subnet) (string, error) {
	g, err := netip.ParseAddr(*s.GatewayIP)
	if err != nil {
		return "", nil //nolint:nilerr // a gateway that does not parse is nobody's address
	}
	holders, err := p.Ports.Find(ctx, tx, store.List{Where: store.Expr(
		"id IN (SELECT port_id FROM ip_allocations WHERE subnet_id = ? AND ip = ?)", s.ID, ipam.Hex(g))})
	if err != nil {
		return "", err
	}
	for i := range holders {
		if ipam.RouterOwner(holders[i].DeviceOwner) {
			return holders[i].ID, nil
		}
	}
	return "", nil
}
