package sgovs

import (
	"fmt"
	"maps"
	"slices"

	"isospin/internal/agent"
	"isospin/internal/agent/feature/featuretest"
	"isospin/internal/agent/feature/zone"
	"isospin/internal/dataplane/openflow"
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

// world is a host: its documents, its interfaces, its feature and what that wants.
type world struct {
	*featuretest.Host
	t       featuretest.Failer
	cfg     Config
	zones   *zone.Book
	feature *Feature
	flows   *target
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
	w.flows = &target{owners: map[reconcile.Owner]map[openflow.Key]openflow.Flow{}}
	w.Restart()
	w.feature = New(w.cfg, w.flows, w.Watch, w.zones)
	w.feature.Sync(w.Docs, nil, true)
}

// sync lets the feature see what happened.
func (w *world) sync() agent.Result {
	return w.feature.Sync(w.Docs, w.Dirty(w.feature.Kinds()), false)
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
	w.Put(wire.KindPort, p.Id, p)
	w.plug(n, n)
	return p
}

func (w *world) plug(n, number int) {
	w.Plug(fmt.Sprint("tap", n), portID(n), number)
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
