package vswitch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"isospin/internal/ovsdb"
	"isospin/internal/reconcile"
)

// GuaranteeKey names a queue of what leaves an operator's bridge for its wire. Packets choose it by their flows (openflow.SetQueue).
type GuaranteeKey struct {
	Bridge string
	Queue  int // 1 to LastQueue
}

// LastQueue is the last number of a queue that linux-htb takes.
const LastQueue = 0xf000 - 1

// Guarantee is the bandwidth that a queue has when the wire is full.
type Guarantee struct {
	Kbps uint32 // not 0
	// Loose is for views only: not all wires of the bridge have the queues.
	Loose bool
}

// EqualGuarantee says whether a queue is as wanted.
func EqualGuarantee(want, have Guarantee) bool { return want == have }

var (
	// ErrNoWire is a bridge that has no device of the kernel, other than its own.
	ErrNoWire = errors.New("the bridge has no port of a device that leads out of the host")
	// ErrQueued is a wire whose queues are the operator's.
	ErrQueued = errors.New("the port has a QoS of its own, which is left alone")
)

// unbounded is the rate of a wire as far as queues know: what it can really carry is its device's to tell, by taking no more.
const unbounded = "34359738360"

// Guarantees is the driver of guarantees: linux-htb on all wires of a bridge, with a queue each. Wires on which the operator queues by himself
// are left alone.
type Guarantees struct {
	client *ovsdb.Client
	owner  string
}

// NewGuarantees makes the driver. owner is the tag that marks what is ours; it stays the same over restarts.
func NewGuarantees(c *ovsdb.Client, owner string) *Guarantees {
	return &Guarantees{client: c, owner: owner}
}

// bridgeKey marks a QoS with the bridge that it is for.
const bridgeKey = "isospin-bridge"

// List implements reconcile.Driver.
func (d *Guarantees) List(ctx context.Context) (map[GuaranteeKey]Guarantee, error) {
	s, err := d.client.Read(ctx)
	if err != nil {
		return nil, err
	}
	return d.in(s), nil
}

// Watch calls invalidate when guarantees of ours were changed, by whomever, until ctx ends. It returns nil.
func (d *Guarantees) Watch(ctx context.Context, invalidate func(reason string)) error {
	return watch(ctx, d.client, d.in, invalidate)
}

func (d *Guarantees) in(s *ovsdb.Snapshot) map[GuaranteeKey]Guarantee {
	out := map[GuaranteeKey]Guarantee{}
	for _, q := range s.QoS {
		if q.ExternalIDs[ownerKey] != d.owner {
			continue
		}
		loose := q.Type != "linux-htb" || q.OtherConfig["max-rate"] != unbounded
		bridge, there := s.Bridge(q.ExternalIDs[bridgeKey])
		for _, p := range wires(s, bridge) {
			loose = loose || p.QoS != q.UUID
		}
		for n, id := range q.Queues {
			rate, err := strconv.ParseUint(s.Queues[id].OtherConfig["min-rate"], 10, 64)
			out[GuaranteeKey{q.ExternalIDs[bridgeKey], n}] = Guarantee{Kbps: uint32(rate / 1000), Loose: loose || !there || err != nil || s.Queues[id].OtherConfig["max-rate"] != unbounded}
		}
	}
	return out
}

// wires are the ports of a bridge that lead out of the host.
func wires(s *ovsdb.Snapshot, b ovsdb.Bridge) (out []ovsdb.Port) {
	s.On(b, func(p ovsdb.Port, i ovsdb.Interface) {
		if (i.Type == "" || i.Type == "system") && !slices.ContainsFunc(out, func(o ovsdb.Port) bool { return o.UUID == p.UUID }) {
			out = append(out, p)
		}
	})
	return out
}

// qos finds the QoS of a bridge.
func (d *Guarantees) qos(s *ovsdb.Snapshot, bridge string) (ovsdb.QoS, bool) {
	for _, q := range s.QoS {
		if q.ExternalIDs[ownerKey] == d.owner && q.ExternalIDs[bridgeKey] == bridge {
			return q, true
		}
	}
	return ovsdb.QoS{}, false
}

// Put implements reconcile.Driver. A rate is changed in place.
func (d *Guarantees) Put(ctx context.Context, batch map[GuaranteeKey]Guarantee) error {
	bad := reconcile.Errors[GuaranteeKey]{}
	good := map[GuaranteeKey]Guarantee{}
	for k, v := range batch {
		if k.Queue < 1 || k.Queue > LastQueue || v.Kbps == 0 {
			bad[k] = fmt.Errorf("queue %d with %d kbit/s is none", k.Queue, v.Kbps)
			continue
		}
		good[k] = v
	}
	return each(good, bad, apply(ctx, d.client, byBridge(good), d.put))
}

