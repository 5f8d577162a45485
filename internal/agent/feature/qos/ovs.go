package qos

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"isospin/internal/agent"
	"isospin/internal/agent/feature/brint"
	"isospin/internal/agent/feature/meter"
	"isospin/internal/change"
	"isospin/internal/dataplane/openflow"
	"isospin/internal/dataplane/vswitch"
	"isospin/internal/reconcile"
	"isospin/internal/wire"
)

// Config is a host of Open vSwitch as the feature sees it.
type Config struct {
	// Mappings is the bridge of each physical network.
	Mappings map[string]string
	// Queues says that the datapath can queue on wires without harm to other ports: the kernel's can.
	Queues bool
}

// Targets is what the feature fills on a host of Open vSwitch.
type Targets struct {
	Meters     reconcile.Target[uint32, openflow.Meter]
	Flows      reconcile.Target[openflow.Key, openflow.Flow]
	Guarantees reconcile.Target[vswitch.GuaranteeKey, vswitch.Guarantee]
}

// OVS keeps policies on the integration bridge: by meters, in both directions, and guarantees by queues where packets leave for a physical network.
// Sync is for the loop's goroutine.
type OVS struct {
	cfg     Config
	targets Targets
	tag     openflow.Tag
	watch   *brint.Watch
	book    *meter.Book
	users   users
	present brint.Present     // as at the last Sync
	notes   map[string]string // what is to be known of a port's policy although it is kept
}

// NewOVS makes the feature; book is the bridge's.
func NewOVS(c Config, t Targets, w *brint.Watch, book *meter.Book) *OVS {
	return &OVS{cfg: c, targets: t, tag: openflow.TagOf(brint.Owner), watch: w, book: book, users: newUsers(), notes: map[string]string{}}
}

// Name is the entity that the feature speaks for.
func (f *OVS) Name() string { return wire.EntityQoS }

// Kinds are what it reads.
func (f *OVS) Kinds() []string { return []string{wire.KindPort, wire.KindNetwork, wire.KindQoS} }

// Sync refills what the dirty documents and interfaces concern.
func (f *OVS) Sync(v agent.View, dirty []change.Key, all bool) agent.Result {
	res := agent.Result{Faults: map[change.Key]error{}}
	f.present = f.watch.Present()
	for id := range f.users.touched(v, dirty, all) {
		res.Ports = append(res.Ports, id)
		res.Faults[change.Key{Kind: wire.KindPort, ID: id}] = f.port(v, id)
	}
	if all {
		for id := range f.present { // also those of which no document speaks
			res.Ports = append(res.Ports, id)
		}
		f.sweep(v)
	}
	return res
}

// port refills what one port needs.
func (f *OVS) port(v agent.View, id string) error {
	p, known := get[*wire.Port](v, wire.KindPort, id)
	policy := ""
	if known {
		policy = policyOf(v, p)
	}
	f.users.set(id, policy)
	var rules Rules
	var bad []error
	if doc, ok := get[*wire.QoSPolicy](v, wire.KindQoS, policy); ok {
		var err error
		rules, err = read(doc)
		bad = append(bad, err)
	}
	ids, err := f.meters(v, id, rules)
	bad = append(bad, err)
	owner := reconcile.Owner{Feature: f.Name(), Doc: id}
	at, ready := f.present.Place(id)
	delete(f.notes, id)
	if !ready || !p.GetAdminStateUp() {
		f.targets.Meters.Replace(owner, nil)
		f.targets.Guarantees.Replace(owner, nil)
		f.targets.Flows.Replace(owner, nil)
		return errors.Join(bad...)
	}
	mac, err := net.ParseMAC(p.GetMacAddress())
	bad = append(bad, err)
	queue, err := f.guarantee(v, p, at, rules)
	bad = append(bad, err)
	f.targets.Meters.Replace(owner, ids.wanted())
	f.targets.Guarantees.Replace(owner, queue)
	f.targets.Flows.Replace(owner, f.tag.Want(append(sent(at, rules, ids, len(queue) > 0), received(at, mac, ids)...)...))
	return errors.Join(bad...)
}

