// Package localip is the agent feature of local IPs (`local_ip` in [agent] extensions): an address that each host serves from a port of its own. Ports of the
// host that ask for it are answered with the MAC of the port that stands for it here, and what they send to it is translated to that port's own address and
// back. Agents on Open vSwitch hosts run it beside l2ovs. Nothing of it leaves the host, and it reports on no port.
package localip

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"

	"isospin/internal/agent"
	"isospin/internal/agent/feature/brint"
	"isospin/internal/change"
	"isospin/internal/dataplane/openflow"
	"isospin/internal/reconcile"
	"isospin/internal/wire"
)

// Zones gives the networks' translations a conntrack zone each; zone.Book does.
type Zones interface {
	Of(name string) (uint16, error)
}

// Feature is the conversion. Sync is for the loop's goroutine.
type Feature struct {
	target reconcile.Target[openflow.Key, openflow.Flow]
	watch  *brint.Watch
	zones  Zones
	tag    openflow.Tag

	// wanted are the places that flows are wanted for; thrown away and made again by a Sync of all.
	wanted map[place]bool
}

// New makes the feature.
func New(t reconcile.Target[openflow.Key, openflow.Flow], w *brint.Watch, z Zones) *Feature {
	return &Feature{target: t, watch: w, zones: z, tag: openflow.TagOf(brint.Owner), wanted: map[place]bool{}}
}

// Name is the name that owners carry.
func (f *Feature) Name() string { return "local_ip" }

// Kinds are what it reads.
func (f *Feature) Kinds() []string { return []string{wire.KindPort, wire.KindLocalIP} }

// place is an address that is asked for on a network.
type place struct {
	network string
	address netip.Addr
}

func (p place) owner(feature string) reconcile.Owner {
	return reconcile.Owner{Feature: feature, Doc: p.network + " " + p.address.String()}
}

// stand is the port that stands for an address here.
type stand struct {
	id          string // of the association
	at          brint.Place
	mac         net.HardwareAddr
	fixed       netip.Addr
	passthrough bool
}

// Sync refills all: a host has few local IPs, and what did not change is not written again. The documents of ports are looked at only where an
// association names them.
func (f *Feature) Sync(v agent.View, dirty []change.Key, all bool) agent.Result {
	res := agent.Result{Faults: map[change.Key]error{}}
	if !all && !f.concerned(v, dirty) {
		return res
	}
	stands := f.stands(v, res.Faults)
	for p := range f.wanted {
		if _, still := stands[p]; !still {
			f.target.Replace(p.owner(f.Name()), nil)
		}
	}
	f.wanted = map[place]bool{}
	for p, s := range stands {
		flows, err := f.flows(p, s)
		if err != nil {
			res.Faults[change.Key{Kind: wire.KindLocalIP, ID: s.id}] = err
		}
		f.wanted[p] = true
		f.target.Replace(p.owner(f.Name()), f.tag.Want(flows...))
	}
	return res
}

// concerned tells whether a port that changed stands for an address, or an association changed.
func (f *Feature) concerned(v agent.View, dirty []change.Key) bool {
	ports := map[string]bool{}
	for _, k := range dirty {
		if k.Kind == wire.KindLocalIP {
			return true
		}
		ports[k.ID] = true
	}
	for _, m := range v.All(wire.KindLocalIP) {
		if d, ok := m.(*wire.LocalIP); ok && ports[d.GetPortId()] {
			return true
		}
	}
	return false
}

// stands are the ports that stand for addresses now. Where several ports of the host do, the one with the least id does.
func (f *Feature) stands(v agent.View, faults map[change.Key]error) map[place]stand {
	present := f.watch.Present()
	docs := map[string]*wire.LocalIP{}
	for id, m := range v.All(wire.KindLocalIP) {
		if d, ok := m.(*wire.LocalIP); ok {
			docs[id] = d
		}
	}
	out := map[place]stand{}
	ids := slices.SortedFunc(maps.Keys(docs), func(a, b string) int {
		return cmp.Or(cmp.Compare(docs[a].GetPortId(), docs[b].GetPortId()), cmp.Compare(a, b))
	})
	for _, id := range ids {
		d := docs[id]
		key := change.Key{Kind: wire.KindLocalIP, ID: id}
		faults[key] = nil
		m, _ := v.Get(wire.KindPort, d.GetPortId())
		p, known := m.(*wire.Port)
		at, ready := present.Place(d.GetPortId())
		if !known || !ready || !p.GetAdminStateUp() {
			continue
		}
		s := stand{id: id, at: at, passthrough: d.GetPassthrough()}
		where, err := s.read(d, p)
		if err != nil {
			faults[key] = err
			continue
		}
		if _, taken := out[where]; !taken {
			out[where] = s
		}
	}
	return out
}

