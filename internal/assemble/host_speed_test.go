//go:build integration

package assemble

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"isospin/internal/ovsdb"
	"isospin/internal/wire"
)

// plugger plugs as os-vif does, without a process for each.
type plugger struct {
	c *ovsdb.Client
}

func newPlugger(t *testing.T, m *machine) plugger {
	t.Helper()
	c, err := ovsdb.New(m.ovs.DB)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = c.Run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	if err := c.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return plugger{c}
}

func (p plugger) plug(t *testing.T, g *guest) {
	t.Helper()
	b, there := p.c.Snapshot().Bridge("br-int")
	if !there {
		t.Fatal("no br-int")
	}
	_, err := p.c.Transact(t.Context(),
		ovsdb.Insert(ovsdb.TableInterface, "i", ovsdb.Row{"name": g.tap, "external_ids": map[string]string{"iface-id": g.port, "attached-mac": g.mac, "iface-status": "active"}}),
		ovsdb.Insert(ovsdb.TablePort, "p", ovsdb.Row{"name": g.tap, "interfaces": []ovsdb.UUID{"i"}}),
		ovsdb.Add(ovsdb.TableBridge, b.UUID, "ports", []ovsdb.UUID{"p"}))
	if err != nil {
		t.Fatal(err)
	}
}

// plugDummy plugs a device of the switch's own that carries nothing.
func (p plugger) plugDummy(t *testing.T, g *guest) {
	t.Helper()
	b, _ := p.c.Snapshot().Bridge("br-int")
	_, err := p.c.Transact(t.Context(),
		ovsdb.Insert(ovsdb.TableInterface, "i", ovsdb.Row{"name": g.tap, "type": "internal", "external_ids": map[string]string{"iface-id": g.port}}),
		ovsdb.Insert(ovsdb.TablePort, "p", ovsdb.Row{"name": g.tap, "interfaces": []ovsdb.UUID{"i"}}),
		ovsdb.Add(ovsdb.TableBridge, b.UUID, "ports", []ovsdb.UUID{"p"}))
	if err != nil {
		t.Fatal(err)
	}
}

// TestPlugToPing measures from the moment of plugging to the first answer that a guest hears, with a static address and a
// cold ARP cache, from a neighbour here and one on another host.
func TestPlugToPing(t *testing.T) {
	ms := newMachines(t, 2)
	s := &wire.Segment{Id: "vxlan", NetworkType: "vxlan", SegmentationId: 1000}
	here, there := ms[0].boot(1, "192.0.2.1"), ms[1].boot(2, "192.0.2.2")
	guests := []*guest{here, there}
	const rounds = 12
	for i := range rounds {
		guests = append(guests, ms[0].boot(10+i, fmt.Sprint("192.0.2.", 10+i)))
	}
	join(t, ms, networkID(1), s, guests...)
	for _, m := range ms {
		m.synced()
	}
	here.plug()
	there.plug()
	ms[0].await(wire.EntityL2, here.port, wire.State_DONE)
	ms[1].await(wire.EntityL2, there.port, wire.State_DONE)
	// The switch's tunnels drop what they meet before they know the other end's MAC.
	within(t, 3*time.Second, "the tunnel", func() bool {
		return exec.Command("ip", "netns", "exec", here.ns, "ping", "-n", "-q", "-c", "1", "-W", "1", there.ip).Run() == nil
	})
	p := newPlugger(t, ms[0])
	took := map[string][]time.Duration{}
	for i, g := range guests[2:] {
		to, which := here.ip, "same host"
		if i%2 == 1 {
			to, which = there.ip, "other host"
		}
		// A guest that asks again and again sees the moment at which it is answered.
		sh(t, "ip", "netns", "exec", g.ns, "sysctl", "-qw", "net.ipv4.neigh.eth0.retrans_time_ms=1", "net.ipv4.neigh.eth0.mcast_solicit=5000")
		first := firstAnswer(t, g, to)
		start := time.Now()
		p.plug(t, g)
		g.m.await(wire.EntityL2, g.port, wire.State_DONE)
		took["said"] = append(took["said"], time.Since(start))
		took[which] = append(took[which], (<-first).Sub(start))
	}
	for what, ds := range took {
		slices.Sort(ds)
		t.Logf("%s: median %s, worst %s", what, ds[len(ds)/2], ds[len(ds)-1])
		if ds[len(ds)/2] > 100*time.Millisecond {
			t.Errorf("%s: median %s", what, ds[len(ds)/2])
		}
	}
}

// firstAnswer begins to ping and gives the time of the first answer.
func firstAnswer(t *testing.T, g *guest, to string) <-chan time.Time {
	t.Helper()
	cmd := exec.Command("ip", "netns", "exec", g.ns, "ping", "-D", "-n", "-i", "0.002", to)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	first := make(chan time.Time, 1)
	go func() {
		lines := bufio.NewScanner(out)
		stamp := regexp.MustCompile(`^\[(\d+)\.(\d+)\].*ttl`)
		for lines.Scan() {
			if m := stamp.FindStringSubmatch(lines.Text()); m != nil {
				sec, _ := strconv.ParseInt(m[1], 10, 64)
				usec, _ := strconv.ParseInt(m[2], 10, 64)
				first <- time.Unix(sec, usec*1000)
				break
			}
		}
		_ = cmd.Process.Signal(syscall.SIGINT)
		for lines.Scan() { // until it ends
			continue
		}
		_ = cmd.Wait() // lost packets are no failure
	}()
	within(t, 5*time.Second, "an ARP request", func() bool {
		return strings.Contains(sh(t, "ip", "-n", g.ns, "neigh", "show", to), "INCOMPLETE")
	})
	return first
}
