package ipam

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"

	"isospin/internal/fault"
	"isospin/internal/ident"
	"isospin/internal/model"
	"isospin/internal/store"
	"isospin/internal/store/freerange"
)

// Allocator hands out addresses. It keeps nothing in memory.
type Allocator struct{ ids ident.Source }

// New makes an allocator; ids only spreads the choice over the pools.
func New(ids ident.Source) *Allocator { return &Allocator{ids: ids} }

// Request is what a port needs addresses for.
type Request struct {
	PortID    string
	NetworkID string
	Owner     string // device_owner
	MAC       string
	Subnets   []model.Subnet // all of the network
	// Among are the ids of the subnets that addresses are taken of; nil: all.
	Among map[string]bool
	// Wanted is the fixed_ips of a request; with Given false the addresses are chosen.
	Wanted []model.FixedIP
	Given  bool
}

// choice is one address on its way to the port; pooled says that it was taken out of a free range already.
type choice struct {
	subnet *model.Subnet
	addr   netip.Addr
}

// Allocate takes addresses for a new port and records them.
func (a *Allocator) Allocate(ctx context.Context, tx store.WriteTx, r Request) ([]model.FixedIP, error) {
	if !r.Given {
		return a.automatic(ctx, tx, r)
	}
	return a.wanted(ctx, tx, r, nil)
}

// Change makes the port's addresses those wanted: what it has and wants stays, the rest is given back or taken.
func (a *Allocator) Change(ctx context.Context, tx store.WriteTx, r Request, have []model.FixedIP) ([]model.FixedIP, error) {
	keep := []model.FixedIP{}
	rest := slices.Clone(have)
	var want []model.FixedIP
	take := func(match func(model.FixedIP) bool) bool {
		i := slices.IndexFunc(rest, match)
		if i < 0 {
			return false
		}
		keep = append(keep, rest[i])
		rest = slices.Delete(rest, i, i+1)
		return true
	}
	for _, w := range r.Wanted {
		if w.IPAddress == "" || !take(func(h model.FixedIP) bool {
			return h.IPAddress == w.IPAddress && (w.SubnetID == "" || w.SubnetID == h.SubnetID)
		}) {
			want = append(want, w)
		}
	}
	// A subnet without an address keeps the address that the port has there.
	want = slices.DeleteFunc(want, func(w model.FixedIP) bool {
		return w.IPAddress == "" && take(func(h model.FixedIP) bool { return h.SubnetID == w.SubnetID })
	})
	if err := a.give(ctx, tx, r.PortID, r.Subnets, rest); err != nil {
		return nil, err
	}
	r.Wanted = want
	return a.wanted(ctx, tx, r, keep)
}

// Release gives back all addresses of a port that goes.
func (a *Allocator) Release(ctx context.Context, tx store.WriteTx, portID string, subnets []model.Subnet, have []model.FixedIP) error {
	return a.give(ctx, tx, portID, subnets, have)
}

