// Command isospin is OpenStack Networking in one file: `isospin up` runs everything, `isospin server` and `isospin agent` its two
// halves, the rest are tools around them. It holds no logic: each command loads its configuration and calls assemble.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"isospin/internal/config"
	"isospin/internal/lab"
	"isospin/internal/telemetry"
)

// version is set by the build.
var version = "dev"

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is main with its surroundings as arguments; the result is the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	if os.Getenv("GOGC") == "" {
		// The heap is small and most of it short-lived: collecting half as often costs some megabytes and saves a core's twentieth.
		debug.SetGCPercent(200)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := &cobra.Command{Use: "isospin", Short: "OpenStack Networking in one file", Version: version,
		SilenceUsage: true, SilenceErrors: true}
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.AddCommand(upCommand(), statusCommand(), whyCommand(), serverCommand(), agentCommand(), hostCommand(), dbCommand(), configCommand(), lab.Command())
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	var code exitCode
	if errors.As(err, &code) {
		return int(code)
	}
	fmt.Fprintln(stderr, "isospin: "+oneLine(err))
	return 1
}

// exitCode ends the process without a further word.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// oneLine keeps what people read on a terminal, and what scripts match, on one line.
func oneLine(err error) string { return strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ") }

// group is a command that only holds others: alone it shows its help, and a word that it does not know is an error.
func group(use, short string) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
}

// configFlags are the flags by which every process finds its configuration, as Neutron's services take them.
type configFlags struct {
	files, dirs []string
	stateDir    string
	values      map[string]string
}

func (f *configFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.files, "config-file", nil, "configuration file, such as neutron.conf; may be given several times")
	cmd.Flags().StringArrayVar(&f.dirs, "config-dir", nil, "folder of *.conf files; may be given several times")
	cmd.Flags().StringVar(&f.stateDir, "state-dir", "", "folder of all state (default: [isospin] state_dir, which is /var/lib/isospin for root, else in ~/.local/state)")
}

// set gives an option a value that beats files and environment.
func (f *configFlags) set(option, value string) {
	if f.values == nil {
		f.values = map[string]string{}
	}
	f.values[option] = value
}

func (f *configFlags) sources() (config.Sources, error) {
	src, err := config.Process()
	if err != nil {
		return src, err
	}
	src.Files, src.Dirs = f.files, f.dirs
	if f.stateDir != "" {
		dir, err := filepath.Abs(f.stateDir)
		if err != nil {
			return src, fmt.Errorf("--state-dir: %w", err)
		}
		f.set("isospin/state_dir", dir)
	}
	src.Flags = f.values
	return src, nil
}

// load reads a role's configuration and tells of what is odd about it.
func load[R config.Role](f *configFlags, stderr io.Writer) (*R, error) {
	src, err := f.sources()
	if err != nil {
		return nil, err
	}
	c, warnings, err := config.Load[R](src)
	for _, w := range warnings {
		fmt.Fprintln(stderr, "warning: "+w.String())
	}
	return c, err
}

func newLog(w io.Writer, c config.Log) *slog.Logger {
	return telemetry.NewLogger(w, telemetry.LogOptions{Level: level(c.Debug), JSON: c.JSON})
}

func level(debug bool) slog.Level {
	if debug {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}
