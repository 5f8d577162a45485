package assemble

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"isospin/internal/apidef/refdoc"
	"isospin/internal/auth"
	"isospin/internal/auth/identity"
	"isospin/internal/auth/keystone"
	"isospin/internal/clock"
	"isospin/internal/config"
	"isospin/internal/document"
	"isospin/internal/document/dhcp"
	"isospin/internal/document/forward"
	"isospin/internal/document/network"
	"isospin/internal/document/port"
	"isospin/internal/document/reservation"
	secgroupdoc "isospin/internal/document/secgroup"
	"isospin/internal/document/subnet"
	"isospin/internal/ident"
	"isospin/internal/model"
	"isospin/internal/policy"
	"isospin/internal/rest"
	"isospin/internal/service"
	"isospin/internal/service/agents"
	dhcpservice "isospin/internal/service/dhcp"
	"isospin/internal/service/flavors"
	"isospin/internal/service/ipam"
	"isospin/internal/service/l3"
	"isospin/internal/service/ml2"
	"isospin/internal/service/quota"
	"isospin/internal/service/secgroup"
	"isospin/internal/service/segments"
	"isospin/internal/service/status"
	"isospin/internal/service/subnetpool"
	"isospin/internal/service/tags"
	"isospin/internal/service/trunk"
	"isospin/internal/service/zones"
	"isospin/internal/store"
	"isospin/internal/store/engine"
	"isospin/internal/store/open"
	"isospin/internal/telemetry"
)

// Env is what every process has: log, clock, identifiers, metrics and health.
type Env struct {
	Log      *slog.Logger
	Clock    clock.Clock
	IDs      ident.Source
	Registry *telemetry.Registry
	Health   *telemetry.Health
}

// NewEnv makes the machine's clock, random identifiers, metrics and health.
func NewEnv(log *slog.Logger) Env {
	return Env{Log: log, Clock: clock.System{}, IDs: ident.Random{}, Registry: telemetry.NewRegistry(), Health: &telemetry.Health{}}
}

// OpenStore opens the configured database, the embedded one below the state folder without a connection.
func OpenStore(ctx context.Context, c *config.Server, env Env, upgrade bool) (*engine.Engine, error) {
	url := c.Database.Connection.URL()
	switch {
	case url != "":
	case c.Isospin.Memory:
		url = "sqlite://"
	default:
		if err := stateDir(c.State.Dir); err != nil {
			return nil, err
		}
		dir, err := filepath.Abs(c.State.Dir)
		if err != nil {
			return nil, fmt.Errorf("state folder %s: %w", c.State.Dir, err)
		}
		url = "sqlite:///" + filepath.Join(dir, "isospin.db")
	}
	if c.Isospin.Memory || strings.HasPrefix(url, "sqlite:") {
		upgrade = true // nobody else owns an embedded database
	}
	st, err := open.Open(ctx, url, open.Options{Upgrade: upgrade, Options: engine.Options{Clock: env.Clock, Ident: env.IDs, Log: env.Log}})
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	return st, nil
}

// stateDir makes the folder of all state, for its owner alone.
func stateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return fmt.Errorf("state folder %s: %w", dir, err)
	}
	return nil
}

// Core are the plugins of the server and what they stand on.
type Core struct {
	Store     store.Store
	ML2       *ml2.Plugin
	Groups    *secgroup.Plugin
	Agents    *agents.Plugin
	Status    *status.Plugin
	DHCP      *dhcpservice.Plugin
	Remote    *ml2.RemoteBinder
	Networks  *ml2.Networks
	Subnets   *ml2.Subnets
	Ports     *ml2.Ports
	Rules     *secgroup.Rules
	GroupRows *secgroup.Groups
	Types     *ml2.TypeManager
	Quotas    *quota.Plugin
	Segments  *segments.Plugin // set by trunking
	Flavors   *flavors.Plugin  // set by extras
	Routers   *l3.Plugin       // set by routing
	plugins   []plugin
}

type plugin interface {
	Name() string
	Bindings() []rest.Binding
}

