//go:build integration

package assemble

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isospin/internal/wire"
)

// served is a machine with a network, a guest and a DHCP server for it, all wired.
func served(t *testing.T) (m *machine, g, server *guest) {
	t.Helper()
	m = newMachines(t, 1, "dhcp")[0]
	id := networkID(1)
	g = m.boot(1, "192.0.2.9")
	server = &guest{m: m, port: "99999999-aaaa-4000-8000-000000000000", mac: "fa:16:3e:00:00:99", ip: "192.0.2.2"}
	m.put("host:"+m.name, g.doc(id, "vxlan"), server.doc(id, "vxlan"),
		encode(t, wire.KindDHCP, id, &wire.DHCPNetwork{NetworkId: id, Ports: map[string]string{m.name: server.port}, LeaseDuration: 600}))
	m.put("dhcp:"+id, encode(t, wire.KindReservation, g.port, &wire.Reservation{PortId: g.port, NetworkId: id, MacAddress: g.mac, Wiring: 1,
		FixedIps: []*wire.FixedIP{{SubnetId: "s", IpAddress: g.ip}}}))
	m.put("net:"+id, networkDoc(t, id, 1400, &wire.Segment{Id: "vxlan", NetworkType: "vxlan", SegmentationId: 1000}),
		encode(t, wire.KindSubnet, "s", &wire.Subnet{Id: "s", NetworkId: id, Cidr: "192.0.2.0/24", IpVersion: 4, EnableDhcp: true}))
	m.synced()
	g.plug()
	m.await(wire.EntityL2, g.port, wire.State_DONE)
	m.await(wire.EntityDHCP, g.port, wire.State_DONE)
	g.ping(server.ip, 2)
	return m, g, server
}

// looks is all that the agent makes on a machine, and all that strangers have there, without what only counts.
func (m *machine) looks(ns, tap, dev string) string {
	m.t.Helper()
	var b strings.Builder
	for _, args := range [][]string{
		{"--columns=name,fail_mode,protocols,stp_enable,rstp_enable,datapath_type,external_ids,other_config", "list", "Bridge"},
		{"--columns=name,tag,trunks,external_ids", "list", "Port"},
		{"--columns=name,type,options,external_ids,ofport_request,error", "list", "Interface"},
	} {
		rows := strings.Split(m.ovs.Vsctl(append([]string{"--format=csv"}, args...)...), "\n")
		slices.Sort(rows)
		b.WriteString(strings.Join(rows, "\n") + "\n")
	}
	for bridge := range strings.FieldsSeq(m.ovs.Vsctl("list-br")) {
		b.WriteString(bridge + ": " + m.ovs.Vsctl("list-ports", bridge) + "\n")
	}
	// The number that a port has may be another when it was made anew; a cookie is of all that the flow is.
	numbers := regexp.MustCompile(`(cookie=0x[0-9a-f]{0,4})[0-9a-f]*|reg[56]=0x[0-9a-f]+|set_field:0x[0-9a-f]+->reg[56]|in_port=\d+|output:\d+`)
	flows := m.flows()
	for i := range flows {
		flows[i] = numbers.ReplaceAllString(flows[i], "$1#")
	}
	slices.Sort(flows)
	b.WriteString(strings.Join(flows, "\n") + "\n")
	passing := regexp.MustCompile(`(?m)^\d+: |@if\d+|link-netnsid \d+|qlen \d+|valid_lft.*`)
	for i, args := range [][]string{{"-o", "link", "show", tap}, {"-n", ns, "-o", "link", "show", dev}, {"-n", ns, "-o", "-4", "addr", "show", dev}} {
		out, err := m.inside(append([]string{"ip"}, args...)...)
		out = passing.ReplaceAllString(out, "")
		if i == 0 { // the switch's end has the MAC address that the kernel gave it
			out = regexp.MustCompile(`link/ether [0-9a-f:]+`).ReplaceAllString(out, "")
		}
		b.WriteString(fmt.Sprint(out, err != nil, "\n"))
	}
	return b.String()
}

