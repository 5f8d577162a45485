package dhcp

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"time"

	"isospin/internal/agent"
	"isospin/internal/change"
	"isospin/internal/dataplane/addr"
	"isospin/internal/dataplane/dhcp"
	"isospin/internal/dataplane/link"
	"isospin/internal/dataplane/vswitch"
	"isospin/internal/reconcile"
	"isospin/internal/wire"
)

// Prefix is how the namespaces are named, as operators and tools know them from Neutron.
const Prefix = "qdhcp-"

// Config is the host as the feature sees it.
type Config struct {
	Host   string
	Bridge string // the integration bridge; "" on a host without Open vSwitch
	// Userspace says that Open vSwitch's userspace datapath carries the port: checksums must be in place.
	Userspace bool
	// DNS are the servers told on subnets without any (dnsmasq_dns_servers).
	DNS []netip.Addr
}

// Targets is what the feature fills.
type Targets struct {
	Namespaces reconcile.Target[string, struct{}]
	Links      reconcile.Target[link.Key, link.Veth]
	Addresses  reconcile.Target[addr.Key, addr.Addr]
	// Ports is where the server's device is plugged into Open vSwitch; nil where another feature finds it by its name.
	Ports        reconcile.Target[string, vswitch.Port]
	Networks     reconcile.Target[string, dhcp.Network]
	Reservations reconcile.Target[dhcp.ReservationKey, dhcp.Reservation]
}

// Feature is the conversion. Sync is for the loop's goroutine.
type Feature struct {
	cfg     Config
	targets Targets
	// What was derived from documents that may be gone by now; thrown away and made again by a Sync of all.
	reserved map[string]bool       // ports with a reservation
	served   map[string]bool       // networks
	uses     map[change.Key]string // the network that a subnet or DHCP port was last used for
}

// New makes the feature.
func New(c Config, t Targets) *Feature {
	return &Feature{cfg: c, targets: t, reserved: map[string]bool{}, served: map[string]bool{}, uses: map[change.Key]string{}}
}

// Name is the entity that the feature speaks for.
func (f *Feature) Name() string { return wire.EntityDHCP }

// Kinds are what it reads.
func (f *Feature) Kinds() []string {
	return []string{wire.KindDHCP, wire.KindNetwork, wire.KindSubnet, wire.KindPort, wire.KindReservation}
}

func (f *Feature) owner(doc string) reconcile.Owner {
	return reconcile.Owner{Feature: f.Name(), Doc: doc}
}

func netDoc(id string) string { return "network/" + id }

// Sync refills what the dirty documents concern.
func (f *Feature) Sync(v agent.View, dirty []change.Key, all bool) agent.Result {
	networks, reservations := map[string]bool{}, map[string]bool{}
	if all {
		for id := range f.served {
			networks[id] = true
		}
		for id := range f.reserved {
			reservations[id] = true
		}
		for id := range v.All(wire.KindDHCP) {
			networks[id] = true
		}
		for id := range v.All(wire.KindReservation) {
			reservations[id] = true
		}
	}
	for _, k := range dirty {
		switch k.Kind {
		case wire.KindDHCP, wire.KindNetwork:
			networks[k.ID] = true
		case wire.KindReservation:
			reservations[k.ID] = true
		case wire.KindPort:
			networks[f.uses[k]] = true // the network's document names its DHCP port
		case wire.KindSubnet:
			networks[f.uses[k]] = true // one that is gone cannot say which network it was on
			networks[networkOf(v, k)] = true
		}
	}
	delete(networks, "")
	res := agent.Result{Faults: map[change.Key]error{}}
	for id := range networks {
		res.Faults[change.Key{Kind: wire.KindDHCP, ID: id}] = f.syncNetwork(v, id)
		for port := range v.In(wire.KindReservation, agent.ByNetwork, id) {
			res.Ports = append(res.Ports, port)
		}
	}
	for id := range reservations {
		res.Faults[change.Key{Kind: wire.KindPort, ID: id}] = f.syncReservation(v, id)
		res.Ports = append(res.Ports, id)
	}
	return res
}

func networkOf(v agent.View, k change.Key) string {
	m, ok := v.Get(k.Kind, k.ID)
	if !ok {
		return ""
	}
	if d, ok := m.(interface{ GetNetworkId() string }); ok {
		return d.GetNetworkId()
	}
	return ""
}

func get[T any](v agent.View, kind, id string) (t T, ok bool) {
	m, ok := v.Get(kind, id)
	if !ok {
		return t, false
	}
	t, ok = any(m).(T)
	return t, ok
}

