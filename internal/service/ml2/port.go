package ml2

import (
	"context"
	"net"
	"net/netip"
	"strings"

	"isospin/internal/change"
	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/service"
	"isospin/internal/service/ipam"
	"isospin/internal/store"
	"isospin/internal/wire"
)

// ports is the controller of ports.
type ports struct{ *Plugin }

// Create makes a port.
func (p ports) Create(ctx context.Context, tx store.WriteTx, in rest.Input[model.Port]) (model.Port, error) {
	return p.make(ctx, tx, in.Value, in.Given, true)
}

// CreatePort makes a port on behalf of another plugin (DHCP, routers), in its transaction. Fields that are zero are chosen;
// FixedIPs nil means that addresses are chosen, empty that there are none.
func (p *Plugin) CreatePort(ctx context.Context, tx store.WriteTx, port model.Port) (model.Port, error) {
	port.AdminStateUp = true
	given := map[string]bool{"fixed_ips": port.FixedIPs != nil, "mac_address": port.MACAddress != ""}
	return (ports{p}).make(ctx, tx, port, func(name string) bool { return given[name] }, false)
}

// DeletePort removes a port on behalf of another plugin.
func (p *Plugin) DeletePort(ctx context.Context, tx store.WriteTx, id string) error {
	port, err := p.Ports.GetForUpdate(ctx, tx, id)
	if store.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return (ports{p}).remove(ctx, tx, port)
}

// make makes a port; asked says that it is the caller who wants it there, not a plugin.
func (p ports) make(ctx context.Context, tx store.WriteTx, port model.Port, given func(string) bool, asked bool) (model.Port, error) {
	// Held until the commit: a network that goes at the same moment waits and finds the port, or is gone for this request.
	n, err := p.Networks.GetForShare(ctx, tx, port.NetworkID)
	if store.IsNotFound(err) {
		err = fault.NetworkNotFound(port.NetworkID)
	}
	if err == nil && asked {
		err = p.stillSeen(ctx, tx, &n)
	}
	if err != nil {
		return port, err
	}
	p.stamp(&port.Standard, 1)
	p.defaults(&port, &n, given)
	w := service.Write[model.Port]{Op: service.Create, New: &port, Network: &n, Given: given}
	if err := p.check(&port, w); err != nil {
		return port, err
	}
	subs, err := p.subnetsOf(ctx, tx, n.ID)
	if err != nil {
		return port, err
	}
	if err := p.address(ctx, tx, &port, subs, given("fixed_ips")); err != nil {
		return port, err
	}
	if err := p.before(ctx, tx, w); err != nil {
		return port, err
	}
	if err := p.bind(ctx, tx, nil, &port, &n); err != nil {
		return port, err
	}
	if err := p.insert(ctx, tx, &port, given("mac_address")); err != nil {
		return port, err
	}
	return port, p.after(ctx, tx, w)
}

// address takes the addresses of a new port, unless it must wait for its host.
func (p ports) address(ctx context.Context, tx store.WriteTx, port *model.Port, subs []model.Subnet, given bool) error {
	among, deferred, err := p.usable(ctx, tx, port, subs, port.FixedIPs, given)
	switch {
	case err != nil:
		return err
	case deferred:
		port.IPAllocation, port.FixedIPs = model.AllocationDeferred, []model.FixedIP{}
		return nil
	case given && len(port.FixedIPs) == 0:
		port.IPAllocation = model.AllocationNone
	default:
		port.IPAllocation = model.AllocationImmediate
	}
	port.FixedIPs, err = p.IPAM.Allocate(ctx, tx, ipam.Request{PortID: port.ID, NetworkID: port.NetworkID, Owner: port.DeviceOwner,
		MAC: port.MACAddress, Subnets: subs, Among: among, Wanted: port.FixedIPs, Given: given})
	return p.elsewhere(ctx, tx, err)
}

// defaults fills what the request left to the plugin.
func (p ports) defaults(port *model.Port, n *model.Network, given func(string) bool) {
	if port.Status == "" { // plugins that make ports which nobody wires say so
		port.Status = model.StatusDown
	}
	port.Wiring = 1
	if port.MACAddress == "" {
		port.MACAddress = p.IDs.MAC(p.BaseMAC).String()
	}
	if port.VNICType == "" {
		port.VNICType = model.VNICNormal
	}
	if port.Profile == nil {
		port.Profile = map[string]any{}
	}
	port.VIFType, port.VIFDetails = model.VIFUnbound, map[string]any{}
	if !given("port_security_enabled") {
		port.PortSecurityEnabled = n.PortSecurityEnabled && !Trusted(port.DeviceOwner)
	}
	if port.AllowedAddressPairs == nil {
		port.AllowedAddressPairs = []model.AddressPair{}
	}
	if port.ExtraDHCPOpts == nil {
		port.ExtraDHCPOpts = []model.DHCPOption{}
	}
	fillOptions(port)
}

