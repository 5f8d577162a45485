//go:build integration && vm

package assemble

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"isospin/internal/wire"
)

// TestVLANsOnBridgeHosts runs where the kernel has VLAN devices: on a device, on the operator's bridge, beside a flat network of the same device, with
// guests that tag their frames themselves.
func TestVLANsOnBridgeHosts(t *testing.T) {
	ms := newBridgeMachines(t, 2)
	before := ms[0].devices()
	segments := []*wire.Segment{
		{Id: "vlan", NetworkType: "vlan", PhysicalNetwork: "public", SegmentationId: 100},
		{Id: "mapped", NetworkType: "vlan", PhysicalNetwork: "mapped", SegmentationId: 4094},
		{Id: "flat", NetworkType: "flat", PhysicalNetwork: "public"},
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
		m := g.m
		within(t, time.Minute, "port "+g.port, func() bool {
			m.agent.mu.Lock()
			defer m.agent.mu.Unlock()
			return m.agent.states[wire.EntityL2+" "+g.port] == wire.State_DONE
		})
	}
	reach := func(g *guest, device string) bool {
		return exec.Command("ip", "netns", "exec", g.ns, "ping", "-n", "-q", "-c", "2", "-W", "5", "-I", device, "192.0.2.2").Run() == nil
	}
	for i, s := range segments {
		within(t, time.Minute, s.Id, func() bool { return reach(all[2*i], "eth0") })
		if out := sh(t, "ip", "-n", all[2*i].ns, "neigh", "show", "192.0.2.2"); !strings.Contains(out, all[2*i+1].mac) {
			t.Errorf("%s: %s", s.Id, out)
		}
	}
	// A guest of the flat network tags its frames as those of VLAN 100: it must not be on the other network.
	g := all[4]
	sh(t, "ip", "-n", g.ns, "addr", "flush", "dev", "eth0")
	sh(t, "ip", "-n", g.ns, "link", "add", "link", "eth0", "eth0.100", "type", "vlan", "id", "100")
	sh(t, "ip", "-n", g.ns, "link", "set", "eth0.100", "up")
	sh(t, "ip", "-n", g.ns, "addr", "add", "192.0.2.77/24", "dev", "eth0.100")
	if reach(g, "eth0.100") {
		t.Error("a guest's own tag reached another network")
	}
	brq := "brq" + networkID(2)[:11]
	if out := ms[0].on("ip", "-d", "link", "show", brq); !strings.Contains(out, "vlan_filtering 1") {
		t.Errorf("the bridge of the flat network: %s", out)
	}
	ms[0].on("ip", "link", "set", brq, "type", "bridge", "vlan_filtering", "0")
	within(t, 30*time.Second, "the filter is on again", func() bool { return strings.Contains(ms[0].on("ip", "-d", "link", "show", brq), "vlan_filtering 1") })
	ms[0].stop()
	ms[0].start()
	ms[0].synced()
	within(t, time.Minute, "all ports after a restart", func() bool { return ms[0].agent.done() == 3 })
	began := time.Now()
	within(t, 10*time.Second, "more passes", func() bool { return time.Since(began) > 2*time.Second })
	if s := ms[0].stats(); s.Puts+s.Drops+s.Errors+s.Drift != 0 {
		t.Errorf("a restart wrote: %+v", s)
	}
	trunkOnBridges(t, ms, all[0], all[3])
	ms[0].docs["host:h1"] = nil
	ms[0].put("host:h1")
	for i := range segments {
		ms[0].docs["net:"+networkID(i)] = nil
		ms[0].put("net:" + networkID(i))
	}
	within(t, time.Minute, "nothing of the networks", func() bool { return ms[0].devices() == before })
}

// trunkOnBridges: a guest of one network is on another as well, by a tag.
func trunkOnBridges(t *testing.T, ms []*machine, carrier, far *guest) {
	t.Helper()
	m := ms[0]
	in := &guest{m: m, ns: carrier.ns, port: "00000050-aaaa-4000-8000-000000000000", mac: carrier.mac, ip: "192.0.2.50"}
	m.put("host:h1", encode(t, wire.KindPort, carrier.port, &wire.Port{Id: carrier.port, NetworkId: networkID(0), MacAddress: carrier.mac, AdminStateUp: true, Wiring: 2, SegmentId: "vlan",
		TrunkId: "t", SubPorts: []*wire.SubPort{{PortId: in.port, SegmentationType: "vlan", SegmentationId: 5}}}),
		encode(t, wire.KindPort, in.port, &wire.Port{Id: in.port, NetworkId: networkID(1), MacAddress: in.mac, AdminStateUp: true, Wiring: 1, SegmentId: "mapped", DeviceOwner: "trunk:subport"}))
	within(t, time.Minute, "the port inside", func() bool {
		m.agent.mu.Lock()
		defer m.agent.mu.Unlock()
		return m.agent.states[wire.EntityL2+" "+in.port] == wire.State_DONE
	})
	sh(t, "ip", "-n", in.ns, "link", "add", "link", "eth0", "eth0.5", "type", "vlan", "id", "5")
	sh(t, "ip", "-n", in.ns, "link", "set", "eth0.5", "up")
	sh(t, "ip", "-n", in.ns, "addr", "add", "198.51.100.50/24", "dev", "eth0.5")
	sh(t, "ip", "-n", far.ns, "addr", "add", "198.51.100.51/24", "dev", "eth0")
	within(t, time.Minute, "the network inside", func() bool {
		return exec.Command("ip", "netns", "exec", in.ns, "ping", "-n", "-q", "-c", "2", "-W", "5", "198.51.100.51").Run() == nil
	})
	// The device of the port inside goes with its document's carrier.
	m.put("host:h1", carrier.doc(networkID(0), "vlan"))
	within(t, time.Minute, "the device is gone", func() bool { return !strings.Contains(m.on("ip", "-br", "link"), "tap"+in.port[:11]) })
}
