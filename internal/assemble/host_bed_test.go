//go:build integration

package assemble

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"isospin/internal/agent"
	"isospin/internal/config"
	"isospin/internal/dataplane/vswitch/ovstest"
	"isospin/internal/lifecycle"
	"isospin/internal/wire"
)

// A machine is an Open vSwitch in a namespace, with an agent that runs in a process of its own there: this test binary, told by
// its environment. The test is its server: it writes frames to the process's input and reads statuses from its output.

const agentEnv = "ISOSPIN_TEST_HOST"

func TestMain(m *testing.M) {
	if raw := os.Getenv(agentEnv); raw != "" {
		os.Exit(agentProcess(raw))
	}
	os.Exit(m.Run())
}

// said is what the agent's process says: a status, or the answer to a frame or to a question.
type said struct {
	Status *wire.Status
	Answer *answer
	// Reasons, if not nil, are what keeps the host from being as it should be now.
	Reasons []string
}

type answer struct {
	Err           string
	Puts, Drops   uint64
	Drift, Errors uint64
	Stages        string // those that wrote
}

// agentProcess is the agent's half of the bed.
func agentProcess(raw string) int {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	c := &config.Agent{}
	if err := gob.NewDecoder(base64.NewDecoder(base64.StdEncoding, strings.NewReader(raw))).Decode(c); err != nil {
		log.Error("configuration", "err", err)
		return 2
	}
	var mu sync.Mutex
	out := json.NewEncoder(os.Stdout)
	say := func(s said) {
		mu.Lock()
		defer mu.Unlock()
		_ = out.Encode(s) // nobody listens: the test is over
	}
	h, err := newHost(c, NewEnv(log), c.Host.Host, func(_ context.Context, ss []*wire.Status) error {
		for _, s := range ss {
			say(said{Status: s})
		}
		return nil
	})
	if err != nil {
		log.Error("agent", "err", err)
		return 2
	}
	h.loop.Troubled = func(rs []agent.Reason) {
		texts := []string{}
		for _, r := range rs {
			texts = append(texts, r.Text)
		}
		say(said{Reasons: texts})
	}
	ctx, cancel := context.WithCancel(context.Background())
	g := &lifecycle.Group{Log: log}
	g.Add(h.parts()...)
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx, 5*time.Second) }()
	go func() {
		defer cancel() // the test closed our input: stop well
		for {
			f, kind, err := readOrder(os.Stdin)
			if err != nil {
				return
			}
			a := answer{}
			switch kind {
			case 'f':
				err = h.loop.Frame(ctx, f)
			case 's':
				err = h.loop.Synced(ctx)
			}
			if err != nil {
				a.Err = err.Error()
			}
			for _, s := range h.stages() {
				st := s.Stats()
				if st.Puts+st.Drops+st.Drift > 0 {
					a.Stages += fmt.Sprintf("%s: puts %d, drops %d, drift %d; ", s.Name(), st.Puts, st.Drops, st.Drift)
				}
				a.Puts, a.Drops, a.Drift, a.Errors = a.Puts+st.Puts, a.Drops+st.Drops, a.Drift+st.Drift, a.Errors+st.PutErrors+st.DropErrors
			}
			say(said{Answer: &a})
		}
	}()
	if err := <-done; err != nil {
		log.Error("agent ended", "err", err)
		return 1
	}
	return 0
}

func readOrder(r io.Reader) (*wire.Frame, byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, 0, err
	}
	body := make([]byte, binary.BigEndian.Uint32(head[1:]))
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, 0, err
	}
	f := &wire.Frame{}
	return f, head[0], proto.Unmarshal(body, f)
}

// machine is one host.
type machine struct {
	t     *testing.T
	name  string
	ovs   *ovstest.OVS
	cfg   config.Agent
	agent *process
	docs  map[string]map[string]*wire.Document // what the server holds, by set
}

type process struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers chan answer
	ended   chan struct{}

	mu      sync.Mutex
	states  map[string]wire.State // by entity and port
	reasons []string
	changed chan struct{}
}

