package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// cli is what the subcommands share.
type cli struct {
	dir  string
	json bool
}

// Command is `isospin lab`.
func Command() *cobra.Command {
	c := &cli{}
	root := &cobra.Command{
		Use:   "lab",
		Short: "A cloud of namespaces on one machine",
		Long: "A cloud of namespaces on one machine: a server, hosts with an Open vSwitch and an agent each, guests,\n" +
			"and `internet`, an outside on the network public. For trying out, for clients' CI, for tests.",
		SilenceUsage: true,
		Args:         cobra.NoArgs, // an unknown word is an error, nothing more shows the help
		RunE:         func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.PersistentFlags().StringVar(&c.dir, "dir", os.Getenv("ISOSPIN_LAB"), "the lab's folder (default: $ISOSPIN_LAB)")
	root.PersistentFlags().BoolVar(&c.json, "json", false, "print JSON")
	root.AddCommand(c.up(), c.down(), c.boot(), c.delete(), c.migrate(), c.exec(), c.shell(), c.pcap(),
		c.agent(), c.server(), c.host(), c.status(), c.logs(), c.graph())
	return root
}

// run opens the lab and gives the command a context that Ctrl-C ends.
func (c *cli) run(f func(ctx context.Context, l *Lab, out io.Writer, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		ctx, stop := interruptible(cmd)
		defer stop()
		l, err := Open(c.dir, nil)
		if err != nil {
			return err
		}
		return f(ctx, l, cmd.OutOrStdout(), args)
	}
}

func interruptible(cmd *cobra.Command) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
}

// say prints v as JSON when asked to, and otherwise text.
func (c *cli) say(out io.Writer, v any, text string) error {
	if c.json {
		return printJSON(out, v)
	}
	_, err := fmt.Fprintln(out, strings.TrimRight(text, "\n"))
	return err
}

func printJSON(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

func (c *cli) up() *cobra.Command {
	var o Options
	var hosts, mechanism string
	var without []string
	var verbose bool
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Bring a lab up",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if o.Hosts, err = ParseHosts(hosts, mechanism); err != nil {
				return err
			}
			if err = leaveOut(o.Hosts, without); err != nil {
				return err
			}
			if verbose {
				o.Log = slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
			}
			o.Dir = c.dir
			ctx, stop := interruptible(cmd)
			defer stop()
			began := time.Now()
			l, err := Up(ctx, o)
			if err != nil {
				return err
			}
			st, err := l.Status(ctx)
			if err != nil {
				return err
			}
			return c.say(cmd.OutOrStdout(), st, upText(st, time.Since(began)))
		},
	}
	f := cmd.Flags()
	f.StringVar(&hosts, "hosts", "1", "how many hosts, or which: h1:openvswitch,h2:linuxbridge")
	f.StringVar(&mechanism, "mechanism", OpenVSwitch, "mechanism of hosts that name none: openvswitch, linuxbridge")
	f.StringVar(&o.Datapath, "datapath", Userspace, "Open vSwitch's datapath: netdev (userspace) or system (the kernel's module)")
	f.StringArrayVar(&without, "without", nil, "a physical network that does not reach a host: h3:physnet1; may repeat")
	f.StringVar(&o.API, "api", "", "address of the API (default: loopback, a free port)")
	f.StringVar(&o.Auth, "auth", "dev", "dev, keystone or noauth")
	f.StringArrayVar(&o.ConfigFiles, "config-file", nil, "configuration for server and agents, over the lab's own; may repeat")
	f.BoolVar(&o.Bare, "bare", false, "hosts and networks only, without server and agents")
	f.BoolVarP(&verbose, "verbose", "v", false, "tell of each step")
	return cmd
}

// ParseHosts reads --hosts: a count, or names with an optional mechanism each.
func ParseHosts(text, mechanism string) ([]HostSpec, error) {
	if n, err := strconv.Atoi(text); err == nil {
		if n < 1 {
			return nil, fmt.Errorf("%d hosts: a lab has one at least", n)
		}
		var hosts []HostSpec
		for i := range n {
			hosts = append(hosts, HostSpec{Name: fmt.Sprintf("h%d", i+1), Mechanism: mechanism})
		}
		return hosts, nil
	}
	var hosts []HostSpec
	for part := range strings.SplitSeq(text, ",") {
		name, m, given := strings.Cut(strings.TrimSpace(part), ":")
		if !given {
			m = mechanism
		}
		hosts = append(hosts, HostSpec{Name: name, Mechanism: m})
	}
	return hosts, nil
}

