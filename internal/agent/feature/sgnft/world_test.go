package sgnft

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"isospin/internal/agent"
	"isospin/internal/agent/feature/featuretest"
	"isospin/internal/agent/feature/zone"
	"isospin/internal/dataplane/conntrack"
	"isospin/internal/dataplane/nft"
	"isospin/internal/reconcile"
	"isospin/internal/wire"
)

// target is a reconcile.Target that only remembers.
type target map[reconcile.Owner]map[nft.Key]nft.Object

func (t target) Replace(o reconcile.Owner, want map[nft.Key]nft.Object) {
	delete(t, o)
	if len(want) > 0 {
		t[o] = maps.Clone(want)
	}
}

// world is a host: its documents, its feature and what that wants.
type world struct {
	*featuretest.Host
	t       featuretest.Failer
	cfg     Config
	zones   *zone.Book
	feature *Feature
	target  target
	here    featuretest.Target[conntrack.Key, conntrack.Here]
}

func newWorld(t featuretest.Failer, c Config) *world {
	w := &world{Host: featuretest.New(t), t: t, cfg: c}
	var err error
	if w.zones, err = zone.Open("", 1, 9); err != nil {
		t.Fatalf("%v", err)
	}
	w.start()
	return w
}

// start is an agent's start: nothing is remembered but the mirror and the zones.
func (w *world) start() {
	w.Restart()
	w.target, w.here = target{}, featuretest.Target[conntrack.Key, conntrack.Here]{}
	w.feature = New(w.cfg, Targets{Table: w.target, Here: w.here}, w.zones)
	w.feature.Sync(w.Docs, nil, true)
}

// sync lets the feature see what happened.
func (w *world) sync() agent.Result {
	return w.feature.Sync(w.Docs, w.Dirty(w.feature.Kinds()), false)
}

// all is what is wanted. Where owners differ on one the world is broken.
func (w *world) all() map[nft.Key]nft.Object {
	out := map[nft.Key]nft.Object{}
	for owner, want := range w.target {
		for k, o := range want {
			if other, twice := out[k]; twice && !nft.Equal(o, other) {
				w.t.Errorf("%v wants %s, another %s", owner, nft.Show(k, o), nft.Show(k, other))
			}
			out[k] = o
		}
	}
	return out
}

// texts are objects as a person reads them, sorted.
func texts(m map[nft.Key]nft.Object) []string {
	var out []string
	for k, o := range m {
		out = append(out, nft.Show(k, o))
	}
	slices.Sort(out)
	return out
}

// ports is what is wanted as a text, without what is the same on every host.
func (w *world) ports() string {
	all := w.all()
	for k := range standing(w.cfg) {
		delete(all, k)
	}
	return strings.Join(texts(all), "\n") + "\n"
}

// writes are the objects that come and go by what is done.
func (w *world) writes(do func()) (came, went []string) {
	before := w.all()
	do()
	w.sync()
	after := w.all()
	for k, o := range after {
		if was, ok := before[k]; !ok || !nft.Equal(o, was) {
			came = append(came, nft.Show(k, o))
		}
	}
	for k, o := range before {
		if _, ok := after[k]; !ok {
			went = append(went, nft.Show(k, o))
		}
	}
	slices.Sort(came)
	slices.Sort(went)
	return came, went
}

// check holds what is wanted against what the kernel takes: the fake refuses what refers to nothing.
func (w *world) check() {
	w.t.Helper()
	if err := nft.NewFake().Put(ctx(), w.all()); err != nil {
		w.t.Errorf("%v", err)
	}
}

// Documents with ids that are easily read.
func netID(n int) string   { return fmt.Sprintf("0000000%d-0000-0000-0000-000000000000", n) }
func groupID(n int) string { return fmt.Sprintf("g%d", n) }
func portID(n int) string  { return fmt.Sprintf("%08x-00%02x", n, n) }
func mac(n int) string     { return fmt.Sprintf("fa:16:3e:00:%02x:%02x", n>>8, n&0xff) }

func (w *world) network(n int, kind string, transparent bool) {
	w.Put(wire.KindNetwork, netID(n), &wire.Network{Id: netID(n), AdminStateUp: true, VlanTransparent: transparent, Segments: []*wire.Segment{{Id: "s", NetworkType: kind}}})
}

// port is a filtered port.
func (w *world) port(n, network int, ips []string, groups ...int) *wire.Port {
	p := &wire.Port{Id: portID(n), NetworkId: netID(network), MacAddress: mac(n), AdminStateUp: true, PortSecurityEnabled: true}
	for _, ip := range ips {
		p.FixedIps = append(p.FixedIps, &wire.FixedIP{SubnetId: "s", IpAddress: ip})
	}
	for _, g := range groups {
		p.SecurityGroups = append(p.SecurityGroups, groupID(g))
	}
	w.Put(wire.KindPort, p.Id, p)
	return p
}

func (w *world) group(n int, stateful bool) {
	w.Put(wire.KindGroup, groupID(n), &wire.SecurityGroup{Id: groupID(n), Stateful: stateful})
}

// rule is one of a group that allows all that change does not narrow.
func (w *world) rule(id string, group int, direction, ethertype string, change func(*wire.SecurityGroupRule)) {
	d := &wire.SecurityGroupRule{Id: id, SecurityGroupId: groupID(group), Direction: direction, Ethertype: ethertype, PortRangeMin: -1, PortRangeMax: -1}
	if change != nil {
		change(d)
	}
	w.Put(wire.KindRule, id, d)
}

func (w *world) member(group int, port string, ips ...string) {
	id := groupID(group) + "/" + port
	w.Put(wire.KindMember, id, &wire.SecurityGroupMember{SecurityGroupId: groupID(group), PortId: port, IpAddresses: ips})
}

func (w *world) entry(group, address string) {
	w.Put(wire.KindAddress, group+"/"+address, &wire.AddressGroupEntry{AddressGroupId: group, Address: address})
}

func proto2(name string, low, high int32) func(*wire.SecurityGroupRule) {
	return func(d *wire.SecurityGroupRule) { d.Protocol, d.PortRangeMin, d.PortRangeMax = name, low, high }
}

// of narrows a rule to a remote group as well.
func of(group int, more ...func(*wire.SecurityGroupRule)) func(*wire.SecurityGroupRule) {
	return func(d *wire.SecurityGroupRule) {
		d.RemoteGroupId = groupID(group)
		for _, m := range more {
			m(d)
		}
	}
}
