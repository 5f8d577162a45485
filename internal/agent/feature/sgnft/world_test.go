package sgnft

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"isospin/internal/agent"
	"isospin/internal/agent/feature/featuretest"
	"isospin/internal/agent/feature/zone"
	"isospin/internal/agent/mirror"
	"isospin/internal/change"
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

// failer is what a test and a drawn one have in common.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// world is a host: its documents, its feature and what that wants.
type world struct {
	t       failer
	cfg     Config
	docs    *mirror.Mirror
	hash    uint64
	held    map[change.Key]*wire.Document
	dirty   []change.Key
	zones   *zone.Book
	feature *Feature
	target  target
	here    featuretest.Target[conntrack.Key, conntrack.Here]
}

func newWorld(t failer, c Config) *world {
	w := &world{t: t, cfg: c, docs: mirror.Memory(), held: map[change.Key]*wire.Document{}}
	var err error
	if w.zones, err = zone.Open("", 1, 9); err != nil {
		t.Fatalf("%v", err)
	}
	if _, _, err := w.docs.Apply(&wire.Frame{Set: "all", Begin: true, Complete: true}); err != nil {
		t.Fatalf("%v", err)
	}
	w.start()
	return w
}

// start is an agent's start: nothing is remembered but the mirror and the zones.
func (w *world) start() {
	w.target, w.here = target{}, featuretest.Target[conntrack.Key, conntrack.Here]{}
	w.feature = New(w.cfg, Targets{Table: w.target, Here: w.here}, w.zones)
	w.dirty = nil
	w.feature.Sync(w.docs, nil, true)
}

func (w *world) put(kind, id string, m proto.Message) {
	w.t.Helper()
	d, err := wire.Encode(kind, id, m)
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	w.drop(kind, id)
	w.held[change.Key{Kind: kind, ID: id}] = d
	w.hash += d.Hash()
	w.frame(&wire.Frame{Put: []*wire.Document{d}})
}

func (w *world) drop(kind, id string) {
	w.t.Helper()
	k := change.Key{Kind: kind, ID: id}
	d := w.held[k]
	if d == nil {
		return
	}
	delete(w.held, k)
	w.hash -= d.Hash()
	w.frame(&wire.Frame{Drop: []*wire.Key{{Kind: kind, Id: id}}})
}

func (w *world) frame(f *wire.Frame) {
	w.t.Helper()
	f.Set, f.Hash = "all", w.hash
	dirty, _, err := w.docs.Apply(f)
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	w.dirty = append(w.dirty, dirty...)
}

// sync lets the feature see what happened.
func (w *world) sync() agent.Result {
	defer func() { w.dirty = nil }()
	return w.feature.Sync(w.docs, w.dirty, false)
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
	w.put(wire.KindNetwork, netID(n), &wire.Network{Id: netID(n), AdminStateUp: true, VlanTransparent: transparent, Segments: []*wire.Segment{{Id: "s", NetworkType: kind}}})
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
	w.put(wire.KindPort, p.Id, p)
	return p
}

func (w *world) group(n int, stateful bool) {
	w.put(wire.KindGroup, groupID(n), &wire.SecurityGroup{Id: groupID(n), Stateful: stateful})
}

// rule is one of a group that allows all that change does not narrow.
func (w *world) rule(id string, group int, direction, ethertype string, change func(*wire.SecurityGroupRule)) {
	d := &wire.SecurityGroupRule{Id: id, SecurityGroupId: groupID(group), Direction: direction, Ethertype: ethertype, PortRangeMin: -1, PortRangeMax: -1}
	if change != nil {
		change(d)
	}
	w.put(wire.KindRule, id, d)
}

func (w *world) member(group int, port string, ips ...string) {
	id := groupID(group) + "/" + port
	w.put(wire.KindMember, id, &wire.SecurityGroupMember{SecurityGroupId: groupID(group), PortId: port, IpAddresses: ips})
}

func (w *world) entry(group, address string) {
	w.put(wire.KindAddress, group+"/"+address, &wire.AddressGroupEntry{AddressGroupId: group, Address: address})
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

var _ failer = (*testing.T)(nil)
