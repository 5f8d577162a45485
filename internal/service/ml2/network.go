package ml2

import (
	"context"
	"encoding/json"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/service"
	"isospin/internal/service/sharing"
	"isospin/internal/store"
	"isospin/internal/wire"
)

// networks is the controller of networks.
type networks struct{ *Plugin }

func given(in rest.Input[model.Network], names ...string) bool {
	for _, n := range names {
		if in.Given(n) && !in.Null(n) {
			return true
		}
	}
	return false
}

// Create makes a network and reserves its segments.
func (p networks) Create(ctx context.Context, tx store.WriteTx, in rest.Input[model.Network]) (model.Network, error) {
	n := in.Value
	p.stamp(&n.Standard, 1)
	provider := given(in, "provider:network_type", "provider:physical_network", "provider:segmentation_id")
	wants, err := p.Types.wants(&n, provider, given(in, "segments"))
	if err != nil {
		return n, err
	}
	shared := n.Shared
	n.Shared, n.Status, n.AvailabilityZones, n.L2Adjacency = nil, model.StatusActive, []string{}, true
	segments, err := p.Types.ReserveAll(ctx, tx, n.ID, n.ProjectID, n.External, wants)
	if err != nil {
		return n, err
	}
	show(&n, segments)
	if n.MTU, err = p.mtu(n.MTU, segments); err != nil {
		return n, err
	}
	if err := p.transparency(&n); err != nil {
		return n, err
	}
	w := service.Write[model.Network]{Op: service.Create, New: &n, Given: in.Given}
	if err := p.before(ctx, tx, w); err != nil {
		return n, err
	}
	if err := onlyDefault(ctx, tx, p.Networks.Insert(ctx, tx, &n)); err != nil {
		return n, err
	}
	if err := p.share(ctx, tx, &n, granted(shared), granted(&n.External)); err != nil {
		return n, err
	}
	return n, p.after(ctx, tx, w)
}

// onlyDefault names the clash of two default external networks.
func onlyDefault(ctx context.Context, tx store.Tx, err error) error {
	if _, dup := store.AsDuplicate(err); !dup {
		return err
	}
	other := ""
	if err := store.Each(ctx, tx, store.Q("SELECT id FROM networks WHERE default_external = '1'"), func(scan func(...any) error) error { return scan(&other) }); err != nil {
		return err
	}
	return fault.DefaultExternalNetworkExists(other)
}

// mtu settles the MTU: 0 is the most that the segments carry, more is refused.
func (p networks) mtu(want int64, segments []model.Segment) (int64, error) {
	most := p.Types.MTU(segments)
	switch {
	case want == 0:
		return most, nil
	case want < 68:
		return 0, fault.BadInput("mtu %d is too small: IPv4 needs 68.", want)
	case most > 0 && want > most:
		return 0, fault.BadInput("mtu %d is more than the %d that the network's segments carry.", want, most)
	}
	return want, nil
}

// fits refuses an MTU that IPv6 cannot live with on a network that has a subnet of it (upstream-faults.md).
func (p networks) fits(ctx context.Context, tx store.Tx, n *model.Network) error {
	if n.MTU == 0 || n.MTU >= minMTU6 {
		return nil
	}
	subs, err := p.subnetsOf(ctx, tx, n.ID)
	if err != nil {
		return err
	}
	for i := range subs {
		if subs[i].IPVersion == 6 {
			return fault.NetworkMTUSubnetConflict(n.MTU, 6, n.ID)
		}
	}
	return nil
}

// share writes or removes the RBAC policies behind shared and router:external; nil leaves one as it is.
func (p networks) share(ctx context.Context, tx store.WriteTx, n *model.Network, shared, external *bool) error {
	grant := func(action string) error {
		return sharing.Grant(ctx, tx, p.IDs, n.ProjectID, "network", n.ID, action, sharing.Everyone)
	}
	var err error
	switch {
	case shared == nil:
	case *shared:
		err = grant(sharing.AsShared)
	default:
		err = sharing.Revoke(ctx, tx, n.ID, sharing.AsShared, sharing.Everyone)
	}
	switch {
	case err != nil || external == nil:
	case *external:
		err = grant(sharing.AsExternal)
	default:
		err = sharing.Withdraw(ctx, tx, n.ID, sharing.AsExternal) // external for nobody, whoever it was for
	}
	return err
}

// granted is nil for what is off: a new network has no policies.
func granted(on *bool) *bool {
	if on == nil || !*on {
		return nil
	}
	return on
}

func (p networks) before(ctx context.Context, tx store.WriteTx, w service.Write[model.Network]) error {
	if err := p.Plugin.extensions.network(ctx, tx, w.Old, w.New); err != nil {
		return err
	}
	for _, g := range p.guards.Networks {
		if err := g.Guard(ctx, tx, w); err != nil {
			return err
		}
	}
	return nil
}

