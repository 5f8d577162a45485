//go:build integration

package fullstack

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"isospin/internal/lab"
)

// ages are how long ago a host's flows were installed, in seconds.
func (s *stack) ages(t *testing.T, host string) []float64 {
	t.Helper()
	var out []float64
	dump := s.on(t, host, "ovs-ofctl", "-O", "OpenFlow15", "dump-flows", "br-int")
	for _, m := range regexp.MustCompile(`duration=([0-9.]+)s`).FindAllStringSubmatch(dump, -1) {
		age, err := strconv.ParseFloat(m[1], 64)
		must(t, err)
		out = append(out, age)
	}
	if len(out) == 0 {
		t.Fatalf("no flows on %s:\n%s", host, dump)
	}
	return out
}

// TestWarmRestart kills and starts the agent of a host with 50 ports on five networks: no ping is lost, nothing is
// written to Open vSwitch or the kernel, and it is ready within two seconds.
func TestWarmRestart(t *testing.T) {
	const networks, each = 5, 10
	s := bring(t, "", whole("h1"), whole("h2"))
	var births []birth
	for n := range networks {
		made := s.net(t, fmt.Sprintf("n%d", n), fmt.Sprintf("10.30.%d.0/24", n), nil)
		for i := range each {
			births = append(births, birth{name: fmt.Sprintf("g%d-%d", n, i), host: "h1", network: made.id()})
		}
	}
	far := birth{name: "far", host: "h2", network: "n0"}
	guests := s.static(t, append(births, far)...)
	w := s.watch(t, "h1") // It writes a little itself, and what it writes may cost packets: before the pings.
	p := []*steady{s.start(t, "far", guests["g0-0"].IPs[0]), s.start(t, "g1-0", guests["g1-1"].IPs[0]), s.start(t, "g4-8", guests["g4-9"].IPs[0])}
	flows := s.flows(t, "h1")
	for round := range 3 {
		began := time.Now()
		must(t, s.AgentKill(t.Context(), "h1"))
		started := time.Now()
		must(t, s.AgentStart(t.Context(), "h1"))
		took := time.Since(started)
		t.Logf("warm restart %d with 50 ports: ready and alive %d ms after its start", round+1, took.Milliseconds())
		if took > 2*time.Second {
			t.Errorf("the restart took %s", took)
		}
		for _, st := range p {
			st.more(t, 30)
		}
		ages := s.ages(t, "h1")
		if youngest, since := slices.Min(ages), time.Since(began).Seconds(); youngest < since {
			t.Errorf("a flow is %.1f s old, the restart began %.1f s ago", youngest, since)
		}
	}
	for _, st := range p {
		if lost := st.stop(t); lost > 0 {
			t.Errorf("%d pings from %s to %s were lost", lost, st.from, st.to)
		}
	}
	w.silent(t)
	if after := s.flows(t, "h1"); after != flows {
		t.Error("the flows are not what they were")
	}
}

// TestPlug measures from the plug of a bound port to its guest's first answered ping: static addresses, ARP cold.
func TestPlug(t *testing.T) {
	s := bring(t, "", whole("h1"), whole("h2"))
	n := s.net(t, "plugged", "10.31.0.0/24", nil)
	guests := s.static(t, birth{name: "here", host: "h1", network: n.id()}, birth{name: "there", host: "h2", network: n.id()})
	s.reach(t, "here", guests["there"].IPs[0])
	// A guest asks again every second for a MAC address; this one every other millisecond, so that the figure is Isospin's.
	s.on(t, "here", "sh", "-c", "echo 2 >/proc/sys/net/ipv4/neigh/eth0/retrans_time_ms; echo 1000 >/proc/sys/net/ipv4/neigh/eth0/mcast_solicit")
	var took []time.Duration
	for range 10 {
		took = append(took, s.replug(t, guests["here"], guests["there"].IPs[0]))
	}
	slices.Sort(took)
	t.Logf("plug to first ping, ARP cold, 10 times: median %.1f ms, best %.1f ms, worst %.1f ms", ms(took[5]), ms(took[0]), ms(took[9]))
	if took[5] > 100*time.Millisecond {
		t.Errorf("median %s, want 100 ms at most", took[5])
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// pull takes a guest's cable out of its host's bridge.
func (s *stack) pull(t *testing.T, g *lab.Guest) {
	t.Helper()
	s.on(t, g.Host, "ovs-vsctl", "--db=unix:"+s.Dir()+"/hosts/"+g.Host+"/ovs/db.sock", "del-port", g.Plug.Bridge, g.Plug.Device)
}

// put plugs it again as os-vif does, and does not wait for the switch.
func (s *stack) put(t *testing.T, g *lab.Guest) {
	t.Helper()
	s.on(t, g.Host, "ovs-vsctl", "--no-wait", "--db=unix:"+s.Dir()+"/hosts/"+g.Host+"/ovs/db.sock", "add-port", g.Plug.Bridge, g.Plug.Device,
		"--", "set", "Interface", g.Plug.Device, "external_ids:iface-id="+g.PortID, "external_ids:iface-status=active",
		"external_ids:attached-mac=\""+g.MAC+"\"", "external_ids:vm-uuid="+g.Device)
}

// replug pulls a guest's cable, waits until its port is DOWN, and tells how long after the plug the first ping is answered.
func (s *stack) replug(t *testing.T, g *lab.Guest, to string) time.Duration {
	t.Helper()
	s.pull(t, g)
	s.status(t, g.PortID, "DOWN")
	s.on(t, g.Name, "ip", "neighbour", "flush", "all")
	out, sent := &buffer{}, s.echoes(t, g.Name, "OutEchos")
	p, err := s.Spawn(t.Context(), g.Name, out, out, "ping", "-D", "-i0.002", to)
	must(t, err)
	until(t, 5*time.Second, "ping runs", func() (bool, string) { return s.echoes(t, g.Name, "OutEchos") > sent+2, out.String() })
	began := time.Now()
	s.put(t, g)
	stamp := regexp.MustCompile(`(?m)^\[([0-9]+)\.([0-9]{6})\] .*icmp_seq=`)
	answered := regexp.MustCompile(`(?m)^\[[0-9.]+\] \d+ bytes from .*$`)
	until(t, 10*time.Second, "an answer", func() (bool, string) { return answered.MatchString(out.String()), out.String() })
	must(t, p.Signal(syscall.SIGINT))
	_ = p.Wait()
	m := stamp.FindStringSubmatch(answered.FindString(out.String()))
	if m == nil {
		t.Fatalf("ping said %s", out)
	}
	seconds, _ := strconv.ParseInt(m[1], 10, 64)
	micros, _ := strconv.ParseInt(m[2], 10, 64)
	s.status(t, g.PortID, "ACTIVE")
	return time.UnixMicro(seconds*1e6 + micros).Sub(began)
}
