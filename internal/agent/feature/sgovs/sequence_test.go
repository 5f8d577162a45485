package sgovs

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"isospin/internal/agent/feature/secgroup"
	"isospin/internal/change"
	"isospin/internal/dataplane/openflow"
	"isospin/internal/wire"
)

// TestSequences draws what happens to rules, groups, members and ports, in bursts, with restarts of the agent, and compares what is wanted in
// the end with what a feature wants that only sees the end.
func TestSequences(t *testing.T) {
	const ports, groups, rules = 4, 4, 10
	addresses := []string{"192.0.2.1", "192.0.2.2", "10.0.0.0/8", "0.0.0.0/0", "2001:db8::1", "::/0", "nowhere"}
	some := func(r *rapid.T, what string) []string {
		return slices.DeleteFunc(slices.Clone(addresses), func(a string) bool { return rapid.Bool().Draw(r, what+a) })
	}
	events := []func(r *rapid.T, w *world, n int){
		func(r *rapid.T, w *world, n int) { w.group(n%groups, rapid.Bool().Draw(r, "stateful")) },
		func(_ *rapid.T, w *world, n int) { w.Drop(wire.KindGroup, groupID(n%groups)) },
		func(r *rapid.T, w *world, n int) {
			w.rule(fmt.Sprint("r", n%rules), n%3, rapid.SampledFrom([]string{"ingress", "egress"}).Draw(r, "direction"),
				rapid.SampledFrom([]string{"IPv4", "IPv6"}).Draw(r, "family"), func(d *wire.SecurityGroupRule) {
					d.Protocol = rapid.SampledFrom([]string{"", "tcp", "udp", "sctp", "icmp", "dccp", "253"}).Draw(r, "protocol")
					if rapid.Bool().Draw(r, "ports") {
						d.PortRangeMin, d.PortRangeMax = rapid.Int32Range(0, 3).Draw(r, "low"), rapid.Int32Range(3, 9).Draw(r, "high")
					}
					switch rapid.IntRange(0, 3).Draw(r, "remote") {
					case 0:
						d.RemoteGroupId = groupID(rapid.IntRange(0, 2).Draw(r, "group"))
					case 1:
						d.RemoteAddressGroupId = rapid.SampledFrom([]string{"ag1", "ag2"}).Draw(r, "address group")
					case 2:
						d.RemoteIpPrefix = rapid.SampledFrom([]string{"192.0.2.0/24", "0.0.0.0/0", "2001:db8::/32"}).Draw(r, "prefix")
					}
				})
		},
		func(_ *rapid.T, w *world, n int) { w.Drop(wire.KindRule, fmt.Sprint("r", n%rules)) },
		func(r *rapid.T, w *world, n int) { w.member(n%3, fmt.Sprint("m", n%2), some(r, "member")...) },
		func(_ *rapid.T, w *world, n int) {
			w.Drop(wire.KindMember, groupID(n%3)+"/"+fmt.Sprint("m", n%2))
		},
		func(_ *rapid.T, w *world, n int) { w.entry(fmt.Sprint("ag", n%2+1), addresses[n%6]) },
		func(_ *rapid.T, w *world, n int) {
			w.Drop(wire.KindAddress, fmt.Sprint("ag", n%2+1)+"/"+addresses[n%6])
		},
		func(r *rapid.T, w *world, n int) {
			n %= ports
			p := w.port(n, n%2, some(r, "ip")[:0], rapid.SliceOfNDistinct(rapid.IntRange(0, groups-1), 0, 3, rapid.ID[int]).Draw(r, "groups")...)
			p.FixedIps = []*wire.FixedIP{{IpAddress: addresses[n%2]}, {IpAddress: "2001:db8::1"}}
			p.PortSecurityEnabled = rapid.IntRange(0, 3).Draw(r, "security") > 0
			p.AdminStateUp = rapid.IntRange(0, 5).Draw(r, "up") > 0
			for _, a := range some(r, "pair") {
				p.AllowedAddressPairs = append(p.AllowedAddressPairs, &wire.AddressPair{IpAddress: a, MacAddress: rapid.SampledFrom([]string{"", mac(99)}).Draw(r, "mac")})
			}
			w.Put(wire.KindPort, p.Id, p)
		},
		func(_ *rapid.T, w *world, n int) { w.Drop(wire.KindPort, portID(n%ports)) },
		func(r *rapid.T, w *world, n int) {
			w.plug(n%ports, rapid.SampledFrom([]int{0, n%ports + 10, n%ports + 50}).Draw(r, "number"))
		},
		func(_ *rapid.T, w *world, n int) { w.Unplug(fmt.Sprint("tap", n%ports)) },
	}
	rapid.Check(t, func(r *rapid.T) {
		w := newWorld(r, Config{})
		for range rapid.IntRange(1, 12).Draw(r, "bursts") {
			for range rapid.IntRange(1, 5).Draw(r, "events") {
				rapid.SampledFrom(events).Draw(r, "event")(r, w, rapid.IntRange(0, 60).Draw(r, "n"))
			}
			if rapid.IntRange(0, 5).Draw(r, "restart") == 0 {
				w.start()
			} else if rapid.IntRange(0, 5).Draw(r, "all") == 0 {
				w.Dirty(nil)
				w.feature.Sync(w.Docs, nil, true)
			} else {
				w.sync()
			}
			w.check()
		}
		got := texts(w)
		owners := len(w.flows.owners)
		remembered := fmt.Sprint(len(w.feature.owned), len(w.feature.groups), len(w.feature.rules), remotes(w))
		w.start()
		if d := cmp.Diff(texts(w), got); d != "" {
			r.Fatalf("flows differ from those of a start: %s", d)
		}
		if owners != len(w.flows.owners) {
			r.Fatalf("%d owners, a start has %d", owners, len(w.flows.owners))
		}
		if again := fmt.Sprint(len(w.feature.owned), len(w.feature.groups), len(w.feature.rules), remotes(w)); again != remembered {
			r.Fatalf("remembered is %s, by a start %s", remembered, again)
		}
	})
}

