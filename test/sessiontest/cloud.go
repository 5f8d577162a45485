// Package sessiontest is a small cloud for tests of host sessions and of the services behind them: a database, the core
// plugins, and servers with real listeners and certificates, for simulated hosts to connect to. Only tests import it.
package sessiontest

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"testing"
	"time"

	"isospin/internal/agent/link"
	"isospin/internal/agent/simulate"
	"isospin/internal/change"
	"isospin/internal/clock"
	"isospin/internal/document"
	dhcpdoc "isospin/internal/document/dhcp"
	"isospin/internal/document/forward"
	"isospin/internal/document/network"
	"isospin/internal/document/port"
	"isospin/internal/document/reservation"
	groupdoc "isospin/internal/document/secgroup"
	"isospin/internal/document/subnet"
	"isospin/internal/ident"
	"isospin/internal/model"
	"isospin/internal/service"
	"isospin/internal/service/agents"
	"isospin/internal/service/dhcp"
	"isospin/internal/service/hostcred"
	"isospin/internal/service/ipam"
	"isospin/internal/service/ml2"
	"isospin/internal/service/ml2/mechdriver/agentbased"
	"isospin/internal/service/ml2/typedriver/claim"
	"isospin/internal/service/ml2/typedriver/flat"
	"isospin/internal/service/ml2/typedriver/tunnel"
	"isospin/internal/service/secgroup"
	"isospin/internal/service/status"
	"isospin/internal/service/tasks"
	"isospin/internal/session"
	"isospin/internal/store"
	"isospin/internal/store/engine"
	"isospin/internal/store/open"
	"isospin/internal/wire"
)

// Cloud is one database and the credentials of its hosts.
type Cloud struct {
	T      testing.TB
	URL    string
	Clock  clock.Clock
	Log    *slog.Logger
	Keeper *hostcred.Keeper
	keep   *engine.Engine
}

// Server is one server process of a cloud, in this process.
type Server struct {
	*Cloud
	Store    *engine.Engine
	Networks *ml2.Networks
	Subnets  *ml2.Subnets
	Ports    *ml2.Ports
	Groups   *secgroup.Groups
	Rules    *secgroup.Rules
	ML2      *ml2.Plugin
	Agents   *agents.Plugin
	Status   *status.Plugin
	DHCP     *dhcp.Plugin
	Session  *session.Server
	Address  string
	IPAM     *ipam.Allocator
	stop     func()
}

// Options are what a test changes of a server.
type Options struct {
	// Config edits the session server's configuration.
	Config func(*session.Config)
	// Address is where it listens; empty: anywhere on loopback.
	Address string
	// Followers are told of ports whose status changes.
	Followers []service.Follower[model.Port]
	DownTime  time.Duration
}

// New makes a cloud on an SQLite file. Logs go to the test's log.
func New(t testing.TB) *Cloud {
	return On(t, "sqlite:///"+filepath.Join(t.TempDir(), "isospin.db"))
}

// On makes a cloud on an empty database.
func On(t testing.TB, url string) *Cloud {
	c := &Cloud{T: t, URL: url, Clock: clock.System{}, Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo}))}
	c.keep = c.open()
	c.Keeper = hostcred.New(c.keep, c.Clock)
	return c
}

func (c *Cloud) open() *engine.Engine {
	c.T.Helper()
	st, err := open.Open(context.Background(), c.URL, open.Options{Upgrade: true, Options: engine.Options{Clock: c.Clock, Log: c.Log}})
	if err != nil {
		c.T.Fatal(err)
	}
	c.T.Cleanup(func() {
		if err := st.Close(); err != nil {
			c.T.Error(err)
		}
	})
	return st
}