// TestWhatOthersChangeIsMended: every kind of object that the agent has made is as it was within two seconds, whatever was done to it, and what is others' is left alone.
func TestWhatOthersChangeIsMended(t *testing.T) {
	m, g, server := served(t)
	o := m.ovs
	// Strangers: flows of another cookie in the agent's tables, ports, bridges, devices and namespaces of all kinds.
	o.Ofctl("-O", "OpenFlow15", "add-flow", "br-int", "cookie=0x77,table=0,priority=7,dl_type=0x1234,actions=drop")
	o.Vsctl("add-port", "br-int", "theirs", "--", "set", "Interface", "theirs", "type=internal", "external_ids:owner=them")
	o.Vsctl("add-br", "br-theirs", "--", "set", "Bridge", "br-theirs", "datapath_type=netdev", "fail_mode=standalone")
	if out, err := m.inside("sh", "-c", "ip netns add theirs && ip link add th0 type veth peer name th1"); err != nil {
		t.Fatal(out)
	}
	ns, tap, dev := "qdhcp-"+networkID(1), "tap"+server.port[:11], "ns-"+server.port[:11]
	in := func(args ...string) func() {
		return func() {
			if out, err := m.inside(args...); err != nil {
				t.Fatalf("%v: %v: %s", args, err, out)
			}
		}
	}
	vsctl := func(args ...string) func() { return func() { o.Vsctl(append([]string{"--no-wait"}, args...)...) } }
	ofctl := func(args ...string) func() {
		return func() { o.Ofctl(append([]string{"-O", "OpenFlow15"}, args...)...) }
	}
	for _, c := range []struct {
		name string
		harm func()
	}{
		{"the bridge's protocols", vsctl("set", "Bridge", "br-int", "protocols=OpenFlow10,OpenFlow15")},
		{"a spanning tree", vsctl("set", "Bridge", "br-int", "stp_enable=true")},
		{"a rapid spanning tree", vsctl("set", "Bridge", "br-int", "rstp_enable=true")},
		{"the tunnel port", vsctl("del-port", "vxlan-isospin")},
		{"the tunnel's key", vsctl("set", "Interface", "vxlan-isospin", "options:key=5")},
		{"the tunnel's end", vsctl("set", "Interface", "vxlan-isospin", "options:local_ip=10.9.9.9")},
		{"the tunnel's options", vsctl("set", "Interface", "vxlan-isospin", "options:df_default=false", "options:csum=true", "options:dst_port=1234")},
		{"the tunnel's kind", vsctl("set", "Interface", "vxlan-isospin", "type=internal")},
		{"the tunnel's number", vsctl("set", "Interface", "vxlan-isospin", "ofport_request=77")},
		{"an inner patch", vsctl("del-port", "int-br-physnet1")},
		{"an outer patch", vsctl("del-port", "phy-br-public")},
		{"a patch's other end", vsctl("set", "Interface", "phy-br-public", "options:peer=elsewhere")},
		{"a patch with a tag", vsctl("set", "Port", "int-br-physnet1", "tag=9")},
		{"the server's switch port", vsctl("del-port", tap)},
		{"the server's switch port's id", vsctl("remove", "Interface", tap, "external_ids", "iface-id")},
		{"the server's switch port on another bridge", vsctl("del-port", tap, "--", "add-port", "br-theirs", tap, "--", "set", "Port", tap, "external_ids:isospin-owner=isospin-agent")},
		{"the server's device is down", in("ip", "-n", ns, "link", "set", dev, "down")},
		{"its outer end is down", in("ip", "link", "set", tap, "down")},
		{"its MTU", in("ip", "-n", ns, "link", "set", dev, "mtu", "1000")},
		{"its MAC", in("ip", "-n", ns, "link", "set", dev, "address", "fa:16:3e:99:99:99")},
		{"its address", in("ip", "-n", ns, "addr", "flush", "dev", dev)},
		{"a stranger's address", in("ip", "-n", ns, "addr", "add", "198.51.100.1/24", "dev", dev)},
		{"the pair", in("ip", "link", "del", tap)},
		{"the namespace", in("ip", "netns", "del", ns)},
		{"a flow", ofctl("--strict", "del-flows", "br-int", "table=40,priority=0")},
		{"a flow's actions", ofctl("mod-flows", "br-int", "table=90,actions=drop")},
		{"a flow of ours that is too many", ofctl("add-flow", "br-int", fmt.Sprintf("cookie=%s,table=40,priority=999,actions=drop", ours(t, m)))},
		{"a table", ofctl("del-flows", "br-int", fmt.Sprintf("cookie=%s/-1,table=0", ours(t, m)))},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := time.Now()
			want := m.looks(ns, tap, dev)
			start := time.Now()
			look := start.Sub(asked)
			c.harm()
			for m.looks(ns, tap, dev) != want {
				if time.Since(start) > 5*time.Second+2*look {
					t.Fatalf("not mended: %s", cmp.Diff(strings.Split(want, "\n"), strings.Split(m.looks(ns, tap, dev), "\n")))
				}
			}
			// The last look and the one before it, which came too early, are no time of the agent's; they start a dozen processes each.
			took := time.Since(start)
			t.Logf("mended within %d ms, a look takes %d ms", took.Milliseconds(), look.Milliseconds())
			if took > 2*time.Second+2*look {
				t.Errorf("mended after %s, of which a look is %s", took, look)
			}
			within(t, 2*time.Second+2*look, "an answer", func() bool { return g.reaches(server.ip) })
		})
	}
	if out, err := m.inside("sh", "-c", "ip netns list; ip -br link"); err != nil || !strings.Contains(out, "theirs") || !strings.Contains(out, "th0@th1") {
		t.Errorf("strangers' devices and namespaces: %v: %s", err, out)
	}
	m.await(wire.EntityL2, g.port, wire.State_DONE)
	m.await(wire.EntityDHCP, g.port, wire.State_DONE)
	if !m.agent.says("") {
		t.Errorf("still said: %v", m.agent.reasons)
	}
}