func (p networks) after(ctx context.Context, tx store.WriteTx, w service.Write[model.Network]) error {
	id := ""
	if w.New != nil {
		id = w.New.ID
	} else {
		id = w.Old.ID
	}
	tx.Changed(key(wire.KindNetwork, id), networkSet(id))
	for _, f := range p.guards.NetworksWritten {
		if err := f.Follow(ctx, tx, w); err != nil {
			return err
		}
	}
	return nil
}

// Update changes a network.
func (p networks) Update(ctx context.Context, tx store.WriteTx, cur model.Network, in rest.Input[model.Network]) (model.Network, error) {
	n := cur
	n.ProviderAttributes = nil
	if err := in.Apply(&n); err != nil {
		return n, err
	}
	wanted := n.ProviderAttributes
	n.ProviderAttributes, n.Segments = cur.ProviderAttributes, cur.Segments
	shared := n.Shared
	n.Shared = nil
	segments, err := p.resegment(ctx, tx, &n, wanted, in)
	if err != nil {
		return n, err
	}
	if in.Given("mtu") {
		if n.MTU, err = p.mtu(n.MTU, segments); err != nil {
			return n, err
		}
		if err := p.fits(ctx, tx, &n); err != nil {
			return n, err
		}
	}
	if err := p.unshare(ctx, tx, &cur, &n, shared); err != nil {
		return n, err
	}
	if same(&cur, &n) && shared == nil {
		return cur, nil
	}
	p.bump(&n.Standard)
	w := service.Write[model.Network]{Op: service.Update, Old: &cur, New: &n, Given: in.Given}
	if err := p.before(ctx, tx, w); err != nil {
		return n, err
	}
	if err := onlyDefault(ctx, tx, p.Networks.Update(ctx, tx, &n, cur.Revision)); err != nil {
		return n, err
	}
	var external *bool
	if in.Given("router:external") {
		external = &n.External
	}
	if err := p.share(ctx, tx, &n, shared, external); err != nil {
		return n, err
	}
	return n, p.after(ctx, tx, w)
}

// resegment moves a VLAN network to another VLAN; every other change of provider attributes is refused, since ports are
// wired to what is there.
func (p networks) resegment(ctx context.Context, tx store.WriteTx, n *model.Network, want *model.ProviderAttributes, in rest.Input[model.Network]) ([]model.Segment, error) {
	if !in.Given("provider:network_type") && !in.Given("provider:physical_network") && !in.Given("provider:segmentation_id") &&
		!in.Given("segments") && !in.Given("mtu") {
		return nil, nil
	}
	all, err := SegmentsOf(ctx, tx, []string{n.ID})
	if err != nil {
		return nil, err
	}
	segments := all[n.ID]
	if in.Given("segments") {
		return nil, fault.BadInput("The segments of a network cannot be changed.")
	}
	if want == nil {
		return segments, nil
	}
	if n.ProviderAttributes == nil {
		return nil, fault.BadInput("The provider attributes of a network of several segments cannot be changed.")
	}
	if len(segments) == 0 {
		return nil, fault.BadInput("The network has no segment whose provider attributes could be changed.")
	}
	cur := segments[0]
	if in.Given("provider:network_type") && deref(want.NetworkType) != cur.NetworkType ||
		in.Given("provider:physical_network") && deref(want.PhysicalNetwork) != cur.PhysicalNetwork {
		return nil, fault.BadInput("Only the provider:segmentation_id of a network can be changed.")
	}
	if !in.Given("provider:segmentation_id") || want.SegmentationID != nil && *want.SegmentationID == cur.SegmentationID {
		return segments, nil
	}
	if cur.NetworkType != model.TypeVLAN || want.SegmentationID == nil {
		return nil, fault.BadInput("Only a VLAN network's provider:segmentation_id can be changed.")
	}
	next, err := p.Types.want(model.ProviderAttributes{NetworkType: &cur.NetworkType, PhysicalNetwork: &cur.PhysicalNetwork, SegmentationID: want.SegmentationID})
	if err != nil {
		return nil, err
	}
	moved, err := p.Types.move(ctx, tx, cur, next)
	if err != nil {
		return nil, err
	}
	show(n, []model.Segment{moved})
	return []model.Segment{moved}, p.rewire(ctx, tx, n.ID)
}

// unshare refuses to take a network from projects that use it.
func (p networks) unshare(ctx context.Context, tx store.Tx, cur, n *model.Network, shared *bool) error {
	if shared == nil || *shared {
		return nil
	}
	foreign, ok, err := store.Int(ctx, tx, store.Q("SELECT COUNT(*) FROM ports WHERE network_id = ? AND project_id <> ? AND project_id <> ''", cur.ID, cur.ProjectID))
	if err != nil {
		return err
	}
	if ok && foreign > 0 {
		if all, err := everyones(ctx, tx, n.ID); err != nil || all {
			if err == nil {
				err = fault.InvalidSharedSetting(n.ID)
			}
			return err
		}
	}
	return nil
}

