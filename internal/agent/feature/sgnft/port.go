package sgnft

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"isospin/internal/agent"
	"isospin/internal/agent/feature/secgroup"
	"isospin/internal/change"
	"isospin/internal/dataplane/conntrack"
	"isospin/internal/dataplane/nft"
	"isospin/internal/wire"
)

// nameLength is how much of an id is in a device's name (neutron/plugins/ml2/drivers/linuxbridge/agent).
const nameLength = 11

func tap(port string) []byte { return nft.Name("tap" + port[:min(len(port), nameLength)]) }
func bridge(network string) []byte {
	return nft.Name("brq" + network[:min(len(network), nameLength)])
}

// errNoTracking is why a port in groups with state passes nothing.
var errNoTracking = errors.New("the kernel does not track connections on bridges (it lacks nf_conntrack_bridge or nft_meta_bridge): security groups with state cannot be kept on this host")

// open tells whether a port is not filtered: port security is off, or it is one of the cloud's own (Neutron's is_port_trusted).
func (f *Feature) open(p *wire.Port) bool {
	return f.cfg.Off || !p.GetPortSecurityEnabled() || strings.HasPrefix(p.GetDeviceOwner(), "network:")
}

// objects gathers what is wanted.
type objects map[nft.Key]nft.Object

func (o objects) chain(name string, rules ...nft.Rule) {
	o[nft.ChainKey(name)] = nft.Object{Rules: rules}
}
func (o objects) element(k nft.Key, e nft.Object) { o[k] = e }

func (o objects) verdict(name string, l nft.Layout, device []byte, v nft.Verdict) {
	k, e := l.Element(name, device)
	e.Verdict = v
	o[k] = e
}

// syncPort refills the objects of one port. Before they are there it neither sends nor gets anything: devices with such a name that the table does
// not know are kept silent.
func (f *Feature) syncPort(v agent.View, w *work, id string) {
	key := change.Key{Kind: wire.KindPort, ID: id}
	w.res.Faults[key] = nil
	here := map[conntrack.Key]conntrack.Here{}
	defer func() { f.target.Here.Replace(owner(portDoc(id)), here) }()
	p, ok := get[*wire.Port](v, wire.KindPort, id)
	if !ok || !p.GetAdminStateUp() {
		f.want(portDoc(id), nil)
		return
	}
	want := objects{}
	device := tap(id)
	if f.open(p) {
		want.element(devices().Element(setOpen, device))
		want.verdict(mapOut, verdicts(), device, nft.Accept())
		want.verdict(mapIn, verdicts(), device, nft.Accept())
		f.want(portDoc(id), want)
		return
	}
	in := f.members(v, p)
	if len(in.stateful) > 0 && !f.cfg.Tracks {
		w.res.Faults[key] = errNoTracking
		f.want(portDoc(id), nil)
		return
	}
	zone := uint16(0)
	if f.cfg.Tracks && !in.free() {
		var err error
		if zone, err = f.zones.Of(p.GetNetworkId()); err != nil {
			w.res.Faults[key] = err
		}
		if zone == 0 {
			f.want(portDoc(id), nil)
			return
		}
		k, o := zones().Element(mapZones, bridge(p.GetNetworkId()))
		o.Number = zone
		want.element(k, o)
	}
	identities, err := secgroup.Identities(p)
	if err != nil {
		w.res.Faults[key] = err // those that can be read serve
	}
	for _, i := range identities {
		if zone != 0 && i.Prefix.IsSingleIP() {
			here[conntrack.Key{Zone: zone, Addr: i.Prefix.Addr()}] = conntrack.Here{}
		}
	}
	f.identify(want, p, identities, in.free())
	if n, ok := get[*wire.Network](v, wire.KindNetwork, p.GetNetworkId()); ok && takesTags(n) {
		want.element(devices().Element(setTagged, device))
	}
	judge(want, id, in)
	want.verdict(mapOut, verdicts(), device, nft.Goto("out-"+id))
	want.verdict(mapIn, verdicts(), device, nft.Goto("in-"+id))
	f.want(portDoc(id), want)
}

// takesTags tells whether guests' VLAN tags may pass: on a flat network they would be other networks' VLANs.
func takesTags(n *wire.Network) bool {
	flat := slices.ContainsFunc(n.GetSegments(), func(s *wire.Segment) bool { return s.GetNetworkType() == "flat" })
	return n.GetVlanTransparent() && !flat
}

