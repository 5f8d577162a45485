// Package ovstest runs an Open vSwitch of a test's own: ovsdb-server and ovs-vswitchd on the userspace
// datapath, with their database, sockets and logs in one folder and their devices in one network namespace.
// Tests of the packages around Open vSwitch call it; several instances stand side by side. It never touches
// the machine's own Open vSwitch, and ends only the processes that it started. It needs root.
package ovstest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// schema is where Debian's and Ubuntu's packages keep the database's schema.
const schema = "/usr/share/openvswitch/vswitch.ovsschema"

// patience bounds every wait for one of the processes.
const patience = 20 * time.Second

// OVS is one running instance.
type OVS struct {
	// DB is the database's remote, "unix:/path/db.sock".
	DB string
	// RunDir holds sockets, database and logs; ovs-ofctl finds a bridge's management socket there.
	RunDir string
	// NetNS is the name of the namespace under /run/netns that the devices live in.
	NetNS string

	t      testing.TB
	ownNS  bool
	nsPath string

	mu       sync.Mutex
	server   *process
	vswitchd *process
	stopped  bool
}

// Option changes how an instance is started.
type Option func(*OVS)

// InNetNS puts the instance into a namespace that exists: a name under /run/netns, or a path. The caller
// keeps it; without this option the instance makes a namespace and removes it at Stop.
func InNetNS(ns string) Option {
	return func(o *OVS) {
		o.NetNS, o.ownNS, o.nsPath = ns, false, ns
		if !strings.Contains(ns, "/") {
			o.nsPath = filepath.Join("/run/netns", ns)
		}
	}
}

// Start runs an instance and returns when ovs-vswitchd has read its configuration. The test's cleanup stops it.
func Start(t testing.TB, opts ...Option) *OVS {
	t.Helper()
	o := &OVS{t: t, ownNS: true}
	for _, opt := range opts {
		opt(o)
	}
	sweep()
	dir, err := os.MkdirTemp("", fmt.Sprintf("ovs%d-", os.Getpid())) // a socket's path has at most 107 bytes: t.TempDir is too long
	if err != nil {
		t.Fatal(err)
	}
	o.RunDir, o.DB = dir, "unix:"+filepath.Join(dir, "db.sock")
	t.Cleanup(o.Stop)
	if o.ownNS {
		o.NetNS = fmt.Sprintf("ovst-%d-%s", os.Getpid(), suffix())
		o.nsPath = filepath.Join("/run/netns", o.NetNS)
		o.run("ip", "netns", "add", o.NetNS)
		o.run("ip", "-n", o.NetNS, "link", "set", "lo", "up")
	}
	o.run("ovsdb-tool", "create", o.path("conf.db"), schema)
	o.StartServer()
	o.run("ovs-vsctl", "--db="+o.DB, "--no-wait", "init")
	o.run("ovs-vsctl", "--db="+o.DB, "--no-wait", "set", "Open_vSwitch", ".",
		"external_ids:system-id="+filepath.Base(dir), "external_ids:rundir="+dir)
	o.StartVswitchd()
	return o
}

// Vsctl runs ovs-vsctl against this instance and returns what it printed, without the last newline.
func (o *OVS) Vsctl(args ...string) string {
	o.t.Helper()
	return o.run("ovs-vsctl", append([]string{"--db=" + o.DB, "--timeout=20"}, args...)...)
}

// Ofctl runs ovs-ofctl against this instance's bridges.
func (o *OVS) Ofctl(args ...string) string {
	o.t.Helper()
	return o.run("ovs-ofctl", args...)
}

// Appctl runs ovs-appctl against this instance's ovs-vswitchd.
func (o *OVS) Appctl(args ...string) string {
	o.t.Helper()
	return o.run("ovs-appctl", append([]string{"--timeout=20", "-t", o.path("vswitchd.ctl")}, args...)...)
}

// RestartVswitchd ends ovs-vswitchd and starts another, which begins without any flow.
func (o *OVS) RestartVswitchd() {
	o.t.Helper()
	o.StopVswitchd()
	o.StartVswitchd()
}

// RestartServer ends ovsdb-server and starts another on the same database file: all clients lose their connection.
func (o *OVS) RestartServer() {
	o.t.Helper()
	o.StopServer()
	o.StartServer()
}

// StopServer ends ovsdb-server alone.
func (o *OVS) StopServer() { o.end(&o.server) }

// StopVswitchd ends ovs-vswitchd alone.
func (o *OVS) StopVswitchd() { o.end(&o.vswitchd) }

