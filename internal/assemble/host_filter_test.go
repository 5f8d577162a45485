//go:build integration

package assemble

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"isospin/internal/wire"
)

const (
	filterGroup  = "0a0a0a0a-eeee-4000-8000-000000000000"
	filterRemote = "0b0b0b0b-eeee-4000-8000-000000000000"
)

// ruleDocs are 20 rules of the group: half of them for members of the other one.
func ruleDocs(t *testing.T) []*wire.Document {
	out := []*wire.Document{encode(t, wire.KindGroup, filterGroup, &wire.SecurityGroup{Id: filterGroup, Stateful: true})}
	for i := range int32(20) {
		r := &wire.SecurityGroupRule{Id: fmt.Sprintf("%08d-ffff-4000-8000-000000000000", i), SecurityGroupId: filterGroup, Direction: "ingress", Ethertype: "IPv4",
			Protocol: "tcp", PortRangeMin: 1000 + 10*i, PortRangeMax: 1009 + 10*i}
		if i%2 == 1 {
			r.RemoteGroupId = filterRemote
		}
		out = append(out, encode(t, wire.KindRule, r.Id, r))
	}
	return out
}

func memberDocs(t *testing.T, n int) []*wire.Document {
	var out []*wire.Document
	for i := range n {
		port := fmt.Sprintf("%08d-9999-4000-8000-000000000000", i)
		out = append(out, encode(t, wire.KindMember, filterRemote+"/"+port, &wire.SecurityGroupMember{SecurityGroupId: filterRemote, PortId: port,
			IpAddresses: []string{fmt.Sprintf("10.%d.%d.%d", i/60000, i/200%250, i%200)}}))
	}
	return out
}

// filtered is the port of a guest that has no device, with port security.
func filtered(t *testing.T, g *guest, network string) *wire.Document {
	return encode(t, wire.KindPort, g.port, &wire.Port{Id: g.port, NetworkId: network, MacAddress: g.mac, AdminStateUp: true, Wiring: 1, SegmentId: "vxlan",
		FixedIps: []*wire.FixedIP{{SubnetId: "s", IpAddress: g.ip}}, PortSecurityEnabled: true, SecurityGroups: []string{filterGroup}})
}

// TestManyFilteredPorts: the first port of a host in a group of 5,000; 300 of them; a start with an empty switch and one that finds everything; and what
// a member less costs.
func TestManyFilteredPorts(t *testing.T) {
	m := newMachines(t, 1)[0]
	m.stop()
	m.cfg.SecurityGroup.Enabled = true
	m.start()
	id := networkID(1)
	m.put("net:"+id, networkDoc(t, id, 1400, &wire.Segment{Id: "vxlan", NetworkType: "vxlan", SegmentationId: 1000}))
	m.synced()
	p := newPlugger(t, m)
	var own []*wire.Document
	for i := range 300 {
		g := &guest{m: m, tap: fmt.Sprint("dum", i), port: fmt.Sprintf("%08d-dddd-4000-8000-000000000000", i), mac: fmt.Sprintf("fa:16:3e:03:%02x:%02x", i/200, i%200), ip: fmt.Sprintf("192.0.%d.%d", i/200, 1+i%200)}
		own = append(own, filtered(t, g, id))
		p.plugDummy(t, g)
	}
	first := time.Now()
	m.put("host:"+m.name, own[0])
	m.put("sgm:"+filterRemote, memberDocs(t, 5000)...)
	m.put("sg:"+filterGroup, ruleDocs(t)...)
	m.await(wire.EntityL2, own[0].GetId(), wire.State_DONE)
	within(t, 10*time.Second, "the flows of 5,000 members", func() bool { return len(m.flows()) > 5000 })
	t.Logf("the first port in a group of 5,000 members: %s", time.Since(first))
	m.put("host:"+m.name, own...)
	within(t, 15*time.Second, "all ports", func() bool { return m.agent.done() >= 300 })
	flows := m.flows()

	start := time.Now()
	m.stop()
	m.start()
	within(t, 5*time.Second, "all ports", func() bool { return m.agent.done() >= 300 })
	took := time.Since(start)
	t.Logf("%d flows, 300 ports, 20 rules, 5,000 members: all said %s after a warm start", len(flows), took)
	if s := m.stats(); s.Puts+s.Drops+s.Errors+s.Drift != 0 {
		t.Errorf("written: %+v", s)
	}
	if took > 2*time.Second {
		t.Errorf("a warm start took %s", took)
	}
	before := m.stats()
	m.docs["sgm:"+filterRemote] = nil
	m.put("sgm:"+filterRemote, memberDocs(t, 4999)...)
	within(t, 5*time.Second, "one flow less", func() bool { return len(m.flows()) == len(flows)-1 })
	if s := m.stats(); s.Puts != before.Puts || s.Drops != before.Drops+1 {
		t.Errorf("a member less: %+v, before %+v", s, before)
	}
	m.stop()
	m.ovs.Ofctl("-O", "OpenFlow15", "del-flows", "br-int")
	start = time.Now()
	m.start()
	within(t, 15*time.Second, "all ports", func() bool { return m.agent.done() >= 300 })
	within(t, 15*time.Second, "all flows", func() bool { return len(m.flows()) == len(flows)-1 })
	t.Logf("a start with an empty switch: %s", time.Since(start))
	now := m.flows()
	for _, f := range now {
		if !slices.Contains(flows, f) {
			t.Errorf("a flow that was not there: %s", f)
			break
		}
	}
}
