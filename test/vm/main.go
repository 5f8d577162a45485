// Command vm runs a program in a virtual machine that has Debian's full kernel and the machine's own files, and exits with
// the program's code. `go test -exec` calls it (`make vm`) for tests of what the kernels of containers lack: the Open
// vSwitch module, VLAN devices, GRE, conntrack on bridges, ESP. The files are read-only below a layer in memory: what a
// program writes is gone with the machine. It proves logic, never speed: the processor is emulated.
//
//	vm [-kernel DIR] [-memory MB] [-cpus N] [-modules a,b] [-limit 20m] PROGRAM [ARGUMENT...]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Modules that nothing asks for by name; the kernel loads all others when they are first used.
const usual = "nf_conntrack_bridge"

type machine struct {
	kernel  string // a folder that tools/vm-kernel.sh filled: vmlinuz, lib/modules/VERSION
	memory  int    // MB
	cpus    int
	modules []string
	limit   time.Duration
	command []string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	code, err := run(ctx, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "vm:", err)
		if code == 0 {
			code = 125 // as of programs that run others: it is not the program's own
		}
	}
	stop()
	os.Exit(code) //nolint:gocritic // stop was called
}

func run(ctx context.Context, args []string) (int, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = "/var/cache"
	}
	var m machine
	flags := flag.NewFlagSet("vm", flag.ContinueOnError)
	flags.StringVar(&m.kernel, "kernel", filepath.Join(cache, "isospin", "vm-kernel"), "folder with vmlinuz and lib/modules")
	flags.IntVar(&m.memory, "memory", 3072, "memory in MB")
	flags.IntVar(&m.cpus, "cpus", 2, "processors")
	flags.DurationVar(&m.limit, "limit", 20*time.Minute, "end the machine after so long")
	modules := flags.String("modules", usual, "modules to load")
	if err := flags.Parse(args); err != nil {
		return 2, err
	}
	m.command, m.modules = flags.Args(), strings.Split(*modules, ",")
	if len(m.command) == 0 {
		return 2, errors.New("no program is given")
	}
	return m.run(ctx, os.Stdout)
}

// How long a machine may take until its first process runs, and how often it is tried. On a busy machine emulated processors now and
// then stop for good while the kernel starts.
const (
	bootWithin = 2 * time.Minute
	boots      = 4
)

// run boots the machine and waits for its end.
func (m machine) run(ctx context.Context, out io.Writer) (int, error) {
	dir, err := os.MkdirTemp("", "vm-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	version, err := m.version()
	if err != nil {
		return 0, err
	}
	initrd := filepath.Join(dir, "initrd")
	if err := m.initramfs(initrd, version); err != nil {
		return 0, fmt.Errorf("initramfs: %w", err)
	}
	share := filepath.Join(dir, "share")
	if err := m.order(share); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, m.limit)
	defer cancel()
	console := filepath.Join(dir, "console")
	var runErr error
	for range boots {
		if runErr = m.boot(ctx, out, share, m.flags(version, initrd, share, console)); !errors.Is(runErr, errNotBooted) {
			break
		}
	}
	text, err := os.ReadFile(filepath.Join(share, "status"))
	if err != nil {
		log, _ := os.ReadFile(console)
		tail := log[max(0, len(log)-4096):]
		return 0, fmt.Errorf("the machine ended before the program did (%w; %w): %s", runErr, context.Cause(ctx), tail)
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

var errNotBooted = errors.New("the machine's first process did not run in time")

// boot runs the machine once, to its end; one that does not boot is ended with errNotBooted.
func (m machine) boot(ctx context.Context, out io.Writer, share string, flags []string) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	cmd := exec.CommandContext(ctx, "qemu-system-x86_64", flags...)
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	watch := time.AfterFunc(bootWithin, func() {
		if _, err := os.Stat(filepath.Join(share, "booted")); err != nil {
			stop(errNotBooted)
		}
	})
	defer watch.Stop()
	err := cmd.Run()
	if cause := context.Cause(ctx); errors.Is(cause, errNotBooted) {
		return cause
	}
	return err
}

// version is that of the kernel in the folder.
func (m machine) version() (string, error) {
	found, err := filepath.Glob(filepath.Join(m.kernel, "lib", "modules", "*", "modules.dep"))
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("no kernel in %s: tools/vm-kernel.sh gets it", m.kernel)
	}
	return filepath.Base(filepath.Dir(found[len(found)-1])), nil
}

// order writes down what is to be run: a script, for the shell of the machine.
func (m machine) order(share string) error {
	if err := os.Mkdir(share, 0o755); err != nil {
		return err
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	program, err := exec.LookPath(m.command[0])
	if err != nil {
		return err
	}
	if program, err = filepath.Abs(program); err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "cd %s\n", quoted(here))
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		if isName(name) {
			fmt.Fprintf(&b, "export %s=%s\n", name, quoted(value))
		}
	}
	b.WriteString("export ISOSPIN_VM=1\n")
	for _, module := range m.modules {
		fmt.Fprintf(&b, "modprobe -q %s || echo \"no module %s\" >/dev/kmsg\n", quoted(module), module)
	}
	b.WriteString(quoted(program))
	for _, a := range m.command[1:] {
		b.WriteString(" " + quoted(a))
	}
	b.WriteString("\n")
	return os.WriteFile(filepath.Join(share, "run"), []byte(b.String()), 0o755)
}

// quoted is a word for the shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func isName(s string) bool {
	for i, c := range s {
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

func (m machine) flags(version, initrd, share, console string) []string {
	return []string{
		"-accel", "tcg,thread=multi", "-cpu", "max", "-smp", strconv.Itoa(m.cpus), "-m", strconv.Itoa(m.memory),
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-kernel", filepath.Join(m.kernel, "vmlinuz"), "-initrd", initrd,
		"-append", "console=ttyS0 loglevel=4 panic=-1 mitigations=off random.trust_cpu=on tsc=reliable vm.kernel=" + version,
		"-serial", "file:" + console, "-serial", "stdio",
		"-virtfs", "local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap",
		"-virtfs", "local,path=" + share + ",mount_tag=share,security_model=none",
		"-virtfs", "local,path=" + filepath.Join(m.kernel, "lib", "modules") + ",mount_tag=modules,security_model=none,readonly=on",
		"-device", "virtio-rng-pci",
	}
}
