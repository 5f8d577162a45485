package ml2

import (
	"context"
	"net"

	"isospin/internal/change"
	"isospin/internal/clock"
	"isospin/internal/fault"
	"isospin/internal/ident"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/service"
	"isospin/internal/service/ipam"
	"isospin/internal/service/sharing"
	"isospin/internal/store"
	"isospin/internal/wire"
)

// Config is what the plugin is made of; all of it is needed but ExtensionDrivers.
type Config struct {
	Networks         *Networks
	Subnets          *Subnets
	Ports            *Ports
	Types            *TypeManager
	Mechanisms       *MechanismManager
	ExtensionDrivers []ExtensionDriver
	IPAM             *ipam.Allocator
	Clock            clock.Clock
	IDs              ident.Source
	BaseMAC          net.HardwareAddr
	// Limits of subnets; nil: Neutron's.
	Limits *Limits
	// OfferVLANTransparent and OfferQinQ are vlan_transparent and vlan_qinq.
	OfferVLANTransparent, OfferQinQ bool
}

// Plugin is ML2.
type Plugin struct {
	Config
	extensions ExtensionManager
	guards     Guards
}

// Guards are those who take part in the plugin's transactions, in order.
type Guards struct {
	Networks []service.Guard[model.Network]
	// NetworksGoing run before anybody looks at the ports of a network that is deleted: for those who hold ports that go with it.
	NetworksGoing   []service.Guard[model.Network]
	Subnets         []service.Guard[model.Subnet]
	Ports           []service.Guard[model.Port]
	NetworksWritten []service.Follower[model.Network]
	SubnetsWritten  []service.Follower[model.Subnet]
	PortsWritten    []service.Follower[model.Port]
	// Prefixes is where subnets out of pools get their prefix; nil: there are no pools.
	Prefixes PrefixSource
	// NetworkPages and PortPages add what others compute of networks and ports.
	NetworkPages []rest.Splicer
	PortPages    []rest.Splicer
}

// New makes the plugin. Guard adds those that need the plugin themselves.
func New(c Config) *Plugin {
	return &Plugin{Config: c, extensions: ExtensionManager{drivers: c.ExtensionDrivers}}
}

// Guard sets who takes part in the plugin's transactions; called once, by assemble, before anything is served.
func (p *Plugin) Guard(g Guards) { p.guards = g }

// Name is the plugin's name in `core_plugin`.
func (p *Plugin) Name() string { return "ml2" }

// Bindings are the collections of the core.
func (p *Plugin) Bindings() []rest.Binding {
	network := rest.Parent{Prefix: "network", Ref: "network_id", Table: p.Networks, Extra: sharing.Facts,
		Missing: func(id string) error { return fault.NetworkNotFound(id) }}
	return []rest.Binding{
		rest.Bind("networks", p.Networks, networks{p}, rest.Options{
			Visible:  func(ctx context.Context) store.Cond { return sharing.Visible(ctx, "network") },
			Filters:  networkFilters(p),
			Splicer:  networks{p},
			Facts:    sharing.Facts,
			NotFound: func(id string) error { return fault.NetworkNotFound(id) },
		}),
		rest.Bind("subnets", belowNetwork{p.Subnets, p.Networks}, subnets{p}, rest.Options{
			Visible: func(ctx context.Context) store.Cond {
				own := store.Eq("project_id", projectOf(ctx))
				seen := sharing.Visible(ctx, "network")
				return store.Or(own, store.Expr("network_id IN (SELECT id FROM networks WHERE "+seen.SQL+")", seen.Args...))
			},
			Filters:  subnetFilters(),
			Splicer:  subnets{p},
			Parents:  []rest.Parent{network},
			NotFound: func(id string) error { return fault.SubnetNotFound(id) },
		}),
		rest.Bind("ports", p.Ports, ports{p}, rest.Options{
			Visible: func(ctx context.Context) store.Cond {
				own := projectOf(ctx)
				return store.Or(store.Eq("project_id", own),
					store.Expr("network_id IN (SELECT id FROM networks WHERE project_id = ?)", own))
			},
			Filters:  portFilters(),
			Splicer:  ports{p},
			Parents:  []rest.Parent{network},
			NotFound: func(id string) error { return fault.PortNotFound(id) },
		}),
		rest.Special("bindings", bindingsAPI{p}),
	}
}

// stamp fills the standard attributes of a new resource.
func (p *Plugin) stamp(s *model.Standard, revision int64) {
	now := model.Stamp(p.Clock.Now())
	s.ID = p.IDs.UUID()
	s.CreatedAt, s.UpdatedAt, s.Revision = now, now, revision
	s.TenantID = s.ProjectID
	if s.Tags == nil {
		s.Tags = []string{}
	}
}

// bump marks a change of a resource.
func (p *Plugin) bump(s *model.Standard) {
	s.UpdatedAt = model.Stamp(p.Clock.Now())
	s.Revision++
}

func networkSet(id string) change.Set { return change.NewSet(wire.FamilyNetwork, id) }

func key(kind, id string) change.Key { return change.Key{Kind: kind, ID: id} }

// ExtensionManager lets the extension drivers process objects, in their configured order.
type ExtensionManager struct{ drivers []ExtensionDriver }

func (m ExtensionManager) network(ctx context.Context, tx store.WriteTx, old, now *model.Network) error {
	for _, d := range m.drivers {
		if err := d.ProcessNetwork(ctx, tx, old, now); err != nil {
			return err
		}
	}
	return nil
}

func (m ExtensionManager) subnet(ctx context.Context, tx store.WriteTx, old, now *model.Subnet) error {
	for _, d := range m.drivers {
		if err := d.ProcessSubnet(ctx, tx, old, now); err != nil {
			return err
		}
	}
	return nil
}

func (m ExtensionManager) port(ctx context.Context, tx store.WriteTx, old, now *model.Port) error {
	for _, d := range m.drivers {
		if err := d.ProcessPort(ctx, tx, old, now); err != nil {
			return err
		}
	}
	return nil
}