// Start runs a server until the test ends or Stop is called.
func (c *Cloud) Start(o Options) *Server {
	c.T.Helper()
	s := &Server{Cloud: c, Store: c.open()}
	s.plugins(o)
	address := o.Address
	if address == "" {
		address = "127.0.0.1:0"
	}
	ln, err := net.Listen("tcp", address)
	if err != nil {
		c.T.Fatal(err)
	}
	s.Address = ln.Addr().String()
	creds, err := c.Keeper.ServerTLS(context.Background(), []string{s.Address}, func(peer string, err error) {
		c.Log.Warn("a certificate was refused", "host", peer, "err", err)
	})
	if err != nil {
		c.T.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 4)
	running := 0
	run := func(f func(context.Context) error) {
		running++
		go func() { done <- f(ctx) }()
	}
	run(func(ctx context.Context) error { return s.Session.Run(ctx, ln, creds) })
	run(s.Agents.Run)
	run(s.DHCP.Run)
	run(tasks.New(s.Store, c.Log, 4, s.DHCP.Handlers()...).Run)
	stopped := false
	s.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		for range running {
			if err := <-done; err != nil {
				c.T.Error(err)
			}
		}
	}
	c.T.Cleanup(s.stop)
	return s
}

// Stop ends the server's parts.
func (s *Server) Stop() { s.stop() }

func (s *Server) plugins(o Options) {
	ids := ident.Random{}
	s.Networks, s.Subnets, s.Ports, s.Groups, s.Rules = ml2.NewNetworks(), ml2.NewSubnets(), ml2.NewPorts(), secgroup.NewGroups(), secgroup.NewRules()
	s.IPAM = ipam.New(ids)
	s.Agents = agents.New(agents.Config{Agents: agents.NewAgents(), Store: s.Store, Clock: s.Clock, IDs: ids, Log: s.Log, ServerID: ids.UUID(), ServerName: "test", DownTime: o.DownTime})
	types, err := ml2.NewTypeManager([]ml2.TypeDriver{
		tunnel.Driver{Config: tunnel.Config{Type: model.TypeVXLAN, MaxID: tunnel.MaxVNI, Ranges: []claim.Range{{Min: 1, Max: 100000}}, Overhead: tunnel.OverheadVXLAN, IPHeader: 20, MTUAll: 1500, IDs: ids}},
		flat.Driver{Config: flat.Config{Networks: []string{"*"}, MTUAll: 1500}},
	}, []string{model.TypeVXLAN}, "", ids, s.Clock)
	if err != nil {
		s.T.Fatal(err)
	}
	base, err := net.ParseMAC("fa:16:3e:00:00:00")
	if err != nil {
		s.T.Fatal(err)
	}
	s.ML2 = ml2.New(ml2.Config{Networks: s.Networks, Subnets: s.Subnets, Ports: s.Ports, Types: types,
		Mechanisms: ml2.NewMechanismManager([]ml2.MechanismDriver{agentbased.OpenVSwitch()}, s.Agents), IPAM: s.IPAM, Clock: s.Clock, IDs: ids, BaseMAC: base})
	groups := secgroup.New(secgroup.Config{Groups: s.Groups, Rules: s.Rules, Clock: s.Clock, IDs: ids})
	s.DHCP = dhcp.New(dhcp.Config{Store: s.Store, Networks: s.Networks, Subnets: s.Subnets, Rows: s.Ports, Ports: s.ML2, Agents: s.Agents, Clock: s.Clock, Log: s.Log})
	s.Status = status.New(status.Config{Store: s.Store, Ports: s.Ports, Binder: s.ML2, Agents: s.Agents, Clock: s.Clock, Log: s.Log, Followers: o.Followers})
	s.DHCP.Recheck = s.Status.Recheck
	s.ML2.Guard(ml2.Guards{
		Ports:           []service.Guard[model.Port]{secgroup.PortGuard{Plugin: groups}},
		SubnetsWritten:  []service.Follower[model.Subnet]{dhcp.SubnetFollower{Plugin: s.DHCP}},
		NetworksWritten: []service.Follower[model.Network]{dhcp.NetworkFollower{Plugin: s.DHCP}},
	})
	s.Agents.Follow(s.ML2, s.DHCP)
	c := session.Config{Store: s.Store, Kinds: []document.Kind{network.New(s.Networks), subnet.New(s.Subnets), port.New(s.Ports), forward.New(s.Ports),
		dhcpdoc.New("openstacklocal", 24*time.Hour), reservation.New(s.Ports), groupdoc.NewGroup(s.Groups), groupdoc.NewRule(s.Rules), groupdoc.NewMember(s.Ports)},
		Credentials: s.Keeper, Presence: s.Agents, Statuses: s.Status, Clock: s.Clock, Log: s.Log, Name: "test", DownTime: o.DownTime}
	if o.Config != nil {
		o.Config(&c)
	}
	s.Session = session.New(c)
}