// remotes is what is remembered of remotes: how many, and how many addresses.
func remotes(w *world) string {
	n := 0
	for m := range maps.Values(w.feature.remotes) {
		n += len(m.holders)
	}
	return fmt.Sprint(len(w.feature.remotes), " ", n)
}

func texts(w *world) (out []string) {
	for f := range maps.Values(w.flows.merged()) {
		out = append(out, f.String())
	}
	slices.Sort(out)
	return out
}

// TestCost holds every change to its own size, in a group of 2,000 members with 50 rules and 100 ports of this host.
func TestCost(t *testing.T) {
	w := newWorld(t, Config{})
	w.group(1, true)
	w.group(2, true)
	for i := range int32(50) {
		w.rule(fmt.Sprint("plain", i), 1, "ingress", "IPv4", tcp(1000+i, 1000+i))
		w.rule(fmt.Sprint("remote", i), 1, "ingress", "IPv4", of(2, tcp(2000+i, 2000+i)))
	}
	for i := range 2000 {
		w.member(2, fmt.Sprint("m", i), fmt.Sprintf("10.0.%d.%d", i/200, i%200))
	}
	for n := range 100 {
		w.port(n+1, 1, []string{fmt.Sprint("192.0.2.", n+1)}, 1)
	}
	w.sync()
	t.Logf("%d flows", len(w.all()))
	plain := len(portFlowsOf(t, w))
	for _, c := range []struct {
		name       string
		do         func()
		came, went int
	}{
		{"a rule more", func() { w.rule("new", 1, "ingress", "IPv4", tcp(80, 80)) }, 1, 0},
		{"a rule changed", func() { w.rule("new", 1, "ingress", "IPv4", tcp(81, 81)) }, 1, 1},
		{"a rule less", func() { w.Drop(wire.KindRule, "new") }, 0, 1},
		{"a rule with a remote more", func() { w.rule("new", 1, "ingress", "IPv4", of(2, tcp(80, 80))) }, 1, 0},
		{"a rule with a remote less", func() { w.Drop(wire.KindRule, "new") }, 0, 1},
		{"a rule with another remote more", func() { w.rule("new", 1, "ingress", "IPv4", of(1, tcp(80, 80))) }, 3, 1}, // what is said of later fragments is one flow for both
		{"a rule with another remote less", func() { w.Drop(wire.KindRule, "new") }, 1, 3},
		{"a member more", func() { w.member(2, "new", "10.1.0.1") }, 1, 0},
		{"a member moved", func() { w.member(2, "new", "10.1.0.2") }, 1, 1},
		{"a member less", func() { w.Drop(wire.KindMember, groupID(2)+"/new") }, 0, 1},
		{"a port more", func() { w.port(101, 1, []string{"192.0.2.101"}, 1) }, plain, 0},
		{"a port less", func() { w.Drop(wire.KindPort, portID(101)) }, 0, plain},
		{"nothing", func() { w.port(1, 1, []string{"192.0.2.1"}, 1) }, 0, 0},
	} {
		came, went := w.writes(c.do)
		if len(came) != c.came || len(went) != c.went {
			t.Errorf("%s: %d flows came and %d went, want %d and %d", c.name, len(came), len(went), c.came, c.went)
		}
	}
}