// automatic chooses: one IPv4 address, one stateful IPv6 address, and one of each subnet where hosts make their own
// (behaviour.md, section 10).
func (a *Allocator) automatic(ctx context.Context, tx store.WriteTx, r Request) ([]model.FixedIP, error) {
	v4, v6, auto := classes(r)
	var out []choice
	for _, family := range [][]*model.Subnet{v4, v6} {
		if len(family) == 0 {
			continue
		}
		c, err := a.any(ctx, tx, r, family)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	if !RouterOwner(r.Owner) {
		for _, s := range auto {
			c, err := euiChoice(r, s)
			if err != nil {
				return nil, err
			}
			out = append(out, c)
		}
	}
	return a.record(ctx, tx, r, nil, out)
}

// classes sorts a network's subnets by how a port of this owner gets an address from them.
func classes(r Request) (v4, v6, auto []*model.Subnet) {
	fits := func(s *model.Subnet, typed bool) bool {
		if len(s.ServiceTypes) == 0 {
			return !typed
		}
		return typed && slices.ContainsFunc(s.ServiceTypes, func(t string) bool { return t == r.Owner || strings.HasPrefix(r.Owner, t) })
	}
	pick := func(typed bool) {
		for i := range r.Subnets {
			s := &r.Subnets[i]
			switch {
			case s.CIDR == nil || !r.open(s) || !fits(s, typed):
			case s.IPVersion == 4:
				v4 = append(v4, s)
			case AutoAddress(s):
				auto = append(auto, s)
			default:
				v6 = append(v6, s)
			}
		}
	}
	pick(true)
	if len(v4)+len(v6)+len(auto) == 0 {
		pick(false)
	}
	return v4, v6, auto
}

// open tells whether addresses may be taken of a subnet.
func (r Request) open(s *model.Subnet) bool { return r.Among == nil || r.Among[s.ID] }

// any takes a free address of one of the subnets; DHCP ports take the lowest.
func (a *Allocator) any(ctx context.Context, tx store.WriteTx, r Request, subnets []*model.Subnet) (choice, error) {
	for _, s := range subnets {
		var v freerange.Value
		var err error
		if r.Owner == OwnerDHCP {
			v, err = freerange.Lowest(ctx, tx, Pool(s.ID))
		} else {
			v, err = freerange.Any(ctx, tx, Pool(s.ID), a.ids.Uint64())
		}
		if errors.Is(err, freerange.ErrExhausted) {
			continue
		}
		if err != nil {
			return choice{}, err
		}
		return choice{subnet: s, addr: address(v)}, nil
	}
	return choice{}, fault.IpAddressGenerationFailure(r.NetworkID)
}

// wanted takes the addresses that a request asked for, besides those that the port keeps.
func (a *Allocator) wanted(ctx context.Context, tx store.WriteTx, r Request, keep []model.FixedIP) ([]model.FixedIP, error) {
	var out []choice
	auto := false
	seen := map[string]bool{}
	for _, k := range keep {
		seen[k.IPAddress] = true
	}
	for _, w := range r.Wanted {
		s, err := r.subnetOf(w)
		if err != nil {
			return nil, err
		}
		var c choice
		switch {
		case w.IPAddress != "":
			c, err = a.exact(ctx, tx, r, s, w)
		case AutoAddress(s) && !RouterOwner(r.Owner):
			c, err = euiChoice(r, s)
			auto = true
		default:
			c, err = a.any(ctx, tx, r, []*model.Subnet{s})
		}
		if err != nil {
			return nil, err
		}
		if !seen[c.addr.String()] {
			seen[c.addr.String()] = true
			out = append(out, c)
		}
	}
	if auto { // asking for one such subnet gives the addresses of all
		_, _, all := classes(r)
		for _, s := range all {
			c, err := euiChoice(r, s)
			if err != nil {
				return nil, err
			}
			if !seen[c.addr.String()] {
				seen[c.addr.String()] = true
				out = append(out, c)
			}
		}
	}
	return a.record(ctx, tx, r, keep, out)
}

// subnetOf finds the subnet that an entry of fixed_ips means.
func (r Request) subnetOf(w model.FixedIP) (*model.Subnet, error) {
	addr, err := netip.ParseAddr(w.IPAddress)
	if w.IPAddress != "" && err != nil {
		return nil, fault.BadInput("%s is not an address.", w.IPAddress)
	}
	for i := range r.Subnets {
		s := &r.Subnets[i]
		switch {
		case w.SubnetID != "" && s.ID != w.SubnetID, !r.open(s):
		case w.IPAddress == "":
			return s, nil
		case Prefix(s).Contains(addr):
			return s, nil
		case w.SubnetID != "":
			return nil, fault.InvalidIpForSubnet(w.IPAddress, w.SubnetID)
		}
	}
	if w.SubnetID != "" {
		return nil, &Elsewhere{SubnetID: w.SubnetID}
	}
	if w.IPAddress == "" {
		return nil, fault.BadInput("An entry of fixed_ips names neither a subnet_id nor an ip_address.")
	}
	return nil, fault.InvalidIpForNetwork(w.IPAddress)
}

// Elsewhere says that fixed_ips names a subnet that is not one of those to take addresses of; the caller finds out whether it
// exists at all, which decides between 400 and 404.
type Elsewhere struct{ SubnetID string }

func (e *Elsewhere) Error() string { return "ipam: subnet " + e.SubnetID + " is not on the network" }

// exact takes a given address; one outside the pools but inside the prefix is fine.
func (a *Allocator) exact(ctx context.Context, tx store.WriteTx, r Request, s *model.Subnet, w model.FixedIP) (choice, error) {
	addr, err := netip.ParseAddr(w.IPAddress)
	if err != nil {
		return choice{}, fault.BadInput("%s is not an address.", w.IPAddress)
	}
	p := Prefix(s)
	if s.IPVersion == 4 && p.Bits() < 31 && (addr == p.Masked().Addr() || addr == Last(p)) {
		return choice{}, fault.InvalidIpForNetwork(w.IPAddress)
	}
	if AutoAddress(s) && !RouterOwner(r.Owner) {
		c, err := euiChoice(r, s)
		if err == nil && c.addr != addr {
			err = fault.AllocationOnAutoAddressSubnet(s.ID, w.IPAddress)
		}
		return c, err
	}
	if inPools(s, addr) {
		if _, err := freerange.Take(ctx, tx, Pool(s.ID), value(addr)); err != nil {
			return choice{}, err
		}
	}
	return choice{subnet: s, addr: addr}, nil // whether somebody has it is what the index finds out
}

func euiChoice(r Request, s *model.Subnet) (choice, error) {
	mac, err := net.ParseMAC(r.MAC)
	if err != nil || len(mac) != 6 {
		return choice{}, fault.BadInput("%s is no Ethernet address to make an IPv6 address of.", r.MAC)
	}
	return choice{subnet: s, addr: EUI64(Prefix(s), mac)}, nil
}

// record writes the allocations: one statement, whose primary key refuses what somebody else has.
func (a *Allocator) record(ctx context.Context, tx store.WriteTx, r Request, keep []model.FixedIP, cs []choice) ([]model.FixedIP, error) {
	out := append([]model.FixedIP{}, keep...)
	if len(cs) == 0 {
		return out, nil
	}
	args := make([]any, 0, 5*len(cs))
	for _, c := range cs {
		args = append(args, c.subnet.ID, Hex(c.addr), c.addr.String(), r.PortID, r.NetworkID)
		out = append(out, model.FixedIP{SubnetID: c.subnet.ID, IPAddress: c.addr.String()})
	}
	_, err := tx.Exec(ctx, store.Q("INSERT INTO ip_allocations (subnet_id, ip, ip_address, port_id, network_id) VALUES "+
		strings.Repeat("(?, ?, ?, ?, ?), ", len(cs)-1)+"(?, ?, ?, ?, ?)", args...))
	if _, dup := store.AsDuplicate(err); dup {
		return nil, fault.IpAddressAlreadyAllocated(cs[0].addr.String(), cs[0].subnet.ID)
	}
	return out, err
}

// give returns addresses to the free ranges of their subnets.
func (a *Allocator) give(ctx context.Context, tx store.WriteTx, portID string, subnets []model.Subnet, have []model.FixedIP) error {
	if len(have) == 0 {
		return nil
	}
	var ips []string
	for _, h := range have {
		addr, err := netip.ParseAddr(h.IPAddress)
		if err != nil {
			continue
		}
		ips = append(ips, Hex(addr))
		i := slices.IndexFunc(subnets, func(s model.Subnet) bool { return s.ID == h.SubnetID })
		if i < 0 || AutoAddress(&subnets[i]) || !inPools(&subnets[i], addr) {
			continue
		}
		if err := freerange.Give(ctx, tx, Pool(h.SubnetID), value(addr)); err != nil {
			return err
		}
	}
	where := store.And(store.Eq("port_id", portID), store.In("ip", ips))
	_, err := tx.Exec(ctx, store.Q("DELETE FROM ip_allocations WHERE "+where.SQL, where.Args...))
	return err
}

// OwnerDHCP is the device_owner of DHCP ports.
const OwnerDHCP = "network:dhcp"

// RouterOwner tells whether a port is a router's (ROUTER_INTERFACE_OWNERS_SNAT and gateways in neutron-lib's constants):
// such a port takes an address of an auto-address subnet only when it is asked for.
func RouterOwner(owner string) bool {
	switch owner {
	case "network:router_interface", "network:ha_router_replicated_interface", "network:router_interface_distributed",
		"network:router_centralized_snat", "network:router_gateway":
		return true
	}
	return false
}