// Trusted tells whether a port belongs to the network itself: no groups, no port security (behaviour.md, section 10).
func Trusted(owner string) bool { return strings.HasPrefix(owner, "network:") }

// insert writes the row; a MAC that was drawn and is taken is drawn again.
func (p ports) insert(ctx context.Context, tx store.WriteTx, port *model.Port, given bool) error {
	for range 16 {
		err := p.Ports.Insert(ctx, tx, port)
		if _, dup := store.AsDuplicate(err); !dup {
			return err
		}
		if given {
			return fault.MacAddressInUse(port.MACAddress, port.NetworkID)
		}
		port.MACAddress = p.IDs.MAC(p.BaseMAC).String()
	}
	return fault.NetworkMacAddressGenerationFailure(port.NetworkID)
}

func (p ports) before(ctx context.Context, tx store.WriteTx, w service.Write[model.Port]) error {
	if err := p.Plugin.extensions.port(ctx, tx, w.Old, w.New); err != nil {
		return err
	}
	for _, g := range p.guards.Ports {
		if err := g.Guard(ctx, tx, w); err != nil {
			return err
		}
	}
	return nil
}

// after declares which documents the write made dirty, and lets followers act.
func (p ports) after(ctx context.Context, tx store.WriteTx, w service.Write[model.Port]) error {
	Dirty(tx, w.Old, w.New)
	for _, f := range p.guards.PortsWritten {
		if err := f.Follow(ctx, tx, w); err != nil {
			return err
		}
	}
	return nil
}

// Dirty declares what a change of a port from old to now (one of them nil for a create or delete) makes dirty: its own document on
// its hosts, where it is for those who carry its network, its DHCP reservation, its membership in groups.
func Dirty(tx store.WriteTx, old, now *model.Port) {
	var own, net, dhcp []change.Set
	members := map[string]bool{}
	id := ""
	for _, p := range []*model.Port{old, now} {
		if p == nil {
			continue
		}
		id = p.ID
		if p.HostID != "" {
			own = append(own, change.NewSet(wire.FamilyHost, p.HostID))
			net = append(net, networkSet(p.NetworkID))
		}
		for _, b := range p.Bindings {
			own = append(own, change.NewSet(wire.FamilyHost, b.Host))
		}
		dhcp = append(dhcp, change.NewSet(wire.FamilyDHCP, p.NetworkID))
		for _, g := range p.SecurityGroups {
			members[g] = true
		}
	}
	if len(own) > 0 {
		tx.Changed(key(wire.KindPort, id), own...)
	}
	if len(net) > 0 {
		tx.Changed(key(wire.KindForward, id), net...)
	}
	if old == nil || now == nil || !sameReservation(old, now) {
		tx.Changed(key(wire.KindReservation, id), dhcp...)
	}
	if old == nil || now == nil || !sameMembership(old, now) {
		for g := range members {
			tx.Changed(key(wire.KindMember, g+"/"+id), change.NewSet(wire.FamilyMembers, g))
		}
	}
}

// Update changes a port.
func (p ports) Update(ctx context.Context, tx store.WriteTx, cur model.Port, in rest.Input[model.Port]) (model.Port, error) {
	port := cur.Clone()
	if err := in.Apply(&port); err != nil {
		return port, err
	}
	p.restore(&cur, &port, in)
	w := service.Write[model.Port]{Op: service.Update, Old: &cur, New: &port, Given: in.Given}
	if err := p.check(&port, w); err != nil {
		return port, err
	}
	read := func() (model.Network, error) { return p.Networks.Get(ctx, tx, port.NetworkID) }
	if in.Given("fixed_ips") || port.MACAddress != cur.MACAddress || port.HostID != cur.HostID || port.VNICType != cur.VNICType {
		// Subnets and segments must not go meanwhile.
		read = func() (model.Network, error) { return p.Networks.GetForShare(ctx, tx, port.NetworkID) }
	}
	n, err := read()
	if err != nil {
		return port, err
	}
	if in.Given("fixed_ips") || port.MACAddress != cur.MACAddress {
		if err := p.readdress(ctx, tx, &cur, &port, in.Given("fixed_ips")); err != nil {
			return port, err
		}
	}
	if err := p.rehost(ctx, tx, &n, &cur, &port, in.Given("fixed_ips")); err != nil {
		return port, err
	}
	return port, p.save(ctx, tx, &n, &cur, &port, in.Given)
}