// newMachines makes hosts whose underlays are joined, and starts their agents.
func newMachines(t *testing.T, n int, roles ...string) []*machine {
	t.Helper()
	sweepPins()
	var out []*machine
	for i := range n {
		o := ovstest.Start(t)
		m := &machine{t: t, name: fmt.Sprint("h", i+1), ovs: o, docs: map[string]map[string]*wire.Document{}}
		ip := netip.AddrFrom4([4]byte{10, 222, 0, byte(i + 1)})
		// The kernel's own addresses would come and go while the test watches for the agent's.
		sh(t, "ip", "netns", "exec", o.NetNS, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1")
		for _, b := range []string{"br-underlay", "br-physnet1", "br-public"} {
			o.Vsctl("add-br", b, "--", "set", "Bridge", b, "datapath_type=netdev")
		}
		sh(t, "ip", "-n", o.NetNS, "addr", "add", ip.String()+"/24", "dev", "br-underlay")
		sh(t, "ip", "-n", o.NetNS, "link", "set", "br-underlay", "up")
		m.cfg = config.Agent{Host: config.Host{Host: m.name},
			OVS: config.OVS{IntegrationBridge: "br-int", DatapathType: "netdev", LocalIP: ip, BridgeMappings: config.Mappings{"physnet1": "br-physnet1", "public": "br-public"}},
			L2:  config.L2{TunnelTypes: []string{"vxlan", "gre", "geneve"}, VXLANPort: 4789, DontFragment: true},
			// Isospin's own.
			Isospin: config.AgentOwn{OVSRunDir: o.RunDir, Roles: roles}, State: config.State{Dir: t.TempDir()}}
		out = append(out, m)
	}
	if n == 2 {
		for _, net := range []string{"underlay", "physnet1", "public"} {
			a, b := out[0].ovs.NetNS, out[1].ovs.NetNS
			sh(t, "ip", "-n", a, "link", "add", "c-"+net, "type", "veth", "peer", "name", "c-"+net, "netns", b)
			for _, m := range out {
				m.cable(m.ovs.NetNS, "c-"+net)
				m.ovs.Vsctl("add-port", "br-"+net, "c-"+net)
			}
		}
	}
	for _, m := range out {
		m.start()
		within(t, 5*time.Second, "br-int", func() bool { return strings.Contains(m.ovs.Vsctl("list-br"), "br-int") })
	}
	return out
}

// sweepPins unmounts what test binaries left that ended without a cleanup, so that their folders can be swept up.
func sweepPins() {
	pins, _ := filepath.Glob(filepath.Join(os.TempDir(), "ovs[0-9]*-*", "pin"))
	for _, pin := range pins {
		number, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(filepath.Dir(pin)), "ovs"), "-")
		if pid, err := strconv.Atoi(number); err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = exec.Command("umount", "-l", filepath.Join(pin, "mnt")).Run() // another test may be faster
			_ = exec.Command("umount", "-l", pin).Run()
		}
	}
}

// cable puts a veth end up with finished checksums.
func (m *machine) cable(ns, dev string) {
	m.t.Helper()
	sh(m.t, "ip", "netns", "exec", ns, "ethtool", "-K", dev, "tx", "off")
	sh(m.t, "ip", "-n", ns, "link", "set", dev, "up")
}

// start starts the agent's process: in the machine's network namespace, with a /run/netns of its own that outlives it.
func (m *machine) start() {
	m.t.Helper()
	var raw bytes.Buffer // not JSON: some options only read text
	if err := gob.NewEncoder(&raw).Encode(m.cfg); err != nil {
		m.t.Fatal(err)
	}
	mounts := filepath.Join(m.ovs.RunDir, "mnt")
	if _, err := os.Stat(mounts); err != nil {
		// The mount namespace is pinned to a file, which must lie on a private mount.
		sh(m.t, "mkdir", m.ovs.RunDir+"/pin")
		sh(m.t, "mount", "-t", "tmpfs", "tmpfs", m.ovs.RunDir+"/pin")
		sh(m.t, "mount", "--make-private", m.ovs.RunDir+"/pin")
		sh(m.t, "touch", m.ovs.RunDir+"/pin/mnt")
		sh(m.t, "ln", "-s", m.ovs.RunDir+"/pin/mnt", mounts)
		sh(m.t, "unshare", "--mount="+m.ovs.RunDir+"/pin/mnt", "mount", "-t", "tmpfs", "tmpfs", "/run/netns")
		m.t.Cleanup(func() {
			_ = exec.Command("umount", m.ovs.RunDir+"/pin/mnt").Run() // with the last of it the namespaces inside go
			_ = exec.Command("umount", "-l", m.ovs.RunDir+"/pin").Run()
		})
	}
	self, err := os.Executable()
	if err != nil {
		m.t.Fatal(err)
	}
	cmd := exec.Command("nsenter", "--net=/run/netns/"+m.ovs.NetNS, "--mount="+mounts, "--", self)
	cmd.Env = append(os.Environ(), agentEnv+"="+base64.StdEncoding.EncodeToString(raw.Bytes()))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	log, err3 := os.OpenFile(filepath.Join(m.cfg.State.Dir, "agent.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err1 != nil || err2 != nil || err3 != nil {
		m.t.Fatal(err1, err2, err3)
	}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	p := &process{cmd: cmd, in: in, answers: make(chan answer, 1), ended: make(chan struct{}), states: map[string]wire.State{}, changed: make(chan struct{}, 1)}
	m.agent = p
	go p.listen(out, log)
	m.t.Cleanup(func() {
		m.stop()
		if m.t.Failed() {
			raw, _ := os.ReadFile(log.Name())
			m.t.Logf("agent of %s:\n%s", m.name, raw[max(0, len(raw)-4000):])
		}
	})
}

func (p *process) listen(out io.Reader, log io.Closer) {
	defer close(p.ended)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var s said
		if json.Unmarshal(lines.Bytes(), &s) != nil {
			continue
		}
		if s.Answer != nil {
			p.answers <- *s.Answer
			continue
		}
		p.mu.Lock()
		if s.Reasons != nil {
			p.reasons = s.Reasons
			p.mu.Unlock()
			continue
		}
		p.states[s.Status.GetEntity()+" "+s.Status.GetId()] = s.Status.GetState()
		p.mu.Unlock()
		select {
		case p.changed <- struct{}{}:
		default:
		}
	}
	_ = p.cmd.Wait() // how it ended is in its log
	_ = log.Close()
}