// portFlowsOf are the flows of one port.
func portFlowsOf(t *testing.T, w *world) []openflow.Flow {
	t.Helper()
	for o, flows := range w.flows.owners {
		if o.Doc == portDoc(portID(1)) {
			return slices.Collect(maps.Values(flows))
		}
	}
	t.Fatal("the port has no flows")
	return nil
}

// TestNeeds tells what a port waits for, and has it told again when that is another.
func TestNeeds(t *testing.T) {
	w := newWorld(t, Config{})
	w.group(1, true)
	w.rule("r", 1, "ingress", "IPv4", nil)
	w.port(1, 1, []string{"192.0.2.1"}, 1)
	w.sync()
	needs := func() secgroup.Needs { return w.feature.Needs(w.Docs, portID(1)) }
	if d := cmp.Diff(secgroup.Needs{Docs: []string{hostDoc, portDoc("p1"), groupDoc(groupID(1)), ruleDoc("r")}}, needs()); d != "" {
		t.Error(d)
	}
	w.port(1, 1, []string{"192.0.2.1"}, 1, 2)
	w.sync()
	if got := needs().Lacks; got != "the document of security group "+groupID(2)+" has not come" {
		t.Errorf("lacks %q", got)
	}
	port := change.Key{Kind: wire.KindPort, ID: portID(1)}
	w.group(2, true)
	if res := w.sync(); needs().Lacks != "" || !slices.Contains(res.Dirty, port) {
		t.Errorf("lacks %q; told again are %v", needs().Lacks, res.Dirty)
	}
	w.rule("ports", 2, "ingress", "IPv4", func(d *wire.SecurityGroupRule) { tcp(1, 2)(d); d.Protocol = "dccp" })
	if res := w.sync(); !strings.Contains(needs().Note, "rule ports") || !slices.Contains(res.Dirty, port) || res.Faults[change.Key{Kind: wire.KindRule, ID: "ports"}] == nil {
		t.Errorf("the note is %q; told again are %v, faults %v", needs().Note, res.Dirty, res.Faults)
	}
	w.rule("ports", 2, "ingress", "IPv4", func(d *wire.SecurityGroupRule) { d.Protocol = "dccp" })
	if res := w.sync(); needs().Note != "" || !slices.Contains(res.Dirty, port) {
		t.Errorf("the note is %q; told again are %v", needs().Note, res.Dirty)
	}
	w.rule("ports", 2, "ingress", "IPv4", func(d *wire.SecurityGroupRule) { tcp(1, 2)(d); d.Protocol = "udplite" })
	w.sync()
	w.Drop(wire.KindRule, "ports")
	if res := w.sync(); needs().Note != "" || !slices.Contains(res.Dirty, port) {
		t.Errorf("the note is %q; told again are %v", needs().Note, res.Dirty)
	}
	p := w.port(1, 1, []string{"192.0.2.1"}, 1)
	p.AllowedAddressPairs = []*wire.AddressPair{{IpAddress: "nowhere"}}
	w.Put(wire.KindPort, p.Id, p)
	w.sync()
	if needs().Broken == nil {
		t.Error("an address pair that cannot be read is not told")
	}
	for doc := range w.flows.owners {
		if doc.Feature != wire.EntityL2 {
			t.Errorf("owner %v", doc)
		}
	}
}
