package ml2

import (
	"context"
	"maps"
	"net/netip"
	"slices"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/service/ipam"
	"isospin/internal/store"
	"isospin/internal/store/freerange"
)

// This file is about routed networks: those whose subnets are on segments. A port there has addresses of one segment, of one that
// its host reaches; without a host it waits for them (behaviour.md, section 8; neutron/objects/subnet.py,
// neutron/db/ipam_backend_mixin.py).

// ownerRouted marks subnets of a routed network that are on none of its segments (DEVICE_OWNER_ROUTED in neutron-lib's constants),
// ownerDistributed ports that are on every host.
const (
	ownerRouted      = "network:routed"
	ownerDistributed = "network:distributed"
)

// routed tells whether a network with these subnets is a routed one.
func routed(subs []model.Subnet) bool {
	return slices.ContainsFunc(subs, func(s model.Subnet) bool { return s.SegmentID != nil })
}

// reached are the segments of a network that a host reaches: those of physical networks that one of its agents maps, alive or not. Two
// statements.
func (p *Plugin) reached(ctx context.Context, tx store.Tx, host, network string) (map[string]bool, error) {
	h, err := p.Mechanisms.hosts.Known(ctx, tx, host)
	if err != nil {
		return nil, err
	}
	all, err := SegmentsOf(ctx, tx, []string{network})
	out := map[string]bool{}
	for _, s := range all[network] {
		if p.Reaches(h, s) {
			out[s.ID] = true
		}
	}
	return out, err
}

// Reaches tells whether a host can be on a segment of a physical network: one of the drivers could carry it there.
func (p *Plugin) Reaches(h model.Host, s model.Segment) bool {
	return s.PhysicalNetwork != "" && slices.ContainsFunc(p.Mechanisms.drivers, func(d MechanismDriver) bool {
		f, ok := d.(HostFilter)
		return ok && f.Reaches(h, s)
	})
}

// usable tells of which subnets a port can have addresses; nil: of all. deferred says that it must wait for its host.
func (p ports) usable(ctx context.Context, tx store.Tx, port *model.Port, subs []model.Subnet, wanted []model.FixedIP, given bool) (among map[string]bool, deferred bool, err error) {
	if !routed(subs) {
		return nil, false, nil
	}
	pick := func(fits func(s *model.Subnet) bool) map[string]bool {
		out := map[string]bool{}
		for i := range subs {
			if s := &subs[i]; serves(s, port.DeviceOwner) && fits(s) {
				out[s.ID] = true
			}
		}
		return out
	}
	switch {
	case port.HostID != "":
		reach, err := p.reached(ctx, tx, port.HostID, port.NetworkID)
		if err != nil {
			return nil, false, err
		}
		if among = pick(func(s *model.Subnet) bool { return s.SegmentID == nil || reach[*s.SegmentID] }); len(among) == 0 {
			return nil, false, fault.HostNotConnectedToAnySegment(port.HostID, port.NetworkID)
		}
	case given:
		among = pick(func(*model.Subnet) bool { return true })
	default:
		if among = pick(func(s *model.Subnet) bool { return s.SegmentID == nil }); len(among) == 0 {
			return nil, true, nil
		}
	}
	if port.DeviceOwner == ownerDistributed {
		return among, false, nil
	}
	among, err = one(ctx, tx, subs, among, wanted, given)
	return among, false, err
}

// serves tells whether a subnet is for ports of an owner at all.
func serves(s *model.Subnet, owner string) bool {
	return ipam.Serves(s, owner)
}

// one leaves the subnets of one segment: that of the addresses wanted, else the one with the most addresses left.
func one(ctx context.Context, tx store.Tx, subs []model.Subnet, among map[string]bool, wanted []model.FixedIP, given bool) (map[string]bool, error) {
	segments := map[string]bool{}
	if given {
		for _, w := range wanted {
			if s := meant(subs, w); s != nil {
				segments[deref(s.SegmentID)] = true
			}
		}
		if len(segments) > 1 {
			return nil, fault.FixedIpsSubnetsNotOnSameSegment()
		}
		if len(segments) == 0 {
			return among, nil
		}
	} else {
		for i := range subs {
			if among[subs[i].ID] && subs[i].SegmentID != nil {
				segments[*subs[i].SegmentID] = true
			}
		}
		if len(segments) < 2 {
			return among, nil
		}
		best, err := roomiest(ctx, tx, subs, slices.Sorted(maps.Keys(segments)))
		if err != nil {
			return nil, err
		}
		segments = map[string]bool{best: true, "": true}
	}
	out := map[string]bool{}
	for i := range subs {
		if among[subs[i].ID] && segments[deref(subs[i].SegmentID)] {
			out[subs[i].ID] = true
		}
	}
	return out, nil
}