// done is how many ports are wired.
func (p *process) done() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.states {
		if s == wire.State_DONE {
			n++
		}
	}
	return n
}

// says tells whether a reason of the agent's has a text in it; "" when it has none at all.
func (p *process) says(text string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if text == "" {
		return len(p.reasons) == 0
	}
	return slices.ContainsFunc(p.reasons, func(r string) bool { return strings.Contains(r, text) })
}

// stop ends the agent as a service manager does; kill as nobody should.
func (m *machine) stop() { _ = m.agent.in.Close(); <-m.agent.ended }
func (m *machine) kill() { _ = m.agent.cmd.Process.Kill(); <-m.agent.ended }

// order sends an order and returns the answer.
func (m *machine) order(kind byte, f *wire.Frame) answer {
	m.t.Helper()
	body, err := proto.Marshal(f)
	if err != nil {
		m.t.Fatal(err)
	}
	head := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(body)))
	if _, err := m.agent.in.Write(append(head, body...)); err != nil {
		m.t.Fatal(err)
	}
	select {
	case a := <-m.agent.answers:
		if a.Err != "" {
			m.t.Fatal(a.Err)
		}
		return a
	case <-m.agent.ended:
		m.t.Fatal("the agent ended")
	case <-time.After(10 * time.Second):
		m.t.Fatal("the agent does not answer")
	}
	return answer{}
}

func (m *machine) stats() answer { m.t.Helper(); return m.order('q', &wire.Frame{}) }
func (m *machine) synced()       { m.t.Helper(); m.order('s', &wire.Frame{}) }

// put sends documents of a set, whole.
func (m *machine) put(set string, ds ...*wire.Document) {
	m.t.Helper()
	if m.docs[set] == nil {
		m.docs[set] = map[string]*wire.Document{}
	}
	for _, d := range ds {
		m.docs[set][d.GetKind()+d.GetId()] = d
	}
	f := &wire.Frame{Set: set, Begin: true, Complete: true}
	for _, d := range m.docs[set] {
		f.Put = append(f.Put, d)
		f.Hash += d.Hash()
	}
	m.order('f', f)
}

// await waits for a status.
func (m *machine) await(entity, port string, want wire.State) {
	m.t.Helper()
	limit := time.After(10 * time.Second)
	for {
		m.agent.mu.Lock()
		have := m.agent.states[entity+" "+port]
		m.agent.mu.Unlock()
		if have == want {
			return
		}
		select {
		case <-m.agent.changed:
		case <-limit:
			m.t.Fatalf("%s: %s of port %s is %s, not %s", m.name, entity, port, have, want)
		}
	}
}

// guest is a namespace with one device on a machine.
type guest struct {
	m       *machine
	ns, tap string
	port    string
	mac, ip string
}