// Write runs fn in a transaction.
func (s *Server) Write(fn func(ctx context.Context, tx store.WriteTx) error) {
	s.T.Helper()
	ctx := context.Background()
	if err := s.Store.Write(ctx, func(tx store.WriteTx) error { return fn(ctx, tx) }); err != nil {
		s.T.Fatal(err)
	}
}

// Read runs fn in a transaction.
func (s *Server) Read(fn func(ctx context.Context, tx store.Tx) error) {
	s.T.Helper()
	ctx := context.Background()
	if err := s.Store.Read(ctx, func(tx store.Tx) error { return fn(ctx, tx) }); err != nil {
		s.T.Fatal(err)
	}
}

// StopDHCP switches a subnet's DHCP off as a request would, followers and all.
func (s *Server) StopDHCP(id string) {
	s.T.Helper()
	s.Write(func(ctx context.Context, tx store.WriteTx) error {
		old, err := s.Subnets.Get(ctx, tx, id)
		if err != nil {
			return err
		}
		now := old
		now.EnableDHCP = false
		if err := s.Subnets.Update(ctx, tx, &now, -1); err != nil {
			return err
		}
		tx.Changed(change.Key{Kind: wire.KindSubnet, ID: id}, change.NewSet(wire.FamilyNetwork, now.NetworkID))
		return dhcp.SubnetFollower{Plugin: s.DHCP}.Follow(ctx, tx, service.Write[model.Subnet]{Op: service.Update, Old: &old, New: &now})
	})
}

// Facts are what a host with Open vSwitch and a DHCP server says of itself; n makes its tunnel address.
func Facts(n int) *wire.Facts {
	ip := fmt.Sprintf("172.%d.%d.%d", 16+n/65536, n/256%256, n%256)
	conf := fmt.Sprintf(`{"tunneling_ip": %q, "tunnel_types": ["vxlan"], "bridge_mappings": {"public": "br-ex"}}`, ip)
	return &wire.Facts{TunnelIp: ip, TunnelTypes: []string{"vxlan"}, Agents: []*wire.AgentFacts{
		{AgentType: model.AgentOVS, Binary: "neutron-openvswitch-agent", Topic: "N/A", Configurations: []byte(conf), StartedAt: 1},
		{AgentType: model.AgentDHCP, Binary: "neutron-dhcp-agent", Topic: "dhcp_agent", AvailabilityZone: "nova", Configurations: []byte(`{}`), StartedAt: 1},
	}}
}

// Enrol enrols a host for servers.
func (c *Cloud) Enrol(name string, servers ...string) wire.Enrolment {
	c.T.Helper()
	e, err := c.Keeper.Enrol(context.Background(), name, servers)
	if err != nil {
		c.T.Fatal(err)
	}
	return e
}

// Host makes a simulated host and runs it until the test ends.
func (c *Cloud) Host(e wire.Enrolment, facts *wire.Facts, edit func(*simulate.Options)) *simulate.Host {
	c.T.Helper()
	o := simulate.Options{Link: link.Options{Enrolment: e, Facts: facts, Clock: c.Clock, IDs: ident.Random{}, Log: c.Log}}
	if edit != nil {
		edit(&o)
	}
	h, err := simulate.New(o)
	if err != nil {
		c.T.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = h.Run(ctx) // it ends with ctx's own error
	}()
	c.T.Cleanup(func() {
		cancel()
		<-done
	})
	return h
}

// Wait waits up to a minute until a host holds what ready asks for.
func (c *Cloud) Wait(h *simulate.Host, ready func(simulate.View) bool) {
	c.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := h.Wait(ctx, ready); err != nil {
		c.T.Fatal(err)
	}
}
