package assemble

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"text/tabwriter"
	"time"

	"isospin/internal/config"
	"isospin/internal/service/hostcred"
	"isospin/internal/store/engine"
)

// Hosts is `isospin host`: it works on the database, whether a server runs or not.
type Hosts struct {
	store  *engine.Engine
	keeper *hostcred.Keeper
}

// OpenHosts opens the configured database.
func OpenHosts(ctx context.Context, c *config.Server, env Env) (*Hosts, error) {
	st, err := OpenStore(ctx, c, env, false)
	if err != nil {
		return nil, err
	}
	return &Hosts{store: st, keeper: hostcred.New(st, env.Clock)}, nil
}

// Close closes the database.
func (h *Hosts) Close() error { return h.store.Close() }

// sessionAddresses are what agents are told to call.
func sessionAddresses(c *config.Server) []string {
	addr := c.Isospin.SessionAddress
	if addr == "" {
		addr = c.Isospin.SessionListen
	}
	return []string{addr}
}

// Add enrols a host and writes its file.
func (h *Hosts) Add(ctx context.Context, c *config.Server, name string, servers []string, out string, w io.Writer) error {
	if len(servers) == 0 {
		servers = sessionAddresses(c)
	}
	for _, s := range servers {
		if _, port, err := net.SplitHostPort(s); err != nil || port == "0" {
			return fmt.Errorf("agents cannot be told to call %q: name an address and a port with --server, or set [isospin] session_address", s)
		}
	}
	e, err := h.keeper.Enrol(ctx, name, servers)
	if err != nil {
		return err
	}
	if out == "" {
		out = name + ".enrolment"
	}
	if err := hostcred.WriteFile(out, e); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s holds what the agent of %s needs, its private key too; it will call %s\n", out, name, strings.Join(servers, ", "))
	return err
}

// Revoke stops a host's certificate from counting.
func (h *Hosts) Revoke(ctx context.Context, name string) error { return h.keeper.Revoke(ctx, name) }

// List prints the enrolled hosts.
func (h *Hosts) List(ctx context.Context, w io.Writer, asJSON bool) error {
	hosts, err := h.keeper.List(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(hosts)
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, x := range hosts {
		state := "enrolled"
		if x.Revoked != 0 {
			state = "revoked " + time.UnixMilli(x.Revoked).UTC().Format(time.DateTime)
		}
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", x.Name, time.UnixMilli(x.Enrolled).UTC().Format(time.DateTime), x.Serial, state) // Flush tells of errors
	}
	return t.Flush()
}