// port finds what a network needs to be served here; missing says what is still awaited of it.
func (f *Feature) port(v agent.View, d *wire.DHCPNetwork) (n *wire.Network, port *wire.Port, missing string) {
	n, known := get[*wire.Network](v, wire.KindNetwork, d.GetNetworkId())
	id := d.GetPorts()[f.cfg.Host]
	port, here := get[*wire.Port](v, wire.KindPort, id)
	switch {
	case !known:
		return nil, nil, "the network's document has not come"
	case !n.GetAdminStateUp():
		return nil, nil, "the network is administratively down"
	case id == "":
		return nil, nil, "the network has no DHCP port on this host yet"
	case !here:
		return nil, nil, "the document of DHCP port " + id + " has not come"
	}
	return n, port, ""
}

// syncNetwork refills one network's namespace, device, addresses and server. Subnets that cannot be read stop no other.
func (f *Feature) syncNetwork(v agent.View, id string) error {
	d, scheduled := get[*wire.DHCPNetwork](v, wire.KindDHCP, id)
	f.use(v, d, id)
	n, port, missing := f.port(v, d)
	if !scheduled || missing != "" {
		delete(f.served, id)
		f.withdraw(id)
		return nil
	}
	mac, err := net.ParseMAC(port.GetMacAddress())
	if err != nil {
		delete(f.served, id)
		f.withdraw(id)
		return fmt.Errorf("the DHCP port's MAC address cannot be read: %w", err)
	}
	f.served[id] = true
	owner := f.owner(netDoc(id))
	ns, inner, outer := Prefix+id, deviceName("ns-", port.GetId()), deviceName("tap", port.GetId())
	f.targets.Namespaces.Replace(owner, map[string]struct{}{ns: {}})
	f.targets.Links.Replace(owner, map[link.Key]link.Veth{{NS: ns, Name: inner}: {
		Peer: outer, MAC: mac.String(), MTU: int(n.GetMtu()), NoOffload: f.cfg.Userspace}})
	f.plug(owner, map[string]vswitch.Port{outer: vswitch.System(f.cfg.Bridge, map[string]string{
		"iface-id": port.GetId(), "attached-mac": mac.String(), "iface-status": "active"})})
	server := dhcp.Network{ID: id, Namespace: ns, Interface: inner, MTU: int(n.GetMtu()), Domain: d.GetDnsDomain()}
	addresses := map[addr.Key]addr.Addr{}
	var bad []error
	for _, fixed := range port.GetFixedIps() {
		s, ok := get[*wire.Subnet](v, wire.KindSubnet, fixed.GetSubnetId())
		if !ok {
			continue // its document is on the way
		}
		own, err1 := netip.ParseAddr(fixed.GetIpAddress())
		prefix, err2 := netip.ParsePrefix(s.GetCidr())
		if err := errors.Join(err1, err2); err != nil {
			bad = append(bad, fmt.Errorf("subnet %s cannot be read: %w", s.GetId(), err))
			continue
		}
		addresses[addr.Key{NS: ns, Link: inner, Prefix: netip.PrefixFrom(own, prefix.Bits())}] = addr.Addr{NoDAD: own.Is6()}
		if s.GetEnableDhcp() && own.Is4() {
			server.Subnets = append(server.Subnets, f.subnet(v, s, prefix, own, d.GetLeaseDuration()))
		}
	}
	slices.SortFunc(server.Subnets, func(a, b dhcp.Subnet) int { return a.CIDR.Addr().Compare(b.CIDR.Addr()) })
	f.targets.Addresses.Replace(owner, addresses)
	f.targets.Networks.Replace(owner, map[string]dhcp.Network{id: server})
	return errors.Join(bad...)
}

// deviceName is a prefix and the first eleven characters of the port's id, as Neutron and Nova name devices.
func deviceName(prefix, port string) string {
	return prefix + port[:min(len(port), 11)]
}

func (f *Feature) plug(owner reconcile.Owner, want map[string]vswitch.Port) {
	if f.targets.Ports != nil {
		f.targets.Ports.Replace(owner, want)
	}
}

func (f *Feature) withdraw(id string) {
	owner := f.owner(netDoc(id))
	f.targets.Networks.Replace(owner, nil)
	f.targets.Addresses.Replace(owner, nil)
	f.plug(owner, nil)
	f.targets.Links.Replace(owner, nil)
	f.targets.Namespaces.Replace(owner, nil)
}

