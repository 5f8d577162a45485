package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"isospin/internal/lab/proc"
)

// operatorBridges are what a host's operator makes before the agent comes: a bridge for each network
// that Open vSwitch carries, with the cable in it. They forward as plain switches. The agent's bridge,
// br-int, is its own.
var operatorBridges = []struct{ bridge, device, network string }{
	{"br-underlay", "eth0", netUnderlay}, {"br-physnet1", "eth1", netPhysnet1}, {"br-public", "eth2", netPublic},
}

// ovsDir is the run folder of a host's Open vSwitch: database, sockets, logs.
func (l *Lab) ovsDir(host string) string { return l.path("hosts", host, "ovs") }

// startVSwitch starts a host's Open vSwitch and returns when the operator's bridges are there.
func (l *Lab) startVSwitch(ctx context.Context, s *state, h *Host) error {
	dir := l.ovsDir(h.Name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("folder of Open vSwitch: %w", err)
	}
	db, sock := filepath.Join(dir, "conf.db"), filepath.Join(dir, "db.sock")
	if _, err := os.Stat(db); errors.Is(err, os.ErrNotExist) {
		out, err := exec.CommandContext(ctx, "ovsdb-tool", "create", db, ovsSchema()).CombinedOutput()
		if err != nil {
			return fmt.Errorf("make database of Open vSwitch: %w: %s", err, out)
		}
	}
	if err := os.Remove(sock); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("old socket: %w", err)
	}
	ref, err := l.daemon(s, h.Name+"/ovsdb", "ovs/ovsdb-server.log", h, "ovsdb-server", db, "--remote=punix:"+sock,
		"--unixctl="+filepath.Join(dir, "ovsdb-server.ctl"), "--pidfile="+filepath.Join(dir, "ovsdb-server.pid"), "-vconsole:info")
	if err != nil {
		return err
	}
	if err := waitSocket(ctx, sock, ref); err != nil {
		return l.explain(err, "hosts", h.Name, "ovs", "ovsdb-server.log")
	}
	// The database is filled before the switch starts, which then makes everything in one go. Few
	// threads: labs are small, and the userspace datapath forwards in one of them anyway.
	if err := l.vsctl(ctx, s, h, append([]string{"--no-wait", "init", "--", "set", "Open_vSwitch", ".",
		"external_ids:system-id=" + s.Name + "-" + h.Name, "external_ids:hostname=" + h.Name,
		"other_config:n-handler-threads=1", "other_config:n-revalidator-threads=1"}, bridgeArgs(s, h)...)...); err != nil {
		return err
	}
	return l.startForwarding(ctx, s, h)
}

// startForwarding starts a host's vswitchd, whose database is filled, and returns when it has made what is in it.
func (l *Lab) startForwarding(ctx context.Context, s *state, h *Host) error {
	dir := l.ovsDir(h.Name)
	ref, err := l.daemon(s, h.Name+"/vswitch", "ovs/ovs-vswitchd.log", h, "ovs-vswitchd", "unix:"+filepath.Join(dir, "db.sock"),
		"--unixctl="+filepath.Join(dir, "ovs-vswitchd.ctl"), "--pidfile="+filepath.Join(dir, "ovs-vswitchd.pid"), "-vconsole:info")
	if err != nil {
		return err
	}
	if err := waitSocket(ctx, filepath.Join(dir, "ovs-vswitchd.ctl"), ref); err != nil {
		return l.explain(err, "hosts", h.Name, "ovs", "ovs-vswitchd.log")
	}
	// A change without --no-wait returns when the switch has done everything that was asked before; it must
	// be a change, also when the database is from a former start.
	return l.vsctl(ctx, s, h, "set", "Open_vSwitch", ".", fmt.Sprintf("external_ids:lab-start=%d-%d", ref.PID, ref.Start))
}

// SwitchRestart kills a host's vswitchd and starts it again, as after a crash: its database is as it was, all flows are gone.
func (l *Lab) SwitchRestart(ctx context.Context, host string) error {
	s, h, err := l.host(host)
	if err != nil {
		return err
	}
	if h.Mechanism != OpenVSwitch {
		return fmt.Errorf("host %s has no Open vSwitch", host)
	}
	if err := l.end(ctx, host+"/vswitch", true); err != nil {
		return err
	}
	return l.startForwarding(ctx, s, h)
}

func bridgeArgs(s *state, h *Host) []string {
	var args []string
	for _, b := range operatorBridges {
		if !h.has(b.network) || b.network == netUnderlay && b.bridge != s.tunnels(h) {
			continue
		}
		args = append(args, "--", "--may-exist", "add-br", b.bridge, "--", "set", "Bridge", b.bridge, "datapath_type="+s.Datapath,
			"--", "--may-exist", "add-port", b.bridge, b.device)
	}
	return args
}

// ovsSchema is where Debian's package has the schema of the configuration database.
func ovsSchema() string {
	if dir := os.Getenv("OVS_PKGDATADIR"); dir != "" {
		return filepath.Join(dir, "vswitch.ovsschema")
	}
	return "/usr/share/openvswitch/vswitch.ovsschema"
}

// vsctl runs ovs-vsctl on a host.
func (l *Lab) vsctl(ctx context.Context, s *state, h *Host, args ...string) error {
	db := "--db=unix:" + filepath.Join(l.ovsDir(h.Name), "db.sock")
	cmd := exec.CommandContext(ctx, "ovs-vsctl", append([]string{db, "--timeout=60"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ovs-vsctl on host %s: %w: %s", h.Name, err, out)
	}
	return nil
}

// daemon starts a daemon on a host (nil: on the machine itself) and writes it down.
func (l *Lab) daemon(s *state, name, log string, h *Host, argv ...string) (proc.Ref, error) {
	spec := proc.Spec{Argv: argv, Env: []string{s.mark()}, Log: l.path(log)}
	if h != nil {
		in := l.space(s, "host", h.Name)
		spec.In, spec.Log = &in, l.path("hosts", h.Name, log)
		spec.Env = append(spec.Env, "OVS_RUNDIR="+l.ovsDir(h.Name))
	}
	ref, err := l.daemons.Start(spec)
	if err != nil {
		return ref, err
	}
	return ref, l.record(func(s *state) { s.Procs[name] = ref })
}

// waitSocket returns when somebody listens on a unix socket, or the one who should has ended.
func waitSocket(ctx context.Context, sock string, by proc.Ref) error {
	limit, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		c, err := net.Dial("unix", sock)
		if err == nil {
			return c.Close()
		}
		if !by.Alive() {
			return fmt.Errorf("process %d has ended before it listened on %s", by.PID, sock)
		}
		select {
		case <-limit.Done():
			return fmt.Errorf("nobody listens on %s: %w", sock, limit.Err())
		case <-time.After(pause):
		}
	}
}