// leaveOut reads --without: HOST:NETWORK each.
func leaveOut(hosts []HostSpec, without []string) error {
	for _, w := range without {
		name, network, ok := strings.Cut(w, ":")
		i := slices.IndexFunc(hosts, func(h HostSpec) bool { return h.Name == name })
		if !ok || i < 0 {
			return fmt.Errorf("--without %q: want HOST:NETWORK, of a host of the lab", w)
		}
		hosts[i].Without = append(hosts[i].Without, network)
	}
	return nil
}

func upText(st *Status, took time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "lab %s is up after %.1f s: %d hosts\n", st.Name, took.Seconds(), len(st.Hosts))
	if st.API != "" {
		fmt.Fprintf(&b, "API at http://%s\n", st.API)
	}
	fmt.Fprintf(&b, "export ISOSPIN_LAB=%s\n", st.Dir)
	if st.Clouds != "" {
		fmt.Fprintf(&b, "export OS_CLIENT_CONFIG_FILE=%s\nexport OS_CLOUD=isospin\n", st.Clouds)
	}
	return b.String()
}

func (c *cli) down() *cobra.Command {
	var keep bool
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Take a lab down, also after a crash or half an up",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), time.Minute)
			defer cancel()
			if err := Down(ctx, c.dir, keep, nil); err != nil {
				return err
			}
			return c.say(cmd.OutOrStdout(), map[string]any{"dir": c.dir, "down": true}, "the lab is down")
		},
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "keep logs and state files until the next up")
	return cmd
}

func (c *cli) boot() *cobra.Command {
	var o BootOptions
	cmd := &cobra.Command{
		Use:   "boot --host HOST (--network NETWORK | --port PORT) NAME",
		Short: "Boot a guest: make, bind and plug a port, wait for it, run a DHCP client",
		Args:  cobra.ExactArgs(1),
		RunE: c.run(func(ctx context.Context, l *Lab, out io.Writer, args []string) error {
			o.Name = args[0]
			g, err := l.Boot(ctx, o)
			if err != nil {
				return err
			}
			return printJSON(out, g.summary())
		}),
	}
	f := cmd.Flags()
	f.StringVar(&o.Host, "host", "", "the host to boot on")
	f.StringVar(&o.Network, "network", "", "name or id of the network for a new port")
	f.StringVar(&o.Port, "port", "", "name or id of a port to take")
	f.BoolVar(&o.NoDHCP, "no-dhcp", false, "set the port's addresses without a DHCP client")
	f.DurationVar(&o.Timeout, "timeout", time.Minute, "how long to wait for ACTIVE, and for addresses")
	cmd.MarkFlagsMutuallyExclusive("network", "port")
	if err := cmd.MarkFlagRequired("host"); err != nil {
		panic(err) // The flag is defined above.
	}
	return cmd
}

func (c *cli) delete() *cobra.Command {
	return &cobra.Command{
		Use:   "delete NAME...",
		Short: "Delete guests and the ports made for them",
		Args:  cobra.MinimumNArgs(1),
		RunE: c.run(func(ctx context.Context, l *Lab, out io.Writer, args []string) error {
			var errs []error
			for _, name := range args {
				errs = append(errs, l.Delete(ctx, name))
			}
			if err := errors.Join(errs...); err != nil {
				return err
			}
			return c.say(out, map[string]any{"deleted": args}, "deleted "+strings.Join(args, ", "))
		}),
	}
}

func (c *cli) migrate() *cobra.Command {
	return &cobra.Command{
		Use:   "migrate NAME HOST",
		Short: "Move a running guest to another host",
		Args:  cobra.ExactArgs(2),
		RunE: c.run(func(ctx context.Context, l *Lab, out io.Writer, args []string) error {
			g, err := l.Migrate(ctx, args[0], args[1])
			if err != nil {
				return err
			}
			return c.say(out, g.summary(), g.Name+" is on "+g.Host)
		}),
	}
}
