// Package isospintest runs an Isospin server inside a test: for those who write clients of the Networking API and want
// to try them against the real thing. Everything is in memory, nothing outlives the test, several servers run side
// by side. It is no part of a running cloud and never talks to a host's agent of its own accord.
package isospintest

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"isospin/internal/assemble"
	"isospin/internal/config"
	"isospin/internal/lifecycle"
	"isospin/internal/service/ml2"
)

// grace is how long the server's parts may take to stop.
const grace = 10 * time.Second

// Options say how the server differs from the usual one; the zero value is a server without authentication.
type Options struct {
	// Auth is "noauth" (empty: the same; the headers X-Project-Id and X-Roles say who calls, no roles mean an
	// administrator), "dev" (the identity at /identity/v3; CloudsFile has users and passwords) or "keystone" (Config says
	// which, in "keystone_authtoken/auth_url" and its neighbours).
	Auth string
	// Config holds options by "section/option", such as "ml2/project_network_types". A "database/connection" makes the
	// server keep its rows there.
	Config map[string]string
	// Log takes the server's log; nil: none.
	Log io.Writer
	// Drivers are mechanism drivers that are asked before the configured ones.
	Drivers []ml2.MechanismDriver
}

// Server is a running server.
type Server struct {
	// URL is scheme, address and port, such as "http://127.0.0.1:40123".
	URL string
	// CloudsFile is the clouds.yaml with the clouds isospin, isospin-demo, isospin-reader and isospin-service; with Auth "dev".
	CloudsFile string

	stop func() error
}

// Start runs a server until the test ends; a server that does not start or stop fails the test.
func Start(tb testing.TB, o Options) *Server {
	tb.Helper()
	s, err := start(o, tb.TempDir())
	if err != nil {
		tb.Fatalf("start Isospin: %v", err)
	}
	tb.Cleanup(func() {
		if err := s.stop(); err != nil {
			tb.Errorf("stop Isospin: %v", err)
		}
	})
	return s
}

// Endpoint is where the networking service is, with a slash at the end, as a catalogue has it.
func (s *Server) Endpoint() string { return s.URL + "/" }

// Close stops the server before the test ends.
func (s *Server) Close() error { return s.stop() }

func load(o Options, dir string) (*config.Server, error) {
	flags := map[string]string{
		"DEFAULT/bind_port": "0", "DEFAULT/auth_strategy": "noauth", "isospin/memory": "true", "isospin/state_dir": dir,
		"isospin/session_listen": "127.0.0.1:0",
	}
	if o.Auth != "" {
		flags["DEFAULT/auth_strategy"] = o.Auth
	}
	if o.Config["database/connection"] != "" {
		flags["isospin/memory"] = "false"
	}
	maps.Copy(flags, o.Config)
	c, _, err := config.Load[config.Server](config.Sources{Flags: flags, Host: "isospintest"})
	return c, err
}

func start(o Options, dir string) (*Server, error) {
	c, err := load(o, dir)
	if err != nil {
		return nil, err
	}
	w := o.Log
	if w == nil {
		w = io.Discard
	}
	ctx, cancel := context.WithCancel(context.Background())
	srv, err := assemble.NewServer(ctx, c, assemble.NewEnv(slog.New(slog.NewTextHandler(w, nil))), o.Drivers...)
	if err != nil {
		cancel()
		return nil, err
	}
	ready, ended := make(chan struct{}), make(chan error, 1)
	g := &lifecycle.Group{}
	g.Add(srv.Parts()...)
	g.Add(lifecycle.Part{Name: "ready", Start: func(context.Context) error { close(ready); return nil }})
	go func() { ended <- errors.Join(g.Run(ctx, grace), srv.Close()) }()
	s := &Server{URL: "http://" + srv.Address(), stop: func() error {
		if ctx.Err() != nil {
			return nil
		}
		cancel()
		http.DefaultClient.CloseIdleConnections() // else the server waits for clients that say nothing
		return <-ended
	}}
	select {
	case <-ready:
	case err := <-ended:
		cancel()
		return nil, err
	}
	if c.API.AuthStrategy == "dev" {
		s.CloudsFile = filepath.Join(dir, "clouds.yaml")
	}
	return s, nil
}

// password reads the password of a cloud out of the CloudsFile.
func (s *Server) password(cloud string) (string, error) {
	text, err := os.ReadFile(s.CloudsFile)
	if err != nil {
		return "", err
	}
	_, rest, found := strings.Cut(string(text), "\n  "+cloud+":\n")
	if !found {
		return "", errors.New("there is no cloud " + cloud)
	}
	_, rest, found = strings.Cut(rest, "password:")
	if !found {
		return "", errors.New("the cloud " + cloud + " has no password")
	}
	line, _, _ := strings.Cut(rest, "\n")
	return strings.Trim(strings.TrimSpace(line), `"'`), nil
}

// Password is the password of a cloud of the CloudsFile ("isospin", "isospin-demo", "isospin-reader", "isospin-service").
func (s *Server) Password(tb testing.TB, cloud string) string {
	tb.Helper()
	p, err := s.password(cloud)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}