// meant is the subnet that an entry of fixed_ips means, nil where it means none of these.
func meant(subs []model.Subnet, w model.FixedIP) *model.Subnet {
	addr, err := netip.ParseAddr(w.IPAddress)
	for i := range subs {
		if w.SubnetID == subs[i].ID || w.SubnetID == "" && err == nil && ipam.Prefix(&subs[i]).Contains(addr) {
			return &subs[i]
		}
	}
	return nil
}

// roomiest is the segment whose scarcest IP version has the most addresses left. One statement.
func roomiest(ctx context.Context, tx store.Tx, subs []model.Subnet, segments []string) (string, error) {
	var pools []string
	for i := range subs {
		if subs[i].SegmentID != nil && !ipam.AutoAddress(&subs[i]) {
			pools = append(pools, ipam.Pool(subs[i].ID))
		}
	}
	free, err := freerange.Free(ctx, tx, pools...)
	if err != nil {
		return "", err
	}
	best, most := "", freerange.Value{}
	for _, segment := range segments {
		left := map[int64]freerange.Value{}
		for i := range subs {
			s := &subs[i]
			if deref(s.SegmentID) != segment || ipam.AutoAddress(s) {
				continue
			}
			if n := free[ipam.Pool(s.ID)]; n.Compare(left[s.IPVersion]) >= 0 {
				left[s.IPVersion] = n
			}
		}
		least, first := freerange.Value{}, true
		for _, n := range left {
			if first || n.Compare(least) < 0 {
				least, first = n, false
			}
		}
		if best == "" || least.Compare(most) > 0 {
			best, most = segment, least
		}
	}
	return best, nil
}

// rehost brings the addresses of a port that comes to a host in line with it: a port that waited for them gets them, and one that has
// some must be able to use them there. given says that the request named addresses, which are judged elsewhere.
func (p ports) rehost(ctx context.Context, tx store.WriteTx, n *model.Network, cur, port *model.Port, given bool) error {
	if n.L2Adjacency || given || port.HostID == "" || port.HostID == cur.HostID {
		return nil
	}
	subs, err := p.subnetsOf(ctx, tx, port.NetworkID)
	if err != nil || !routed(subs) {
		return err
	}
	if len(cur.FixedIPs) == 0 {
		if cur.IPAllocation != model.AllocationDeferred || cur.HostID != "" {
			return nil
		}
		among, _, err := p.usable(ctx, tx, port, subs, nil, false)
		if err != nil {
			return err
		}
		port.FixedIPs, err = p.IPAM.Allocate(ctx, tx, ipam.Request{PortID: port.ID, NetworkID: n.ID, Owner: port.DeviceOwner,
			MAC: port.MACAddress, Subnets: subs, Among: among})
		return err
	}
	reach, err := p.reached(ctx, tx, port.HostID, n.ID)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(subs, func(s model.Subnet) bool { return s.SegmentID == nil || reach[*s.SegmentID] }) {
		return fault.HostNotConnectedToAnySegment(port.HostID, n.ID)
	}
	for _, f := range port.FixedIPs {
		if s := meant(subs, f); s != nil && s.SegmentID != nil && !reach[*s.SegmentID] {
			return fault.HostNotCompatibleWithFixedIps(port.ID, port.HostID)
		}
	}
	return nil
}

// ofAddresses are the segments of a port's addresses, none for a port of a network that is one broadcast domain. One statement, for
// ports of routed networks alone.
func ofAddresses(ctx context.Context, tx store.Tx, n *model.Network, port *model.Port) (map[string]bool, error) {
	out := map[string]bool{}
	if n.L2Adjacency || len(port.FixedIPs) == 0 {
		return out, nil
	}
	ids := make([]string, len(port.FixedIPs))
	for i, f := range port.FixedIPs {
		ids[i] = f.SubnetID
	}
	in := store.In("id", ids)
	err := store.Each(ctx, tx, store.Q("SELECT segment_id FROM subnets WHERE segment_id IS NOT NULL AND "+in.SQL, in.Args...), func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		out[id] = true
		return err
	})
	return out, err
}