// NewCore makes the plugins. extra are mechanism drivers from outside the tree, asked first.
func NewCore(c *config.Server, env Env, st store.Store, serverID string, extra ...ml2.MechanismDriver) (*Core, error) {
	makers, err := chosen("type_drivers", c.ML2.TypeDrivers, TypeDrivers())
	if err != nil {
		return nil, err
	}
	var types []ml2.TypeDriver
	for _, m := range makers {
		types = append(types, m(c, env.IDs))
	}
	tm, err := ml2.NewTypeManager(types, c.ML2.ProjectNetworkTypes, c.ML2.ExternalNetworkType, env.IDs, env.Clock)
	if err != nil {
		return nil, err
	}
	mechs, err := chosen("mechanism_drivers", c.ML2.MechanismDrivers, MechanismDrivers())
	if err != nil {
		return nil, err
	}
	drivers := append([]ml2.MechanismDriver{}, extra...)
	for _, m := range mechs {
		if d := m(c); d != nil {
			drivers = append(drivers, d)
		}
	}
	core := &Core{Store: st, Networks: ml2.NewNetworks(), Subnets: ml2.NewSubnets(), Ports: ml2.NewPorts(),
		Rules: secgroup.NewRules(), GroupRows: secgroup.NewGroups(), Types: tm}
	core.Agents = agents.New(agents.Config{Agents: agents.NewAgents(), Store: st, Clock: env.Clock, IDs: env.IDs, Log: env.Log,
		ServerID: serverID, ServerName: c.Host.Host, DownTime: c.Scheduling.AgentDownTime, NewDown: !c.Scheduling.EnableNewAgents})
	core.ML2 = ml2.New(ml2.Config{Networks: core.Networks, Subnets: core.Subnets, Ports: core.Ports, Types: tm,
		Mechanisms: ml2.NewMechanismManager(drivers, core.Agents), IPAM: ipam.New(env.IDs), Clock: env.Clock, IDs: env.IDs,
		BaseMAC: c.Limits.BaseMAC, Limits: &ml2.Limits{Nameservers: c.Limits.DNSNameservers, HostRoutes: c.Limits.SubnetHostRoute}, OfferVLANTransparent: c.Plugins.VLANTransp, OfferQinQ: c.Plugins.VLANQinQ})
	core.Groups = secgroup.New(secgroup.Config{Groups: core.GroupRows, Rules: core.Rules, Clock: env.Clock, IDs: env.IDs})
	core.Remote = ml2.NewRemoteBinder(core.ML2, st)
	core.DHCP = dhcpservice.New(dhcpservice.Config{Store: st, Networks: core.Networks, Subnets: core.Subnets, Rows: core.Ports, Ports: core.ML2,
		Agents: core.Agents, Clock: env.Clock, Log: env.Log, PerNetwork: c.Scheduling.DHCPAgents, Zones: c.Plugins.DefaultZones,
		Stay: !c.Scheduling.DHCPFailover, Wait: !c.Scheduling.NetworkAutoSchedule})
	pools := subnetpool.New(subnetpool.Config{Pools: subnetpool.NewPools(), Scopes: subnetpool.NewScopes(), Subnets: core.Subnets,
		Networks: core.Networks, Clock: env.Clock, IDs: env.IDs, Delegate: c.Plugins.PDEnabled})
	z := zones.New(core.Agents)
	x := core.extras(env)
	q := newQoS(c, env, extra)
	routed := core.routing(c, env, z)
	hung := core.onRouters(c, env, core.Routers)
	tr := core.trunking(env)
	core.ML2.Guard(tr.guards(hung.guards(qosGuards(q, core.attributes(c, routed.guards(ml2.Guards{
		Prefixes:        pools,
		NetworkPages:    []rest.Splicer{subnetpool.NetworkScopes{}, zones.Networks{Plugin: z}},
		Networks:        []service.Guard[model.Network]{zones.Networks{Plugin: z}, secgroup.NetworkGuard{Plugin: core.Groups}},
		Ports:           append([]service.Guard[model.Port]{secgroup.PortGuard{Plugin: core.Groups}}, x.guards...),
		NetworksWritten: []service.Follower[model.Network]{dhcpservice.NetworkFollower{Plugin: core.DHCP}},
		SubnetsWritten:  []service.Follower[model.Subnet]{dhcpservice.SubnetFollower{Plugin: core.DHCP}, tags.Subnets{}},
		PortsWritten:    append([]service.Follower[model.Port]{tags.Ports{}}, x.followed...),
	}))))))
	core.Status = status.New(status.Config{Store: st, Ports: core.Ports, Binder: core.ML2, Agents: core.Agents, Clock: env.Clock, Log: env.Log})
	core.DHCP.Recheck = core.Status.Recheck
	core.Status.Followers = append(core.Status.Followers, trunk.Ports{Plugin: tr.trunks})
	core.Agents.Follow(core.ML2, core.DHCP, core.Routers)
	core.plugins = append([]plugin{core.ML2, core.Groups, core.Agents, pools, q}, core.projects(c, env, z)...)
	core.plugins = append(core.plugins, x.plugins...)
	core.plugins = append(core.plugins, routed.plugins()...)
	core.plugins = append(core.plugins, hung.plugins()...)
	core.plugins = append(core.plugins, tr.plugins()...)
	return core, nil
}

