package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"isospin/internal/assemble"
	"isospin/internal/config"
)

func serverCommand() *cobra.Command {
	var f configFlags
	var auth string
	cmd := &cobra.Command{Use: "server", Short: "Run the server", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			authFlag(&f, auth)
			c, err := load[config.Server](&f, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return assemble.RunServer(cmd.Context(), c, assemble.NewEnv(newLog(cmd.ErrOrStderr(), c.Log)), cmd.OutOrStdout())
		}}
	f.add(cmd)
	cmd.Flags().StringVar(&auth, "auth", "", authHelp)
	return cmd
}

func agentCommand() *cobra.Command {
	var f configFlags
	cmd := &cobra.Command{Use: "agent", Short: "Run a host's agent", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := load[config.Agent](&f, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return assemble.RunAgent(cmd.Context(), c, assemble.NewEnv(newLog(cmd.ErrOrStderr(), c.Log)))
		}}
	f.add(cmd)
	return cmd
}

func hostCommand() *cobra.Command {
	root := group("host", "Enrol, revoke and list hosts")
	var f configFlags
	var out string
	var servers []string
	with := func(use func(ctx context.Context, c *config.Server, k *assemble.Hosts, w io.Writer, args []string) error) func(*cobra.Command, []string) error {
		return func(cmd *cobra.Command, args []string) error {
			c, err := load[config.Server](&f, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			k, err := assemble.OpenHosts(cmd.Context(), c, assemble.NewEnv(newLog(cmd.ErrOrStderr(), c.Log)))
			if err != nil {
				return err
			}
			return errors.Join(use(cmd.Context(), c, k, cmd.OutOrStdout(), args), k.Close())
		}
	}
	add := &cobra.Command{Use: "add NAME", Short: "Write the file that a host's agent needs", Args: cobra.ExactArgs(1),
		Long: "Write the file that lets a host in, with its private key: carry it there, and name it in the agent's configuration as\n" +
			"[isospin] enrolment. A host that was enrolled before gets a new file, and its old one counts no more.",
		RunE: with(func(ctx context.Context, c *config.Server, k *assemble.Hosts, w io.Writer, args []string) error {
			return k.Add(ctx, c, args[0], servers, out, w)
		})}
	add.Flags().StringVar(&out, "out", "", "file to write (default NAME.enrolment)")
	add.Flags().StringSliceVar(&servers, "server", nil, "address:port that the agent calls (default: session_address or session_listen)")
	revoke := &cobra.Command{Use: "revoke NAME", Short: "Stop a host's certificate from counting", Args: cobra.ExactArgs(1),
		RunE: with(func(ctx context.Context, _ *config.Server, k *assemble.Hosts, _ io.Writer, args []string) error {
			return k.Revoke(ctx, args[0])
		})}
	var asJSON bool
	list := &cobra.Command{Use: "list", Short: "List enrolled hosts", Args: cobra.NoArgs,
		RunE: with(func(ctx context.Context, _ *config.Server, k *assemble.Hosts, w io.Writer, _ []string) error {
			return k.List(ctx, w, asJSON)
		})}
	list.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	for _, cmd := range []*cobra.Command{add, revoke, list} {
		f.add(cmd)
		root.AddCommand(cmd)
	}
	return root
}

func dbCommand() *cobra.Command {
	root := group("db", "The database's schema and contents")
	var f configFlags
	upgrade := &cobra.Command{Use: "upgrade", Short: "Bring the schema to this version's", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := load[config.Server](&f, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return assemble.UpgradeDatabase(cmd.Context(), c, assemble.NewEnv(newLog(cmd.ErrOrStderr(), c.Log)), cmd.OutOrStdout())
		}}
	check := &cobra.Command{Use: "check", Short: "Prove that columns and bodies agree", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := load[config.Server](&f, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return assemble.CheckDatabase(cmd.Context(), c, assemble.NewEnv(newLog(cmd.ErrOrStderr(), c.Log)), cmd.OutOrStdout())
		}}
	for _, cmd := range []*cobra.Command{upgrade, check} {
		f.add(cmd)
		root.AddCommand(cmd)
	}
	return root
}

func configCommand() *cobra.Command {
	root := group("config", "Configuration files")
	root.AddCommand(&cobra.Command{Use: "check FILE...", Short: "Judge configuration files", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if code := config.Check(args, cmd.OutOrStdout()); code != 0 {
				return exitCode(code)
			}
			return nil
		}})
	return root
}