// ours is the cookie of the agent's flows.
func ours(t *testing.T, m *machine) string {
	t.Helper()
	for _, f := range m.flows() {
		if c := regexp.MustCompile(`cookie=(0x[0-9a-f]+), table=40`).FindStringSubmatch(strings.ReplaceAll(f, ",table", ", table")); c != nil {
			return c[1]
		}
	}
	t.Fatal("no flow in table 40")
	return ""
}

// TestWhatCannotBeMendedIsTold: a name that somebody else has taken is his; the agent says so, and goes on when it is free.
func TestWhatCannotBeMendedIsTold(t *testing.T) {
	m, g, server := served(t)
	m.stop()
	m.ovs.Vsctl("del-port", "vxlan-isospin", "--", "add-port", "br-int", "vxlan-isospin", "--", "set", "Interface", "vxlan-isospin", "type=internal")
	m.start()
	began := time.Now()
	m.await(wire.EntityL2, g.port, wire.State_FAILED)
	within(t, 5*time.Second, "a reason", func() bool {
		return m.agent.says("switch ports vxlan-isospin: the name belongs to a port that is not ours")
	})
	t.Logf("told %s after the start", time.Since(began))
	if got := m.ovs.Vsctl("get", "Interface", "vxlan-isospin", "type"); got != "internal" {
		t.Errorf("the stranger's port is of type %s", got)
	}
	if !g.reaches(server.ip) {
		t.Error("what does not stand on the tunnel fails with it")
	}
	m.ovs.Vsctl("del-port", "vxlan-isospin")
	began = time.Now()
	m.await(wire.EntityL2, g.port, wire.State_DONE)
	within(t, 5*time.Second, "no reason", func() bool { return m.agent.says("") })
	t.Logf("all well %s after the name was free", time.Since(began))
}
