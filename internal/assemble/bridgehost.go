package assemble

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"

	"isospin/internal/agent"
	dhcpfeature "isospin/internal/agent/feature/dhcp"
	"isospin/internal/agent/feature/l2bridge"
	"isospin/internal/agent/feature/zone"
	"isospin/internal/agent/mirror"
	"isospin/internal/clock"
	"isospin/internal/config"
	"isospin/internal/dataplane/addr"
	"isospin/internal/dataplane/bridge"
	"isospin/internal/dataplane/dhcp"
	"isospin/internal/dataplane/fdb"
	veth "isospin/internal/dataplane/link"
	"isospin/internal/dataplane/neigh"
	"isospin/internal/dataplane/netns"
	"isospin/internal/dataplane/vlan"
	"isospin/internal/dataplane/vxlan"
	"isospin/internal/lifecycle"
	"isospin/internal/reconcile"
	"isospin/internal/wire"
)

// onBridges says that the host's ports are plugged into Linux bridges.
func onBridges(c *config.Agent) bool { return c.Isospin.L2Agent == "linuxbridge" }

// bridgeHost is what a host of Linux bridges has in the place of Open vSwitch.
type bridgeHost struct {
	cfg     l2bridge.Config
	devices *bridge.Devices
	watch   *l2bridge.Watch
	extras  []bridgeExtra

	bridgeStage *reconcile.Reconciler[string, bridge.Bridge]
	vlanStage   *reconcile.Reconciler[string, vlan.Device]
	vxlanStage  *reconcile.Reconciler[string, vxlan.Device]
	memberStage *reconcile.Reconciler[string, bridge.Member]
	entryStage  *reconcile.Reconciler[fdb.Key, fdb.Entry]
	neighStage  *reconcile.Reconciler[neigh.Key, neigh.Neighbour]
}

// bridgeExtra is what else a host of Linux bridges does, made by one of bridgeExtras.
type bridgeExtra struct {
	// Stages come after bridges and devices, and before anything is in a bridge: what filters is there before what is filtered.
	stages []reconcile.Stage
	// Features of before tell l2bridge of ports that it has to look at; the others come last.
	before, features []agent.Feature
	parts            []lifecycle.Part
	filter           l2bridge.Filter // what ports are filtered by, if this is it
	// kinds says for which changes in the kernel a stage is read back; those of others are followed by a part.
	kinds map[reconcile.Stage]netns.Kind
}

// bridgeExtras makes them, in the order of their stages. told is for what follows the kernel: it has a stage read back.
func bridgeExtras(c *config.Agent, env Env, zones *zone.Book, told func(reconcile.Stage) func(reason string)) ([]bridgeExtra, error) {
	table, err := bridgeTable(c, env, zones, told)
	return []bridgeExtra{table}, err
}

// bridgeFacts are what the Linux bridge agent says of itself, as Neutron's does (linuxbridge_neutron_agent.py, get_agent_configurations).
func bridgeFacts(c *config.Agent) (*wire.Facts, error) {
	tunnelIP, types := "", []string{}
	if c.BridgeVXLAN.Enabled && c.BridgeVXLAN.LocalIP.IsValid() {
		tunnelIP, types = c.BridgeVXLAN.LocalIP.String(), []string{"vxlan"}
	}
	conf, err := json.Marshal(map[string]any{"bridge_mappings": mapped(c.LinuxBridge.Bridges), "interface_mappings": mapped(c.LinuxBridge.Interfaces),
		"tunneling_ip": tunnelIP, "tunnel_types": types, "l2_population": true, "extensions": extensions(c, "qos"), "devices": 0, reasonsKey: []string{}})
	if err != nil {
		return nil, fmt.Errorf("facts of the Linux bridge agent: %w", err)
	}
	return &wire.Facts{TunnelIp: tunnelIP, TunnelTypes: types, Agents: []*wire.AgentFacts{
		{AgentType: "Linux bridge agent", Binary: "neutron-linuxbridge-agent", Configurations: conf}}}, nil
}

// mapped is never null in JSON.
func mapped(m config.Mappings) config.Mappings {
	if m == nil {
		return config.Mappings{}
	}
	return m
}