// restore puts back what null means "as before" or "none" for.
func (p ports) restore(cur, port *model.Port, in rest.Input[model.Port]) {
	if in.Null("mac_address") || port.MACAddress == "" {
		port.MACAddress = p.IDs.MAC(p.BaseMAC).String()
	}
	if port.Profile == nil {
		port.Profile = map[string]any{}
	}
	if port.AllowedAddressPairs == nil {
		port.AllowedAddressPairs = []model.AddressPair{}
	}
	if port.SecurityGroups == nil {
		port.SecurityGroups = []string{}
	}
	if in.Given("extra_dhcp_opts") {
		port.ExtraDHCPOpts = mergeOptions(cur.ExtraDHCPOpts, port.ExtraDHCPOpts)
	}
	fillOptions(port)
}

// readdress moves the port's addresses to those wanted; a new MAC also moves addresses made of it.
func (p ports) readdress(ctx context.Context, tx store.WriteTx, cur, port *model.Port, given bool) error {
	subs, err := p.subnetsOf(ctx, tx, port.NetworkID)
	if err != nil {
		return err
	}
	want := port.FixedIPs
	if !given {
		want = cur.FixedIPs
	}
	if port.MACAddress != cur.MACAddress && ipam.Implicit(port.DeviceOwner) {
		if err := p.dropAuto(ctx, tx, cur, subs); err != nil {
			return err
		}
		want, cur = withoutAuto(subs, want), &model.Port{Standard: cur.Standard, FixedIPs: withoutAuto(subs, cur.FixedIPs)}
	}
	of := *port
	if !given {
		of.HostID = "" // what it has it keeps
	}
	among, _, err := p.usable(ctx, tx, &of, subs, want, true)
	if err != nil {
		return err
	}
	port.FixedIPs, err = p.IPAM.Change(ctx, tx, ipam.Request{PortID: port.ID, NetworkID: port.NetworkID, Owner: port.DeviceOwner,
		MAC: port.MACAddress, Subnets: subs, Among: among, Wanted: want, Given: true}, cur.FixedIPs)
	return p.elsewhere(ctx, tx, err)
}

// isAuto tells whether an entry of fixed_ips is of a subnet where hosts make their own addresses.
func isAuto(subs []model.Subnet, f model.FixedIP) bool {
	s := meant(subs, f)
	return s != nil && ipam.AutoAddress(s)
}

func withoutAuto(subs []model.Subnet, have []model.FixedIP) []model.FixedIP {
	var out []model.FixedIP
	for _, f := range have {
		if !isAuto(subs, f) {
			out = append(out, f)
		}
	}
	return out
}

func (p ports) dropAuto(ctx context.Context, tx store.WriteTx, cur *model.Port, subs []model.Subnet) error {
	var gone []model.FixedIP
	for _, f := range cur.FixedIPs {
		if isAuto(subs, f) {
			gone = append(gone, f)
		}
	}
	return p.IPAM.Release(ctx, tx, cur.ID, subs, gone)
}

// save runs guards, binding and the write of a changed port; a change of nothing is no write.
func (p ports) save(ctx context.Context, tx store.WriteTx, n *model.Network, cur, port *model.Port, given func(string) bool) error {
	w := service.Write[model.Port]{Op: service.Update, Old: cur, New: port, Network: n, Given: given}
	if err := p.before(ctx, tx, w); err != nil {
		return err
	}
	if err := p.bind(ctx, tx, cur, port, n); err != nil {
		return err
	}
	if same(cur, port) {
		return nil
	}
	if Rewired(cur, port) {
		port.Wiring++
	}
	p.bump(&port.Standard)
	err := p.Ports.Update(ctx, tx, port, cur.Revision)
	if _, dup := store.AsDuplicate(err); dup {
		return fault.MacAddressInUse(port.MACAddress, port.NetworkID)
	}
	if err != nil {
		return err
	}
	return p.after(ctx, tx, w)
}

// Delete removes a port that no service holds.
func (p ports) Delete(ctx context.Context, tx store.WriteTx, cur model.Port) error {
	if (ipam.RouterOwner(cur.DeviceOwner) || cur.DeviceOwner == model.OwnerRouterHA) && cur.DeviceID != "" {
		return fault.ServicePortInUse(cur.ID, "it belongs to router "+cur.DeviceID)
	}
	return p.remove(ctx, tx, cur)
}

