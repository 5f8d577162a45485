package qos

import (
	"isospin/internal/agent"
	"isospin/internal/change"
	"isospin/internal/dataplane/nft"
	"isospin/internal/reconcile"
	"isospin/internal/wire"
)

// Bridge keeps policies on a host of Linux bridges, in the table of nftables that filters there too: by rules of a chain for each port and direction.
// Sync is for the loop's goroutine.
type Bridge struct {
	target reconcile.Target[nft.Key, nft.Object]
	users  users
}

// NewBridge makes the feature.
func NewBridge(t reconcile.Target[nft.Key, nft.Object]) *Bridge {
	return &Bridge{target: t, users: newUsers()}
}

// Name is the entity that the feature speaks for.
func (f *Bridge) Name() string { return wire.EntityQoS }

// Kinds are what it reads.
func (f *Bridge) Kinds() []string { return []string{wire.KindPort, wire.KindNetwork, wire.KindQoS} }

// Sync refills what the dirty documents concern.
func (f *Bridge) Sync(v agent.View, dirty []change.Key, all bool) agent.Result {
	res := agent.Result{Faults: map[change.Key]error{}}
	if all {
		f.target.Replace(f.owner("host"), hooks())
	}
	for id := range f.users.touched(v, dirty, all) {
		res.Ports = append(res.Ports, id)
		res.Faults[change.Key{Kind: wire.KindPort, ID: id}] = f.port(v, id)
	}
	return res
}

func (f *Bridge) owner(doc string) reconcile.Owner {
	return reconcile.Owner{Feature: f.Name(), Doc: doc}
}

// port refills what one port needs.
func (f *Bridge) port(v agent.View, id string) error {
	p, known := get[*wire.Port](v, wire.KindPort, id)
	policy := ""
	if known {
		policy = policyOf(v, p)
	}
	f.users.set(id, policy)
	var rules Rules
	var bad error
	if doc, ok := get[*wire.QoSPolicy](v, wire.KindQoS, policy); ok {
		rules, bad = read(doc)
	}
	f.target.Replace(f.owner(id), chains(id, rules))
	return bad
}

// Report tells how far a port's policy is: limits are there before the port's device is.
func (f *Bridge) Report(v agent.View, id string) (agent.Report, bool) {
	p, known := get[*wire.Port](v, wire.KindPort, id)
	if !known {
		return agent.Report{}, false
	}
	r, ok := report(p, f.users.policy[id], true)
	r.Docs = []string{"host"}
	return r, ok
}

// Names in the table.
const (
	mapSent     = "limits-sent"     // device: what limits what comes from it
	mapReceived = "limits-received" // device: what limits what goes to it
)

// The places of the chains on a frame's way: what a guest sends is counted before it is judged, what it gets after that.
const (
	beforeFilters = -310
	afterFilters  = 10
)

func verdicts() nft.Layout { return nft.LayoutOf(nft.IIfName()).To(nft.Verdicts) }

// hooks are what no port has a part in.
func hooks() map[nft.Key]nft.Object {
	return map[nft.Key]nft.Object{
		nft.SetKey(mapSent):     {Layout: verdicts()},
		nft.SetKey(mapReceived): {Layout: verdicts()},
		nft.ChainKey(mapSent): {Hook: &nft.Hook{Point: nft.Prerouting, Priority: beforeFilters},
			Rules: []nft.Rule{nft.Do(nft.Verdict{}, nft.Vmap(mapSent, nft.IIfName()))}},
		nft.ChainKey(mapReceived): {Hook: &nft.Hook{Point: nft.Postrouting, Priority: afterFilters},
			Rules: []nft.Rule{nft.Do(nft.Verdict{}, nft.Vmap(mapReceived, nft.OIfName()))}},
	}
}

// nameLength is how much of an id is in a device's name (neutron/plugins/ml2/drivers/linuxbridge/agent).
const nameLength = 11

// chains are what one port has. A frame that others get too passes the last hook for each of them, so what one may not have the others do.
func chains(port string, r Rules) map[nft.Key]nft.Object {
	out := map[nft.Key]nft.Object{}
	add := func(which string, rules []nft.Rule) {
		if len(rules) == 0 {
			return
		}
		name := which + "-" + port
		out[nft.ChainKey(name)] = nft.Object{Rules: rules}
		k, o := verdicts().Element(which, nft.Name("tap"+port[:min(len(port), nameLength)]))
		o.Verdict = nft.Goto(name)
		out[k] = o
	}
	sent := r.Egress.rules()
	if r.Marks {
		sent = append(sent,
			nft.Do(nft.Verdict{}, nft.Protocol().Is(nft.Num2(0x0800)), nft.MarkIP(r.Mark)),
			nft.Do(nft.Verdict{}, nft.Protocol().Is(nft.Num2(0x86dd)), nft.MarkIP6(r.Mark)))
	}
	add(mapSent, sent)
	add(mapReceived, r.Ingress.rules())
	return out
}

// rules drop what is beyond the limits. Bytes are an eighth of bits.
func (d Direction) rules() (out []nft.Rule) {
	if d.Bits.Any() {
		out = append(out, nft.Do(nft.Drop(), nft.BeyondBytes(uint64(d.Bits.Rate)*125, uint64(d.Bits.Burst)*125)))
	}
	if d.Packets.Any() {
		out = append(out, nft.Do(nft.Drop(), nft.BeyondPackets(uint64(d.Packets.Rate), d.Packets.Burst)))
	}
	return out
}

var (
	_ agent.Feature  = (*Bridge)(nil)
	_ agent.Reporter = (*Bridge)(nil)
)
