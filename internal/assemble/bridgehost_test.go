package assemble

import (
	"context"
	"encoding/json"
	"net/netip"
	"testing"
	"time"

	"isospin/internal/clock"
	"isospin/internal/config"
	"isospin/internal/dataplane/netns"
)

// TestGathered: what follows the first news within a moment is acted upon once, and what comes later once more.
func TestGathered(t *testing.T) {
	c := clock.NewManual(time.Unix(1e9, 0))
	news, acts := make(chan netns.Kind), make(chan netns.Kind)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		ended <- gathered(ctx, c, func(seen func(netns.Kind)) error {
			for {
				select {
				case k := <-news:
					seen(k)
				case <-ctx.Done():
					return nil
				}
			}
		}, func(k netns.Kind) { acts <- k })
	}()
	for _, round := range [][]netns.Kind{{netns.Links, netns.Addresses, netns.Links}, {netns.Routes}} {
		var want netns.Kind
		for _, k := range round {
			news <- k
			want |= k
		}
		var got netns.Kind
		for tries := 0; got == 0; tries++ {
			c.Advance(settle) // again and again: the first may come before the wait begins
			select {
			case got = <-acts:
			case <-time.After(10 * time.Millisecond):
				if tries > 500 {
					t.Fatal("nothing was done")
				}
			}
		}
		if got&want != got {
			t.Errorf("done for %b, want %b", got, want)
		}
		for got != want { // the last of them may have come too late
			c.Advance(settle)
			select {
			case more := <-acts:
				got |= more
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestBridgeFacts: what the agent says of itself is read by mechanism drivers and clients that know Neutron's.
func TestBridgeFacts(t *testing.T) {
	c := &config.Agent{LinuxBridge: config.LinuxBridge{Interfaces: config.Mappings{"public": "eth2"}},
		BridgeVXLAN: config.BridgeVXLAN{Enabled: true, LocalIP: netip.MustParseAddr("10.0.0.1")}}
	for _, x := range []struct {
		change func()
		ip     string
		types  int
	}{
		{func() {}, "10.0.0.1", 1},
		{func() { c.BridgeVXLAN.Enabled = false }, "", 0},
		{func() { c.BridgeVXLAN = config.BridgeVXLAN{Enabled: true} }, "", 0},
	} {
		x.change()
		facts, err := bridgeFacts(c)
		if err != nil {
			t.Fatal(err)
		}
		var conf struct {
			Interfaces map[string]string `json:"interface_mappings"`
			Bridges    map[string]string `json:"bridge_mappings"`
			IP         string            `json:"tunneling_ip"`
			Types      []string          `json:"tunnel_types"`
		}
		if err := json.Unmarshal(facts.GetAgents()[0].GetConfigurations(), &conf); err != nil {
			t.Fatal(err)
		}
		if facts.GetTunnelIp() != x.ip || conf.IP != x.ip || len(conf.Types) != x.types || conf.Types == nil || conf.Bridges == nil || conf.Interfaces["public"] != "eth2" {
			t.Errorf("%+v: %+v", facts, conf)
		}
		if a := facts.GetAgents()[0]; a.GetAgentType() != "Linux bridge agent" || a.GetBinary() != "neutron-linuxbridge-agent" {
			t.Errorf("%v", a)
		}
	}
}