func (p ports) remove(ctx context.Context, tx store.WriteTx, cur model.Port) error {
	w := service.Write[model.Port]{Op: service.Delete, Old: &cur}
	if err := p.before(ctx, tx, w); err != nil {
		return err
	}
	if len(cur.FixedIPs) > 0 {
		// So that pools cannot be cut anew between the look at them and what is given back to them.
		if _, err := p.Networks.GetForShare(ctx, tx, cur.NetworkID); err != nil {
			return err
		}
		subs, err := p.subnetsOf(ctx, tx, cur.NetworkID)
		if err != nil {
			return err
		}
		if err := p.IPAM.Release(ctx, tx, cur.ID, subs, cur.FixedIPs); err != nil {
			return err
		}
	}
	if cur.HostID != "" || len(cur.Bindings) > 0 {
		if err := p.unbind(ctx, tx, cur.ID, ""); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, store.Q("DELETE FROM provisioning WHERE port_id = ?", cur.ID)); err != nil {
			return err
		}
	}
	if err := p.Ports.Delete(ctx, tx, cur.ID); err != nil {
		return err
	}
	return p.after(ctx, tx, w)
}

// autoAddress gives every port of a network that a subnet where hosts make their own addresses was added to its address there.
func (p ports) autoAddress(ctx context.Context, tx store.WriteTx, n *model.Network) error {
	all, err := p.Ports.Find(ctx, tx, store.List{Where: store.Eq("network_id", n.ID), Lock: true})
	if err != nil {
		return err
	}
	subs, err := p.subnetsOf(ctx, tx, n.ID)
	if err != nil {
		return err
	}
	seen := map[string]map[string]bool{}
	for i := range all {
		cur := all[i]
		if !ipam.Implicit(cur.DeviceOwner) {
			continue
		}
		among, err := p.automatic(ctx, tx, &cur, subs, seen)
		if err != nil {
			return err
		}
		port := cur.Clone()
		port.FixedIPs, err = p.IPAM.Change(ctx, tx, ipam.Request{PortID: port.ID, NetworkID: n.ID, Owner: port.DeviceOwner,
			MAC: port.MACAddress, Subnets: subs, Among: among, Wanted: cur.FixedIPs, Given: true}, cur.FixedIPs)
		if err != nil {
			return err
		}
		if err := p.save(ctx, tx, n, &cur, &port, nil); err != nil {
			return err
		}
	}
	return nil
}

// Splice adds what others compute of ports.
func (p ports) Splice(ctx context.Context, tx store.Tx, page *rest.Page) error {
	for _, other := range p.guards.PortPages {
		if err := other.Splice(ctx, tx, page); err != nil {
			return err
		}
	}
	return nil
}

// portFilters are the filters on lists inside a port.
func portFilters() map[string]rest.Filter {
	return map[string]rest.Filter{
		"fixed_ips": func(_ context.Context, values []string) (store.Cond, error) {
			byKey := map[string][]string{}
			for _, v := range values {
				k, x, ok := strings.Cut(v, "=")
				if !ok {
					return store.Cond{}, fault.BadInput("'%s' is not of the form <key>=<value>.", v)
				}
				switch k {
				case "ip_address":
					if a, err := netip.ParseAddr(x); err == nil {
						x = a.String()
					}
				case "subnet_id", "ip_address_substr":
				default:
					return store.Cond{}, fault.BadInput("'%s' is not a key of fixed_ips to filter on.", k)
				}
				byKey[k] = append(byKey[k], x)
			}
			return addressCond(byKey), nil
		},
		"security_groups": func(_ context.Context, values []string) (store.Cond, error) {
			in := store.In("security_group_id", values)
			return store.Expr("id IN (SELECT port_id FROM port_security_groups WHERE "+in.SQL+")", in.Args...), nil
		},
		"mac_address": func(_ context.Context, values []string) (store.Cond, error) {
			out := make([]string, len(values))
			for i, v := range values {
				out[i] = v
				if mac, err := net.ParseMAC(v); err == nil {
					out[i] = mac.String()
				}
			}
			return store.In("mac_address", out), nil
		},
	}
}

func addressCond(byKey map[string][]string) store.Cond {
	var all []store.Cond
	if v := byKey["ip_address"]; v != nil {
		ips := make([]string, len(v))
		for i, x := range v {
			ips[i] = x // what is no address finds nothing
			if a, err := netip.ParseAddr(x); err == nil {
				ips[i] = ipam.Hex(a)
			}
		}
		all = append(all, store.In("ip", ips))
	}
	if v := byKey["subnet_id"]; v != nil {
		all = append(all, store.In("subnet_id", v))
	}
	if v := byKey["ip_address_substr"]; v != nil {
		var any []store.Cond
		for _, x := range v {
			any = append(any, store.Expr("ip_address LIKE ? ESCAPE '!'", "%"+strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(x)+"%"))
		}
		all = append(all, store.Or(any...))
	}
	where := store.And(all...)
	return store.Expr("id IN (SELECT port_id FROM ip_allocations WHERE "+where.SQL+")", where.Args...)
}