// put are the steps for the queues of one bridge.
func (d *Guarantees) put(s *ovsdb.Snapshot, bridge string, want map[int]Guarantee) ([]ovsdb.Op, error) {
	b, there := s.Bridge(bridge)
	if !there {
		return nil, ErrNoBridge
	}
	out := wires(s, b)
	if len(out) == 0 {
		return nil, ErrNoWire
	}
	q, there := d.qos(s, bridge)
	id := q.UUID
	if !there {
		id = rowName("s", bridge)
	}
	for _, p := range out {
		if _, real := s.QoS[p.QoS]; real && p.QoS != id {
			return nil, fmt.Errorf("%s: %w", p.Name, ErrQueued)
		}
	}
	var ops []ovsdb.Op
	queues := maps.Clone(q.Queues)
	if queues == nil {
		queues = map[int]ovsdb.UUID{}
	}
	for _, n := range slices.Sorted(maps.Keys(want)) {
		config := map[string]string{"min-rate": strconv.FormatUint(uint64(want[n].Kbps)*1000, 10), "max-rate": unbounded}
		if row, known := s.Queues[queues[n]]; known {
			ops = append(ops, ovsdb.Update(ovsdb.TableQueue, row.UUID, ovsdb.Row{"other_config": config}))
			continue
		}
		queues[n] = rowName("u", fmt.Sprint(bridge, "_", n))
		ops = append(ops, ovsdb.Insert(ovsdb.TableQueue, queues[n], ovsdb.Row{"other_config": config, "external_ids": map[string]string{ownerKey: d.owner}}))
	}
	row := ovsdb.Row{"type": "linux-htb", "queues": queues, "other_config": map[string]string{"max-rate": unbounded}}
	if there {
		ops = append(ops, ovsdb.Update(ovsdb.TableQoS, id, row))
	} else {
		row["external_ids"] = map[string]string{ownerKey: d.owner, bridgeKey: bridge}
		ops = append(ops, ovsdb.Insert(ovsdb.TableQoS, id, row))
	}
	for _, p := range out {
		if p.QoS != id {
			ops = append(ops, ovsdb.Update(ovsdb.TablePort, p.UUID, ovsdb.Row{"qos": id}))
		}
	}
	return ops, nil
}

// Drop implements reconcile.Driver. With its last queue a bridge's wires queue as they did before.
func (d *Guarantees) Drop(ctx context.Context, batch map[GuaranteeKey]Guarantee) error {
	return each(batch, reconcile.Errors[GuaranteeKey]{}, apply(ctx, d.client, byBridge(batch), d.drop))
}

func (d *Guarantees) drop(s *ovsdb.Snapshot, bridge string, gone map[int]Guarantee) ([]ovsdb.Op, error) {
	q, there := d.qos(s, bridge)
	if !there {
		return nil, nil
	}
	var ops []ovsdb.Op
	left := maps.Clone(q.Queues)
	for _, n := range slices.Sorted(maps.Keys(gone)) {
		id, known := left[n]
		if !known {
			continue
		}
		delete(left, n)
		if _, real := s.Queues[id]; real {
			ops = append(ops, ovsdb.Delete(ovsdb.TableQueue, id))
		}
	}
	if len(left) > 0 {
		return append([]ovsdb.Op{ovsdb.Update(ovsdb.TableQoS, q.UUID, ovsdb.Row{"queues": left})}, ops...), nil
	}
	for _, p := range s.Ports {
		if p.QoS == q.UUID {
			ops = append(ops, ovsdb.Update(ovsdb.TablePort, p.UUID, ovsdb.Row{"qos": []ovsdb.UUID{}}))
		}
	}
	return append(ops, ovsdb.Delete(ovsdb.TableQoS, q.UUID)), nil
}

func byBridge(batch map[GuaranteeKey]Guarantee) map[string]map[int]Guarantee {
	out := map[string]map[int]Guarantee{}
	for k, v := range batch {
		if out[k.Bridge] == nil {
			out[k.Bridge] = map[int]Guarantee{}
		}
		out[k.Bridge][k.Queue] = v
	}
	return out
}

// each makes the errors of bridges those of their queues.
func each(batch map[GuaranteeKey]Guarantee, bad reconcile.Errors[GuaranteeKey], err error) error {
	var of reconcile.Errors[string]
	switch {
	case err == nil:
	case errors.As(err, &of):
		for k := range batch {
			if of[k.Bridge] != nil {
				bad[k] = of[k.Bridge]
			}
		}
	default:
		return err
	}
	return bad.Err()
}

var _ reconcile.Driver[GuaranteeKey, Guarantee] = (*Guarantees)(nil)
