package lab

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

func (c *cli) exec() *cobra.Command {
	return &cobra.Command{
		Use:   "exec NAME -- COMMAND...",
		Short: "Run a command in a guest, on a host, in internet or in fabric",
		Args:  cobra.MinimumNArgs(2),
		RunE: c.run(func(ctx context.Context, l *Lab, out io.Writer, args []string) error {
			if !c.json {
				return l.Become(args[0], args[1:]...)
			}
			return c.captured(ctx, l, out, args[0], args[1:])
		}),
	}
}

// captured runs a command and prints what came of it as JSON; a status other than 0 is a result too.
func (c *cli) captured(ctx context.Context, l *Lab, out io.Writer, name string, args []string) error {
	var stdout, stderr bytes.Buffer
	p, err := l.Spawn(ctx, name, &stdout, &stderr, args...)
	if err != nil {
		return err
	}
	code := 0
	if err := p.Wait(); err != nil {
		if p.cmd.ProcessState == nil {
			return err
		}
		code = p.cmd.ProcessState.ExitCode()
	}
	return printJSON(out, map[string]any{"name": name, "command": args, "status": code, "stdout": stdout.String(), "stderr": stderr.String()})
}

func (c *cli) shell() *cobra.Command {
	return &cobra.Command{
		Use:   "shell NAME",
		Short: "Open a shell in a guest, on a host, in internet or in fabric",
		Args:  cobra.ExactArgs(1),
		RunE: c.run(func(_ context.Context, l *Lab, _ io.Writer, args []string) error {
			if c.json {
				return errors.New("a shell has no JSON")
			}
			return l.Become(args[0], cmp.Or(os.Getenv("SHELL"), "/bin/sh"))
		}),
	}
}

func (c *cli) pcap() *cobra.Command {
	return &cobra.Command{
		Use:   "pcap NAME [-- TCPDUMP-ARGUMENTS...]",
		Short: "Watch packets with tcpdump: of a guest's eth0, of all devices elsewhere",
		Args:  cobra.MinimumNArgs(1),
		RunE: c.run(func(ctx context.Context, l *Lab, out io.Writer, args []string) error {
			argv, err := l.pcapArgs(args[0], args[1:])
			if err != nil {
				return err
			}
			if c.json {
				return c.captured(ctx, l, out, args[0], argv)
			}
			return l.Become(args[0], argv...)
		}),
	}
}

// pcapArgs is tcpdump's command line; a device that the user names wins.
func (l *Lab) pcapArgs(name string, extra []string) ([]string, error) {
	s, err := l.state()
	if err != nil {
		return nil, err
	}
	argv := []string{"tcpdump", "-n", "-l"}
	for _, a := range extra {
		if strings.HasPrefix(a, "-i") || strings.HasPrefix(a, "--interface") {
			return append(argv, extra...), nil
		}
	}
	device := "any"
	if s.Guests[name] != nil || name == "internet" {
		device = "eth0"
	}
	return append(append(argv, "-i", device), extra...), nil
}

// verb is one word of `lab agent`, `lab server`, `lab host`.
type verb struct {
	name, short, done string
	do                func(ctx context.Context, l *Lab, args []string) error
}

func (c *cli) verbs(use, short, operands string, args cobra.PositionalArgs, verbs ...verb) *cobra.Command {
	parent := &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	for _, v := range verbs {
		parent.AddCommand(&cobra.Command{
			Use: strings.TrimSpace(v.name + " " + operands), Short: v.short, Args: args,
			RunE: c.run(func(ctx context.Context, l *Lab, out io.Writer, args []string) error {
				if err := v.do(ctx, l, args); err != nil {
					return err
				}
				st, err := l.Status(ctx)
				if err != nil {
					return err
				}
				what := use
				if len(args) > 0 {
					what += " " + args[0]
				}
				return c.say(out, st, what+" "+v.done)
			}),
		})
	}
	return parent
}

