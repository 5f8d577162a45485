package subnetpool

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/service/ipam"
	"isospin/internal/service/sharing"
	"isospin/internal/store"
)

// pools is the controller of subnet pools.
type pools struct{ *Plugin }

// Create makes a pool; all of it is free.
func (p pools) Create(ctx context.Context, tx store.WriteTx, in rest.Input[model.SubnetPool]) (model.SubnetPool, error) {
	pool := in.Value
	shared := pool.Shared
	pool.Shared = nil
	now := model.Stamp(p.Clock.Now())
	pool.ID, pool.TenantID, pool.CreatedAt, pool.UpdatedAt = p.IDs.UUID(), pool.ProjectID, now, now
	if pool.Tags == nil {
		pool.Tags = []string{}
	}
	if err := settle(&pool); err != nil {
		return pool, err
	}
	if err := bounds(&pool, in.Given); err != nil {
		return pool, err
	}
	if err := p.join(ctx, tx, &pool); err != nil {
		return pool, err
	}
	if err := unique(p.Pools.Insert(ctx, tx, &pool), &pool); err != nil {
		return pool, err
	}
	if shared != nil && *shared {
		if err := sharing.Grant(ctx, tx, p.IDs, pool.ProjectID, typePool, pool.ID, sharing.AsShared, sharing.Everyone); err != nil {
			return pool, err
		}
	}
	return pool, insertFree(ctx, tx, pool.ID, parse(pool.Prefixes))
}

// unique names the clash of two default pools.
func unique(err error, pool *model.SubnetPool) error {
	if _, dup := store.AsDuplicate(err); dup {
		return fault.BadInput("There is a default subnet pool for IPv%d already.", pool.IPVersion)
	}
	return err
}

// settle joins a pool's prefixes and tells its IP version.
func settle(pool *model.SubnetPool) error {
	ps := parse(pool.Prefixes)
	if len(ps) == 0 {
		return fault.EmptySubnetPoolPrefixList()
	}
	four := ps[0].Addr().Is4()
	if slices.ContainsFunc(ps, func(x netip.Prefix) bool { return x.Addr().Is4() != four }) {
		return fault.PrefixVersionMismatch()
	}
	pool.IPVersion = 6
	if four {
		pool.IPVersion = 4
	}
	pool.Prefixes = texts(compact(ps))
	return nil
}

// bounds fills the prefix lengths that nobody gave and judges all (neutron/ipam/subnet_alloc.py, behaviour.md section 9).
func bounds(pool *model.SubnetPool, given func(string) bool) error {
	least, most := model.Length(8), model.Length(32)
	if pool.IPVersion == 6 {
		least, most = 64, 128
	}
	if !given("min_prefixlen") {
		pool.MinPrefixLen = least
	}
	if !given("max_prefixlen") {
		pool.MaxPrefixLen = most
	}
	if !given("default_prefixlen") {
		pool.DefaultPrefixLen = pool.MinPrefixLen
	}
	return within(pool, least, most)
}

func within(pool *model.SubnetPool, least, most model.Length) error {
	low, high, usual := pool.MinPrefixLen, pool.MaxPrefixLen, pool.DefaultPrefixLen
	switch {
	case low < least:
		return fault.UnsupportedMinSubnetPoolPrefix(int64(low), pool.IPVersion, int64(least))
	case low > high:
		return fault.IllegalSubnetPoolPrefixBounds("min_prefixlen", int64(low), "max_prefixlen", int64(high))
	case high > most:
		return fault.IllegalSubnetPoolPrefixBounds("max_prefixlen", int64(high), "the length of an address", int64(most))
	case usual < low:
		return fault.IllegalSubnetPoolPrefixBounds("default_prefixlen", int64(usual), "min_prefixlen", int64(low))
	case usual > high:
		return fault.IllegalSubnetPoolPrefixBounds("default_prefixlen", int64(usual), "max_prefixlen", int64(high))
	}
	return nil
}

// Update changes a pool; its prefixes only grow.
func (p pools) Update(ctx context.Context, tx store.WriteTx, cur model.SubnetPool, in rest.Input[model.SubnetPool]) (model.SubnetPool, error) {
	pool := cur
	if err := in.Apply(&pool); err != nil {
		return pool, err
	}
	if in.Given("prefixes") {
		if err := settle(&pool); err != nil {
			return pool, err
		}
		if pool.IPVersion != cur.IPVersion {
			return pool, fault.PrefixVersionMismatch()
		}
		if lost := subtract(parse(cur.Prefixes), parse(pool.Prefixes)); len(lost) > 0 {
			return pool, fault.IllegalSubnetPoolPrefixUpdate(lost)
		}
	}
	if err := bounds(&pool, func(string) bool { return true }); err != nil {
		return pool, err
	}
	if orNil(pool.AddressScopeID) != orNil(cur.AddressScopeID) {
		if err := p.affine(ctx, tx, &pool); err != nil {
			return pool, err
		}
	}
	if same(&cur, &pool) {
		return cur, nil
	}
	return pool, p.save(ctx, tx, &cur, &pool)
}

