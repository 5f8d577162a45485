package subnetpool

import (
	"context"
	"encoding/json"
	"math"
	"net/netip"
	"strconv"

	"isospin/internal/auth"
	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/service/ipam"
	"isospin/internal/service/ml2"
	"isospin/internal/service/sharing"
	"isospin/internal/store"
)

// Take settles pool and prefix of a new subnet. A subnet with a cidr and no pool costs no statement unless the network has
// subnets of pools.
func (p *Plugin) Take(ctx context.Context, tx store.WriteTx, s *model.Subnet, others []model.Subnet, in rest.Input[model.Subnet]) error {
	raw, _ := in.Raw("use_default_subnetpool")
	usual := string(raw) == "true"
	given := s.CIDR != nil && *s.CIDR != ""
	length := in.Value.PrefixLen
	if usual && s.SubnetPoolID == nil && s.IPVersion == 6 && p.Delegate {
		s.SubnetPoolID = delegated()
	}
	switch {
	case usual && in.Given("subnetpool_id") && s.SubnetPoolID != nil:
		return fault.BadRequest("subnets", "subnetpool_id and use_default_subnetpool exclude each other.")
	case given && length != nil:
		return fault.BadRequest("subnets", "cidr and prefixlen exclude each other.")
	case s.SubnetPoolID == nil && (usual || !given):
		id, err := p.usual(ctx, tx, s.IPVersion)
		if err != nil {
			return err
		}
		if id == "" {
			return fault.BadRequest("subnets", "there is no cidr, no subnetpool_id and no default subnet pool for its IP version.")
		}
		s.SubnetPoolID = &id
	case s.SubnetPoolID == nil:
		for i := range others {
			if others[i].SubnetPoolID != nil && others[i].IPVersion == s.IPVersion {
				return p.affinity(ctx, tx, nil, s, others)
			}
		}
		return nil
	}
	if !given && in.Given("allocation_pools") && !in.Null("allocation_pools") {
		return fault.BadRequest("subnets", "allocation_pools need a cidr, which a subnet pool has yet to give.")
	}
	if ipam.Delegated(s) {
		return p.delegate(ctx, tx, s, others, given)
	}
	pool, err := p.Pools.GetForUpdate(ctx, tx, *s.SubnetPoolID)
	if store.IsNotFound(err) {
		err = fault.SubnetPoolNotFound(*s.SubnetPoolID)
	}
	if err != nil {
		return err
	}
	if ok, err := sharing.Usable(ctx, tx, pool.ProjectID, pool.ID); err != nil || !ok {
		if err == nil {
			err = fault.SubnetPoolNotFound(pool.ID)
		}
		return err
	}
	if pool.IPVersion != s.IPVersion {
		return fault.BadRequest("subnets", "the subnet is of IPv"+strconv.FormatInt(s.IPVersion, 10)+" and the pool is not.")
	}
	if err := p.affinity(ctx, tx, &pool, s, others); err != nil {
		return err
	}
	return p.allocate(ctx, tx, &pool, s, length, given)
}

// usual is the id of the default pool of an IP version, if the caller may use it.
func (p *Plugin) usual(ctx context.Context, tx store.Tx, version int64) (string, error) {
	rows, err := p.Pools.Find(ctx, tx, store.List{Where: store.Eq("default_for", strconv.FormatInt(version, 10))})
	if err != nil || len(rows) == 0 {
		return "", err
	}
	ok, err := sharing.Usable(ctx, tx, rows[0].ProjectID, rows[0].ID)
	if !ok {
		return "", err
	}
	return rows[0].ID, err
}

