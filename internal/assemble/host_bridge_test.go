//go:build integration

package assemble

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"isospin/internal/config"
	"isospin/internal/dataplane/vswitch/ovstest"
	"isospin/internal/wire"
)

// newBridgeMachines makes hosts of Linux bridges: eth0 of each is the underlay, eth2 the physical network public, and br-ext, with eth1 in it, the
// operator's bridge of the physical network mapped. With two of them the cables join them.
func newBridgeMachines(t *testing.T, n int, roles ...string) []*machine {
	t.Helper()
	var out []*machine
	for i := range n {
		dir, err := os.MkdirTemp("", fmt.Sprintf("ovs%d-", os.Getpid())) // a short path, which sweepPins knows
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		ns := fmt.Sprintf("lb%d-%d-%d", os.Getpid(), time.Now().UnixNano()%1e6, i)
		sh(t, "ip", "netns", "add", ns)
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "delete", ns).Run() })
		m := &machine{t: t, name: fmt.Sprint("h", i+1), ovs: &ovstest.OVS{NetNS: ns, RunDir: dir}, docs: map[string]map[string]*wire.Document{}}
		local := netip.AddrFrom4([4]byte{10, 222, 0, byte(i + 1)})
		sh(t, "ip", "-n", ns, "link", "set", "lo", "up")
		// The kernel's own addresses would come and go while the test watches for the agent's.
		sh(t, "ip", "netns", "exec", ns, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1")
		sh(t, "ip", "-n", ns, "link", "add", "br-ext", "type", "bridge", "forward_delay", "0", "mcast_snooping", "0")
		sh(t, "ip", "-n", ns, "link", "set", "br-ext", "up")
		m.cfg = config.Agent{Host: config.Host{Host: m.name}, OVS: config.OVS{LocalIP: local}, // what forward tells of the guest's host
			LinuxBridge: config.LinuxBridge{Interfaces: config.Mappings{"public": "eth2"}, Bridges: config.Mappings{"mapped": "br-ext"}},
			BridgeVXLAN: config.BridgeVXLAN{Enabled: true, LocalIP: local, Port: 4789},
			Isospin:     config.AgentOwn{L2Agent: "linuxbridge", Roles: roles}, State: config.State{Dir: t.TempDir()}}
		out = append(out, m)
	}
	for i, device := range []string{"eth0", "eth1", "eth2"} {
		a := out[0].ovs.NetNS
		peer := []string{"name", "far" + device}
		if n == 2 {
			peer = []string{"name", device, "netns", out[1].ovs.NetNS}
		}
		sh(t, append([]string{"ip", "-n", a, "link", "add", device, "type", "veth", "peer"}, peer...)...)
		for _, m := range out {
			m.cable(m.ovs.NetNS, device)
			switch i {
			case 0:
				sh(t, "ip", "-n", m.ovs.NetNS, "addr", "add", m.cfg.BridgeVXLAN.LocalIP.String()+"/24", "dev", device)
			case 1:
				sh(t, "ip", "-n", m.ovs.NetNS, "link", "set", device, "master", "br-ext")
			}
		}
	}
	for _, m := range out {
		m.start()
	}
	return out
}

// devices are the machine's own, without its guests'.
func (m *machine) devices() string {
	m.t.Helper()
	var out []string
	for line := range strings.Lines(sh(m.t, "ip", "-n", m.ovs.NetNS, "-br", "link")) {
		if name := strings.Fields(line)[0]; !strings.HasPrefix(name, "tap") {
			name, _, _ = strings.Cut(name, "@")
			out = append(out, name)
		}
	}
	return strings.Join(out, " ")
}

// on runs a command in the machine's network namespace.
func (m *machine) on(args ...string) string {
	m.t.Helper()
	return sh(m.t, append([]string{"ip", "netns", "exec", m.ovs.NetNS}, args...)...)
}