// everyones tells whether the network is shared with every project.
func everyones(ctx context.Context, tx store.Tx, id string) (bool, error) {
	n, _, err := store.Int(ctx, tx, store.Q("SELECT COUNT(*) FROM rbac_policies WHERE object_id = ? AND action = ? AND target_project = ?", id, sharing.AsShared, sharing.Everyone))
	return n > 0, err
}

// Delete removes a network with its subnets and the ports that services made for themselves.
func (p networks) Delete(ctx context.Context, tx store.WriteTx, cur model.Network) error {
	for _, g := range p.guards.NetworksGoing {
		if err := g.Guard(ctx, tx, service.Write[model.Network]{Op: service.Delete, Old: &cur}); err != nil {
			return err
		}
	}
	ps, err := p.Ports.Find(ctx, tx, store.List{Where: store.Eq("network_id", cur.ID), Lock: true})
	if err != nil {
		return err
	}
	for _, port := range ps {
		if !autoDelete(port.DeviceOwner) {
			return fault.NetworkInUse(cur.ID)
		}
	}
	for i := range ps {
		if err := ports(p).remove(ctx, tx, ps[i]); err != nil {
			return err
		}
	}
	subs, err := p.Subnets.Find(ctx, tx, store.List{Where: store.Eq("network_id", cur.ID), Lock: true})
	if err != nil {
		return err
	}
	for i := range subs {
		if err := subnets(p).remove(ctx, tx, &cur, subs[i], true); err != nil {
			return err
		}
	}
	w := service.Write[model.Network]{Op: service.Delete, Old: &cur}
	if err := p.before(ctx, tx, w); err != nil {
		return err
	}
	all, err := SegmentsOf(ctx, tx, []string{cur.ID})
	if err != nil {
		return err
	}
	for _, s := range all[cur.ID] {
		if err := p.Types.Release(ctx, tx, s); err != nil {
			return err
		}
	}
	if err := sharing.Forget(ctx, tx, cur.ID); err != nil {
		return err
	}
	if err := p.Networks.Delete(ctx, tx, cur.ID); err != nil {
		return err
	}
	return p.after(ctx, tx, w)
}

// autoDelete are the owners whose ports go with their network (AUTO_DELETE_PORT_OWNERS in neutron-lib's constants).
func autoDelete(owner string) bool {
	switch owner {
	case "network:dhcp", "network:distributed", "network:floatingip_agent_gateway":
		return true
	}
	return false
}

// Splice adds subnets and shared, one statement each.
func (p networks) Splice(ctx context.Context, tx store.Tx, page *rest.Page) error {
	ids := page.IDs()
	if page.Wants("subnets") {
		of := map[string][]string{}
		where := store.Cond{SQL: "1 = 1"}
		if len(ids) <= 500 {
			where = store.In("network_id", ids)
		}
		err := store.Each(ctx, tx, store.Q("SELECT network_id, id FROM subnets WHERE "+where.SQL+" ORDER BY id", where.Args...), func(scan func(...any) error) error {
			var network, id string
			err := scan(&network, &id)
			of[network] = append(of[network], id)
			return err
		})
		if err != nil {
			return err
		}
		for i, id := range ids {
			raw, err := json.Marshal(append([]string{}, of[id]...))
			if err != nil {
				return err
			}
			page.Splice(i, "subnets", raw)
		}
	}
	if page.Wants("shared") {
		shared, err := sharing.Shared(ctx, tx, ids)
		if err != nil {
			return err
		}
		for i, id := range ids {
			value := []byte("false")
			if shared[id] {
				value = []byte("true")
			}
			page.Splice(i, "shared", value)
		}
	}
	p.spliceTags(page)
	for _, other := range p.guards.NetworkPages {
		if err := other.Splice(ctx, tx, page); err != nil {
			return err
		}
	}
	return nil
}

// networkFilters are the filters on what is computed or kept elsewhere.
func networkFilters(p *Plugin) map[string]rest.Filter {
	return map[string]rest.Filter{
		"shared":                    sharing.Filter,
		"provider:network_type":     segmentFilter("network_type"),
		"provider:physical_network": segmentFilter("physical_network"),
		"provider:segmentation_id":  segmentFilter("segmentation_id"),
	}
}

// segmentFilter finds networks by any of their own segments.
func segmentFilter(column string) rest.Filter {
	return func(_ context.Context, values []string) (store.Cond, error) {
		in, err := segmentIn(column, values)
		return store.Expr("id IN (SELECT network_id FROM segments WHERE is_dynamic = 0 AND "+in.SQL+")", in.Args...), err
	}
}
