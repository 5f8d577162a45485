//go:build integration

package assemble

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"isospin/internal/config"
	"isospin/internal/dataplane/nft"
	"isospin/internal/wire"
)

// secure is the guest's port with port security, in groups.
func (g *guest) secure(network, segment string, groups ...string) *wire.Document {
	g.m.t.Helper()
	p := &wire.Port{}
	if err := proto.Unmarshal(g.doc(network, segment).GetBody(), p); err != nil {
		g.m.t.Fatal(err)
	}
	p.PortSecurityEnabled, p.SecurityGroups = true, groups
	return encode(g.m.t, wire.KindPort, g.port, p)
}

func groupDocs(t *testing.T, id string, stateful bool, rules ...*wire.SecurityGroupRule) []*wire.Document {
	t.Helper()
	out := []*wire.Document{encode(t, wire.KindGroup, id, &wire.SecurityGroup{Id: id, Stateful: stateful})}
	for n, r := range rules {
		r.Id, r.SecurityGroupId = fmt.Sprintf("%s-%04d", id, n), id
		out = append(out, encode(t, wire.KindRule, r.Id, r))
	}
	return out
}

func ruleOf(direction, protocol string, low, high int32) *wire.SecurityGroupRule {
	return &wire.SecurityGroupRule{Direction: direction, Ethertype: "IPv4", Protocol: protocol, PortRangeMin: low, PortRangeMax: high}
}

// table is our table as nft shows it, with the kernel's handles: what was written anew has others.
func (m *machine) table() string {
	m.t.Helper()
	return m.on("nft", "-a", "list", "table", "bridge", nft.Table)
}

func (g *guest) answered(to string) bool {
	return exec.Command("ip", "netns", "exec", g.ns, "ping", "-n", "-q", "-c", "1", "-W", "0.3", to).Run() == nil
}

// newFilteringMachine makes a host of Linux bridges that filters.
func newFilteringMachine(t *testing.T) *machine {
	t.Helper()
	m := newBridgeMachines(t, 1)[0]
	m.stop()
	m.cfg.SecurityGroup = config.SecurityGroup{Enabled: true}
	m.start()
	return m
}

