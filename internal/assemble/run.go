package assemble

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"

	"isospin/internal/auth"
	"isospin/internal/auth/identity"
	"isospin/internal/auth/keystone"
	"isospin/internal/config"
	"isospin/internal/lifecycle"
	"isospin/internal/policy"
	"isospin/internal/service/hostcred"
	"isospin/internal/service/ml2"
	"isospin/internal/service/tasks"
	"isospin/internal/session"
	"isospin/internal/store/engine"
)

// SplitAddress splits address:port.
func SplitAddress(text string) (host, port string, err error) {
	if host, port, err = net.SplitHostPort(text); err != nil {
		return "", "", fmt.Errorf("%q is not of the form address:port", text)
	}
	return host, port, nil
}

// Server is the server's process, or its half of one.
type Server struct {
	cfg      *config.Server
	env      Env
	store    *engine.Engine
	core     *Core
	identity *identity.Service
	who      auth.Authenticator
	rules    *policy.Reloader
	keeper   *hostcred.Keeper
	lock     *os.File     // of the state folder
	listener net.Listener // the API's
	sessions net.Listener // the hosts'
	parts    []lifecycle.Part
}

// NewServer opens the database and the API's listener and makes all parts; nothing runs yet. Close undoes it. extra are
// mechanism drivers from outside the tree, asked first.
func NewServer(ctx context.Context, c *config.Server, env Env, extra ...ml2.MechanismDriver) (s *Server, err error) {
	s = &Server{cfg: c, env: env}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if c.API.AuthStrategy == "noauth" {
		if err := auth.AllowNoAuth(net.JoinHostPort(c.API.BindHost, "0"), c.Isospin.NoauthAnywhere); err != nil {
			return s, err
		}
	}
	if s.rules, err = NewPolicy(c, env); err != nil {
		return s, err
	}
	if s.lock, err = sole(c); err != nil {
		return s, err
	}
	if s.store, err = OpenStore(ctx, c, env, false); err != nil {
		return s, err
	}
	if s.listener, err = Listen(ctx, net.JoinHostPort(c.API.BindHost, fmt.Sprint(c.API.BindPort))); err != nil {
		return s, err
	}
	if s.sessions, err = Listen(ctx, c.Isospin.SessionListen); err != nil {
		return s, err
	}
	s.keeper = hostcred.New(s.store, env.Clock)
	id := env.IDs.UUID()
	if s.core, err = NewCore(c, env, s.store, id, extra...); err != nil {
		return s, err
	}
	if err := s.core.Prepare(ctx); err != nil {
		return s, fmt.Errorf("prepare segment pools: %w", err)
	}
	who, ident, err := NewIdentity(c, env, "http://"+s.Address())
	if err != nil {
		return s, err
	}
	s.identity, s.who = ident, who
	api, err := s.core.API(c, env, who, s.rules.Engine)
	if err != nil {
		return s, err
	}
	s.env.Health.Add("database", func(ctx context.Context) error { return s.ping(ctx) })
	return s, s.assemble(ctx, api)
}

func (s *Server) ping(ctx context.Context) error {
	return s.store.Read(ctx, nothing)
}

// Address is where the API listens.
func (s *Server) Address() string { return s.listener.Addr().String() }

func (s *Server) assemble(ctx context.Context, api http.Handler) error {
	c := s.cfg
	apart := c.Isospin.MetricsListen != ""
	mux := Routes(api, s.identity, s.env, apart)
	s.operators(mux)
	srv := HTTPServer(mux, s.env.Log)
	hosts, err := s.sessionPart(ctx)
	if err != nil {
		return err
	}
	s.register()
	if s.identity != nil {
		s.parts = append(s.parts, lifecycle.Part{Name: "identity", Start: func(context.Context) error { return s.identity.WriteClouds(s.Address()) }})
	}
	if k, ok := s.who.(*keystone.Authenticator); ok {
		s.parts = append(s.parts, lifecycle.Part{Name: "keystone", Run: s.loginFirst(k)})
	}
	s.parts = append(s.parts, lifecycle.Part{Name: "policy files", Run: s.rules.Run})
	runner := tasks.New(s.store, s.env.Log, 4, slices.Concat(s.core.Remote.Handlers(), s.core.DHCP.Handlers())...)
	s.parts = append(s.parts, lifecycle.Part{Name: "tasks", Run: runner.Run}, lifecycle.Part{Name: "agents", Run: s.core.Agents.Run},
		lifecycle.Part{Name: "dhcp scheduling", Run: s.core.DHCP.Run}, lifecycle.Part{Name: "router scheduling", Run: s.core.Routers.Run}, hosts)
	if apart {
		s.parts = append(s.parts, HealthServer(c.Isospin.MetricsListen, s.env))
	}
	s.parts = append(s.parts, lifecycle.Part{Name: "api", Run: func(context.Context) error {
		if err := srv.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}, Stop: srv.Shutdown})
	return nil
}