// save writes a pool that a request changed, and what is free of it when its prefixes did.
func (p pools) save(ctx context.Context, tx store.WriteTx, cur, pool *model.SubnetPool) error {
	grown := !slices.Equal(cur.Prefixes, pool.Prefixes)
	if grown || orNil(pool.AddressScopeID) != orNil(cur.AddressScopeID) {
		if err := p.join(ctx, tx, pool); err != nil {
			return err
		}
	}
	pool.UpdatedAt = model.Stamp(p.Clock.Now())
	pool.Revision++
	if err := unique(p.Pools.Update(ctx, tx, pool, cur.Revision), pool); err != nil || !grown {
		return err
	}
	used, err := p.taken(ctx, tx, pool.ID)
	if err != nil {
		return err
	}
	return reset(ctx, tx, pool.ID, subtract(parse(pool.Prefixes), used))
}

// taken are the prefixes of a pool's subnets. One statement.
func (p *Plugin) taken(ctx context.Context, tx store.Tx, pool string) ([]netip.Prefix, error) {
	subs, err := p.Subnets.Find(ctx, tx, store.List{Where: store.Eq("subnetpool_id", pool)})
	out := make([]netip.Prefix, 0, len(subs))
	for i := range subs {
		out = append(out, ipam.Prefix(&subs[i]))
	}
	return out, err
}

// affine refuses to move a pool to another scope while a network has subnets of it beside those of another pool: on one
// network all subnets of an IP version are of one scope, or of one pool.
func (p pools) affine(ctx context.Context, tx store.Tx, pool *model.SubnetPool) error {
	n, _, err := store.Int(ctx, tx, store.Q(`SELECT COUNT(*) FROM subnets o JOIN subnetpools q ON q.id = o.subnetpool_id
WHERE q.id <> ? AND q.ip_version = ? AND o.network_id IN (SELECT network_id FROM subnets WHERE subnetpool_id = ?)
AND (q.address_scope_id IS NULL OR q.address_scope_id <> ?)`, pool.ID, pool.IPVersion, pool.ID, text(pool.AddressScopeID)))
	if err == nil && n > 0 {
		err = fault.NetworkAddressScopeAffinityError()
	}
	return err
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Delete removes a pool that no subnet is of.
func (p pools) Delete(ctx context.Context, tx store.WriteTx, cur model.SubnetPool) error {
	n, err := p.Subnets.Count(ctx, tx, store.Eq("subnetpool_id", cur.ID))
	if err != nil {
		return err
	}
	if n > 0 {
		return fault.SubnetPoolDeleteError("there are subnets of it.")
	}
	if err := reset(ctx, tx, cur.ID, nil); err != nil {
		return err
	}
	if err := sharing.Forget(ctx, tx, cur.ID); err != nil {
		return err
	}
	return p.Pools.Delete(ctx, tx, cur.ID)
}

// Act answers the actions: add_prefixes, remove_prefixes, onboard_network_subnets.
func (p pools) Act(ctx context.Context, tx store.WriteTx, id, action string, in json.RawMessage) (any, error) {
	var asked struct {
		Prefixes  []string `json:"prefixes"`
		NetworkID string   `json:"network_id"`
	}
	if err := json.Unmarshal(in, &asked); err != nil {
		return nil, fmt.Errorf("decode the action %s: %w", action, err)
	}
	cur, err := p.Pools.Get(ctx, tx, id)
	if err != nil {
		return nil, err
	}
	if action == "onboard_network_subnets" {
		return p.onboard(ctx, tx, cur, asked.NetworkID)
	}
	pool := cur
	delta := parse(asked.Prefixes)
	if action == "add_prefixes" {
		pool.Prefixes = append(texts(delta), cur.Prefixes...)
		if err := settle(&pool); err != nil {
			return nil, err
		}
		if pool.IPVersion != cur.IPVersion {
			return nil, fault.PrefixVersionMismatch()
		}
	} else {
		used, err := p.taken(ctx, tx, id)
		if err != nil {
			return nil, err
		}
		if overlap(used, delta) {
			return nil, fault.IllegalSubnetPoolUpdate("there are subnets of the prefixes that shall go.")
		}
		pool.Prefixes = texts(subtract(parse(cur.Prefixes), delta))
	}
	if !same(&cur, &pool) {
		err = p.save(ctx, tx, &cur, &pool)
	}
	return map[string]any{"prefixes": pool.Prefixes}, err
}

// same tells whether two pools have the same body.
func same(a, b *model.SubnetPool) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && string(x) == string(y)
}
