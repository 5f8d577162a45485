package l3

import (
	"slices"
	"testing"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/service/agents"
)

func ip(subnet, address string) model.FixedIP {
	return model.FixedIP{SubnetID: subnet, IPAddress: address}
}

// TestMatch: requests name gateways by network and addresses, exactly, in part, or not at all.
func TestMatch(t *testing.T) {
	r := &model.Router{ExternalGateways: []model.GatewayInfo{
		{NetworkID: "n1", ExternalFixedIPs: []model.FixedIP{ip("s1", "192.0.2.1"), ip("s2", "2001:db8::1")}},
		{NetworkID: "n1", ExternalFixedIPs: []model.FixedIP{ip("s1", "192.0.2.2")}},
		{NetworkID: "n2", ExternalFixedIPs: []model.FixedIP{}},
	}}
	ask := func(network string, ips ...model.FixedIP) gatewayAsked {
		return gatewayAsked{NetworkID: network, ExternalFixedIPs: ips}
	}
	for name, c := range map[string]struct {
		asked []gatewayAsked
		want  []int
	}{
		"exactly":               {[]gatewayAsked{ask("n1", ip("s1", "192.0.2.2"))}, []int{1}},
		"in another writing":    {[]gatewayAsked{ask("n1", ip("", "2001:0db8::1"))}, []int{0}},
		"in part":               {[]gatewayAsked{ask("n1", ip("s2", ""))}, []int{0}},
		"by network":            {[]gatewayAsked{ask("n1"), ask("n1")}, []int{0, 1}},
		"the exact ones first":  {[]gatewayAsked{ask("n1"), ask("n1", ip("s1", "192.0.2.1"), ip("s2", "2001:db8::1"))}, []int{1, 0}},
		"without any addresses": {[]gatewayAsked{ask("n2")}, []int{2}},
		"more than there are":   {[]gatewayAsked{ask("n2"), ask("n2")}, nil},
		"of another network":    {[]gatewayAsked{ask("n3")}, nil},
		"of another address":    {[]gatewayAsked{ask("n1", ip("s1", "192.0.2.9"))}, nil},
	} {
		got, err := match(r, c.asked)
		if c.want == nil {
			if f := fault.Of(err); f == nil || f.Name != "UnableToMatchGateways" {
				t.Errorf("%s: %v, %v", name, got, err)
			}
			continue
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// TestMoved: which addresses asked for are others than those that a gateway has.
func TestMoved(t *testing.T) {
	have := []model.FixedIP{ip("s1", "192.0.2.1"), ip("s2", "2001:db8::1")}
	for name, c := range map[string]struct {
		want []model.FixedIP
		yes  bool
	}{
		"none named":      {nil, false},
		"the same":        {[]model.FixedIP{ip("s2", "2001:db8::1"), ip("s1", "192.0.2.1")}, false},
		"their subnets":   {[]model.FixedIP{ip("s1", ""), ip("s2", "")}, false},
		"one subnet less": {[]model.FixedIP{ip("s1", "192.0.2.1")}, true},
		"another address": {[]model.FixedIP{ip("s1", "192.0.2.7"), ip("s2", "2001:db8::1")}, true},
		"another subnet":  {[]model.FixedIP{ip("s1", ""), ip("s3", "")}, true},
	} {
		if got := moved(have, c.want); got != c.yes {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestRouteLists: routes are added and dropped one by one, whatever others there are.
func TestRouteLists(t *testing.T) {
	a, b, c := model.HostRoute{Destination: "10.1.0.0/16", Nexthop: "10.0.0.2"}, model.HostRoute{Destination: "10.1.0.0/16", Nexthop: "10.0.0.3"}, model.HostRoute{Destination: "10.2.0.0/16", Nexthop: "10.0.0.2"}
	have := []model.HostRoute{a, b}
	if got := addRoutes(have, []model.HostRoute{b, c}); !slices.Equal(got, []model.HostRoute{a, b, c}) {
		t.Errorf("added: %v", got)
	}
	if got := dropRoutes(have, []model.HostRoute{a, c}); !slices.Equal(got, []model.HostRoute{b}) {
		t.Errorf("dropped: %v", got)
	}
	if !slices.Equal(have, []model.HostRoute{a, b}) {
		t.Errorf("the list itself changed: %v", have)
	}
}

// TestOverZones: agents of one zone after the other, in their order within each.
func TestOverZones(t *testing.T) {
	agent := func(host, zone string) agents.Seen {
		return agents.Seen{Agent: model.Agent{Host: host, AvailabilityZone: &zone}}
	}
	var got []string
	for _, a := range overZones([]agents.Seen{agent("h1", "a"), agent("h2", "a"), agent("h3", "b"), agent("h4", "a"), agent("h5", "c")}) {
		got = append(got, a.Host)
	}
	if want := []string{"h1", "h3", "h5", "h2", "h4"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestSuits: which agents are made for which routers.
func TestSuits(t *testing.T) {
	plain, spread := &model.Router{}, &model.Router{Distributed: true}
	for mode, want := range map[string][2]bool{"": {true, false}, "legacy": {true, false}, "dvr": {false, false}, "dvr_no_external": {false, false}, "dvr_snat": {true, true}} {
		a := &model.Agent{Configurations: map[string]any{"agent_mode": mode}}
		if got := [2]bool{suits(a, plain), suits(a, spread)}; got != want {
			t.Errorf("%q: %v, want %v", mode, got, want)
		}
	}
	only := &model.Agent{Configurations: map[string]any{"handle_internal_only_routers": false}}
	if suits(only, plain) {
		t.Error("an agent for routers with a gateway takes one without")
	}
	if !suits(only, &model.Router{ExternalGateways: []model.GatewayInfo{{}}}) {
		t.Error("an agent for routers with a gateway refuses one")
	}
}