// StartServer starts ovsdb-server and returns when it listens.
func (o *OVS) StartServer() {
	o.t.Helper()
	sock := strings.TrimPrefix(o.DB, "unix:")
	o.begin(&o.server, "ovsdb-server", o.path("conf.db"), "--remote=p"+o.DB,
		"--unixctl="+o.path("server.ctl"), "--log-file="+o.path("server.log"), "-vconsole:off")
	o.listens(sock, o.server)
}

// StartVswitchd starts ovs-vswitchd and returns when it has applied the database's present content.
func (o *OVS) StartVswitchd() {
	o.t.Helper()
	o.begin(&o.vswitchd, "ovs-vswitchd", o.DB,
		"--unixctl="+o.path("vswitchd.ctl"), "--log-file="+o.path("vswitchd.log"), "-vconsole:off")
	o.listens(o.path("vswitchd.ctl"), o.vswitchd)
	// Without --no-wait ovs-vsctl returns when ovs-vswitchd has caught up with the change.
	o.run("ovs-vsctl", "--db="+o.DB, "--timeout=20", "set", "Open_vSwitch", ".", "external_ids:started="+suffix())
}

// PIDs are the processes of this instance that run: ovsdb-server's, then ovs-vswitchd's; 0 for one that does not.
func (o *OVS) PIDs() (server, vswitchd int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.server.pid(), o.vswitchd.pid()
}

// Env is the environment in which Open vSwitch's tools find this instance.
func (o *OVS) Env() []string {
	return append(os.Environ(), "OVS_RUNDIR="+o.RunDir, "OVS_LOGDIR="+o.RunDir, "OVS_DBDIR="+o.RunDir, "OVS_SYSCONFDIR="+o.RunDir)
}

// Stop ends both processes and removes the folder and the namespace; a second call does nothing. When the
// test has failed it tells the last lines of the logs first.
func (o *OVS) Stop() {
	o.mu.Lock()
	done := o.stopped
	o.stopped = true
	o.mu.Unlock()
	if done {
		return
	}
	if o.t.Failed() {
		o.t.Logf("ovs-vswitchd's log:\n%s", tail(o.path("vswitchd.log"), 30))
	}
	o.StopVswitchd()
	o.StopServer()
	if o.ownNS && o.NetNS != "" {
		_ = exec.Command("ip", "netns", "delete", o.NetNS).Run() // it may be gone by the test's own doing
	}
	if err := os.RemoveAll(o.RunDir); err != nil {
		o.t.Errorf("removing the run folder: %v", err)
	}
}

func (o *OVS) path(name string) string { return filepath.Join(o.RunDir, name) }

func (o *OVS) begin(slot **process, name string, args ...string) {
	o.t.Helper()
	cmd := exec.Command(name, args...)
	if o.nsPath != "" {
		// nsenter replaces itself, so the child's PID is the daemon's.
		cmd = exec.Command("nsenter", append([]string{"--net=" + o.nsPath, "--", name}, args...)...)
	}
	cmd.Env = o.Env()
	p, err := start(cmd)
	if err != nil {
		o.t.Fatalf("%s: %v", name, err)
	}
	o.mu.Lock()
	*slot = p
	o.mu.Unlock()
}

func (o *OVS) end(slot **process) {
	o.mu.Lock()
	p := *slot
	*slot = nil
	o.mu.Unlock()
	p.end()
}

func (o *OVS) listens(sock string, p *process) {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		c, err := net.Dial("unix", sock)
		if err == nil {
			_ = c.Close()
			return
		}
		select {
		case <-p.done:
			o.t.Fatalf("%s ended before it listened: %s", p.cmd.Path, p.output())
		case <-ctx.Done():
			o.t.Fatalf("nobody listens on %s: %v", sock, err)
		case <-tick.C:
		}
	}
}

func (o *OVS) run(name string, args ...string) string {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = o.Env()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		o.t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, errs.String())
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// sweep removes what test binaries left that ended without a cleanup: a timeout's panic runs none. Names
// carry the number of the process that made them.
func sweep() {
	names, _ := filepath.Glob("/run/netns/ovst-*-*")
	folders, _ := filepath.Glob(filepath.Join(os.TempDir(), "ovs[0-9]*-*"))
	for _, path := range append(names, folders...) {
		number, _, _ := strings.Cut(strings.TrimLeft(filepath.Base(path), "ovst-"), "-")
		pid, err := strconv.Atoi(number)
		if err != nil || !errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			continue
		}
		if strings.HasPrefix(path, "/run/netns/") {
			_ = exec.Command("ip", "netns", "delete", filepath.Base(path)).Run() // another test may be faster
			continue
		}
		_ = os.RemoveAll(path)
	}
}

func suffix() string {
	var b [4]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

func tail(path string, lines int) string {
	raw, err := os.ReadFile(path)
	if err != nil {
		return fmt.Sprint(err)
	}
	all := strings.Split(strings.TrimSpace(string(raw)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