// TestBridgeHostFilters: ports pass nothing before their rules are there, then what these say; rules come and go; a restart writes nothing and loses
// nothing; what others break is mended.
func TestBridgeHostFilters(t *testing.T) {
	m := newFilteringMachine(t)
	a, b := m.boot(1, "192.0.2.1"), m.boot(2, "192.0.2.2")
	m.put("net:"+networkID(0), networkDoc(t, networkID(0), 1400, &wire.Segment{Id: "vxlan", NetworkType: "vxlan", SegmentationId: 1000}))
	m.put("host:"+m.name, a.secure(networkID(0), "vxlan", "sg1"), b.secure(networkID(0), "vxlan", "sg1"))
	m.synced()
	m.await(wire.EntityL2, a.port, wire.State_PENDING)
	within(t, 3*time.Second, "the devices are in their bridge", func() bool { return strings.Count(m.on("bridge", "link"), "master brq") == 3 })
	if a.answered("192.0.2.2") {
		t.Error("a port whose group's document has not come was answered")
	}
	m.put("sg:sg1", groupDocs(t, "sg1", false, ruleOf("ingress", "icmp", -1, -1), ruleOf("egress", "", -1, -1))...)
	m.await(wire.EntityL2, a.port, wire.State_DONE)
	m.await(wire.EntityL2, b.port, wire.State_DONE)
	a.ping("192.0.2.2", 3)
	t.Run("restart", func(t *testing.T) {
		before := m.table()
		bridgeRestart(t, m, a)
		if now := m.table(); now != before {
			t.Errorf("the table was %s\nis %s", before, now)
		}
	})
	t.Run("drift", func(t *testing.T) {
		whole := m.table()
		for _, harm := range []string{"flush chain bridge isospin in4-sg1", "delete element bridge isospin macs { " + a.tap + " . " + a.mac + " }", "delete table bridge isospin"} {
			m.on("nft", harm)
			took := within(t, 2*time.Second, harm+": mended", func() bool { return count(m.table()) == count(whole) })
			t.Logf("%s: mended within %s", harm, took)
		}
		a.ping("192.0.2.2", 3)
	})
	t.Run("a rule less", func(t *testing.T) {
		delete(m.docs["sg:sg1"], wire.KindRule+"sg1-0000")
		m.put("sg:sg1")
		within(t, time.Second, "no answer", func() bool { return !a.answered("192.0.2.2") })
		m.put("sg:sg1", groupDocs(t, "sg1", false, ruleOf("ingress", "icmp", -1, -1))...)
		within(t, time.Second, "answers", func() bool { return a.answered("192.0.2.2") })
	})
	t.Run("with state", func(t *testing.T) {
		d := nft.New(m.ovs.NetNS)
		defer d.Close()
		tracks, err := d.Tracks(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		m.put("sg:sg1", groupDocs(t, "sg1", true)...)
		if !tracks { // and it says why
			m.await(wire.EntityL2, a.port, wire.State_FAILED)
			if a.answered("192.0.2.2") {
				t.Error("a port that cannot be filtered was answered")
			}
			return
		}
		m.await(wire.EntityL2, a.port, wire.State_DONE)
		a.ping("192.0.2.2", 3)
	})
}

// count counts the table's lines: handles are others after a repair.
func count(table string) int { return strings.Count(table, "\n") }

// TestBridgeHostFiltersManyPorts measures 300 ports in a group of 20 rules with 2,000 members.
func TestBridgeHostFiltersManyPorts(t *testing.T) {
	m := newFilteringMachine(t)
	const ports, members = 300, 2000
	var rules []*wire.SecurityGroupRule
	for n := range int32(20) {
		r := ruleOf("ingress", "tcp", 100+n, 200+n)
		r.RemoteGroupId = "sg1"
		rules = append(rules, r)
	}
	g := m.boot(1, "192.0.2.1")
	m.put("net:"+networkID(0), networkDoc(t, networkID(0), 1400, &wire.Segment{Id: "vxlan", NetworkType: "vxlan", SegmentationId: 1000}))
	m.put("sg:sg1", groupDocs(t, "sg1", false, rules...)...)
	docs := []*wire.Document{g.secure(networkID(0), "vxlan", "sg1")}
	for n := range ports {
		id := fmt.Sprintf("%08d-bbbb-4000-8000-000000000000", n)
		docs = append(docs, encode(t, wire.KindPort, id, &wire.Port{Id: id, NetworkId: networkID(0), MacAddress: fmt.Sprintf("fa:16:3e:01:%02x:%02x", n>>8, n&0xff), AdminStateUp: true,
			PortSecurityEnabled: true, SegmentId: "vxlan", SecurityGroups: []string{"sg1"}, FixedIps: []*wire.FixedIP{{SubnetId: "s", IpAddress: fmt.Sprintf("198.18.%d.%d", n>>8, n&0xff)}}}))
	}
	var all []*wire.Document
	member := func(n int) *wire.Document {
		return encode(t, wire.KindMember, fmt.Sprint("sg1/m", n), &wire.SecurityGroupMember{SecurityGroupId: "sg1", PortId: fmt.Sprint("m", n), IpAddresses: []string{fmt.Sprintf("198.19.%d.%d", n>>8, n&0xff)}})
	}
	for n := range members {
		all = append(all, member(n))
	}
	began := time.Now()
	m.put("sgm:sg1", all...)
	m.put("host:"+m.name, docs...)
	m.synced()
	m.await(wire.EntityL2, g.port, wire.State_DONE)
	t.Logf("cold: all in place and said after %s", time.Since(began))
	before := m.table()
	if n := strings.Count(before, "chain in-"); n < ports {
		t.Fatalf("%d chains of ports: %s", n, before[:1000])
	}
	began = time.Now()
	m.stop()
	m.start()
	m.synced()
	m.await(wire.EntityL2, g.port, wire.State_DONE)
	took := time.Since(began)
	t.Logf("warm: all said after %s", took)
	if s := m.stats(); s.Puts+s.Drops+s.Errors+s.Drift != 0 {
		t.Errorf("written: %+v", s)
	}
	if m.table() != before {
		t.Error("the table was written")
	}
	if took > 10*time.Second {
		t.Errorf("a warm start took %s", took)
	}
	m.put("sgm:sg1", member(members))
	within(t, 2*time.Second, "a member more", func() bool { return strings.Contains(m.table(), "198.19.7.208") })
	if s := m.stats(); s.Puts != 1 || s.Drops != 0 {
		t.Errorf("a member more wrote %+v", s)
	}
}
