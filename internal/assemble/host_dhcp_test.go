//go:build integration

package assemble

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"isospin/internal/wire"
)

// inside runs a command where the machine's agent sees its namespaces.
func (m *machine) inside(args ...string) (string, error) {
	out, err := exec.Command("nsenter", append([]string{"--net=/run/netns/" + m.ovs.NetNS, "--mount=" + m.ovs.RunDir + "/mnt", "--"}, args...)...).CombinedOutput()
	return string(out), err
}

// TestDHCPOnAHost: the DHCP role's namespace, device and address, made, mended and found again by a restarted agent.
func TestDHCPOnAHost(t *testing.T) {
	m := newMachines(t, 1, "dhcp")[0]
	s := &wire.Segment{Id: "vxlan", NetworkType: "vxlan", SegmentationId: 1000}
	id := networkID(1)
	ns := "qdhcp-" + id
	g := m.boot(1, "192.0.2.9")
	server := &guest{m: m, port: "99999999-aaaa-4000-8000-000000000000", mac: "fa:16:3e:00:00:99", ip: "192.0.2.2"}
	m.put("host:"+m.name, g.doc(id, "vxlan"), server.doc(id, "vxlan"),
		encode(t, wire.KindDHCP, id, &wire.DHCPNetwork{NetworkId: id, Ports: map[string]string{m.name: server.port}, LeaseDuration: 600}))
	m.put("dhcp:"+id, encode(t, wire.KindReservation, g.port, &wire.Reservation{PortId: g.port, NetworkId: id, MacAddress: g.mac, Wiring: 1,
		FixedIps: []*wire.FixedIP{{SubnetId: "s", IpAddress: g.ip}}}))
	g.plug()
	// The network's documents come last.
	m.put("net:"+id, networkDoc(t, id, 1400, s),
		encode(t, wire.KindSubnet, "s", &wire.Subnet{Id: "s", NetworkId: id, Cidr: "192.0.2.0/24", IpVersion: 4, EnableDhcp: true}))
	m.synced()
	start := time.Now()
	m.await(wire.EntityL2, g.port, wire.State_DONE)
	m.await(wire.EntityDHCP, g.port, wire.State_DONE)
	t.Logf("served %s after the last document", time.Since(start))
	g.ping(server.ip, 3)

	t.Run("restart", func(t *testing.T) {
		p := g.pinger(server.ip)
		seen := watched(t, m, func() {
			m.stop()
			m.start()
			m.await(wire.EntityDHCP, g.port, wire.State_DONE)
			began := time.Now()
			within(t, 2*time.Second, "more passes", func() bool { return time.Since(began) > 600*time.Millisecond })
		})
		if seen != "" {
			t.Errorf("seen: %s", seen)
		}
		// The server in the agent's process is new with it; all else is found as it was.
		if s := m.stats(); s.Puts > 2 || s.Drops+s.Errors+s.Drift != 0 {
			t.Errorf("written: %+v", s)
		}
		if sent, lost := p.lost(t); lost > 0 || sent < 30 {
			t.Errorf("%d of %d pings lost", lost, sent)
		}
	})
	dev := "ns-" + server.port[:11]
	has := func() bool {
		out, err := m.inside("ip", "-n", ns, "addr", "show", "dev", dev)
		return err == nil && strings.Contains(out, "192.0.2.2/24")
	}
	for _, c := range []struct {
		name string
		harm []string
	}{
		{"the address", []string{"ip", "-n", ns, "addr", "del", "192.0.2.2/24", "dev", dev}},
		{"a stranger's address", []string{"ip", "-n", ns, "addr", "add", "198.51.100.1/24", "dev", dev}},
		{"the device", []string{"ip", "link", "del", "tap" + server.port[:11]}},
		{"the namespace", []string{"ip", "netns", "del", ns}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if out, err := m.inside(c.harm...); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			t.Cleanup(func() {
				if t.Failed() {
					links, _ := m.inside("ip", "-br", "link")
					addrs, _ := m.inside("ip", "-n", ns, "addr")
					t.Logf("%s\n%s\n%s\n%+v", links, addrs, m.ovs.Vsctl("--columns=name,ofport,error", "list", "Interface"), m.stats())
				}
			})
			took := within(t, 2*time.Second, c.name, func() bool {
				out, _ := m.inside("ip", "-n", ns, "addr")
				return has() && !strings.Contains(out, "198.51.100.1") &&
					exec.Command("ip", "netns", "exec", g.ns, "ping", "-n", "-q", "-c", "1", "-W", "0.1", server.ip).Run() == nil
			})
			t.Logf("mended within %s", took)
		})
	}
	t.Run("unscheduled", func(t *testing.T) {
		delete(m.docs["host:"+m.name], wire.KindDHCP+id)
		delete(m.docs["host:"+m.name], wire.KindPort+server.port)
		m.put("host:" + m.name)
		within(t, 2*time.Second, "all gone", func() bool {
			out, _ := m.inside("ip", "netns", "list")
			links, _ := m.inside("ip", "-br", "link")
			return !strings.Contains(out, "qdhcp-") && !strings.Contains(links, "tap"+server.port[:11])
		})
		if ports := m.ovs.Vsctl("list-ports", "br-int"); !strings.Contains(ports, g.tap) || strings.Contains(ports, "tap"+server.port[:11]) {
			t.Errorf("ports: %s", ports)
		}
	})
}

