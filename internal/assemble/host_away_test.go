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

// reaches tells whether one ping is answered soon.
func (g *guest) reaches(to string) bool {
	return exec.Command("ip", "netns", "exec", g.ns, "ping", "-n", "-q", "-c", "1", "-W", "0.2", to).Run() == nil
}

// TestSwitchAwayAtTheStart: an agent that is started before Open vSwitch, or a part of it, waits, says so, and goes on when it comes. The server is
// away too in some of these, and the mirror on disk is enough.
func TestSwitchAwayAtTheStart(t *testing.T) {
	m := newMachines(t, 1)[0]
	id := networkID(1)
	a, b := m.boot(1, "192.0.2.1"), m.boot(2, "192.0.2.2")
	documents := func() {
		m.put("host:"+m.name, a.doc(id, "vxlan"), b.doc(id, "vxlan"))
		m.put("net:"+id, networkDoc(t, id, 1400, &wire.Segment{Id: "vxlan", NetworkType: "vxlan", SegmentationId: 1000}))
		m.synced()
	}
	documents()
	a.plug()
	b.plug()
	wired := func() {
		t.Helper()
		m.await(wire.EntityL2, a.port, wire.State_DONE)
		m.await(wire.EntityL2, b.port, wire.State_DONE)
		within(t, 2*time.Second, "a ping", func() bool { return a.reaches(b.ip) })
	}
	wired()
	for _, c := range []struct {
		name           string
		database, flow bool // away
		server         bool // there, meanwhile
		says           string
	}{
		{"all of it, and the server", true, true, false, "not connected to the database server"},
		{"all of it", true, true, true, "not connected to the database server"},
		{"the database", true, false, false, "not connected to the database server"},
		{"ovs-vswitchd", false, true, true, "openflow connection"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m.stop()
			if c.flow {
				m.ovs.StopVswitchd()
			}
			if c.database {
				m.ovs.StopServer()
			}
			m.start()
			if c.server {
				documents()
			}
			told := within(t, 10*time.Second, "a reason", func() bool { return m.agent.says(c.says) })
			if c.database {
				m.ovs.StartServer()
			}
			came := time.Now()
			if c.flow {
				m.ovs.StartVswitchd()
				came = time.Now()
			}
			wired()
			t.Logf("told after %d ms; wired %d ms after it came", told.Milliseconds(), time.Since(came).Milliseconds())
			within(t, 5*time.Second, "no reason", func() bool { return m.agent.says("") })
			if s := m.stats(); s.Drops != 0 {
				t.Errorf("dropped: %+v", s)
			}
		})
	}
	t.Run("a first start without anything", func(t *testing.T) {
		m.stop()
		m.ovs.StopVswitchd()
		m.ovs.StopServer()
		m.cfg.State.Dir = t.TempDir() // nothing is known
		m.start()
		within(t, 10*time.Second, "a reason", func() bool { return m.agent.says("not connected to the database server") })
		m.ovs.StartServer()
		m.ovs.StartVswitchd()
		within(t, 5*time.Second, "no reason", func() bool { return m.agent.says("") })
		if s := m.stats(); s.Drops != 0 {
			t.Errorf("without a server's word things were dropped: %+v", s)
		}
		documents()
		wired()
	})
}

// TestSwitchGoesAndComes: while an agent runs; what it says meanwhile, and how soon all is back.
func TestSwitchGoesAndComes(t *testing.T) {
	m := newMachines(t, 1)[0]
	id := networkID(1)
	a, b := m.boot(1, "192.0.2.1"), m.boot(2, "192.0.2.2")
	m.put("host:"+m.name, a.doc(id, "vxlan"), b.doc(id, "vxlan"))
	m.put("net:"+id, networkDoc(t, id, 1400, &wire.Segment{Id: "vxlan", NetworkType: "vxlan", SegmentationId: 1000}))
	m.synced()
	a.plug()
	b.plug()
	m.await(wire.EntityL2, a.port, wire.State_DONE)
	m.await(wire.EntityL2, b.port, wire.State_DONE)
	within(t, 2*time.Second, "a ping", func() bool { return a.reaches(b.ip) })
	flows := len(m.flows())
	for _, c := range []struct {
		name      string
		end, come func()
		says      string
	}{
		{"ovs-vswitchd", m.ovs.StopVswitchd, m.ovs.StartVswitchd, "openflow connection"},
		{"the database", m.ovs.StopServer, m.ovs.StartServer, "not connected to the database server"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := m.stats()
			c.end()
			within(t, 10*time.Second, "a reason", func() bool { return m.agent.says(c.says) })
			c.come()
			back := within(t, 2*time.Second, "all flows", func() bool { return len(m.flows()) >= flows })
			answer := within(t, 2*time.Second, "a ping", func() bool { return a.reaches(b.ip) })
			t.Logf("flows back after %d ms, a ping after %d ms more", back.Milliseconds(), answer.Milliseconds())
			within(t, 5*time.Second, "no reason", func() bool { return m.agent.says("") })
			if after := m.stats(); after.Drops != before.Drops {
				t.Errorf("dropped: %+v", after)
			}
		})
	}
}

// TestKilledInTheMiddleOfABatch: the flows that a killed agent had not written are there soon after the next one's start.
func TestKilledInTheMiddleOfABatch(t *testing.T) {
	m := newMachines(t, 1)[0]
	id := networkID(1)
	g := m.boot(1, "192.0.2.1")
	segment := &wire.Segment{Id: "vxlan", NetworkType: "vxlan", SegmentationId: 1000}
	m.put("host:"+m.name, g.doc(id, "vxlan"))
	m.put("net:"+id, networkDoc(t, id, 1400, segment))
	m.synced()
	g.plug()
	m.await(wire.EntityL2, g.port, wire.State_DONE)
	const each = 400
	total := 0
	for round := range 5 {
		var docs []*wire.Document
		for i := range each {
			port := fmt.Sprintf("%04d%04d-cccc-4000-8000-000000000000", round, i)
			docs = append(docs, encode(t, wire.KindForward, port, &wire.Forward{PortId: port, NetworkId: id, Host: "h2", SegmentId: "vxlan", TunnelIp: "10.222.0.2",
				MacAddress: fmt.Sprintf("fa:16:3e:%02x:%02x:%02x", 0x80+round, i/256, i%256), IpAddresses: []string{fmt.Sprintf("10.%d.%d.%d", round, i/250, 1+i%250)}}))
		}
		total += each
		m.put("net:"+id, docs...)
		if round%2 == 1 { // when something of it is there; else before anything is
			within(t, 5*time.Second, "a flow of the batch", func() bool { return forwards(m) > total-each })
		}
		m.kill()
		left, began := forwards(m), time.Now()
		m.start()
		// What was not on disk yet the server sends again, as the hash of the set tells it to.
		m.put("net:" + id)
		m.synced()
		within(t, 10*time.Second, "all flows", func() bool { return forwards(m) == total })
		took := time.Since(began)
		t.Logf("killed with %d of %d: all there %d ms after the start", left, total, took.Milliseconds())
		if took > 3*time.Second {
			t.Errorf("all flows after %s", took)
		}
	}
	m.await(wire.EntityL2, g.port, wire.State_DONE)
	if s := m.stats(); s.Errors != 0 {
		t.Errorf("errors: %+v", s)
	}
}

// forwards counts the flows towards ports of other hosts.
func forwards(m *machine) int {
	n := 0
	for _, f := range m.flows() {
		if strings.Contains(f, "table=40") && strings.Contains(f, "fa:16:3e:8") {
			n++
		}
	}
	return n
}
