package l2ovs

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"isospin/internal/agent"
	"isospin/internal/agent/feature/brint"
	"isospin/internal/agent/feature/trunk"
	"isospin/internal/agent/mirror"
	"isospin/internal/change"
	"isospin/internal/dataplane/openflow"
	"isospin/internal/dataplane/vswitch"
	"isospin/internal/reconcile"
	"isospin/internal/wire"
)

// target is a reconcile.Target that only remembers.
type target[K comparable, V any] map[reconcile.Owner]map[K]V

func (t target[K, V]) Replace(o reconcile.Owner, want map[K]V) {
	delete(t, o)
	if len(want) > 0 {
		t[o] = maps.Clone(want)
	}
}

func (t target[K, V]) merged() map[K]V {
	out := map[K]V{}
	for _, want := range t {
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

// interfaces is a Source that shows what the test set.
type interfaces struct {
	now       map[string]vswitch.Interface // by name
	connected bool
}

func (s *interfaces) Changed() <-chan struct{} { return nil }
func (s *interfaces) Snapshot() (map[string]vswitch.Interface, bool) {
	return maps.Clone(s.now), s.connected
}

// world is a host: its documents, its interfaces, its feature and what that wants.
type world struct {
	t       failer
	docs    *mirror.Mirror
	hash    uint64
	held    map[change.Key]*wire.Document
	dirty   []change.Key
	source  *interfaces
	cfg     Config
	feature *Feature
	trunks  *trunk.Feature
	bridges target[string, vswitch.Bridge]
	ports   target[string, vswitch.Port]
	flows   target[openflow.Key, openflow.Flow]
}

func hostConfig() Config {
	return Config{Host: "here", Bridge: "br-int", DatapathType: "netdev", Mappings: map[string]string{"physnet1": "br-physnet1", "public": "br-public"},
		LocalIP: netip.MustParseAddr("10.0.0.1"), TunnelTypes: []string{"vxlan", "gre", "geneve"}, VXLANPort: 4789, DontFragment: true}
}

func newWorld(t failer, c Config) *world {
	w := &world{t: t, docs: mirror.Memory(), held: map[change.Key]*wire.Document{}, cfg: c,
		source: &interfaces{now: map[string]vswitch.Interface{}, connected: true}}
	if _, _, err := w.docs.Apply(&wire.Frame{Set: "all", Begin: true, Complete: true}); err != nil {
		t.Fatalf("%v", err)
	}
	w.start()
	return w
}

// start is an agent's start: nothing is remembered but the mirror, and targets are empty.
func (w *world) start() {
	w.bridges, w.ports, w.flows = target[string, vswitch.Bridge]{}, target[string, vswitch.Port]{}, target[openflow.Key, openflow.Flow]{}
	watch := brint.NewWatch(w.source)
	w.feature, w.trunks = New(w.cfg, Targets{Bridges: w.bridges, Ports: w.ports, Flows: w.flows}, watch), trunk.New(watch)
	w.dirty = nil
	w.feature.watch.Look()
	w.trunks.Sync(w.docs, nil, true)
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

func (w *world) plug(name, port string, number int) {
	w.source.now[name] = vswitch.Interface{Name: name, IfaceID: port, OFPort: number}
}

// sync lets the feature see what happened.
func (w *world) sync() agent.Result {
	keys, _ := w.feature.watch.Look()
	w.dirty = append(w.dirty, keys...)
	w.dirty = append(w.dirty, w.trunks.Sync(w.docs, w.dirty, false).Dirty...)
	defer func() { w.dirty = nil }()
	return w.feature.Sync(w.docs, w.dirty, false)
}

func (w *world) allFlows() []openflow.Flow {
	return slices.Collect(maps.Values(w.flows.merged()))
}

func (w *world) golden() string {
	out := brint.Pipeline().Golden(w.allFlows())
	for name, p := range sorted(w.ports.merged()) {
		out += fmt.Sprintf("port %s: %s %s %d %v\n", name, p.Bridge, p.Type, p.OFPort, p.Options)
	}
	for name, b := range sorted(w.bridges.merged()) {
		out += fmt.Sprintf("bridge %s: existing %v, fail mode %s\n", name, b.Existing, b.FailMode)
	}
	return out
}

func sorted[V any](m map[string]V) func(func(string, V) bool) {
	return func(yield func(string, V) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}

// Documents with ids that are easily read; networks begin with what metadata shows.
func netID(n int) string  { return fmt.Sprintf("0000000%d-0000-0000-0000-000000000000", n) }
func portID(n int) string { return fmt.Sprintf("p%d", n) }
func mac(n int) string    { return fmt.Sprintf("fa:16:3e:00:00:%02x", n) }

func (w *world) network(n int, segments ...*wire.Segment) *wire.Network {
	doc := &wire.Network{Id: netID(n), AdminStateUp: true, Mtu: 1450, Segments: segments}
	w.put(wire.KindNetwork, doc.Id, doc)
	return doc
}

func segment(kind, phys string, id int64) *wire.Segment {
	return &wire.Segment{Id: kind + phys, NetworkType: kind, PhysicalNetwork: phys, SegmentationId: id}
}

func (w *world) port(n, network int, segment string, ips ...string) *wire.Port {
	p := &wire.Port{Id: portID(n), NetworkId: netID(network), MacAddress: mac(n), AdminStateUp: true, Wiring: 1, SegmentId: segment}
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

// waits makes a port that is on the host "other" and may come to this one.
func (w *world) waits(n, network int, segment string, ips ...string) *wire.Port {
	p := w.port(n, network, "another", ips...)
	p.Host, p.Waiting = "other", []*wire.WaitingBinding{{Host: "here", SegmentId: segment}}
	w.put(wire.KindPort, p.Id, p)
	return p
}

func (w *world) forward(n, network int, segment, tunnel string, ips ...string) {
	w.forwardTo("other", n, network, segment, tunnel, ips...)
}

func (w *world) forwardTo(host string, n, network int, segment, tunnel string, ips ...string) {
	w.put(wire.KindForward, portID(n), &wire.Forward{PortId: portID(n), NetworkId: netID(network), MacAddress: mac(n), IpAddresses: ips,
		Host: host, SegmentId: segment, TunnelIp: tunnel})
}

func (w *world) report(id string) agent.Report {
	r, _ := w.feature.Report(w.docs, id)
	return r
}

var _ failer = (*testing.T)(nil)
