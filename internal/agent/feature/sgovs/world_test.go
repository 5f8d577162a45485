package sgovs

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"isospin/internal/agent"
	"isospin/internal/agent/feature/brint"
	"isospin/internal/agent/feature/zone"
	"isospin/internal/agent/mirror"
	"isospin/internal/change"
	"isospin/internal/dataplane/openflow"
	"isospin/internal/dataplane/vswitch"
	"isospin/internal/reconcile"
	"isospin/internal/wire"
)

// target is a reconcile.Target that only remembers, and counts which flows came and went.
type target struct {
	owners map[reconcile.Owner]map[openflow.Key]openflow.Flow
}

func (t *target) Replace(o reconcile.Owner, want map[openflow.Key]openflow.Flow) {
	delete(t.owners, o)
	if len(want) > 0 {
		t.owners[o] = maps.Clone(want)
	}
}

func (t *target) merged() map[openflow.Key]openflow.Flow {
	out := map[openflow.Key]openflow.Flow{}
	for _, want := range t.owners {
		maps.Copy(out, want)
	}
	return out
}

// failer is what a test and a drawn one have in common.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// interfaces is a brint.Interfaces that shows what the test set.
type interfaces map[string]vswitch.Interface

func (s interfaces) Changed() <-chan struct{} { return nil }
func (s interfaces) Snapshot() (map[string]vswitch.Interface, bool) {
	return maps.Clone(map[string]vswitch.Interface(s)), true
}

// world is a host: its documents, its interfaces, its feature and what that wants.
type world struct {
	t       failer
	cfg     Config
	docs    *mirror.Mirror
	hash    uint64
	held    map[change.Key]*wire.Document
	dirty   []change.Key
	plugged interfaces
	zones   *zone.Book
	watch   *brint.Watch
	feature *Feature
	flows   *target
}

func newWorld(t failer, c Config) *world {
	w := &world{t: t, cfg: c, docs: mirror.Memory(), held: map[change.Key]*wire.Document{}, plugged: interfaces{}}
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
	w.flows = &target{owners: map[reconcile.Owner]map[openflow.Key]openflow.Flow{}}
	w.watch = brint.NewWatch(w.plugged)
	w.feature = New(w.cfg, w.flows, w.watch, w.zones)
	w.dirty = nil
	w.watch.Look()
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
	keys, _ := w.watch.Look()
	w.dirty = append(w.dirty, keys...)
	defer func() { w.dirty = nil }()
	return w.feature.Sync(w.docs, w.dirty, false)
}

// writes are the flows that come and go by what is done.
func (w *world) writes(do func()) (came, went []string) {
	before := w.flows.merged()
	do()
	w.sync()
	after := w.flows.merged()
	for k, f := range after {
		if _, ok := before[k]; !ok {
			came = append(came, f.String())
		}
	}
	for k, f := range before {
		if _, ok := after[k]; !ok {
			went = append(went, f.String())
		}
	}
	slices.Sort(came)
	slices.Sort(went)
	return came, went
}

func (w *world) all() []openflow.Flow { return slices.Collect(maps.Values(w.flows.merged())) }

// check holds what is wanted against what Open vSwitch takes.
func (w *world) check() {
	w.t.Helper()
	if err := openflow.Conflicts(w.all()); err != nil {
		w.t.Errorf("%v", err)
	}
	for _, f := range w.all() {
		if err := f.Check(); err != nil {
			w.t.Errorf("%v", err)
		}
	}
}

// Documents with ids that are easily read; groups begin with what their registers show.
func netID(n int) string   { return fmt.Sprintf("0000000%d-0000-0000-0000-000000000000", n) }
func groupID(n int) string { return fmt.Sprintf("000000a%d-0000-000%d-0000-000000000000", n, n) }
func portID(n int) string  { return fmt.Sprintf("p%d", n) }
func mac(n int) string     { return fmt.Sprintf("fa:16:3e:00:00:%02x", n) }

// port is a filtered port, plugged in with its number.
func (w *world) port(n, network int, ips []string, groups ...int) *wire.Port {
	p := &wire.Port{Id: portID(n), NetworkId: netID(network), MacAddress: mac(n), AdminStateUp: true, PortSecurityEnabled: true}
	for _, ip := range ips {
		p.FixedIps = append(p.FixedIps, &wire.FixedIP{SubnetId: "s", IpAddress: ip})
	}
	for _, g := range groups {
		p.SecurityGroups = append(p.SecurityGroups, groupID(g))
	}
	w.put(wire.KindPort, p.Id, p)
	w.plug(n, n)
	return p
}

func (w *world) plug(n, number int) {
	w.plugged[fmt.Sprint("tap", n)] = vswitch.Interface{Name: fmt.Sprint("tap", n), IfaceID: portID(n), OFPort: number}
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

func tcp(low, high int32) func(*wire.SecurityGroupRule) {
	return func(d *wire.SecurityGroupRule) { d.Protocol, d.PortRangeMin, d.PortRangeMax = "tcp", low, high }
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