// use notes which subnets and DHCP port a network that is scheduled here depends on.
func (f *Feature) use(v agent.View, d *wire.DHCPNetwork, id string) {
	maps.DeleteFunc(f.uses, func(_ change.Key, network string) bool { return network == id })
	if d == nil {
		return
	}
	f.uses[change.Key{Kind: wire.KindPort, ID: d.GetPorts()[f.cfg.Host]}] = id
	for subnet := range v.In(wire.KindSubnet, agent.ByNetwork, id) {
		f.uses[change.Key{Kind: wire.KindSubnet, ID: subnet}] = id
	}
}

// subnet is what clients of one subnet are told.
func (f *Feature) subnet(v agent.View, s *wire.Subnet, prefix netip.Prefix, own netip.Addr, lease int64) dhcp.Subnet {
	out := dhcp.Subnet{CIDR: prefix.Masked(), Server: own, Lease: time.Duration(lease) * time.Second}
	if lease < 0 {
		out.Lease = dhcp.Infinite
	}
	if g, err := netip.ParseAddr(s.GetGatewayIp()); err == nil {
		out.Gateway = g
	}
	for _, text := range s.GetDnsNameservers() {
		if a, err := netip.ParseAddr(text); err == nil && a.Is4() {
			out.DNS = append(out.DNS, a)
		}
	}
	if len(out.DNS) == 0 {
		out.DNS = f.cfg.DNS
	}
	for _, r := range s.GetHostRoutes() {
		p, err1 := netip.ParsePrefix(r.GetDestination())
		h, err2 := netip.ParseAddr(r.GetNexthop())
		if err1 == nil && err2 == nil {
			out.Routes = append(out.Routes, dhcp.Route{Destination: p, NextHop: h})
		}
	}
	for id := range v.In(wire.KindSubnet, agent.ByNetwork, s.GetNetworkId()) {
		other, ok := get[*wire.Subnet](v, wire.KindSubnet, id)
		if !ok || id == s.GetId() {
			continue
		}
		if p, err := netip.ParsePrefix(other.GetCidr()); err == nil && p.Addr().Is4() {
			out.Connected = append(out.Connected, p.Masked())
		}
	}
	slices.SortFunc(out.Connected, func(a, b netip.Prefix) int { return a.Addr().Compare(b.Addr()) })
	return out
}

// syncReservation refills what one port is given.
func (f *Feature) syncReservation(v agent.View, id string) error {
	r, ok := get[*wire.Reservation](v, wire.KindReservation, id)
	if !ok {
		delete(f.reserved, id)
		f.targets.Reservations.Replace(f.owner(id), nil)
		return nil
	}
	f.reserved[id] = true
	mac, err := net.ParseMAC(r.GetMacAddress())
	if err != nil {
		f.targets.Reservations.Replace(f.owner(id), nil)
		return fmt.Errorf("the port's MAC address cannot be read: %w", err)
	}
	out := dhcp.Reservation{MAC: mac, Hostname: r.GetHostname()}
	for _, fixed := range r.GetFixedIps() {
		if a, err := netip.ParseAddr(fixed.GetIpAddress()); err == nil && a.Is4() {
			out.IPs = append(out.IPs, a)
		}
	}
	for _, o := range r.GetOptions() {
		if o.GetIpVersion() != 6 {
			out.Options = append(out.Options, dhcp.Option{Name: o.GetName(), Value: o.GetValue()})
		}
	}
	f.targets.Reservations.Replace(f.owner(id), map[dhcp.ReservationKey]dhcp.Reservation{{Network: r.GetNetworkId(), Port: id}: out})
	return nil
}

// Report tells that a port's reservation is served here: by a server that runs and is itself reachable.
func (f *Feature) Report(v agent.View, id string) (agent.Report, bool) {
	r, ok := get[*wire.Reservation](v, wire.KindReservation, id)
	if !ok {
		return agent.Report{}, false
	}
	d, scheduled := get[*wire.DHCPNetwork](v, wire.KindDHCP, r.GetNetworkId())
	if !scheduled {
		return agent.Report{}, false
	}
	state := agent.PortState{Generation: r.GetWiring(), State: wire.State_DONE}
	_, _, missing := f.port(v, d)
	if missing != "" {
		state.State, state.Detail = wire.State_PENDING, missing
	}
	return agent.Report{PortState: state, Docs: []string{netDoc(r.GetNetworkId())},
		Documents: []change.Key{{Kind: wire.KindDHCP, ID: r.GetNetworkId()}}, After: d.GetPorts()[f.cfg.Host]}, true
}

var (
	_ agent.Feature  = (*Feature)(nil)
	_ agent.Reporter = (*Feature)(nil)
)
