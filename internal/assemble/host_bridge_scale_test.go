//go:build integration

package assemble

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"isospin/internal/wire"
)

// TestWarmStartOfManyBridgePorts: an agent with 300 ports on ten networks, and 1,000 ports elsewhere, makes all of it, finds everything right when it
// starts again, and a change then costs its own size.
func TestWarmStartOfManyBridgePorts(t *testing.T) {
	m := newBridgeMachines(t, 1)[0]
	for n := range 10 {
		id := networkID(n)
		docs := []*wire.Document{networkDoc(t, id, 1400, &wire.Segment{Id: "vxlan", NetworkType: "vxlan", SegmentationId: int64(1000 + n)})}
		for i := range 100 {
			docs = append(docs, encode(t, wire.KindForward, fmt.Sprintf("%04d%04d-cccc", n, i), &wire.Forward{PortId: fmt.Sprintf("%04d%04d-cccc", n, i), NetworkId: id,
				MacAddress: fmt.Sprintf("fa:16:3e:02:%02x:%02x", n, i), Host: "h2", SegmentId: "vxlan", TunnelIp: fmt.Sprint("10.222.0.", 2+i%5)}))
		}
		m.put("net:"+id, docs...)
	}
	var batch strings.Builder
	var own []*wire.Document
	for i := range 300 {
		g := &guest{m: m, port: fmt.Sprintf("%08d-dddd-4000-8000-000000000000", i), mac: fmt.Sprintf("fa:16:3e:03:%02x:%02x", i/200, i%200), ip: fmt.Sprintf("192.0.2.%d", 1+i/10)}
		own = append(own, g.doc(networkID(i%10), "vxlan"))
		fmt.Fprintf(&batch, "tuntap add dev tap%s mode tap\n", g.port[:11])
	}
	file := filepath.Join(t.TempDir(), "batch")
	if err := os.WriteFile(file, []byte(batch.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	m.put("host:"+m.name, own...)
	m.synced()
	start := time.Now()
	m.on("ip", "-batch", file)
	within(t, 15*time.Second, "all ports", func() bool { return m.agent.done() >= 300 })
	t.Logf("300 ports, 1,000 elsewhere: all wired %s after the first device came: %+v", time.Since(start), m.stats())
	m.stop()
	start = time.Now()
	m.start()
	within(t, 5*time.Second, "all ports", func() bool { return m.agent.done() >= 300 })
	took := time.Since(start)
	t.Logf("warm start: all said after %s", took)
	if s := m.stats(); s.Puts+s.Drops+s.Errors+s.Drift != 0 {
		t.Errorf("written: %+v", s)
	}
	if took > 2*time.Second {
		t.Errorf("a warm start took %s", took)
	}
	m.synced()
	// A port elsewhere that moves is one entry.
	m.docs["net:"+networkID(3)][wire.KindForward+"00030007-cccc"] = encode(t, wire.KindForward, "00030007-cccc", &wire.Forward{PortId: "00030007-cccc", NetworkId: networkID(3),
		MacAddress: "fa:16:3e:02:03:07", Host: "h3", SegmentId: "vxlan", TunnelIp: "10.222.0.3"})
	m.put("net:" + networkID(3))
	within(t, 2*time.Second, "the entry", func() bool {
		return strings.Contains(m.on("bridge", "fdb", "show", "dev", "vxlan-1003"), "fa:16:3e:02:03:07 dst 10.222.0.3 self")
	})
	if s := m.stats(); s.Puts != 1 || s.Drops+s.Errors+s.Drift != 0 {
		t.Errorf("a port that moves elsewhere: %+v", s)
	}
}

// TestBridgePlugSpeed: from a guest's device getting its name to DONE, and to the first answered ping with a cold ARP, on the same host and another.
func TestBridgePlugSpeed(t *testing.T) {
	ms := newBridgeMachines(t, 2)
	s := &wire.Segment{Id: "vxlan", NetworkType: "vxlan", SegmentationId: 1000}
	near, far, g := ms[0].boot(1, "192.0.2.1"), ms[1].boot(2, "192.0.2.2"), ms[0].boot(3, "192.0.2.3")
	join(t, ms, networkID(0), s, near, far, g)
	for _, m := range ms {
		m.synced()
	}
	for _, x := range []*guest{near, far, g} {
		x.m.await(wire.EntityL2, x.port, wire.State_DONE)
	}
	for _, to := range []*guest{near, far} {
		var done, ping []time.Duration
		for range 10 {
			// It stays up: a guest whose carrier came back may wait a second for its own kernel to send again.
			sh(t, "ip", "-n", ms[0].ovs.NetNS, "link", "set", g.tap, "nomaster")
			sh(t, "ip", "-n", ms[0].ovs.NetNS, "link", "set", g.tap, "name", "spare")
			ms[0].await(wire.EntityL2, g.port, wire.State_UNPLUGGED)
			sh(t, "ip", "-n", g.ns, "neigh", "flush", "all")
			began := time.Now()
			sh(t, "ip", "-n", ms[0].ovs.NetNS, "link", "set", "spare", "name", g.tap)
			ms[0].await(wire.EntityL2, g.port, wire.State_DONE)
			done = append(done, time.Since(began))
			g.ping(to.ip, 1)
			ping = append(ping, time.Since(began))
		}
		slices.Sort(done)
		slices.Sort(ping)
		t.Logf("to %s: DONE after %s, first ping after %s in the median, with the commands' own time", to.m.name, done[5], ping[5])
		if ping[5] > 100*time.Millisecond {
			t.Errorf("median %s, want 100 ms at most", ping[5])
		}
	}
}
