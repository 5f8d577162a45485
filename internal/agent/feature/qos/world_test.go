package qos

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"isospin/internal/agent"
	"isospin/internal/agent/feature/brint"
	"isospin/internal/agent/feature/meter"
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

// interfaces is what is on the bridge, as the test set it.
type interfaces map[string]vswitch.Interface

func (s interfaces) Changed() <-chan struct{} { return nil }
func (s interfaces) Snapshot() (map[string]vswitch.Interface, bool) {
	return maps.Clone(map[string]vswitch.Interface(s)), true
}

// documents is a mirror that a test fills, and the keys that it made dirty.
type documents struct {
	t     failer
	docs  *mirror.Mirror
	hash  uint64
	held  map[change.Key]*wire.Document
	dirty []change.Key
}

func newDocuments(t failer) *documents {
	d := &documents{t: t, docs: mirror.Memory(), held: map[change.Key]*wire.Document{}}
	if _, _, err := d.docs.Apply(&wire.Frame{Set: "all", Begin: true, Complete: true}); err != nil {
		t.Fatalf("%v", err)
	}
	d.docs.SetSynced()
	return d
}

func (d *documents) put(kind, id string, m proto.Message) {
	d.t.Helper()
	doc, err := wire.Encode(kind, id, m)
	if err != nil {
		d.t.Fatalf("%v", err)
	}
	d.drop(kind, id)
	d.held[change.Key{Kind: kind, ID: id}] = doc
	d.hash += doc.Hash()
	d.frame(&wire.Frame{Put: []*wire.Document{doc}})
}

func (d *documents) drop(kind, id string) {
	d.t.Helper()
	k := change.Key{Kind: kind, ID: id}
	if doc := d.held[k]; doc != nil {
		delete(d.held, k)
		d.hash -= doc.Hash()
		d.frame(&wire.Frame{Drop: []*wire.Key{{Kind: kind, Id: id}}})
	}
}

func (d *documents) frame(f *wire.Frame) {
	d.t.Helper()
	f.Set, f.Hash = "all", d.hash
	dirty, _, err := d.docs.Apply(f)
	if err != nil {
		d.t.Fatalf("%v", err)
	}
	d.dirty = append(d.dirty, dirty...)
}

// world is a host of Open vSwitch: its documents, its interfaces, its feature and what that wants.
type world struct {
	*documents
	plugs   interfaces
	watch   *brint.Watch
	book    *meter.Book
	feature *OVS
	meters  target[uint32, openflow.Meter]
	flows   target[openflow.Key, openflow.Flow]
	queues  target[vswitch.GuaranteeKey, vswitch.Guarantee]
	cfg     Config
}

func newWorld(t failer) *world {
	w := &world{documents: newDocuments(t), plugs: interfaces{}, cfg: Config{Mappings: map[string]string{"physnet1": "br-physnet1"}, Queues: true}}
	w.start()
	return w
}

// start is an agent's start: nothing is remembered but the mirror, and targets are empty.
func (w *world) start() {
	w.meters, w.flows = target[uint32, openflow.Meter]{}, target[openflow.Key, openflow.Flow]{}
	w.queues = target[vswitch.GuaranteeKey, vswitch.Guarantee]{}
	w.watch = brint.NewWatch(w.plugs)
	book, err := meter.Open("", meter.IDs())
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	w.book, w.feature, w.dirty = book, NewOVS(w.cfg, Targets{Meters: w.meters, Flows: w.flows, Guarantees: w.queues}, w.watch, book), nil
	w.watch.Look()
	w.feature.Sync(w.docs, nil, true)
}

// sync lets the feature see what happened.
func (w *world) sync() agent.Result {
	keys, _ := w.watch.Look()
	w.dirty = append(w.dirty, keys...)
	defer func() { w.dirty = nil }()
	return w.feature.Sync(w.docs, w.dirty, false)
}

func (w *world) plug(port string, number int) {
	w.plugs["tap"+port] = vswitch.Interface{Name: "tap" + port, IfaceID: port, OFPort: number}
}

func (w *world) allFlows() []openflow.Flow { return slices.Collect(maps.Values(w.flows.merged())) }

// golden tells what is wanted, meters by what they are for.
func (w *world) golden() string {
	out := brint.Pipeline().Golden(w.allFlows())
	for _, use := range slices.Sorted(slices.Values(w.book.Uses(""))) {
		id, err := w.book.Of(use)
		if err != nil {
			w.t.Fatalf("%v", err)
		}
		m, wanted := w.meters.merged()[id]
		out += fmt.Sprintf("meter %d of %s: %s, wanted %v\n", id, use, m, wanted)
	}
	return out + w.guaranteed()
}

func (w *world) guaranteed() (out string) {
	for id := range 20 {
		for k, v := range w.queues[reconcile.Owner{Feature: w.feature.Name(), Doc: portID(id)}] {
			out += fmt.Sprintf("queue %d of %s: %d kbit/s\n", k.Queue, k.Bridge, v.Kbps)
		}
	}
	return out
}

func (w *world) report(id string) agent.Report {
	r, _ := w.feature.Report(w.docs, id)
	return r
}

// Documents with ids that are easily read.
func portID(n int) string { return fmt.Sprint("p", n) }

func (d *documents) network(id, policy string) {
	d.put(wire.KindNetwork, id, &wire.Network{Id: id, AdminStateUp: true, QosPolicyId: policy, Segments: []*wire.Segment{
		{Id: "vlan", NetworkType: "vlan", PhysicalNetwork: "physnet1", SegmentationId: 7}, {Id: "vxlan", NetworkType: "vxlan", SegmentationId: 7},
		{Id: "elsewhere", NetworkType: "flat", PhysicalNetwork: "elsewhere"}}})
}

func (d *documents) port(n int, policy string, change ...func(*wire.Port)) {
	p := &wire.Port{Id: portID(n), NetworkId: "net", MacAddress: fmt.Sprintf("fa:16:3e:00:00:%02x", n), AdminStateUp: true, Wiring: 3, QosPolicyId: policy,
		DeviceOwner: "compute:nova"}
	for _, c := range change {
		c(p)
	}
	d.put(wire.KindPort, p.Id, p)
}

func (d *documents) policy(id string, rules ...*wire.QoSRule) {
	d.put(wire.KindQoS, id, &wire.QoSPolicy{Id: id, Rules: rules})
}

func rule(kind, direction string, value, burst int64) *wire.QoSRule {
	return &wire.QoSRule{Type: kind, Direction: direction, Value: value, Burst: burst}
}

var _ failer = (*testing.T)(nil)