// Kinds are the documents that hosts are sent.
func (k *Core) Kinds(c *config.Server) []document.Kind {
	return []document.Kind{port.New(k.Ports), network.New(k.Networks), subnet.New(k.Subnets), forward.New(k.Ports),
		dhcp.New(c.Host.DNSDomain, time.Duration(c.DHCP.LeaseSeconds)*time.Second), reservation.New(k.Ports),
		secgroupdoc.NewGroup(k.GroupRows), secgroupdoc.NewRule(k.Rules), secgroupdoc.NewMember(k.Ports),
		secgroupdoc.NewAddress(secgroup.NewAddressGroups()), qosDocuments(), k.routerDocuments(), localIPDocuments(), logDocuments()}
}

// Prepare brings the pools in the database in line with the configuration.
func (k *Core) Prepare(ctx context.Context) error {
	return k.Store.Write(ctx, func(tx store.WriteTx) error {
		if err := k.Types.Prepare(ctx, tx); err != nil {
			return err
		}
		return k.Segments.Prepare(ctx, tx)
	})
}

// API joins the plugins to the routes.
func (k *Core) API(c *config.Server, env Env, who auth.Authenticator, rules *policy.Engine) (*rest.Server, error) {
	reg, err := registry(c)
	if err != nil {
		return nil, err
	}
	openapi, err := refdoc.OpenAPI(reg)
	if err != nil {
		return nil, fmt.Errorf("describe the API: %w", err)
	}
	var bindings []rest.Binding
	for _, p := range k.plugins {
		bindings = append(bindings, p.Bindings()...)
	}
	return rest.New(rest.Config{Registry: reg, Store: k.Store, Auth: who, Policy: rules, Log: env.Log, Clock: env.Clock, IDs: env.IDs,
		MaxPage: int(c.API.MaxLimit), LinkPrefix: c.API.LinkPrefix, Quota: k.Quotas.Limit,
		Documents: map[string][]byte{"openapi.json": openapi}}, bindings...)
}

// NewPolicy compiles the default rules and the configured files, which it goes on looking at while it runs.
func NewPolicy(c *config.Server, env Env) (*policy.Reloader, error) {
	return policy.Open(policy.Files{File: c.Policy.File, Dirs: c.Policy.Dirs}, env.Clock, env.Log)
}

// NewIdentity makes who tells callers apart; the identity is nil without the built-in one.
func NewIdentity(c *config.Server, env Env, base string) (auth.Authenticator, *identity.Service, error) {
	switch c.API.AuthStrategy {
	case "noauth":
		return auth.NoAuth{}, nil, nil
	case "keystone":
		a, err := keystone.New(keystone.Config{Authtoken: c.Authtoken, Clock: env.Clock, Log: env.Log, Registry: env.Registry})
		if err != nil {
			return nil, nil, fmt.Errorf("[keystone_authtoken] %w", err)
		}
		return a, nil, nil
	}
	if err := stateDir(c.State.Dir); err != nil {
		return nil, nil, err
	}
	cfg := identity.Config{Clock: env.Clock, IDs: env.IDs, Log: env.Log, BaseURL: base, CloudsFile: filepath.Join(c.State.Dir, "clouds.yaml")}
	if c.Isospin.Memory {
		cfg.Backend = &identity.Memory{}
	} else {
		cfg.Backend = identity.NewFile(filepath.Join(c.State.Dir, "identity.json"))
	}
	s, err := identity.New(cfg)
	if err != nil {
		return nil, nil, err
	}
	return s, s, nil
}

// Listen opens a TCP listener, or one at unix:/path; the error is one line that names the address.
func Listen(ctx context.Context, addr string) (net.Listener, error) {
	network := "tcp"
	if path, ok := strings.CutPrefix(addr, "unix:"); ok {
		network, addr = "unix", path
		// A killed process leaves its socket. Anything else of that name is a mistake, for Listen to tell.
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSocket != 0 {
			if err := os.Remove(path); err != nil {
				return nil, fmt.Errorf("old socket: %w", err)
			}
		}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, network, addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	return bounded(l), nil
}

// Routes joins the API, the identity and what a process tells of itself on one address.
func Routes(api http.Handler, id *identity.Service, env Env, apart bool) *Mux {
	mux := http.NewServeMux()
	mux.Handle("/", api)
	if id != nil {
		mux.Handle("/identity", id)
		mux.Handle("/identity/", id)
	}
	if !apart {
		own := telemetry.Handler(env.Registry, env.Health)
		for _, path := range telemetry.Paths() {
			mux.Handle(path, own)
		}
	}
	return &Mux{ServeMux: mux, api: api}
}

// Mux is a ServeMux that leaves API paths as they are: it would clean them and redirect, where the API answers itself.
type Mux struct {
	*http.ServeMux
	api http.Handler
}

// ServeHTTP sends what is the API's straight to it.
func (m *Mux) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/v2.0") || r.URL.Path == "/" {
		m.api.ServeHTTP(w, r)
		return
	}
	m.ServeMux.ServeHTTP(w, r)
}

// HTTPServer bounds what a client may keep the server waiting for.
func HTTPServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{Handler: patient(h, bodyPatience), ReadHeaderTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
}