func TestTwoBridgeHosts(t *testing.T) {
	ms := newBridgeMachines(t, 2)
	before := ms[0].devices()
	segments := []*wire.Segment{
		{Id: "vxlan", NetworkType: "vxlan", SegmentationId: 1000},
		{Id: "flat", NetworkType: "flat", PhysicalNetwork: "public"},
		{Id: "mapped", NetworkType: "flat", PhysicalNetwork: "mapped"},
	}
	var all []*guest
	for i, s := range segments {
		a, b := ms[0].boot(2*i+1, "192.0.2.1"), ms[1].boot(2*i+2, "192.0.2.2")
		join(t, ms, networkID(i), s, a, b)
		all = append(all, a, b)
	}
	for _, m := range ms {
		m.synced()
	}
	for _, g := range all {
		g.m.await(wire.EntityL2, g.port, wire.State_DONE)
	}
	for i := range segments {
		t.Run(segments[i].Id, func(t *testing.T) { all[2*i].ping("192.0.2.2", 5) })
	}
	for i := range segments {
		if out := sh(t, "ip", "-n", all[2*i].ns, "neigh", "show", "192.0.2.2"); !strings.Contains(out, all[2*i+1].mac) {
			t.Errorf("%s: %s", segments[i].Id, out)
		}
	}
	t.Run("the host itself", func(t *testing.T) { hostApart(t, ms[0], all[0]) })
	t.Run("restart", func(t *testing.T) { bridgeRestart(t, ms[0], all[0]) })
	t.Run("killed", func(t *testing.T) { bridgeKilled(t, ms[0], all[0]) })
	t.Run("drift", func(t *testing.T) { bridgeDrift(t, ms[0], all[0]) })
	t.Run("what others have", func(t *testing.T) { bridgeStrangers(t, ms[0], all[0]) })
	t.Run("admin down", func(t *testing.T) { bridgeAdminDown(t, ms[0], all[0]) })
	t.Run("port moves here", func(t *testing.T) { bridgeMoves(t, ms, all[0], all[1]) })
	t.Run("all go", func(t *testing.T) {
		for _, m := range ms {
			m.docs["host:"+m.name] = nil
			m.put("host:" + m.name)
		}
		for i := range segments {
			ms[0].docs["net:"+networkID(i)] = nil
			ms[0].put("net:" + networkID(i))
		}
		within(t, 3*time.Second, "nothing of the networks", func() bool { return ms[0].devices() == before })
		if out := ms[0].on("bridge", "link"); !strings.Contains(out, "eth1") || strings.Contains(out, "tap") || strings.Contains(out, "eth2") {
			t.Errorf("in bridges: %s", out)
		}
	})
}

// hostApart: a guest that knows the host's address, and the bridge's MAC, cannot talk to the host by its own network.
func hostApart(t *testing.T, m *machine, g *guest) {
	own := m.cfg.BridgeVXLAN.LocalIP.String()
	sh(t, "ip", "-n", g.ns, "addr", "add", "10.222.0.99/24", "dev", "eth0")
	defer sh(t, "ip", "-n", g.ns, "addr", "del", "10.222.0.99/24", "dev", "eth0")
	answered := func() bool {
		return exec.Command("ip", "netns", "exec", g.ns, "ping", "-n", "-q", "-c", "2", "-i", "0.1", "-W", "0.3", own).Run() == nil
	}
	if answered() {
		t.Error("the host answers")
	}
	if out := sh(t, "ip", "-n", g.ns, "neigh", "show", own); strings.Contains(out, "lladdr") {
		t.Errorf("the host answers ARP: %s", out)
	}
	mac := ""
	for line := range strings.Lines(m.on("ip", "-br", "link")) {
		if f := strings.Fields(line); strings.HasPrefix(f[0], "brq"+networkID(0)[:11]) {
			mac = f[2]
		}
	}
	sh(t, "ip", "-n", g.ns, "neigh", "replace", own, "lladdr", mac, "dev", "eth0", "nud", "permanent")
	defer sh(t, "ip", "-n", g.ns, "neigh", "del", own, "dev", "eth0")
	before := m.icmp()
	if answered() || m.icmp() != before {
		t.Errorf("the host hears a guest that knows its bridge's MAC: %d pings", m.icmp()-before)
	}
}

// icmp counts the echo requests that the machine's own stack took.
func (m *machine) icmp() int {
	m.t.Helper()
	var names []string
	for line := range strings.Lines(m.on("cat", "/proc/net/snmp")) {
		if f := strings.Fields(line); f[0] == "Icmp:" && names == nil {
			names = f
		} else if f[0] == "Icmp:" {
			n, err := strconv.Atoi(f[slices.Index(names, "InEchos")])
			if err != nil {
				m.t.Fatal(err)
			}
			return n
		}
	}
	return 0
}

