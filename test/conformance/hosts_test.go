//go:build conformance

package conformance

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"testing"
	"time"

	"isospin/internal/agent/link"
	"isospin/internal/agent/simulate"
	"isospin/internal/clock"
	"isospin/internal/ident"
	"isospin/internal/model"
	"isospin/internal/service/hostcred"
	"isospin/internal/store"
	"isospin/internal/wire"
	"isospin/test/rig"
)

// listening gives the options of a server whose sessions are at an address that hosts can be told.
func listening(t *testing.T, options map[string]string) map[string]string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	options["isospin/session_listen"] = l.Addr().String()
	must(t, l.Close())
	return options
}

// roles is what a host of every role says of itself; n makes its tunnel address.
func roles(n int) *wire.Facts {
	ip := fmt.Sprintf("192.0.2.%d", n)
	l2 := fmt.Sprintf(`{"tunneling_ip": %q, "tunnel_types": ["vxlan", "gre", "geneve"], "bridge_mappings": {"public": "br-public", "physnet1": "br-physnet1"}, "extensions": ["qos"]}`, ip)
	l3 := `{"agent_mode": "legacy", "handle_internal_only_routers": true, "interface_driver": "openvswitch", "routers": 0, "ex_gw_ports": 0, "interfaces": 0, "floating_ips": 0}`
	return &wire.Facts{TunnelIp: ip, TunnelTypes: []string{model.TypeVXLAN, model.TypeGRE, model.TypeGeneve}, Agents: []*wire.AgentFacts{
		{AgentType: model.AgentOVS, Binary: "neutron-openvswitch-agent", Topic: "N/A", Configurations: []byte(l2), StartedAt: 1},
		{AgentType: model.AgentDHCP, Binary: "neutron-dhcp-agent", Topic: "dhcp_agent", AvailabilityZone: "nova", Configurations: []byte(`{}`), StartedAt: 1},
		{AgentType: model.AgentL3, Binary: "neutron-l3-agent", Topic: "l3_agent", AvailabilityZone: "nova", Configurations: []byte(l3), StartedAt: 1},
		{AgentType: model.AgentMetadata, Binary: "neutron-metadata-agent", Topic: "N/A", Configurations: []byte(`{}`), StartedAt: 1},
	}}
}

// hosts enrols and runs simulated hosts h1, h2, ... until the test ends; they are there when it returns. The server's
// options are those that listening gave; more are agents of all hosts besides the usual ones.
func hosts(t *testing.T, options map[string]string, n int, more ...*wire.AgentFacts) {
	t.Helper()
	st := rig.Look(t, options)
	keeper := hostcred.New(st, clock.System{})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{}, n)
	t.Cleanup(func() {
		cancel()
		for range n {
			<-ended
		}
	})
	var all []*simulate.Host
	for i := range n {
		e, err := keeper.Enrol(t.Context(), fmt.Sprintf("h%d", i+1), []string{options["isospin/session_listen"]})
		must(t, err)
		facts := roles(i + 1)
		facts.Agents = append(facts.Agents, more...)
		h, err := simulate.New(simulate.Options{Answers: true, Link: link.Options{Enrolment: e, Facts: facts, Clock: clock.System{},
			IDs: ident.Random{}, Log: slog.New(slog.DiscardHandler)}})
		must(t, err)
		all = append(all, h)
		go func() {
			defer func() { ended <- struct{}{} }()
			_ = h.Run(ctx) // it ends with ctx's own error
		}()
	}
	wait, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	for _, h := range all {
		must(t, h.Wait(wait, func(v simulate.View) bool { return v.Synced() }))
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for alive := 0; alive < n*(len(roles(1).Agents)+len(more)); <-tick.C { // which the server writes by and by
		must(t, st.Read(wait, func(tx store.Tx) error {
			alive = 0
			return store.Each(wait, tx, store.Q("SELECT id FROM agents WHERE connected = 1"), func(func(...any) error) error {
				alive++
				return nil
			})
		}))
	}
}