// read fills in what the documents say.
func (s *stand) read(d *wire.LocalIP, p *wire.Port) (place, error) {
	where := place{network: p.GetNetworkId()}
	var err error
	if where.address, err = netip.ParseAddr(d.GetAddress()); err != nil {
		return where, fmt.Errorf("the local IP cannot be read: %w", err)
	}
	if s.mac, err = net.ParseMAC(p.GetMacAddress()); err != nil {
		return where, fmt.Errorf("the port's MAC address cannot be read: %w", err)
	}
	if !where.address.Is4() {
		return where, fmt.Errorf("the local IP %s is not of IPv4: hosts serve no others", where.address)
	}
	if s.passthrough {
		return where, nil
	}
	if s.fixed, err = netip.ParseAddr(d.GetFixedIp()); err != nil || !s.fixed.Is4() {
		return where, fmt.Errorf("the local IP %s cannot be translated to %q", where.address, d.GetFixedIp())
	}
	return where, nil
}

// Priorities: above those of answers for addresses that ports of the network have.
const (
	prioAnswer = 200
	prioOwn    = 210
	prioPlain  = 100
)

// flows are those of one address: who asks is told the port's MAC; who sends to it is translated, and the port's answers are translated back.
func (f *Feature) flows(p place, s stand) ([]openflow.Flow, error) {
	network := openflow.Metadata.Is(brint.Network(p.network))
	self := brint.Source.Is(uint64(s.at.Number))
	asked := openflow.ARPRequest(p.address).With(network)
	out := []openflow.Flow{
		// To the port itself it is whoever else has the address.
		{Table: brint.Answer, Priority: prioOwn, Match: asked.With(self), Actions: openflow.Do(openflow.Resubmit(brint.LocalIP))},
		{Table: brint.Answer, Priority: prioAnswer, Match: asked, Actions: openflow.ARPReply(s.mac, p.address, brint.Return)},
	}
	if s.passthrough {
		// The guest has the address as a guest on each other host may: who is elsewhere must not learn of this one.
		return append(out, openflow.Flow{Table: brint.LocalIP, Priority: prioOwn, Match: openflow.ARP(network, self, openflow.ARPSPA.Is(p.address)),
			Actions: openflow.Do(brint.Origin.Set(brint.FromFabric), openflow.Resubmit(brint.Forward))}), nil
	}
	zone, err := f.zones.Of("local-ip/" + p.network)
	if zone == 0 {
		return nil, fmt.Errorf("the local IP's connections cannot be tracked: %w", err)
	}
	local := brint.Origin.Is(0)
	// A new connection is remembered as it is before it is translated, or its answers would be strangers to who began it; behind the translation what
	// tracked it so far knows nothing of it.
	before := openflow.Do(openflow.Resubmit(brint.Commit), brint.Tracked.Set(0))
	return append(out,
		openflow.Flow{Table: brint.LocalIP, Priority: prioOwn, Match: openflow.IPv4(network, local, self, openflow.IPv4Dst.Is(p.address)), Actions: openflow.Do(openflow.Resubmit(brint.Forward))},
		openflow.Flow{Table: brint.LocalIP, Priority: prioAnswer, Match: openflow.IPv4(network, local, openflow.IPv4Dst.Is(p.address)),
			Actions: openflow.Sequence(before, openflow.Do(openflow.EthDst.Set(s.mac),
				openflow.CT{Commit: true, Zone: zone, Table: brint.Forward, HasTable: true, NAT: &openflow.NAT{Min: s.fixed}}))},
		openflow.Flow{Table: brint.LocalIP, Priority: prioPlain, Match: openflow.IPv4(network, local, self, openflow.IPv4Src.Is(s.fixed)),
			Actions: openflow.Sequence(before, openflow.Do(openflow.CT{Zone: zone, Table: brint.Forward, HasTable: true, NAT: &openflow.NAT{}}))},
	), err
}

var _ agent.Feature = (*Feature)(nil)
