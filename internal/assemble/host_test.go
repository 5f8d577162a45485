//go:build integration

package assemble

import (
	"bytes"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isospin/internal/agent/feature/brint"
	"isospin/internal/dataplane/openflow"
	"isospin/internal/wire"
)

func networkID(n int) string { return fmt.Sprintf("%08d-bbbb-4000-8000-000000000000", n) }

func networkDoc(t *testing.T, id string, mtu int64, s *wire.Segment) *wire.Document {
	return encode(t, wire.KindNetwork, id, &wire.Network{Id: id, AdminStateUp: true, Mtu: mtu, Segments: []*wire.Segment{s}})
}

// join tells both machines of a network with a guest on each.
func join(t *testing.T, ms []*machine, id string, s *wire.Segment, gs ...*guest) {
	t.Helper()
	for _, m := range ms {
		docs := []*wire.Document{networkDoc(t, id, 1400, s)}
		var own []*wire.Document
		for _, g := range gs {
			docs = append(docs, g.forward(id, s.GetId()))
			if g.m == m {
				own = append(own, g.doc(id, s.GetId()))
			}
		}
		m.put("net:"+id, docs...)
		m.put("host:"+m.name, own...)
	}
}

func TestTwoHosts(t *testing.T) {
	ms := newMachines(t, 2)
	segments := []*wire.Segment{
		{Id: "vxlan", NetworkType: "vxlan", SegmentationId: 1000},
		{Id: "gre", NetworkType: "gre", SegmentationId: 1000},
		{Id: "geneve", NetworkType: "geneve", SegmentationId: 1000},
		{Id: "vlan", NetworkType: "vlan", PhysicalNetwork: "physnet1", SegmentationId: 100},
		{Id: "flat", NetworkType: "flat", PhysicalNetwork: "public"},
	}
	var all []*guest
	for i, s := range segments {
		a, b := ms[0].boot(2*i+1, "192.0.2.1"), ms[1].boot(2*i+2, "192.0.2.2")
		join(t, ms, networkID(i), s, a, b)
		a.plug()
		b.plug()
		all = append(all, a, b)
	}
	for _, m := range ms {
		m.synced()
	}
	for i, g := range all {
		g.m.await(wire.EntityL2, g.port, wire.State_DONE)
		_ = i
	}
	for i := range segments {
		t.Run(segments[i].Id, func(t *testing.T) { all[2*i].ping("192.0.2.2", 5) })
	}
	// Equal addresses on five networks do not meet: each guest hears its own neighbour's MAC.
	for i := range segments {
		if out := sh(t, "ip", "-n", all[2*i].ns, "neigh", "show", "192.0.2.2"); !strings.Contains(out, all[2*i+1].mac) {
			t.Errorf("%s: %s", segments[i].Id, out)
		}
	}
	t.Run("a tag of the guest's own", func(t *testing.T) { tagged(t, ms, all[8]) })
	t.Run("restart", func(t *testing.T) { restart(t, ms[0], all[0]) })
	t.Run("killed", func(t *testing.T) { killed(t, ms[0], all[0]) })
	t.Run("server away", func(t *testing.T) { serverAway(t, ms[0], all[0]) })
	t.Run("drift", func(t *testing.T) { drift(t, ms[0], all[0]) })
	t.Run("switch restarts", func(t *testing.T) { switchRestarts(t, ms[0], all[0], all[6]) })
	t.Run("database restarts", func(t *testing.T) { databaseRestarts(t, ms[0], all[0]) })
	t.Run("replug", func(t *testing.T) { replug(t, ms[0], all[0]) })
	t.Run("port moves here", func(t *testing.T) { moves(t, ms, all[0], all[1]) })
}

// tagged: a guest of the untagged network cannot reach a VLAN by tagging its frames.
func tagged(t *testing.T, ms []*machine, g *guest) {
	port := regexp.MustCompile(`\d+`).FindString(ms[0].ovs.Vsctl("get", "Interface", g.tap, "ofport"))
	out := ms[0].ovs.Appctl("ofproto/trace", "br-int", "in_port="+port+",dl_src="+g.mac+",dl_dst=ff:ff:ff:ff:ff:ff,dl_vlan=100,dl_type=0x0806")
	if !strings.Contains(out, "Datapath actions: drop") {
		t.Errorf("trace: %s", out)
	}
}

// watched are the writes that others see while f runs: to the database, to links, addresses and routes.
func watched(t *testing.T, m *machine, f func()) (seen string) {
	t.Helper()
	var outs []*output
	var cmds []*exec.Cmd
	for _, args := range [][]string{
		{"ip", "-n", m.ovs.NetNS, "monitor", "link", "address", "route"},
		{"ovsdb-client", "monitor", m.ovs.DB, "Open_vSwitch", "Bridge", "name,ports,external_ids,other_config"},
		{"ovsdb-client", "monitor", m.ovs.DB, "Open_vSwitch", "Port", "name,interfaces,tag,external_ids"},
		{"ovsdb-client", "monitor", m.ovs.DB, "Open_vSwitch", "Interface", "name,type,options,external_ids,ofport,ofport_request"},
	} {
		cmd := exec.Command(args[0], args[1:]...)
		out := &output{}
		cmd.Stdout = out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		outs, cmds = append(outs, out), append(cmds, cmd)
	}
	// A monitor of the database begins with all rows: when it has told them it listens.
	for _, out := range outs[1:] {
		before, same := "", 0
		within(t, 5*time.Second, "a monitor", func() bool {
			now := out.text()
			if now == "" || now != before {
				before, same = now, 0
			}
			same++
			return now != "" && same > 5
		})
		out.clear()
	}
	f()
	for i, cmd := range cmds {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		seen += outs[i].text()
	}
	return seen
}