func (c *cli) agent() *cobra.Command {
	return c.verbs("agent", "Stop, start, kill or restart a host's agent", "HOST", cobra.ExactArgs(1),
		verb{"stop", "End the agent in order", "is stopped", func(ctx context.Context, l *Lab, a []string) error { return l.AgentStop(ctx, a[0]) }},
		verb{"start", "Start the agent and wait until it is ready", "is ready", func(ctx context.Context, l *Lab, a []string) error { return l.AgentStart(ctx, a[0]) }},
		verb{"kill", "End the agent at once", "is killed", func(ctx context.Context, l *Lab, a []string) error { return l.AgentKill(ctx, a[0]) }},
		verb{"restart", "Stop and start", "is ready again", func(ctx context.Context, l *Lab, a []string) error { return l.AgentRestart(ctx, a[0]) }})
}

func (c *cli) server() *cobra.Command {
	return c.verbs("server", "Stop, start, kill or restart the server", "", cobra.NoArgs,
		verb{"stop", "End the server in order", "is stopped", func(ctx context.Context, l *Lab, _ []string) error { return l.ServerStop(ctx) }},
		verb{"start", "Start the server and wait until it is ready", "is ready", func(ctx context.Context, l *Lab, _ []string) error { return l.ServerStart(ctx) }},
		verb{"kill", "End the server at once", "is killed", func(ctx context.Context, l *Lab, _ []string) error { return l.ServerKill(ctx) }},
		verb{"restart", "Stop and start", "is ready again", func(ctx context.Context, l *Lab, _ []string) error { return l.ServerRestart(ctx) }})
}

func (c *cli) host() *cobra.Command {
	return c.verbs("host", "Cut, mend, stop or start a host", "HOST [NETWORK...]", cobra.MinimumNArgs(1),
		verb{"cut", "Unplug cables: those named of mgmt, underlay, physnet1, public; the first two when none is", "is cut",
			func(ctx context.Context, l *Lab, a []string) error { return l.HostCut(ctx, a[0], a[1:]...) }},
		verb{"mend", "Plug cables in again; all when none is named", "is mended",
			func(ctx context.Context, l *Lab, a []string) error { return l.HostMend(ctx, a[0], a[1:]...) }},
		verb{"stop", "Switch the host off, as by its power button", "is off",
			func(ctx context.Context, l *Lab, a []string) error { return l.HostStop(ctx, a[0]) }},
		verb{"start", "Switch the host on, with what is on its disk, and resume its guests", "is on",
			func(ctx context.Context, l *Lab, a []string) error { return l.HostStart(ctx, a[0]) }})
}

func (c *cli) status() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "What runs", Args: cobra.NoArgs,
		RunE: c.run(func(ctx context.Context, l *Lab, out io.Writer, _ []string) error {
			st, err := l.Status(ctx)
			if err != nil {
				return err
			}
			return c.say(out, st, st.text())
		}),
	}
}

func (c *cli) graph() *cobra.Command {
	return &cobra.Command{
		Use: "graph", Short: "Draw the lab", Args: cobra.NoArgs,
		RunE: c.run(func(ctx context.Context, l *Lab, out io.Writer, _ []string) error {
			st, err := l.Status(ctx)
			if err != nil {
				return err
			}
			return c.say(out, map[string]any{"name": st.Name, "graph": st.Graph()}, st.Graph())
		}),
	}
}

func (c *cli) logs() *cobra.Command {
	var lines int
	var follow bool
	cmd := &cobra.Command{
		Use: "logs [NAME]", Short: "The logs of the lab, or of server, a host, a guest", Args: cobra.MaximumNArgs(1),
		RunE: c.run(func(ctx context.Context, l *Lab, out io.Writer, args []string) error {
			name := strings.Join(args, "")
			if !c.json {
				return l.Logs(ctx, out, name, lines, follow)
			}
			if follow {
				return errors.New("JSON has an end, what is followed has none")
			}
			files, err := l.LogFiles(name)
			if err != nil {
				return err
			}
			logs := map[string]string{}
			for _, f := range files {
				text, _, err := readFrom(f, 0)
				if err != nil {
					return err
				}
				logs[strings.TrimPrefix(f, l.dir+"/")] = string(lastLines(text, lines))
			}
			return printJSON(out, logs)
		}),
	}
	cmd.Flags().IntVarP(&lines, "lines", "n", 40, "how many lines of each log")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what is added")
	return cmd
}