// affinity: subnets of one IP version on one network are all of one pool, or of pools of one address scope, or of no pool
// (neutron/db/ipam_backend_mixin.py).
func (p *Plugin) affinity(ctx context.Context, tx store.Tx, pool *model.SubnetPool, s *model.Subnet, others []model.Subnet) error {
	scope, mixed := "", false
	for i := range others {
		o := &others[i]
		if o.IPVersion != s.IPVersion || o.ID == s.ID {
			continue
		}
		if text(o.SubnetPoolID) != text(s.SubnetPoolID) {
			mixed = true
		}
		if o.SubnetPoolID == nil || scope != "" || ipam.Delegated(o) {
			continue
		}
		q, err := p.Pools.Get(ctx, tx, *o.SubnetPoolID)
		if err != nil {
			return err
		}
		scope = text(q.AddressScopeID)
	}
	switch {
	case !mixed:
		return nil
	case scope == "":
		return fault.NetworkSubnetPoolAffinityError()
	case pool == nil || text(pool.AddressScopeID) != scope:
		return fault.NetworkAddressScopeAffinityError()
	}
	return nil
}

// allocate takes the subnet's prefix out of the pool, which is kept.
func (p *Plugin) allocate(ctx context.Context, tx store.WriteTx, pool *model.SubnetPool, s *model.Subnet, length *int64, given bool) error {
	var want netip.Prefix
	bits := int64(pool.DefaultPrefixLen)
	if length != nil {
		bits = *length
	}
	if given {
		var err error
		if want, err = netip.ParsePrefix(*s.CIDR); err != nil {
			return fault.BadInput("'%s' is not a prefix.", *s.CIDR)
		}
		if want.Addr().Is4() != (pool.IPVersion == 4) {
			return fault.BadInput("cidr %s is not of IP version %d.", want, pool.IPVersion)
		}
		want = want.Masked()
		bits = int64(want.Bits())
	}
	switch {
	case bits < int64(pool.MinPrefixLen):
		return fault.MinPrefixSubnetAllocationError(bits, int64(pool.MinPrefixLen))
	case bits > int64(pool.MaxPrefixLen):
		return fault.MaxPrefixSubnetAllocationError(bits, int64(pool.MaxPrefixLen))
	}
	if err := p.quota(ctx, tx, pool, s, int(bits)); err != nil {
		return err
	}
	var ok bool
	var err error
	if given {
		ok, err = takeExact(ctx, tx, pool.ID, want)
	} else {
		want, ok, err = takeAny(ctx, tx, pool.ID, int(bits))
	}
	if err == nil && !ok {
		if given {
			return fault.SubnetAllocationError(want.String() + " is not free.")
		}
		return fault.SubnetAllocationError("no prefix of length " + strconv.FormatInt(bits, 10) + " is left.")
	}
	cidr := want.String()
	s.CIDR = &cidr
	return err
}

// quota refuses a subnet that would give its project more of the pool than default_quota: addresses of IPv4, /64 of IPv6;
// 0 is no bound (neutron/ipam/subnet_alloc.py).
func (p *Plugin) quota(ctx context.Context, tx store.Tx, pool *model.SubnetPool, s *model.Subnet, bits int) error {
	if pool.DefaultQuota == nil || *pool.DefaultQuota == 0 {
		return nil
	}
	unit := 32
	if pool.IPVersion == 6 {
		unit = 64
	}
	own, err := p.Subnets.Find(ctx, tx, store.List{Where: store.And(store.Eq("subnetpool_id", pool.ID), store.Eq("project_id", s.ProjectID))})
	if err != nil {
		return err
	}
	sum := math.Ldexp(1, unit-bits)
	for i := range own {
		sum += math.Ldexp(1, unit-ipam.Prefix(&own[i]).Bits())
	}
	if sum > float64(*pool.DefaultQuota) {
		return fault.SubnetPoolQuotaExceeded()
	}
	return nil
}

// Give gives the prefix of a subnet that goes back to its pool.
func (p *Plugin) Give(ctx context.Context, tx store.WriteTx, s *model.Subnet) error {
	if s.SubnetPoolID == nil || ipam.Delegated(s) {
		return nil
	}
	pool, err := p.Pools.GetForUpdate(ctx, tx, *s.SubnetPoolID)
	if store.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if cidr := ipam.Prefix(s); overlap(parse(pool.Prefixes), []netip.Prefix{cidr}) {
		return give(ctx, tx, pool.ID, cidr)
	}
	return nil
}

