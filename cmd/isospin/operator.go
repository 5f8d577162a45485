package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"isospin/internal/assemble"
	"isospin/internal/config"
	"isospin/internal/lab/cloud"
)

func upCommand() *cobra.Command {
	var f configFlags
	var memory bool
	var api, auth, agent string
	cmd := &cobra.Command{Use: "up", Short: "Run server and agent in one process, everything embedded", Args: cobra.NoArgs,
		Long: "Run a server with a database and an identity service of its own, and an agent where Open vSwitch runs. It prints where the\n" +
			"API is and the lines that point OpenStack's clients at it; Ctrl-C ends it, and what is in the state folder stays.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := apiFlag(&f, api); err != nil {
				return err
			}
			authFlag(&f, auth)
			if memory {
				f.set("isospin/memory", "true")
			}
			mode, err := assemble.ParseAgentMode(agent)
			if err != nil {
				return err
			}
			sc, err := load[config.Server](&f, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			// What concerns the server alone was told already.
			ac, err := load[config.Agent](&f, io.Discard)
			if err != nil {
				return err
			}
			return assemble.Up(cmd.Context(), sc, ac, mode, assemble.NewEnv(newLog(cmd.ErrOrStderr(), sc.Log)), cmd.OutOrStdout())
		}}
	f.add(cmd)
	cmd.Flags().BoolVar(&memory, "memory", false, "keep the database in memory")
	cmd.Flags().StringVar(&api, "api", "", "address:port of the API (default 127.0.0.1:9696; with Keystone 0.0.0.0:9696)")
	cmd.Flags().StringVar(&auth, "auth", "", authHelp)
	cmd.Flags().StringVar(&agent, "agent", "auto", "auto, off or required")
	return cmd
}

const authHelp = "dev, keystone or noauth (default: keystone when [keystone_authtoken] names one, else dev)"

// authFlag sets the option that --auth stands for.
func authFlag(f *configFlags, auth string) {
	if auth != "" {
		f.set("DEFAULT/auth_strategy", auth)
	}
}

// apiFlag splits --api into the options that it stands for.
func apiFlag(f *configFlags, api string) error {
	if api == "" {
		return nil
	}
	host, port, err := assemble.SplitAddress(api)
	if err != nil {
		return fmt.Errorf("--api: %w", err)
	}
	f.set("DEFAULT/bind_host", host)
	f.set("DEFAULT/bind_port", port)
	return nil
}

// operator asks a running server what operators ask, with the credentials in its state folder.
func operator(cmd *cobra.Command, f *configFlags, path string, into any) error {
	c, err := load[config.Server](f, io.Discard)
	if err != nil {
		return err
	}
	base, token, err := login(cmd.Context(), c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+path, nil)
	if err != nil {
		return err
	}
	if token != "" {
		req.Header.Set("X-Auth-Token", token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("no server answers: %w", err)
	}
	defer func() { _ = resp.Body.Close() }() // nothing is lost by a failing close of what was read
	if resp.StatusCode == http.StatusUnauthorized && token == "" {
		return fmt.Errorf("the server at %s wants a token, and %s holds no clouds.yaml: name its folder with --state-dir", base, c.State.Dir)
	}
	if resp.StatusCode != http.StatusOK {
		raw, err := io.ReadAll(io.LimitReader(resp.Body, 4096))
		return errors.Join(fmt.Errorf("the server answers %s: %s", resp.Status, raw), err)
	}
	return json.NewDecoder(resp.Body).Decode(into)
}

// login finds out where the server of a configuration answers, and takes a token: of its state folder's administrator, or,
// where the server asks Keystone, of whom the environment names.
func login(ctx context.Context, c *config.Server) (base, token string, err error) {
	base = "http://" + net.JoinHostPort(c.API.BindHost, fmt.Sprint(c.API.BindPort))
	if c.API.AuthStrategy == "keystone" {
		client, err := cloud.New(ctx, cloud.Access{URL: base})
		if err != nil {
			return "", "", err
		}
		return base, client.API().Token(), nil
	}
	file := filepath.Join(c.State.Dir, "clouds.yaml")
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return base, "", nil // noauth, or nothing was started here yet
	}
	client, err := cloud.New(ctx, cloud.Access{Clouds: file, Cloud: "isospin"})
	if err != nil {
		return "", "", err
	}
	return strings.TrimSuffix(client.API().Endpoint, "/"), client.API().Token(), nil
}

func statusCommand() *cobra.Command {
	var f configFlags
	var asJSON bool
	cmd := &cobra.Command{Use: "status", Short: "What runs, and what is not as it should be", Args: cobra.NoArgs,
		Long: "Ask a running server for its agents, ports that are bound but not ACTIVE, and work that was given up. --state-dir or\n" +
			"--config-file must be the server's: they tell where it answers, and hold the password.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var st assemble.Status
			if err := operator(cmd, &f, assemble.StatusPath, &st); err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), st)
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 2, ' ', 0)
			st.Print(w)
			return w.Flush()
		}}
	f.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func whyCommand() *cobra.Command {
	var f configFlags
	var asJSON bool
	cmd := &cobra.Command{Use: "why port ID", Short: "For one object, who has not done his part and why", Args: cobra.ExactArgs(2),
		Long: "Ask a running server why a port is not ACTIVE: who must act for it, who has, and what keeps the others. ID is the port's\n" +
			"id, not its name. --state-dir or --config-file must be the server's: they tell where it answers, and hold the password.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] != "port" {
				return fmt.Errorf("isospin explains ports, not a %s", args[0])
			}
			var why assemble.Why
			if err := operator(cmd, &f, assemble.WhyPath+args[1], &why); err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), why)
			}
			why.Print(cmd.OutOrStdout())
			return nil
		}}
	f.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
