//go:build integration

package fullstack

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// command runs the binary under test against the lab's server, as an operator does.
func (s *stack) command(t *testing.T, args ...string) string {
	t.Helper()
	path, err := binary()
	must(t, err)
	args = append(args, "--state-dir", filepath.Join(s.Dir(), "server"), "--config-file", filepath.Join(s.Dir(), "server", "isospin.conf"))
	out, err := exec.Command(path, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("isospin %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// ovs runs ovs-vsctl on a host.
func (s *stack) ovs(t *testing.T, host string, args ...string) string {
	t.Helper()
	return s.on(t, host, append([]string{"ovs-vsctl", "--no-wait", "--db=unix:" + filepath.Join(s.Dir(), "hosts", host, "ovs", "db.sock")}, args...)...)
}

// reasons is what a host's agent says in the API that is not as it should be.
func (s *stack) reasons(t *testing.T, host string) string {
	t.Helper()
	var out []string
	for _, a := range s.list(t, "agent", "host="+host+"&binary=neutron-openvswitch-agent") {
		conf, _ := a["configurations"].(map[string]any)
		list, _ := conf["reasons"].([]any)
		for _, r := range list {
			text, _ := r.(string)
			out = append(out, text)
		}
	}
	return strings.Join(out, "\n")
}

// readyz is what a host's agent answers about itself.
func (s *stack) readyz(t *testing.T, host string) string {
	t.Helper()
	return s.on(t, host, "curl", "-s", "--max-time", "5", "--unix-socket", filepath.Join(s.Dir(), "hosts", host, "agent.sock"), "http://agent/readyz")
}

// failure is something that breaks, and where a person sees what to do about it.
type failure struct {
	name string
	// network is what the port is on, status how the API shows it while it is broken.
	network object
	status  string
	// harm breaks it, for a port whose guest is not plugged, or runs; mend makes it good.
	plugged    bool
	harm, mend func(t *testing.T, s *stack, port object)
	// after makes the host what it was; nil when mend has.
	after func(t *testing.T, s *stack)
	// agent is in the agents API, unless the server itself knows; why in `isospin why port`; both in `isospin status`. log is in the agent's.
	agent, why, log string
	unready         string // in the agent's /readyz; "" for an agent that does its work but for an object
}

// TestFailuresHaveReasons: whatever fails is seen in the API, in `isospin status` and in `isospin why port`, with what to do, and no longer when it is mended.
func TestFailuresHaveReasons(t *testing.T) {
	s := bring(t, "[ovs]\nbridge_mappings = public:br-public,physnet1:br-nowhere\n", whole("h1"))
	flat := func(physical string) object {
		return object{"provider:network_type": "flat", "provider:physical_network": physical}
	}
	for _, f := range []failure{
		{name: "a physical network without a mapping", network: flat("elsewhere"), status: "DOWN",
			why: "no bridge_mappings for physical network elsewhere"},
		{name: "a mapping to a bridge that is not there", network: flat("physnet1"), status: "DOWN", agent: "bridges br-nowhere: bridge is not there", why: "l2 on host h1 failed: bridges br-nowhere: bridge is not there", log: "bridge is not there",
			harm: func(t *testing.T, s *stack, p object) { s.device(t, p, "fails0", "type=internal") },
			mend: func(t *testing.T, s *stack, p object) {
				s.ovs(t, "h1", "add-br", "br-nowhere", "--", "set", "Bridge", "br-nowhere", "datapath_type=netdev")
			},
			after: func(t *testing.T, s *stack) { s.ovs(t, "h1", "del-port", "fails0") }},
		{name: "a device that cannot be opened", network: object{}, status: "DOWN", agent: "cannot open interface nosuch", why: "cannot open interface nosuch", log: "",
			harm: func(t *testing.T, s *stack, p object) { s.device(t, p, "nosuch") },
			mend: func(t *testing.T, s *stack, p object) { s.ovs(t, "h1", "del-port", "nosuch") }},
		{name: "a tunnel that another has taken", network: object{}, status: "DOWN", plugged: true, agent: "switch ports vxlan-isospin: Open vSwitch cannot open it", why: "switch ports vxlan-isospin: Open vSwitch cannot open it", log: "cannot open it",
			harm: takeTunnel, mend: func(t *testing.T, s *stack, _ object) { s.ovs(t, "h1", "del-port", "theirs") }},
		{name: "a full disk", network: object{}, status: "ACTIVE", plugged: true, agent: "no space left on device", why: "no space left on device", log: "no space left on device",
			harm: fillDisk, mend: func(t *testing.T, s *stack, _ object) {
				s.on(t, "h1", "rm", filepath.Join(s.Dir(), "hosts", "h1", "agent", "filler"))
			},
			after: func(t *testing.T, s *stack) {
				must(t, s.AgentStop(t.Context(), "h1"))
				s.on(t, "h1", "umount", filepath.Join(s.Dir(), "hosts", "h1", "agent"))
				must(t, s.AgentStart(t.Context(), "h1"))
			}},
		{name: "ovs-vswitchd away", network: object{}, status: "ACTIVE", plugged: true, agent: "ovs-vswitchd does not answer", why: "ovs-vswitchd does not answer", log: "openflow connection", unready: "ovs-vswitchd does not answer",
			harm: func(t *testing.T, s *stack, _ object) { must(t, syscall.Kill(s.pid(t, "h1/vswitch"), syscall.SIGKILL)) },
			mend: func(t *testing.T, s *stack, _ object) { must(t, s.SwitchRestart(t.Context(), "h1")) }},
		{name: "the database of Open vSwitch away", network: object{}, status: "ACTIVE", plugged: true, agent: "the database of Open vSwitch does not answer", why: "the database of Open vSwitch does not answer", log: "not connected to the database server",
			unready: "the database of Open vSwitch does not answer", harm: func(t *testing.T, s *stack, _ object) { s.endDatabase(t) },
			mend: func(t *testing.T, s *stack, _ object) { s.startDatabase(t) }},
	} {
		t.Run(f.name, func(t *testing.T) { f.prove(t, s) })
	}
}

// prove breaks, looks everywhere, mends, and looks again.
func (f failure) prove(t *testing.T, s *stack) {
	n := s.create(t, "network", with(f.network, object{"name": "fails"}))
	s.create(t, "subnet", object{"network_id": n.id(), "ip_version": 4, "cidr": "10.60.0.0/24", "enable_dhcp": false})
	p := s.create(t, "port", object{"network_id": n.id(), "binding:host_id": "h1", "device_owner": "compute:nova", "device_id": "x"})
	if f.plugged {
		s.static(t, birth{name: "victim", host: "h1", port: p.id()})
		s.status(t, p.id(), "ACTIVE")
		defer s.destroy(t, "victim")
	}
	defer func() {
		if f.after != nil {
			f.after(t, s)
		}
		s.remove(t, "port", p.id())
		s.remove(t, "network", n.id())
	}()
	began := time.Now()
	if f.harm != nil {
		f.harm(t, s, p)
	}
	place := func(what, want string, have func() string) {
		t.Helper()
		until(t, 15*time.Second, what+" says "+want, func() (bool, string) { got := have(); return strings.Contains(got, want), got })
	}
	until(t, 10*time.Second, "the port is "+f.status, func() (bool, string) {
		got := s.show(t, "port", p.id()).text("status")
		return got == f.status, got
	})
	if f.agent != "" {
		place("the agents API", f.agent, func() string { return s.reasons(t, "h1") })
	}
	t.Logf("told %.1f s after the harm: %s", time.Since(began).Seconds(), s.reasons(t, "h1"))
	place("isospin why port", f.why, func() string { return s.command(t, "why", "port", p.id()) })
	place("isospin status", f.why, func() string { return s.command(t, "status") })
	if f.agent != "" {
		place("isospin status", f.agent, func() string { return s.command(t, "status") })
	}
	if f.log != "" {
		place("the agent's log", f.log, func() string {
			raw, err := os.ReadFile(filepath.Join(s.Dir(), "hosts", "h1", "agent.log"))
			must(t, err)
			return string(raw)
		})
	}
	place("/readyz", f.unready, func() string { return s.readyz(t, "h1") })
	if f.mend == nil {
		return
	}
	f.mend(t, s, p)
	mended := time.Now()
	until(t, 40*time.Second, "nothing is said any more", func() (bool, string) {
		got := s.reasons(t, "h1")
		return f.agent == "" || !strings.Contains(got, f.agent), got
	})
	place("/readyz", `"ready"`, func() string { return s.readyz(t, "h1") })
	if f.plugged {
		s.status(t, p.id(), "ACTIVE")
	}
	t.Logf("all well %.1f s after it was mended", time.Since(mended).Seconds())
}

// device plugs a device for a port, without a guest behind it.
func (s *stack) device(t *testing.T, port object, device string, how ...string) {
	t.Helper()
	s.ovs(t, "h1", append([]string{"add-port", "br-int", device, "--", "set", "Interface", device, "external_ids:iface-id=" + port.id()}, how...)...)
}

// takeTunnel gives the agent's tunnel to another port of the same configuration, while the agent does not look.
func takeTunnel(t *testing.T, s *stack, _ object) {
	local := strings.TrimSpace(s.ovs(t, "h1", "get", "Interface", "vxlan-isospin", "options:local_ip"))
	must(t, s.AgentStop(t.Context(), "h1"))
	db := "--db=unix:" + filepath.Join(s.Dir(), "hosts", "h1", "ovs", "db.sock")
	s.on(t, "h1", "ovs-vsctl", db, "del-port", "vxlan-isospin")
	s.on(t, "h1", "ovs-vsctl", db, "add-port", "br-int", "theirs", "--", "set", "Interface", "theirs", "type=vxlan", "options:key=flow", "options:remote_ip=flow", "options:local_ip="+local)
	must(t, s.AgentStart(t.Context(), "h1"))
}

// fillDisk leaves no room where the agent writes its mirror.
func fillDisk(t *testing.T, s *stack, port object) {
	dir := filepath.Join(s.Dir(), "hosts", "h1", "agent")
	must(t, s.AgentStop(t.Context(), "h1"))
	s.on(t, "h1", "mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", dir)
	s.on(t, "h1", "sh", "-c", "head -c 1M /dev/zero >"+dir+"/filler; test -s "+dir+"/filler")
	must(t, s.AgentStart(t.Context(), "h1"))
	s.update(t, "port", port.id(), object{"name": "changed while there is no room"})
}

// endDatabase kills ovsdb-server and startDatabase starts it as the lab had.
func (s *stack) endDatabase(t *testing.T) {
	t.Helper()
	pid := s.pid(t, "h1/ovsdb")
	must(t, syscall.Kill(pid, syscall.SIGTERM))
	until(t, 5*time.Second, "ovsdb-server ends", func() (bool, string) { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH), "it runs" })
}

func (s *stack) startDatabase(t *testing.T) {
	t.Helper()
	dir := filepath.Join(s.Dir(), "hosts", "h1", "ovs")
	out := &buffer{}
	p, err := s.Spawn(context.WithoutCancel(t.Context()), "h1", out, out, "ovsdb-server", filepath.Join(dir, "conf.db"), "--remote=punix:"+filepath.Join(dir, "db.sock"),
		"--unixctl="+filepath.Join(dir, "again.ctl"))
	must(t, err)
	t.Cleanup(func() { _ = p.Signal(syscall.SIGTERM); _ = p.Wait() })
}