// output is what a command says, read while it runs.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(b)
}

func (o *output) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

func (o *output) clear() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buf.Reset()
}

// youngest is the age of the flow that was written last.
func youngest(t *testing.T, m *machine) time.Duration {
	t.Helper()
	least := time.Hour
	for _, found := range regexp.MustCompile(`duration=([\d.]+)s`).FindAllStringSubmatch(m.ovs.Ofctl("-O", "OpenFlow15", "dump-flows", "br-int"), -1) {
		s, err := strconv.ParseFloat(found[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		least = min(least, time.Duration(s*float64(time.Second)))
	}
	return least
}

// restart: an agent that finds all as it should be writes nothing, and no packet is lost.
func restart(t *testing.T, m *machine, g *guest) {
	p := g.pinger("192.0.2.2")
	before := m.flows()
	var began time.Time
	seen := watched(t, m, func() {
		began = time.Now()
		m.stop()
		m.start()
		m.synced()
		m.await(wire.EntityL2, g.port, wire.State_DONE)
		t.Logf("stopped, started and all said after %s", time.Since(began))
		within(t, time.Second, "another pass", func() bool { return time.Since(began) > 600*time.Millisecond })
	})
	if s := m.stats(); s.Puts+s.Drops+s.Errors+s.Drift != 0 {
		t.Errorf("written: %+v", s)
	}
	if age := youngest(t, m); age < time.Since(began) {
		t.Errorf("a flow is %s old, the restart began %s ago", age, time.Since(began))
	}
	if seen != "" {
		t.Errorf("seen: %s", seen)
	}
	if d := cmp.Diff(before, m.flows()); d != "" {
		t.Errorf("flows: %s", d)
	}
	if sent, lost := p.lost(t); lost > 0 || sent < 30 {
		t.Errorf("%d of %d pings lost", lost, sent)
	}
}

// killed: killed in the middle of a change, the next start ends where it would have.
func killed(t *testing.T, m *machine, g *guest) {
	p := g.pinger("192.0.2.2")
	for i := range 5 {
		for j := range 40 {
			d := encode(t, wire.KindForward, fmt.Sprint("f", i, j), &wire.Forward{PortId: fmt.Sprint("f", i, j), NetworkId: networkID(0), MacAddress: fmt.Sprintf("fa:16:3e:01:%02x:%02x", i, j),
				IpAddresses: []string{fmt.Sprintf("192.0.2.%d", 10+40*i+j)}, Host: "h2", SegmentId: "vxlan", TunnelIp: "10.222.0.2"})
			m.put("net:"+networkID(0), d)
		}
		m.kill()
		m.start()
	}
	m.synced()
	m.await(wire.EntityL2, g.port, wire.State_DONE)
	within(t, 5*time.Second, "all flows", func() bool {
		return strings.Count(strings.Join(m.flows(), "\n"), "fa:16:3e:01:") >= 2*200
	})
	if sent, lost := p.lost(t); lost > 0 || sent < 10 {
		t.Errorf("%d of %d pings lost", lost, sent)
	}
}

// serverAway: without any server the mirror on disk is enough, for what is plugged in meanwhile too.
func serverAway(t *testing.T, m *machine, g *guest) {
	late := m.boot(60, "192.0.2.230")
	m.put("host:"+m.name, late.doc(networkID(0), "vxlan"))
	m.stop()
	m.start()
	late.plug()
	m.await(wire.EntityL2, late.port, wire.State_DONE)
	late.ping(g.ip, 3)
}

// drift: what others break is mended soon, and what is theirs is left alone.
func drift(t *testing.T, m *machine, g *guest) {
	o := m.ovs
	o.Ofctl("-O", "OpenFlow15", "add-flow", "br-int", "cookie=0x77,table=200,priority=7,actions=drop")
	o.Vsctl("add-port", "br-int", "theirs", "--", "set", "Interface", "theirs", "type=internal")
	want := m.flows()
	mend := func(name string, mended func() bool) {
		t.Helper()
		took := time.Now()
		for !mended() {
			if time.Since(took) > 2*time.Second {
				t.Errorf("%s: not mended within 2 s: %s", name, cmp.Diff(want, m.flows()))
				return
			}
		}
		t.Logf("%s: mended within %s", name, time.Since(took))
	}
	same := func() bool { return slices.Equal(m.flows(), want) }
	on := func(bridge, port string) func() bool {
		return func() bool { return strings.Contains(o.Vsctl("list-ports", bridge), port) }
	}
	for name, args := range map[string][]string{
		"all flows of a table": {"del-flows", "br-int", "table=40"}, "one flow": {"del-flows", "--strict", "br-int", "table=0,priority=0"},
		"flows replaced": {"mod-flows", "br-int", "table=0,actions=drop"}, "all of ours": {"del-flows", "br-int", fmt.Sprintf("cookie=%#x/0xffff000000000000", uint64(openflow.TagOf(brint.Owner))<<48)},
	} {
		o.Ofctl(append([]string{"-O", "OpenFlow15"}, args...)...)
		mend(name, same)
	}
	o.Vsctl("del-port", "vxlan-isospin")
	mend("the tunnel port", on("br-int", "vxlan-isospin"))
	o.Vsctl("set", "Interface", "vxlan-isospin", "options:remote_ip=10.9.9.9")
	mend("a tunnel's options", func() bool { return o.Vsctl("get", "Interface", "vxlan-isospin", "options:remote_ip") == "flow" })
	o.Vsctl("del-port", "phy-br-physnet1")
	mend("a patch", on("br-physnet1", "phy-br-physnet1"))
	g.ping("192.0.2.2", 3)
	if !slices.ContainsFunc(m.flows(), func(f string) bool { return strings.Contains(f, "cookie=0x77") }) || !strings.Contains(o.Vsctl("list-ports", "br-int"), "theirs") {
		t.Error("what was others' is gone")
	}
	// Open vSwitch itself throws all flows away when this changes, and the stranger's with them.
	o.Vsctl("set-fail-mode", "br-int", "standalone")
	mend("the bridge's mode", func() bool { return o.Vsctl("get-fail-mode", "br-int") == "secure" && len(m.flows()) >= len(want)-1 })
}

// switchRestarts: with ovs-vswitchd all flows are gone, and are back at once.
func switchRestarts(t *testing.T, m *machine, gs ...*guest) {
	want := m.flows()
	m.ovs.StopVswitchd()
	m.ovs.StartVswitchd()
	t.Logf("all flows back %s after the switch", within(t, 2*time.Second, "all flows", func() bool { return len(m.flows()) >= len(want)-1 })) // but the stranger's
	// The machine's own devices are new: an internal port has lost its address.
	sh(t, "ip", "-n", m.ovs.NetNS, "addr", "replace", m.cfg.OVS.LocalIP.String()+"/24", "dev", "br-underlay")
	sh(t, "ip", "-n", m.ovs.NetNS, "link", "set", "br-underlay", "up")
	for _, g := range gs {
		within(t, 3*time.Second, "ping", func() bool {
			return exec.Command("ip", "netns", "exec", g.ns, "ping", "-n", "-q", "-c", "1", "-W", "1", "192.0.2.2").Run() == nil
		})
		g.ping("192.0.2.2", 5)
	}
}

// databaseRestarts: nothing is lost and nothing is written.
func databaseRestarts(t *testing.T, m *machine, g *guest) {
	before := m.stats()
	p := g.pinger("192.0.2.2")
	m.ovs.RestartServer()
	m.ovs.Vsctl("set", "Open_vSwitch", ".", "external_ids:again=yes")
	g.m.await(wire.EntityL2, g.port, wire.State_DONE)
	if after := m.stats(); after.Puts != before.Puts || after.Drops != before.Drops {
		t.Errorf("before %+v, after %+v", before, after)
	}
	if sent, lost := p.lost(t); lost > 0 {
		t.Errorf("%d of %d pings lost", lost, sent)
	}
}

// replug: the interface goes and comes with another number.
func replug(t *testing.T, m *machine, g *guest) {
	m.ovs.Vsctl("del-port", g.tap)
	m.await(wire.EntityL2, g.port, wire.State_UNPLUGGED)
	if strings.Contains(strings.Join(m.flows(), "\n"), "output:"+g.tap) {
		t.Error("flows to a port that is gone")
	}
	m.ovs.Vsctl("add-port", "br-int", g.tap, "--", "set", "Interface", g.tap, "external_ids:iface-id="+g.port, "ofport_request=777")
	m.await(wire.EntityL2, g.port, wire.State_DONE)
	g.ping("192.0.2.2", 3)
}

// moves: the other host's port comes here, with its address and MAC, and goes again.
func moves(t *testing.T, ms []*machine, here, there *guest) {
	m := ms[0]
	moved := m.boot(70, there.ip)
	sh(t, "ip", "-n", moved.ns, "link", "set", "eth0", "address", there.mac)
	moved.port, moved.mac = there.port, there.mac
	m.put("host:"+m.name, moved.doc(networkID(0), "vxlan"))
	moved.plug()
	m.await(wire.EntityL2, moved.port, wire.State_DONE)
	here.ping(there.ip, 3)
	delete(m.docs["host:"+m.name], wire.KindPort+moved.port)
	m.put("host:" + m.name)
	m.await(wire.EntityL2, moved.port, wire.State_PLUGGED)
	m.ovs.Vsctl("del-port", moved.tap)
	m.await(wire.EntityL2, moved.port, wire.State_UNPLUGGED)
	here.ping(there.ip, 3)
}