// loginFirst tells of wrong credentials, or of Keystone's absence, at the start and not at the first request. Neither
// stops the server: Keystone may come later than it.
func (s *Server) loginFirst(k *keystone.Authenticator) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := k.Login(ctx); err != nil && ctx.Err() == nil {
			s.env.Log.Warn("logging in to Keystone failed; it is tried again when a token is to be checked", "err", err)
		}
		return nil
	}
}

// sessionPart serves the hosts.
func (s *Server) sessionPart(ctx context.Context) (lifecycle.Part, error) {
	addrs := append(sessionAddresses(s.cfg), s.sessions.Addr().String())
	creds, err := s.keeper.ServerTLS(ctx, addrs, func(peer string, err error) {
		s.env.Log.Warn("a client of the session listener was refused", "peer", peer, "err", err)
	})
	if err != nil {
		return lifecycle.Part{}, fmt.Errorf("certificate of the session listener: %w", err)
	}
	srv := session.New(session.Config{Store: s.store, Kinds: s.core.Kinds(s.cfg), Credentials: s.keeper, Presence: s.core.Agents,
		Statuses: s.core.Status, Clock: s.env.Clock, Log: s.env.Log, Name: s.cfg.Host.Host, DownTime: s.cfg.Scheduling.AgentDownTime})
	return lifecycle.Part{Name: "sessions", Run: func(ctx context.Context) error { return srv.Run(ctx, s.sessions, creds) }}, nil
}

// SessionAddress is where hosts open their sessions.
func (s *Server) SessionAddress() string { return s.sessions.Addr().String() }

func (s *Server) register() {
	reg := s.env.Registry
	reg.GaugeFunc("store_statements", "SQL statements since the start.", func() float64 { return float64(s.store.Stats().Statements) })
	reg.GaugeFunc("store_commits", "Transactions that reached the disk.", func() float64 { return float64(s.store.Stats().Commits) })
	reg.GaugeFunc("policy_broken", "1 while policy files hold rules that cannot be understood; the rules before them are in force.", func() float64 {
		if s.rules.Broken() {
			return 1
		}
		return 0
	})
	reg.GaugeFunc("store_retries", "Transactions run again because the database aborted them.", func() float64 { return float64(s.store.Stats().Retries) })
}

// Parts are the server's parts in the order in which they start.
func (s *Server) Parts() []lifecycle.Part { return s.parts }

// Close ends what NewServer opened.
func (s *Server) Close() error {
	var errs []error
	if s.listener != nil {
		if err := s.listener.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if s.sessions != nil {
		if err := s.sessions.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if s.store != nil {
		errs = append(errs, s.store.Close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}

// RunServer is `isospin server`: it returns when ctx ends or a part fails.
func RunServer(ctx context.Context, c *config.Server, env Env, out io.Writer, extra ...ml2.MechanismDriver) error {
	s, err := NewServer(ctx, c, env, extra...)
	if err != nil {
		return err
	}
	g := &lifecycle.Group{Log: env.Log}
	g.Add(s.Parts()...)
	g.Add(announce(out, "isospin server: the API is at "+place(s.Address())))
	return errors.Join(g.Run(ctx, Grace), s.Close())
}

// announce prints a line once all parts before it have started.
func announce(out io.Writer, line string) lifecycle.Part {
	return lifecycle.Part{Name: "announce", Start: func(context.Context) error {
		_, err := fmt.Fprintln(out, line)
		return err
	}}
}

// UpgradeDatabase is `isospin db upgrade`.
func UpgradeDatabase(ctx context.Context, c *config.Server, env Env, out io.Writer) error {
	st, err := OpenStore(ctx, c, env, true)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, "the database has this version's schema")
	return errors.Join(err, st.Close())
}