// identify lets a port send with its own addresses.
func (f *Feature) identify(want objects, p *wire.Port, identities []secgroup.Identity, free bool) {
	device, network := tap(p.GetId()), bridge(p.GetNetworkId())
	macs := []string{}
	if m, err := net.ParseMAC(p.GetMacAddress()); err == nil {
		macs = append(macs, m.String()) // also where it has no address yet: a client of DHCP asks for one
	}
	type whose struct {
		mac string
		v6  bool
	}
	wide := map[whose][]netip.Prefix{}
	for _, i := range identities {
		macs = append(macs, i.MAC)
		if !i.Prefix.IsSingleIP() {
			k := whose{i.MAC, i.Prefix.Addr().Is6()}
			wide[k] = append(wide[k], i.Prefix)
			continue
		}
		mac, _ := net.ParseMAC(i.MAC) // Identities wrote it
		if i.Prefix.Addr().Is6() {
			want.element(identity6().Element(setID6, device, mac, i.Prefix.Addr().AsSlice()))
		} else {
			want.element(identity4().Element(setID4, device, mac, i.Prefix.Addr().AsSlice()))
		}
	}
	for k, prefixes := range wide {
		mac, _ := net.ParseMAC(k.mac)
		for _, prefix := range outermost(prefixes) {
			if prefix.Addr().Is6() {
				want.element(identity6().Ranges().Prefix(setNet6, prefix, device, mac))
			} else {
				want.element(identity4().Ranges().Prefix(setNet4, prefix, device, mac))
			}
		}
	}
	known := setTracked
	if free {
		known = setUntracked
	}
	for _, text := range macs {
		mac, err := net.ParseMAC(text)
		if err != nil || len(mac) != 6 {
			continue
		}
		want.element(hardware().Element(setMACs, device, mac))
		if f.cfg.Tracks {
			want.element(hardware().Element(known, network, mac))
		}
	}
}

// in are the groups that a port's packets are held against, by kind, in order.
type in struct{ stateful, stateless []string }

// free tells whether nobody asks for the port's connections. A port without groups has none that matter, but what it is not let do is as in others.
func (i in) free() bool { return len(i.stateful) == 0 }

// members are the groups of a port whose documents are there; the others allow nothing yet.
func (f *Feature) members(v agent.View, p *wire.Port) in {
	var out in
	for _, id := range slices.Sorted(slices.Values(p.GetSecurityGroups())) {
		g, ok := get[*wire.SecurityGroup](v, wire.KindGroup, id)
		switch {
		case !ok:
		case g.GetStateful():
			out.stateful = append(out.stateful, id)
		default:
			out.stateless = append(out.stateless, id)
		}
	}
	return out
}

// ask holds a packet against the rules of groups, one after the other.
func ask(groups []string, egress bool) []nft.Rule {
	var out []nft.Rule
	for _, id := range groups {
		out = append(out, nft.Do(nft.Jump(groupChain(id, egress, false)), nft.Protocol().Is(nft.Num2(protoIP))),
			nft.Do(nft.Jump(groupChain(id, egress, true)), nft.Protocol().Is(nft.Num2(protoIP6))))
	}
	return out
}

// judge are the chains that hold a port's packets against its groups.
func judge(want objects, id string, groups in) {
	out := append([]nft.Rule{nft.Do(nft.Jump(chainOut))}, ask(groups.stateless, true)...)
	in := append([]nft.Rule{nft.Do(nft.Jump(chainIn))}, ask(groups.stateless, false)...)
	if len(groups.stateful) > 0 {
		client, server := "client-"+id, "server-"+id
		// The rules that count are those for the packet that began the connection: of the other direction for an answer.
		out = append(out, nft.Do(nft.Goto(client), nft.CTOriginal()), nft.Do(nft.Goto(server), nft.CTReply()))
		in = append(in, nft.Do(nft.Goto(server), nft.CTOriginal()), nft.Do(nft.Goto(client), nft.CTReply()))
		want.chain(client, append(ask(groups.stateful, true), nft.Do(nft.Drop()))...)
		want.chain(server, append(ask(groups.stateful, false), nft.Do(nft.Drop()))...)
	}
	want.chain("out-"+id, append(out, nft.Do(nft.Drop()))...)
	want.chain("in-"+id, append(in, nft.Do(nft.Drop()))...)
}

// Needs is what a port of this host needs of this feature before it is wired: the documents (of EntityL2's owners) whose objects must be there, or what
// is lacking in a sentence, or why it cannot be.
func (f *Feature) Needs(v agent.View, id string) (docs []string, lacks string, broken error) {
	p, ok := get[*wire.Port](v, wire.KindPort, id)
	if !ok {
		return nil, "", nil
	}
	docs = []string{hostDoc, portDoc(id)}
	if f.open(p) {
		return docs, "", nil
	}
	if _, err := secgroup.Identities(p); err != nil {
		return docs, "", err
	}
	for _, id := range p.GetSecurityGroups() {
		g, ok := get[*wire.SecurityGroup](v, wire.KindGroup, id)
		switch {
		case !ok:
			return docs, "the document of security group " + id + " has not come", nil
		case g.GetStateful() && !f.cfg.Tracks:
			return docs, "", errNoTracking
		case g.GetStateful():
			if zone, err := f.zones.Of(p.GetNetworkId()); zone == 0 {
				return docs, "", fmt.Errorf("the port's connections cannot be tracked: %w", err)
			}
		}
		docs = append(docs, groupDoc(id))
	}
	return docs, "", nil
}
