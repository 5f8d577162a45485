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
	ms[0].docs["host:h1"] = nil
	ms[0].put("host:h1")
	for i := range segments {
		ms[0].docs["net:"+networkID(i)] = nil
		ms[0].put("net:" + networkID(i))
	}
	within(t, time.Minute, "nothing of the networks", func() bool { return ms[0].devices() == before })
}