// TestWarmStartOfManyPorts: an agent with 300 ports, and 1,000 ports elsewhere, finds everything right within the floor.
func TestWarmStartOfManyPorts(t *testing.T) {
	m := newMachines(t, 1)[0]
	s := &wire.Segment{Id: "vxlan", NetworkType: "vxlan", SegmentationId: 1000}
	p := newPlugger(t, m)
	var last string
	for n := range 10 {
		id := networkID(n)
		docs := []*wire.Document{networkDoc(t, id, 1400, s)}
		for i := range 100 {
			g := &guest{m: m, port: fmt.Sprintf("%04d%04d-cccc-4000-8000-000000000000", n, i), mac: fmt.Sprintf("fa:16:3e:02:%02x:%02x", n, i), ip: fmt.Sprintf("192.0.2.%d", 100+i)}
			docs = append(docs, g.forward(id, "vxlan"))
		}
		docs[0] = networkDoc(t, id, 1400, &wire.Segment{Id: "vxlan", NetworkType: "vxlan", SegmentationId: int64(1000 + n)})
		m.put("net:"+id, docs...)
	}
	var own []*wire.Document
	for i := range 300 {
		g := &guest{m: m, tap: fmt.Sprint("dum", i), port: fmt.Sprintf("%08d-dddd-4000-8000-000000000000", i), mac: fmt.Sprintf("fa:16:3e:03:%02x:%02x", i/200, i%200), ip: fmt.Sprintf("192.0.2.%d", 1+i/10)}
		own = append(own, g.doc(networkID(i%10), "vxlan"))
		p.plugDummy(t, g)
		last = g.port
	}
	m.put("host:"+m.name, own...)
	m.synced()
	m.await(wire.EntityL2, last, wire.State_DONE)
	within(t, 10*time.Second, "all ports", func() bool { return m.agent.done() >= 300 })
	before := len(m.flows())
	m.stop()
	start := time.Now()
	m.start()
	within(t, 5*time.Second, "all ports", func() bool { return m.agent.done() >= 300 })
	took := time.Since(start)
	t.Logf("%d flows, 300 ports: all said %s after the start", before, took)
	if s := m.stats(); s.Puts+s.Drops+s.Errors+s.Drift != 0 {
		t.Errorf("written: %+v", s)
	}
	if took > 2*time.Second {
		t.Errorf("a warm start took %s", took)
	}
}