// onboard takes the subnets of a network into a pool, which grows by them; they leave the pools that they were of.
func (p pools) onboard(ctx context.Context, tx store.WriteTx, cur model.SubnetPool, network string) (any, error) {
	n, err := p.Networks.GetForUpdate(ctx, tx, network)
	if err == nil {
		if caller := auth.From(ctx); caller != nil && !caller.HasRole(auth.RoleAdmin) && caller.ProjectID != n.ProjectID {
			return nil, fault.NetworkNotFound(network)
		}
	}
	if store.IsNotFound(err) {
		err = fault.NetworkNotFound(network)
	}
	if err != nil {
		return nil, err
	}
	subs, err := p.Subnets.Find(ctx, tx, store.List{Where: store.Eq("network_id", network), Lock: true})
	if err != nil {
		return nil, err
	}
	used, err := p.taken(ctx, tx, cur.ID)
	if err != nil {
		return nil, err
	}
	answer := []map[string]string{}
	pool := cur
	for i := range subs {
		s := subs[i]
		if s.IPVersion != cur.IPVersion {
			continue
		}
		cidr := ipam.Prefix(&s)
		if overlap(used, []netip.Prefix{cidr}) {
			return nil, fault.IllegalSubnetPoolUpdate(cidr.String() + " of subnet " + s.ID + " is another subnet's in the pool already.")
		}
		if err := p.Give(ctx, tx, &s); err != nil {
			return nil, err
		}
		old := s.Revision
		s.SubnetPoolID, s.UpdatedAt = &cur.ID, model.Stamp(p.Clock.Now())
		s.Revision++
		if err := p.Subnets.Update(ctx, tx, &s, old); err != nil {
			return nil, err
		}
		pool.Prefixes = append(pool.Prefixes[:len(pool.Prefixes):len(pool.Prefixes)], cidr.String())
		answer = append(answer, map[string]string{"id": s.ID, "cidr": cidr.String()})
	}
	if len(answer) == 0 {
		return answer, nil
	}
	if err := settle(&pool); err != nil {
		return nil, err
	}
	if err := p.save(ctx, tx, &cur, &pool); err != nil {
		return nil, err
	}
	used, err = p.taken(ctx, tx, pool.ID)
	if err != nil {
		return nil, err
	}
	return answer, reset(ctx, tx, pool.ID, subtract(parse(pool.Prefixes), used))
}

// NetworkScopes adds the address scopes of networks, which follow from the pools of their subnets.
type NetworkScopes struct{}

// Splice adds both scopes in one statement.
func (NetworkScopes) Splice(ctx context.Context, tx store.Tx, page *rest.Page) error {
	if !page.Wants("ipv4_address_scope") && !page.Wants("ipv6_address_scope") {
		return nil
	}
	ids := page.IDs()
	where := store.Expr("p.address_scope_id IS NOT NULL")
	if len(ids) <= 500 {
		where = store.And(where, store.In("s.network_id", ids))
	}
	type family struct {
		network string
		version int64
	}
	of := map[family]string{}
	err := store.Each(ctx, tx, store.Q("SELECT DISTINCT s.network_id, p.ip_version, p.address_scope_id FROM subnets s JOIN subnetpools p ON p.id = s.subnetpool_id WHERE "+where.SQL, where.Args...),
		func(scan func(...any) error) error {
			var f family
			var scope string
			err := scan(&f.network, &f.version, &scope)
			of[f] = scope
			return err
		})
	if err != nil {
		return err
	}
	for i, id := range ids {
		for _, version := range []int64{4, 6} {
			value := json.RawMessage("null")
			if scope := of[family{id, version}]; scope != "" {
				value = strconv.AppendQuote(nil, scope)
			}
			page.Splice(i, "ipv"+strconv.FormatInt(version, 10)+"_address_scope", value)
		}
	}
	return nil
}

var (
	_ ml2.PrefixSource = (*Plugin)(nil)
	_ rest.Splicer     = NetworkScopes{}
)
