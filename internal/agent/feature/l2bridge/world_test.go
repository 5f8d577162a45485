package l2bridge

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"isospin/internal/agent"
	"isospin/internal/agent/mirror"
	"isospin/internal/change"
	"isospin/internal/dataplane/bridge"
	"isospin/internal/dataplane/fdb"
	"isospin/internal/dataplane/link"
	"isospin/internal/dataplane/neigh"
	"isospin/internal/dataplane/vlan"
	"isospin/internal/dataplane/vxlan"
	"isospin/internal/reconcile"
	"isospin/internal/wire"
)

// target is a reconcile.Target that only remembers, and counts what changed as a stage would write it.
type target[K comparable, V comparable] struct {
	by     map[reconcile.Owner]map[K]V
	writes int
}

func newTarget[K comparable, V comparable]() *target[K, V] {
	return &target[K, V]{by: map[reconcile.Owner]map[K]V{}}
}

func (t *target[K, V]) Replace(o reconcile.Owner, want map[K]V) {
	for k, v := range want {
		if before, had := t.by[o][k]; !had || before != v {
			t.writes++
		}
	}
	for k := range t.by[o] {
		if _, still := want[k]; !still {
			t.writes++
		}
	}
	delete(t.by, o)
	if len(want) > 0 {
		t.by[o] = maps.Clone(want)
	}
}

func (t *target[K, V]) merged() map[K]V {
	out := map[K]V{}
	for _, want := range t.by {
		maps.Copy(out, want)
	}
	return out
}

func (t *target[K, V]) lines(kind string) (out []string) {
	for k, v := range t.merged() {
		out = append(out, fmt.Sprintf("%s %v: %+v", kind, k, v))
	}
	return out
}

// failer is what a test and a drawn one have in common.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// devices is a Source that shows what the test set.
type devices struct {
	now  map[string]int
	seen bool
}

func (s *devices) Changed() <-chan struct{}         { return nil }
func (s *devices) Snapshot() (map[string]int, bool) { return maps.Clone(s.now), s.seen }

// world is a host: its documents, its devices, its feature and what that wants.
type world struct {
	t       failer
	docs    *mirror.Mirror
	hash    uint64
	held    map[change.Key]*wire.Document
	dirty   []change.Key
	source  *devices
	cfg     Config
	feature *Feature
	wants
}

type wants struct {
	bridges    *target[string, bridge.Bridge]
	vlans      *target[string, vlan.Device]
	vxlans     *target[string, vxlan.Device]
	pairs      *target[link.Key, link.Veth]
	members    *target[string, bridge.Member]
	entries    *target[fdb.Key, fdb.Entry]
	neighbours *target[neigh.Key, neigh.Neighbour]
}

func hostConfig() Config {
	return Config{Host: "here", Interfaces: map[string]string{"physnet1": "eth1", "public": "eth2"}, Bridges: map[string]string{"mapped": "br-ext"}, VXLAN: true,
		LocalIP: netip.MustParseAddr("10.0.0.1"), Port: 4789}
}

func newWorld(t failer, c Config) *world {
	w := &world{t: t, docs: mirror.Memory(), held: map[change.Key]*wire.Document{}, cfg: c,
		source: &devices{now: map[string]int{"eth1": 2, "eth2": 3, "br-ext": 4}, seen: true}}
	if _, _, err := w.docs.Apply(&wire.Frame{Set: "all", Begin: true, Complete: true}); err != nil {
		t.Fatalf("%v", err)
	}
	w.start()
	return w
}

// start is an agent's start: nothing is remembered but the mirror, and targets are empty.
func (w *world) start() {
	w.wants = wants{newTarget[string, bridge.Bridge](), newTarget[string, vlan.Device](), newTarget[string, vxlan.Device](), newTarget[link.Key, link.Veth](),
		newTarget[string, bridge.Member](), newTarget[fdb.Key, fdb.Entry](), newTarget[neigh.Key, neigh.Neighbour]()}
	w.feature = New(w.cfg, Targets{w.bridges, w.vlans, w.vxlans, w.pairs, w.members, w.entries, w.neighbours}, NewWatch(w.source, w.cfg))
	w.dirty = nil
	w.feature.watch.look()
	w.feature.Sync(w.docs, nil, true)
}