// newBridgeHost makes a host of Linux bridges and starts nothing.
func newBridgeHost(c *config.Agent, env Env, name string, report func(context.Context, []*wire.Status) error) (*host, error) {
	b := &bridgeHost{devices: bridge.Follow(""), cfg: l2bridge.Config{Host: name, Interfaces: c.LinuxBridge.Interfaces, Bridges: c.LinuxBridge.Bridges,
		VXLAN: c.BridgeVXLAN.Enabled, LocalIP: c.BridgeVXLAN.LocalIP, Port: c.BridgeVXLAN.Port, TTL: c.BridgeVXLAN.TTL, TOS: c.BridgeVXLAN.TOS, ARPResponder: c.BridgeVXLAN.ARP}}
	h := &host{env: env, lb: b}
	b.watch = l2bridge.NewWatch(b.devices, b.cfg)
	opts := []reconcile.Option{reconcile.WithClock(env.Clock), reconcile.WithLogger(env.Log), reconcile.WithPriority(wire.EntityL2, wire.EntityDHCP)}
	h.dhcp = dhcp.New(dhcp.Options{Logger: env.Log, Clock: env.Clock, Lost: func(string) {
		h.netStage.Invalidate("a network's interface has gone")
		h.loop.Wake()
	}})
	h.nsStage = reconcile.New("namespaces", netns.NewDriver(own()), netns.Equal, opts...)
	h.linkStage = reconcile.New("links", veth.NewVeths(vswitchOwner, nil), veth.Equal, opts...)
	h.addrStage = reconcile.New("addresses", addr.NewDriver(own(), nil), addr.Equal, opts...)
	h.resStage, h.netStage = h.dhcp.Stages(opts...)
	b.bridgeStage = reconcile.New("bridges", bridge.New("", vswitchOwner), bridge.Equal, opts...)
	b.vlanStage = reconcile.New("vlan devices", vlan.New("", vswitchOwner), vlan.Equal, opts...)
	b.vxlanStage = reconcile.New("vxlan devices", vxlan.New("", vswitchOwner), vxlan.Equal, opts...)
	b.memberStage = reconcile.New("bridge members", bridge.NewMembers("", b.cfg.Owns), bridge.EqualMember, opts...)
	b.entryStage = reconcile.New("forwarding entries", fdb.New("", vswitchOwner), fdb.Equal, opts...)
	b.neighStage = reconcile.New("neighbours", neigh.New("", vswitchOwner), neigh.Equal, opts...)
	var err error
	if h.zones, err = openZones(c); err != nil {
		return nil, err
	}
	if b.extras, err = bridgeExtras(c, env, h.zones, h.told); err != nil {
		return nil, err
	}
	for _, x := range b.extras {
		if x.filter != nil {
			b.cfg.Filter = x.filter
		}
	}
	if h.docs, h.unreadable, err = mirror.Open(filepath.Join(c.State.Dir, "mirror"), env.Clock); err != nil {
		return nil, err
	}
	reclaim(h.zones, h.docs)
	h.loop = &agent.Loop{Documents: h.docs, Report: report, Clock: env.Clock, Log: env.Log, Stages: h.stages(), Features: b.features(c, h, name)}
	h.loop.Init()
	return h, nil
}

// told has a stage read back, and the loop look.
func (h *host) told(s reconcile.Stage) func(reason string) {
	return func(reason string) { s.Invalidate(reason); h.loop.Wake() }
}

// stages are in dependency order: a device is there before it is in a bridge, and in one before frames are sent to it.
func (b *bridgeHost) stages(h *host) []reconcile.Stage {
	out := []reconcile.Stage{h.nsStage, h.linkStage, b.bridgeStage, b.vlanStage, b.vxlanStage}
	for _, x := range b.extras {
		out = append(out, x.stages...)
	}
	return append(out, b.memberStage, b.entryStage, b.neighStage, h.addrStage, h.resStage, h.netStage)
}