// guarantee is the queue, of the port's number, that a port has where its packets leave for a physical network. On networks that tunnels carry nobody
// guarantees anything, as with Neutron's agents.
func (f *OVS) guarantee(v agent.View, p *wire.Port, at brint.Place, r Rules) (map[vswitch.GuaranteeKey]vswitch.Guarantee, error) {
	bridge := f.wire(v, p)
	switch {
	case r.Guaranteed == 0 || bridge == "":
		return nil, nil
	case !f.cfg.Queues:
		f.notes[p.GetId()] = "minimum_bandwidth is what servers are placed by; this host's datapath has no queues to keep it"
		return nil, nil
	case at.Number > vswitch.LastQueue:
		return nil, fmt.Errorf("minimum_bandwidth: Open vSwitch has no queue of the port's number %d", at.Number)
	}
	return map[vswitch.GuaranteeKey]vswitch.Guarantee{{Bridge: bridge, Queue: int(at.Number)}: {Kbps: r.Guaranteed}}, nil
}

// wire is the bridge by which a port's packets leave for a physical network; "" for none.
func (f *OVS) wire(v agent.View, p *wire.Port) string {
	n, _ := get[*wire.Network](v, wire.KindNetwork, p.GetNetworkId())
	for _, s := range n.GetSegments() {
		if s.GetId() == p.GetSegmentId() && (s.GetNetworkType() == "flat" || s.GetNetworkType() == "vlan") {
			return f.cfg.Mappings[s.GetPhysicalNetwork()]
		}
	}
	return ""
}

// Report tells how far a port's policy is; a port without one is nobody's business.
func (f *OVS) Report(v agent.View, id string) (agent.Report, bool) {
	p, known := get[*wire.Port](v, wire.KindPort, id)
	if !known {
		return agent.Report{}, false
	}
	r, ok := report(p, f.users.policy[id], f.present[id].Ready())
	r.Detail = f.notes[id]
	return r, ok
}

// report is what is said of a port.
func report(p *wire.Port, policy string, ready bool) (agent.Report, bool) {
	r := agent.Report{PortState: agent.PortState{Generation: p.GetWiring(), State: wire.State_UNPLUGGED}}
	if policy != "" && ready && p.GetAdminStateUp() {
		r.State = wire.State_DONE
	}
	return r, true
}

// slot is one of the meters that a port may have.
type slot uint8

const (
	egressBits slot = iota
	egressPackets
	ingressBits
	ingressPackets
	slots
)

// use is the name of a port's meter in the book.
func (s slot) use(port string) string {
	return "qos/" + port + [...]string{"/egress/kbps", "/egress/pps", "/ingress/kbps", "/ingress/pps"}[s]
}

// limit is the limit that the meter keeps.
func (s slot) limit(r Rules) Limit {
	return [...]Limit{r.Egress.Bits, r.Egress.Packets, r.Ingress.Bits, r.Ingress.Packets}[s]
}

// metered are a port's meters: the number of each, 0 for none, and its limit.
type metered [slots]struct {
	id    uint32
	limit Limit
}

// meters gives a port's limits their meters' numbers, and those back that it needs no more.
func (f *OVS) meters(v agent.View, port string, r Rules) (out metered, bad error) {
	for s := range slots {
		if l := s.limit(r); l.Any() {
			id, err := f.book.Of(s.use(port))
			out[s].id, out[s].limit = id, l
			if errors.Is(err, meter.ErrFull) {
				bad = errors.Join(bad, err)
			}
		} else if v.Synced() { // else what is not there may only have not come
			_ = f.book.Forget(s.use(port)) // a number that cannot be written down is forgotten at the next start's sweep
		}
	}
	return out, bad
}

// sweep gives the numbers back of ports that left while the agent was away.
func (f *OVS) sweep(v agent.View) {
	if !v.Synced() {
		return
	}
	for _, use := range f.book.Uses("qos/") {
		port, _, _ := strings.Cut(strings.TrimPrefix(use, "qos/"), "/")
		if _, known := v.Get(wire.KindPort, port); !known {
			_ = f.book.Forget(use)
		}
	}
}

