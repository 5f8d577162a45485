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

// choice is one address on its way to the port; missed says that it is of the pools and was not free when it was asked for.
type choice struct {
	subnet *model.Subnet
	addr   netip.Addr
	missed bool
}

// Allocate takes addresses for a new port and records them.
func (a *Allocator) Allocate(ctx context.Context, tx store.WriteTx, r Request) ([]model.FixedIP, error) {
	if len(r.Subnets) > 0 && !slices.ContainsFunc(r.Subnets, func(s model.Subnet) bool { return Serves(&s, r.Owner) }) {
		return nil, fault.IpAddressGenerationFailureNoMatchingSubnet(r.NetworkID, r.Owner)
	}
	if !r.Given {
		return a.automatic(ctx, tx, r)
	}
	return a.wanted(ctx, tx, r, nil, nil)
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
	// Addresses that make themselves stay as long as their subnet, unless the prefix is another's to delegate.
	gone := rest[:0:0]
	for _, h := range rest {
		if s := r.subnet(h.SubnetID); s != nil && Implicit(r.Owner) && AutoAddress(s) && !Delegated(s) {
			keep = append(keep, h)
			continue
		}
		gone = append(gone, h)
	}
	if err := a.give(ctx, tx, r.PortID, r.Subnets, gone); err != nil {
		return nil, err
	}
	r.Wanted = want
	out, err := a.wanted(ctx, tx, r, keep, gone)
	if err == nil && len(out) == len(have) && !slices.ContainsFunc(out, func(f model.FixedIP) bool { return !slices.Contains(have, f) }) {
		return have, nil // in another order at the most
	}
	return out, err
}

// subnet is one of the request's by its id, or nil.
func (r Request) subnet(id string) *model.Subnet {
	for i := range r.Subnets {
		if r.Subnets[i].ID == id {
			return &r.Subnets[i]
		}
	}
	return nil
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
	if Implicit(r.Owner) {
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

// Serves tells whether a port of an owner can have addresses of a subnet: one without service types is for all, one that
// DHCP serves has the DHCP server's address too (neutron/objects/subnet.py).
func Serves(s *model.Subnet, owner string) bool {
	return len(s.ServiceTypes) == 0 || slices.Contains(s.ServiceTypes, owner) || owner == OwnerDHCP && s.EnableDHCP
}

// classes sorts a network's subnets by how a port of this owner gets an address from them, those for its owner first.
func classes(r Request) (v4, v6, auto []*model.Subnet) {
	for _, typed := range []bool{true, false} {
		for i := range r.Subnets {
			s := &r.Subnets[i]
			switch {
			case s.CIDR == nil || !r.open(s) || len(s.ServiceTypes) > 0 != typed:
			case s.IPVersion == 4:
				v4 = append(v4, s)
			case AutoAddress(s):
				auto = append(auto, s)
			default:
				v6 = append(v6, s)
			}
		}
	}
	return v4, v6, auto
}

// open tells whether addresses may be taken of a subnet.
func (r Request) open(s *model.Subnet) bool {
	return (r.Among == nil || r.Among[s.ID]) && Serves(s, r.Owner)
}

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

// wanted takes the addresses that a request asked for, besides those that the port keeps, and the one of each subnet where
// hosts make their own: such a subnet is never left out, but when its address was just given up.
func (a *Allocator) wanted(ctx context.Context, tx store.WriteTx, r Request, keep, gone []model.FixedIP) ([]model.FixedIP, error) {
	var out []choice
	seen, had := map[string]bool{}, map[string]bool{}
	for _, k := range keep {
		seen[k.IPAddress], had[k.SubnetID] = true, true
	}
	for _, g := range gone {
		had[g.SubnetID] = true
	}
	add := func(c choice, err error) error {
		if err == nil && !seen[c.addr.String()] {
			seen[c.addr.String()], had[c.subnet.ID] = true, true
			out = append(out, c)
		}
		return err
	}
	for _, w := range r.Wanted {
		s, err := r.subnetOf(w)
		if err != nil {
			return nil, err
		}
		switch {
		case w.IPAddress != "":
			err = add(a.exact(ctx, tx, r, s, w))
		case AutoAddress(s):
			err = add(euiChoice(r, s))
		default:
			err = add(a.any(ctx, tx, r, []*model.Subnet{s}))
		}
		if err != nil {
			return nil, err
		}
	}
	if Implicit(r.Owner) {
		_, _, auto := classes(r)
		for _, s := range auto {
			if had[s.ID] {
				continue
			}
			if err := add(euiChoice(r, s)); err != nil {
				return nil, err
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
	if AutoAddress(s) && Implicit(r.Owner) {
		c, err := euiChoice(r, s)
		if err == nil && c.addr != addr {
			err = fault.AllocationOnAutoAddressSubnet(s.ID, w.IPAddress)
		}
		return c, err
	}
	c := choice{subnet: s, addr: addr} // whether somebody has it is what the index finds out
	if inPools(s, addr) {
		taken, err := freerange.Take(ctx, tx, Pool(s.ID), value(addr))
		if err != nil {
			return choice{}, err
		}
		c.missed = !taken
	}
	return c, nil
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
	if err != nil {
		return nil, err
	}
	for _, c := range cs {
		if !c.missed {
			continue
		}
		// Nobody had it when the row was written, and yet it was not free: whoever had it gave it back since.
		if _, err := freerange.Take(ctx, tx, Pool(c.subnet.ID), value(c.addr)); err != nil {
			return nil, err
		}
	}
	return out, nil
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

// Implicit tells whether ports of an owner have an address of each subnet where hosts make their own, asked for or not: all
// but those of routers on the inside (ROUTER_INTERFACE_OWNERS_SNAT in neutron-lib's constants).
func Implicit(owner string) bool { return !RouterOwner(owner) || owner == "network:router_gateway" }

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