func (b *bridgeHost) features(c *config.Agent, h *host, name string) []agent.Feature {
	var out []agent.Feature
	for _, x := range b.extras {
		out = append(out, x.before...)
	}
	out = append(out, l2bridge.New(b.cfg, l2bridge.Targets{Bridges: b.bridgeStage, VLANs: b.vlanStage, VXLANs: b.vxlanStage, Pairs: h.linkStage,
		Members: b.memberStage, Entries: b.entryStage, Neighbours: b.neighStage}, b.watch))
	if slices.Contains(c.Isospin.Roles, "dhcp") {
		out = append(out, dhcpfeature.New(dhcpfeature.Config{Host: name, DNS: dnsServers(c)},
			dhcpfeature.Targets{Namespaces: h.nsStage, Links: h.linkStage, Addresses: h.addrStage, Networks: h.netStage, Reservations: h.resStage}))
	}
	for _, x := range b.extras {
		out = append(out, x.features...)
	}
	return out
}

// dnsServers are those that subnets without any are told.
func dnsServers(c *config.Agent) (out []netip.Addr) {
	for _, text := range c.DHCPRole.DNSServers {
		if ip, err := netip.ParseAddr(text); err == nil {
			out = append(out, ip)
		}
	}
	return out
}

// parts are the host's parts in the order in which they start. The mirror ends after the loop that uses it.
func (b *bridgeHost) parts(h *host) []lifecycle.Part {
	out := []lifecycle.Part{
		{Name: "mirror", Stop: func(context.Context) error { return h.docs.Close() }},
		{Name: "dhcp", Stop: func(context.Context) error { return h.dhcp.Close() }},
		{Name: "devices", Run: b.devices.Run},
	}
	for _, x := range b.extras {
		out = append(out, x.parts...) // what the loop uses ends after it
	}
	return append(out,
		lifecycle.Part{Name: "loop", Run: func(ctx context.Context) error { return h.loop.Run(ctx, h.unreadable) }},
		lifecycle.Part{Name: "interfaces", Run: b.watch.Run},
		lifecycle.Part{Name: "kernel", Run: h.followKernel},
		lifecycle.Part{Name: "neighbours", Run: func(ctx context.Context) error { return b.followNeighbours(ctx, h) }})
}

// followed says for which changes in the kernel the stages are read back.
func (b *bridgeHost) followed() map[reconcile.Stage]netns.Kind {
	out := map[reconcile.Stage]netns.Kind{b.bridgeStage: netns.Links, b.vlanStage: netns.Links, b.vxlanStage: netns.Links | netns.Addresses, b.memberStage: netns.Links,
		// Entries go with the device that they are on, and that is not told of them.
		b.entryStage: netns.Links, b.neighStage: netns.Links}
	for _, x := range b.extras {
		for s, kinds := range x.kinds {
			out[s] = kinds
		}
	}
	return out
}

// followNeighbours has forwarding entries and neighbours read back when somebody changed one.
func (b *bridgeHost) followNeighbours(ctx context.Context, h *host) error {
	return gathered(ctx, h.env.Clock, func(seen func(neigh.Change)) error { return neigh.Follow(ctx, "", seen) }, func(what neigh.Change) {
		if what&neigh.Forwarding != 0 {
			b.entryStage.Invalidate("a forwarding entry changed")
		}
		if what&neigh.Neighbours != 0 {
			b.neighStage.Invalidate("a neighbour changed")
		}
		h.loop.Wake()
	})
}

// gathered runs follow and calls act, from one goroutine, with all that was seen a moment after the first of it: most news of the kernel are the
// agent's own doing or a guest's device, and a read-back costs more than they do.
func gathered[K ~uint8](ctx context.Context, c clock.Clock, follow func(seen func(K)) error, act func(K)) error {
	ctx, cancel := context.WithCancel(ctx)
	news := make(chan K, 1)
	done := make(chan struct{})
	defer func() { <-done }()
	defer cancel()
	go func() {
		defer close(done)
		for {
			var all K
			select {
			case all = <-news:
			case <-ctx.Done():
				return
			}
			for wait := c.After(settle); wait != nil; {
				select {
				case more := <-news:
					all |= more
				case <-wait:
					wait = nil
				case <-ctx.Done():
					return
				}
			}
			act(all)
		}
	}()
	return follow(func(k K) {
		select {
		case news <- k:
		case <-ctx.Done():
		}
	})
}