// boot makes a guest whose device is not plugged into the bridge yet. n is told apart from all others of the test.
func (m *machine) boot(n int, ip string) *guest {
	m.t.Helper()
	g := &guest{m: m, ns: fmt.Sprintf("%s-g%d", m.ovs.NetNS, n), tap: fmt.Sprintf("tap%08d-aa", n), port: fmt.Sprintf("%08d-aaaa-4000-8000-000000000000", n),
		mac: fmt.Sprintf("fa:16:3e:00:00:%02x", n), ip: ip}
	sh(m.t, "ip", "netns", "add", g.ns)
	m.t.Cleanup(func() { _ = exec.Command("ip", "netns", "delete", g.ns).Run() })
	sh(m.t, "ip", "-n", m.ovs.NetNS, "link", "add", g.tap, "type", "veth", "peer", "name", "eth0", "netns", g.ns, "address", g.mac)
	m.cable(m.ovs.NetNS, g.tap)
	m.cable(g.ns, "eth0")
	sh(m.t, "ip", "-n", g.ns, "addr", "add", ip+"/24", "dev", "eth0")
	return g
}

func (g *guest) plug() {
	g.m.t.Helper()
	g.m.ovs.Vsctl("--no-wait", "add-port", "br-int", g.tap, "--", "set", "Interface", g.tap, "external_ids:iface-id="+g.port, "external_ids:attached-mac="+g.mac)
}

// doc is the guest's port as its own host has it, forward as others have it.
func (g *guest) doc(network, segment string) *wire.Document {
	return encode(g.m.t, wire.KindPort, g.port, &wire.Port{Id: g.port, NetworkId: network, MacAddress: g.mac, AdminStateUp: true, Wiring: 1, SegmentId: segment,
		FixedIps: []*wire.FixedIP{{SubnetId: "s", IpAddress: g.ip}}})
}

func (g *guest) forward(network, segment string) *wire.Document {
	return encode(g.m.t, wire.KindForward, g.port, &wire.Forward{PortId: g.port, NetworkId: network, MacAddress: g.mac, IpAddresses: []string{g.ip},
		Host: g.m.name, SegmentId: segment, TunnelIp: g.m.cfg.OVS.LocalIP.String()})
}

func encode(t *testing.T, kind, id string, m proto.Message) *wire.Document {
	t.Helper()
	d, err := wire.Encode(kind, id, m)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// ping wants n answers of n.
func (g *guest) ping(to string, n int) {
	g.m.t.Helper()
	out, err := exec.Command("ip", "netns", "exec", g.ns, "ping", "-n", "-q", "-i", "0.02", "-c", strconv.Itoa(n), "-w", "5", to).CombinedOutput()
	if err != nil || !strings.Contains(string(out), " 0% packet loss") {
		g.m.t.Errorf("%s pings %s: %v: %s", g.port, to, err, out)
	}
}

// pinger pings every 10 ms until it is asked how many were lost.
type pinger struct {
	cmd *exec.Cmd
	out strings.Builder
}

func (g *guest) pinger(to string) *pinger {
	g.m.t.Helper()
	p := &pinger{cmd: exec.Command("ip", "netns", "exec", g.ns, "ping", "-n", "-i", "0.01", to)}
	p.cmd.Stdout = &p.out
	if err := p.cmd.Start(); err != nil {
		g.m.t.Fatal(err)
	}
	return p
}

// lost counts those that were not answered although a later one was: the last may be on its way.
func (p *pinger) lost(t *testing.T) (sent, lost int) {
	t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGINT)
	_ = p.cmd.Wait() // it tells by its status that packets were lost, which its output tells better
	answered := regexp.MustCompile(`icmp_seq=(\d+) ttl`).FindAllStringSubmatch(p.out.String(), -1)
	for _, m := range answered {
		n, _ := strconv.Atoi(m[1])
		sent = max(sent, n)
	}
	return sent, sent - len(answered)
}

// within waits until ok holds and tells how long that took.
func within(t *testing.T, limit time.Duration, what string, ok func() bool) time.Duration {
	t.Helper()
	start := time.Now()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Since(start) > limit {
			t.Fatalf("%s: not within %s", what, limit)
		}
		<-tick.C
	}
	return time.Since(start)
}

// flows are the texts of the integration bridge's flows without what counts and ages.
func (m *machine) flows() []string {
	m.t.Helper()
	lines := strings.Split(m.ovs.Ofctl("--no-stats", "-O", "OpenFlow15", "dump-flows", "br-int"), "\n")
	slices.Sort(lines)
	return lines
}

func sh(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