func (w *world) put(kind, id string, m proto.Message) {
	w.t.Helper()
	d, err := wire.Encode(kind, id, m)
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	w.drop(kind, id) // in a frame of its own, so that every change is also a drop and a put in one burst
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

func (w *world) plug(port, index int) { w.source.now[TapName(portID(port))] = index }

// sync lets the feature see what happened.
func (w *world) sync() agent.Result {
	keys, tell := w.feature.watch.look()
	all := tell && keys == nil
	w.dirty = append(w.dirty, keys...)
	defer func() { w.dirty = nil }()
	return w.feature.Sync(w.docs, w.dirty, all)
}

func (w wants) lines() []string {
	out := slices.Concat(w.bridges.lines("bridge"), w.vlans.lines("vlan"), w.vxlans.lines("vxlan"), w.pairs.lines("pair"), w.members.lines("in a bridge"),
		w.entries.lines("frames"), w.neighbours.lines("neighbour"))
	slices.Sort(out)
	return out
}

func (w wants) writes() int {
	return w.bridges.writes + w.vlans.writes + w.vxlans.writes + w.pairs.writes + w.members.writes + w.entries.writes + w.neighbours.writes
}

func (w *world) golden() string { return strings.Join(w.lines(), "\n") + "\n" }

// Documents with ids that are easily read.
func netID(n int) string  { return fmt.Sprintf("0000000%d-0000-0000-0000-000000000000", n) }
func portID(n int) string { return fmt.Sprintf("%08d-aaaa-0000-0000-000000000000", n) }
func mac(n int) string    { return fmt.Sprintf("fa:16:3e:00:%02x:%02x", n>>8, n&255) }

func (w *world) network(n int, segments ...*wire.Segment) *wire.Network {
	d := &wire.Network{Id: netID(n), AdminStateUp: true, Mtu: 1450, Segments: segments}
	w.put(wire.KindNetwork, netID(n), d)
	return d
}

func segment(kind, phys string, id int64) *wire.Segment {
	return &wire.Segment{Id: kind + phys, NetworkType: kind, PhysicalNetwork: phys, SegmentationId: id}
}

func (w *world) port(n, network int, segment string, ips ...string) *wire.Port {
	p := &wire.Port{Id: portID(n), NetworkId: netID(network), MacAddress: mac(n), AdminStateUp: true, Wiring: 1, SegmentId: segment, Host: "here"}
	for _, ip := range ips {
		p.FixedIps = append(p.FixedIps, &wire.FixedIP{SubnetId: "s", IpAddress: ip})
	}
	w.put(wire.KindPort, p.Id, p)
	return p
}

// trunk has a port carry others, by tags from 101 on.
func (w *world) trunk(p *wire.Port, inside ...int) {
	p.TrunkId, p.SubPorts = "t"+p.GetId(), nil
	for i, n := range inside {
		p.SubPorts = append(p.SubPorts, &wire.SubPort{PortId: portID(n), SegmentationType: "vlan", SegmentationId: int64(101 + i)})
	}
	w.put(wire.KindPort, p.Id, p)
}

func (w *world) forward(n, network int, segment, tunnel string, ips ...string) {
	w.put(wire.KindForward, portID(n), &wire.Forward{PortId: portID(n), NetworkId: netID(network), MacAddress: mac(n), IpAddresses: ips,
		Host: "other", SegmentId: segment, TunnelIp: tunnel})
}

func (w *world) report(n int) agent.Report {
	r, _ := w.feature.Report(w.docs, portID(n))
	return r
}

var _ failer = (*testing.T)(nil)