// wanted are the meters.
func (m metered) wanted() map[uint32]openflow.Meter {
	out := map[uint32]openflow.Meter{}
	for s, x := range m {
		if x.id != 0 {
			out[x.id] = openflow.Meter{Packets: slot(s) == egressPackets || slot(s) == ingressPackets, Rate: x.limit.Rate, Burst: x.limit.Burst}
		}
	}
	return out
}

// through is the way through a meter, if there is one, to a table.
func (m metered) through(s slot, table uint8, change ...openflow.Action) []openflow.Action {
	var out []openflow.Action
	if m[s].id != 0 {
		out = append(out, openflow.Metered(m[s].id))
	}
	return append(append(out, change...), openflow.Resubmit(table))
}

// Priorities within tables.
const (
	prioPort  = 100
	prioExact = 110
)

// sent are the flows of what a port sends: POLICE and MARK.
func sent(at brint.Place, r Rules, m metered, queue bool) []openflow.Flow {
	from := brint.Source.Is(uint64(at.Number))
	var change []openflow.Action
	if queue {
		change = append(change, openflow.SetQueue(at.Number))
	}
	var flows []openflow.Flow
	if m[egressBits].id != 0 {
		flows = append(flows, openflow.Flow{Table: brint.Police, Priority: prioPort, Match: openflow.Any(from), Actions: m.through(egressBits, brint.Mark)})
	}
	if m[egressPackets].id != 0 || queue {
		flows = append(flows, openflow.Flow{Table: brint.Mark, Priority: prioPort, Match: openflow.Any(from), Actions: m.through(egressPackets, brint.Spoof, change...)})
	}
	if r.Marks {
		change = append(change, openflow.IPDSCP.Set(uint64(r.Mark)))
		flows = append(flows,
			openflow.Flow{Table: brint.Mark, Priority: prioExact, Match: openflow.IPv4(from), Actions: m.through(egressPackets, brint.Spoof, change...)},
			openflow.Flow{Table: brint.Mark, Priority: prioExact, Match: openflow.IPv6(from), Actions: m.through(egressPackets, brint.Spoof, change...)})
	}
	return flows
}

// received are the flows of what a port is sent: SHAPE, BITS and PACKETS. A meter that drops a packet ends all that the switch had still to do with
// it, which for a packet that others get too would be theirs. Only what is sent to the port's own address goes to the meters as it is; of other IP
// packets the meters get one of their own, which is what a lookup of the connection makes. What is neither, ARP above all, passes.
func received(at brint.Place, mac net.HardwareAddr, m metered) []openflow.Flow {
	if m[ingressBits].id == 0 && m[ingressPackets].id == 0 {
		return nil
	}
	to := brint.Target.Is(uint64(at.Number))
	apart := openflow.Do(openflow.CTNext(0, brint.Bits))
	flows := []openflow.Flow{
		{Table: brint.Shape, Priority: prioPort, Match: openflow.IPv4(to), Actions: apart},
		{Table: brint.Shape, Priority: prioPort, Match: openflow.IPv6(to), Actions: apart},
	}
	if mac != nil {
		flows = append(flows, openflow.Flow{Table: brint.Shape, Priority: prioExact, Match: openflow.Any(to, openflow.EthDst.Is(mac)),
			Actions: openflow.Do(openflow.Resubmit(brint.Bits))})
	}
	if m[ingressBits].id != 0 {
		flows = append(flows, openflow.Flow{Table: brint.Bits, Priority: prioPort, Match: openflow.Any(to), Actions: m.through(ingressBits, brint.Packets)})
	}
	if m[ingressPackets].id != 0 {
		flows = append(flows, openflow.Flow{Table: brint.Packets, Priority: prioPort, Match: openflow.Any(to), Actions: m.through(ingressPackets, brint.Deliver)})
	}
	return flows
}

var (
	_ agent.Feature  = (*OVS)(nil)
	_ agent.Reporter = (*OVS)(nil)
)