// automatic are the subnets that a port gets addresses of by itself when one where hosts make their own is added; nil: of all, empty: of
// none. seen keeps what hosts reach.
func (p ports) automatic(ctx context.Context, tx store.Tx, port *model.Port, subs []model.Subnet, seen map[string]map[string]bool) (map[string]bool, error) {
	if !routed(subs) {
		return nil, nil
	}
	segments := map[string]bool{}
	for _, f := range port.FixedIPs {
		if s := meant(subs, f); s != nil {
			segments[deref(s.SegmentID)] = true
		}
	}
	if len(port.FixedIPs) == 0 && port.HostID != "" {
		if seen[port.HostID] == nil {
			reach, err := p.reached(ctx, tx, port.HostID, port.NetworkID)
			if err != nil {
				return nil, err
			}
			seen[port.HostID] = reach
		}
		segments = seen[port.HostID]
	}
	among := map[string]bool{}
	for i := range subs {
		if segments[deref(subs[i].SegmentID)] {
			among[subs[i].ID] = true
		}
	}
	return among, nil
}

// onSegment judges the segment of a new subnet: it is the network's own, and either all of the network's subnets are on segments or none
// is (IpamBackendMixin._validate_segment).
func (p subnets) onSegment(ctx context.Context, tx store.Tx, n *model.Network, s *model.Subnet, others []model.Subnet) error {
	if s.SegmentID == nil && n.L2Adjacency {
		return nil
	}
	if err := p.segmentOf(ctx, tx, n, s); err != nil {
		return err
	}
	on, off := 0, 0
	for _, x := range append([]model.Subnet{*s}, others...) {
		switch {
		case slices.Contains(x.ServiceTypes, ownerRouted):
		case x.SegmentID == nil:
			off++
		default:
			on++
		}
	}
	if on > 0 && off > 0 {
		return fault.SubnetsNotAllAssociatedWithSegments(n.ID)
	}
	return nil
}

func (p subnets) segmentOf(ctx context.Context, tx store.Tx, n *model.Network, s *model.Subnet) error {
	if s.SegmentID == nil {
		return nil
	}
	found, err := SegmentsByID(ctx, tx, []string{*s.SegmentID})
	segment, ok := found[*s.SegmentID]
	switch {
	case err != nil:
		return err
	case !ok, segment.NetworkID != n.ID && !administrator(ctx): // who sees no segments must not learn that there is one
		return fault.SegmentNotFound(*s.SegmentID)
	case segment.NetworkID != n.ID:
		return fault.NetworkIdsDontMatch(s.ID, segment.ID)
	case segment.Dynamic:
		return fault.SubnetCantAssociateToDynamicSegment()
	}
	return nil
}

// toSegment puts a subnet that is there on a segment, which makes its network a routed one: only where the network has no other subnet
// and one segment.
func (p subnets) toSegment(ctx context.Context, tx store.WriteTx, cur, s *model.Subnet) error {
	if deref(cur.SegmentID) == deref(s.SegmentID) {
		return nil
	}
	n, err := p.Networks.GetForUpdate(ctx, tx, cur.NetworkID)
	if err != nil {
		return err
	}
	if err := p.segmentOf(ctx, tx, &n, s); err != nil {
		return err
	}
	others, err := p.subnetsOf(ctx, tx, n.ID)
	if err != nil {
		return err
	}
	others = slices.DeleteFunc(others, func(x model.Subnet) bool { return slices.Contains(x.ServiceTypes, ownerRouted) })
	if len(others) > 1 {
		return fault.SubnetsNotAllAssociatedWithSegments(n.ID)
	}
	if cur.SegmentID != nil {
		return fault.SubnetSegmentAssociationChangeNotAllowed()
	}
	all, err := SegmentsOf(ctx, tx, []string{n.ID})
	if err != nil {
		return err
	}
	if len(all[n.ID]) > 1 {
		return fault.NoUpdateSubnetWhenMultipleSegmentsOnNetwork(n.ID)
	}
	n.L2Adjacency = false
	p.bump(&n.Standard)
	return p.Networks.Update(ctx, tx, &n, -1)
}

// adjacent brings a network's adjacency in line after one of its subnets went. One statement, for routed networks alone.
func (p subnets) adjacent(ctx context.Context, tx store.Tx, n *model.Network) error {
	if n.L2Adjacency {
		return nil
	}
	left, _, err := store.Int(ctx, tx, store.Q("SELECT COUNT(*) FROM subnets WHERE network_id = ? AND segment_id IS NOT NULL", n.ID))
	n.L2Adjacency = left == 0
	return err
}