// bridgeRestart: an agent that finds all as it should be writes nothing, and no packet is lost.
func bridgeRestart(t *testing.T, m *machine, g *guest) {
	p := g.pinger("192.0.2.2")
	monitor := exec.Command("ip", "netns", "exec", m.ovs.NetNS, "ip", "-t", "monitor", "link", "address", "route")
	seen := &output{}
	monitor.Stdout = seen
	if err := monitor.Start(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	m.stop()
	m.start()
	m.synced()
	m.await(wire.EntityL2, g.port, wire.State_DONE)
	t.Logf("stopped, started and all said after %s", time.Since(began))
	within(t, time.Second, "another pass", func() bool { return time.Since(began) > 600*time.Millisecond })
	if s := m.stats(); s.Puts+s.Drops+s.Errors+s.Drift != 0 {
		t.Errorf("written: %+v", s)
	}
	_ = monitor.Process.Kill()
	_ = monitor.Wait()
	if text := seen.text(); text != "" {
		t.Errorf("seen: %s", text)
	}
	if sent, lost := p.lost(t); lost > 0 || sent < 30 {
		t.Errorf("%d of %d pings lost", lost, sent)
	}
}

// bridgeKilled: killed in the middle of a change, the next start ends where it would have.
func bridgeKilled(t *testing.T, m *machine, g *guest) {
	p := g.pinger("192.0.2.2")
	for i := range 3 {
		for j := range 20 {
			d := encode(t, wire.KindForward, fmt.Sprint("f", i, j), &wire.Forward{PortId: fmt.Sprint("f", i, j), NetworkId: networkID(0), MacAddress: fmt.Sprintf("fa:16:3e:01:%02x:%02x", i, j),
				IpAddresses: []string{fmt.Sprintf("192.0.2.%d", 10+20*i+j)}, Host: "h3", SegmentId: "vxlan", TunnelIp: "10.222.0.3"})
			m.put("net:"+networkID(0), d)
		}
		m.kill()
		m.start()
	}
	m.put("net:" + networkID(0)) // as a server does when the hash is another: the last of it may not have been on the disk
	m.synced()
	m.await(wire.EntityL2, g.port, wire.State_DONE)
	within(t, 3*time.Second, "all entries", func() bool {
		out := m.on("bridge", "fdb", "show", "dev", "vxlan-1000")
		return strings.Count(out, "fa:16:3e:01:") >= 2*60 && strings.Contains(out, "00:00:00:00:00:00 dst 10.222.0.3")
	})
	if sent, lost := p.lost(t); lost > 0 || sent < 5 {
		t.Errorf("%d of %d pings lost", lost, sent)
	}
}

// bridgeDrift: what others break is mended within two seconds.
func bridgeDrift(t *testing.T, m *machine, g *guest) {
	brq := "brq" + networkID(0)[:11]
	for _, c := range []struct {
		name string
		harm []string
		look []string
		want string
	}{
		{"the guest's device out of its bridge", []string{"ip", "link", "set", g.tap, "nomaster"}, []string{"ip", "link", "show", g.tap}, "master " + brq},
		{"its MTU", []string{"ip", "link", "set", g.tap, "mtu", "800"}, []string{"ip", "link", "show", g.tap}, "mtu 1400"},
		{"it is down", []string{"ip", "link", "set", g.tap, "down"}, []string{"ip", "link", "show", g.tap}, ",UP"},
		{"the bridge", []string{"ip", "link", "del", brq}, []string{"ip", "link", "show", g.tap}, "master " + brq},
		{"the spanning tree", []string{"ip", "link", "set", brq, "type", "bridge", "stp_state", "1"}, []string{"ip", "-d", "link", "show", brq}, "stp_state 0"},
		{"the VXLAN device", []string{"ip", "link", "del", "vxlan-1000"}, []string{"bridge", "fdb", "show", "dev", "vxlan-1000"}, "fa:16:3e:00:00:02 dst 10.222.0.2 self"},
		{"its isolation", []string{"bridge", "link", "set", "dev", "vxlan-1000", "isolated", "off"}, []string{"bridge", "-d", "link", "show", "dev", "vxlan-1000"}, "isolated on"},
		{"an entry", []string{"bridge", "fdb", "del", "fa:16:3e:00:00:02", "dev", "vxlan-1000", "self"}, []string{"bridge", "fdb", "show", "dev", "vxlan-1000"}, "fa:16:3e:00:00:02 dst 10.222.0.2 self"},
		{"the bridge's half of it", []string{"bridge", "fdb", "del", "fa:16:3e:00:00:02", "dev", "vxlan-1000", "master"}, []string{"bridge", "fdb", "show", "dev", "vxlan-1000"}, "fa:16:3e:00:00:02 sticky master " + brq + " static"},
		{"an entry elsewhere", []string{"bridge", "fdb", "replace", "fa:16:3e:00:00:02", "dev", "vxlan-1000", "dst", "10.222.0.9", "self"}, []string{"bridge", "fdb", "show", "dev", "vxlan-1000"}, "fa:16:3e:00:00:02 dst 10.222.0.2 self"},
		{"a flood", []string{"bridge", "fdb", "del", "00:00:00:00:00:00", "dev", "vxlan-1000", "dst", "10.222.0.2"}, []string{"bridge", "fdb", "show", "dev", "vxlan-1000"}, "00:00:00:00:00:00 dst 10.222.0.2"},
		{"a physical device", []string{"ip", "link", "set", "eth2", "nomaster"}, []string{"ip", "link", "show", "eth2"}, "master brq" + networkID(1)[:11]},
		{"a pair", []string{"ip", "link", "del", "phy" + networkID(2)[:11]}, []string{"ip", "link", "show", "phy" + networkID(2)[:11]}, "master br-ext"},
	} {
		m.on(c.harm...)
		took := within(t, 2*time.Second, c.name+": mended", func() bool {
			out, err := exec.Command("ip", append([]string{"netns", "exec", m.ovs.NetNS}, c.look...)...).CombinedOutput()
			return err == nil && strings.Contains(string(out), c.want)
		})
		t.Logf("%s: mended within %s", c.name, took)
	}
	g.ping("192.0.2.2", 3)
}

// bridgeStrangers: devices, bridges and entries of others stay as they are.
func bridgeStrangers(t *testing.T, m *machine, g *guest) {
	brq := "brq" + networkID(0)[:11]
	m.on("ip", "link", "add", "virbr0", "type", "bridge")
	m.on("ip", "link", "add", "debug0", "type", "veth", "peer", "name", "debug1")
	m.on("ip", "link", "set", "debug0", "master", brq)
	m.on("ip", "link", "add", "vxlan-7", "type", "vxlan", "id", "7", "dstport", "4789", "local", "10.222.0.1", "nolearning")
	m.on("bridge", "fdb", "append", "00:00:00:00:00:00", "dev", "vxlan-7", "dst", "10.222.0.77")
	m.stop()
	m.start()
	m.synced()
	m.await(wire.EntityL2, g.port, wire.State_DONE)
	began := time.Now()
	within(t, 2*time.Second, "more passes", func() bool { return time.Since(began) > 700*time.Millisecond })
	if out := m.on("bridge", "link"); !strings.Contains(out, "debug0") {
		t.Errorf("debug0 is out of the bridge: %s", out)
	}
	if out := m.on("bridge", "fdb", "show", "dev", "vxlan-7"); !strings.Contains(out, "10.222.0.77") {
		t.Errorf("vxlan-7 forwards by: %s", out)
	}
	for _, d := range []string{"debug0", "virbr0", "vxlan-7"} {
		m.on("ip", "link", "del", d)
	}
}

// bridgeAdminDown: a port that is down carries nothing.
func bridgeAdminDown(t *testing.T, m *machine, g *guest) {
	set := func(up bool) {
		m.put("host:"+m.name, encode(t, wire.KindPort, g.port, &wire.Port{Id: g.port, NetworkId: networkID(0), MacAddress: g.mac, AdminStateUp: up, Wiring: 2, SegmentId: "vxlan",
			FixedIps: []*wire.FixedIP{{SubnetId: "s", IpAddress: g.ip}}}))
	}
	set(false)
	m.await(wire.EntityL2, g.port, wire.State_UNPLUGGED)
	within(t, time.Second, "its device is down", func() bool { return !strings.Contains(m.on("ip", "link", "show", g.tap), ",UP") })
	if exec.Command("ip", "netns", "exec", g.ns, "ping", "-c", "1", "-W", "0.2", "192.0.2.2").Run() == nil {
		t.Error("a port that is down was answered")
	}
	set(true)
	m.await(wire.EntityL2, g.port, wire.State_DONE)
	g.ping("192.0.2.2", 3)
}

// bridgeMoves: the other host's port comes here, with its address and MAC, and goes again.
func bridgeMoves(t *testing.T, ms []*machine, here, there *guest) {
	m := ms[0]
	moved := m.boot(70, there.ip)
	sh(t, "ip", "-n", moved.ns, "link", "set", "eth0", "address", there.mac)
	sh(t, "ip", "-n", m.ovs.NetNS, "link", "set", moved.tap, "name", there.tap)
	moved.tap, moved.port, moved.mac = there.tap, there.port, there.mac
	m.put("host:"+m.name, moved.doc(networkID(0), "vxlan"))
	m.await(wire.EntityL2, moved.port, wire.State_DONE)
	here.ping(there.ip, 3)
	delete(m.docs["host:"+m.name], wire.KindPort+moved.port)
	m.put("host:" + m.name)
	within(t, 2*time.Second, "its device is in no bridge", func() bool { return !strings.Contains(m.on("ip", "link", "show", moved.tap), "master") })
	sh(t, "ip", "-n", m.ovs.NetNS, "link", "del", moved.tap)
	here.ping(there.ip, 3)
}

// TestBridgeHostSaysWhatIsWrong: what keeps a port from being wired is told with what to do.
func TestBridgeHostSaysWhatIsWrong(t *testing.T) {
	m := newBridgeMachines(t, 1)[0]
	m.on("ip", "addr", "add", "198.51.100.1/24", "dev", "eth2")
	flat := &wire.Segment{Id: "flat", NetworkType: "flat", PhysicalNetwork: "public"}
	g := m.boot(1, "192.0.2.1")
	join(t, []*machine{m}, networkID(0), flat, g)
	m.synced()
	m.await(wire.EntityL2, g.port, wire.State_FAILED)
	if out := m.on("ip", "link", "show", "eth2"); strings.Contains(out, "master") {
		t.Errorf("the host's own device is in a bridge: %s", out)
	}
	m.on("ip", "addr", "del", "198.51.100.1/24", "dev", "eth2")
	m.await(wire.EntityL2, g.port, wire.State_DONE)
	// The address of the host's end of tunnels.
	other := m.boot(2, "192.0.2.2")
	m.put("net:"+networkID(1), networkDoc(t, networkID(1), 1400, &wire.Segment{Id: "vxlan", NetworkType: "vxlan", SegmentationId: 1000}))
	m.put("host:"+m.name, other.doc(networkID(1), "vxlan"))
	m.await(wire.EntityL2, other.port, wire.State_DONE)
	m.on("ip", "addr", "del", "10.222.0.1/24", "dev", "eth0")
	m.await(wire.EntityL2, other.port, wire.State_FAILED)
	m.on("ip", "addr", "add", "10.222.0.1/24", "dev", "eth0")
	m.await(wire.EntityL2, other.port, wire.State_DONE)
	// A device of the operator's that goes and comes back.
	m.on("ip", "link", "set", "eth2", "name", "ethX")
	m.await(wire.EntityL2, g.port, wire.State_FAILED)
	m.on("ip", "link", "set", "ethX", "name", "eth2")
	m.await(wire.EntityL2, g.port, wire.State_DONE)
}

// TestBridgesAnswerARP: with the responder a guest hears at once who has an address elsewhere, though that host is not there to be asked.
func TestBridgesAnswerARP(t *testing.T) {
	m := newBridgeMachines(t, 1)[0]
	m.stop()
	m.cfg.BridgeVXLAN.ARP = true
	m.start()
	s := &wire.Segment{Id: "vxlan", NetworkType: "vxlan", SegmentationId: 1000}
	g := m.boot(1, "192.0.2.1")
	m.put("host:"+m.name, g.doc(networkID(0), "vxlan"))
	m.put("net:"+networkID(0), networkDoc(t, networkID(0), 1400, s), encode(t, wire.KindForward, "far", &wire.Forward{PortId: "far", NetworkId: networkID(0),
		MacAddress: "fa:16:3e:00:00:77", IpAddresses: []string{"192.0.2.7"}, Host: "h2", SegmentId: "vxlan", TunnelIp: "10.222.0.7"}))
	m.synced()
	m.await(wire.EntityL2, g.port, wire.State_DONE)
	for ip, want := range map[string]bool{"192.0.2.7": true, "192.0.2.8": false} {
		_ = exec.Command("ip", "netns", "exec", g.ns, "ping", "-c", "1", "-W", "0.3", ip).Run() // nobody is there
		if out := sh(t, "ip", "-n", g.ns, "neigh", "show", ip); strings.Contains(out, "fa:16:3e:00:00:77") != want {
			t.Errorf("who has %s: %s", ip, out)
		}
	}
}

// TestDHCPOnABridgeHost: the server's device is in the network's bridge, and all of it is found again by a restarted agent.
func TestDHCPOnABridgeHost(t *testing.T) {
	m := newBridgeMachines(t, 1, "dhcp")[0]
	s := &wire.Segment{Id: "vxlan", NetworkType: "vxlan", SegmentationId: 1000}
	id := networkID(1)
	g := m.boot(1, "192.0.2.9")
	server := &guest{m: m, port: "99999999-aaaa-4000-8000-000000000000", mac: "fa:16:3e:00:00:99", ip: "192.0.2.2"}
	m.put("host:"+m.name, g.doc(id, "vxlan"), server.doc(id, "vxlan"),
		encode(t, wire.KindDHCP, id, &wire.DHCPNetwork{NetworkId: id, Ports: map[string]string{m.name: server.port}, LeaseDuration: 600}))
	m.put("dhcp:"+id, encode(t, wire.KindReservation, g.port, &wire.Reservation{PortId: g.port, NetworkId: id, MacAddress: g.mac, Wiring: 1,
		FixedIps: []*wire.FixedIP{{SubnetId: "s", IpAddress: g.ip}}}))
	m.put("net:"+id, networkDoc(t, id, 1400, s),
		encode(t, wire.KindSubnet, "s", &wire.Subnet{Id: "s", NetworkId: id, Cidr: "192.0.2.0/24", IpVersion: 4, EnableDhcp: true}))
	m.synced()
	start := time.Now()
	m.await(wire.EntityL2, server.port, wire.State_DONE)
	m.await(wire.EntityDHCP, g.port, wire.State_DONE)
	t.Logf("served %s after the last document", time.Since(start))
	g.ping(server.ip, 3)
	p := g.pinger(server.ip)
	m.stop()
	m.start()
	m.await(wire.EntityDHCP, g.port, wire.State_DONE)
	began := time.Now()
	within(t, 2*time.Second, "more passes", func() bool { return time.Since(began) > 600*time.Millisecond })
	// The server in the agent's process is new with it; all else is found as it was.
	if st := m.stats(); st.Puts > 2 || st.Drops+st.Errors+st.Drift != 0 {
		t.Errorf("written: %+v", st)
	}
	if sent, lost := p.lost(t); lost > 0 || sent < 30 {
		t.Errorf("%d of %d pings lost", lost, sent)
	}
	tap := "tap" + server.port[:11]
	if out, err := m.inside("ip", "link", "del", tap); err != nil {
		t.Fatal(out)
	}
	took := within(t, 2*time.Second, "the server's device", func() bool {
		return exec.Command("ip", "netns", "exec", g.ns, "ping", "-n", "-q", "-c", "1", "-W", "0.1", server.ip).Run() == nil
	})
	t.Logf("mended within %s", took)
	delete(m.docs["host:"+m.name], wire.KindDHCP+id)
	delete(m.docs["host:"+m.name], wire.KindPort+server.port)
	m.put("host:" + m.name)
	within(t, 2*time.Second, "all gone", func() bool {
		out, _ := m.inside("ip", "netns", "list")
		links, _ := m.inside("ip", "-br", "link")
		return !strings.Contains(out, "qdhcp-") && !strings.Contains(links, tap)
	})
}
