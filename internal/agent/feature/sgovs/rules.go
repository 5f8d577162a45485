package sgovs

import (
	"fmt"
	"hash/fnv"
	"maps"
	"net/netip"
	"slices"

	"isospin/internal/agent"
	"isospin/internal/agent/feature/brint"
	"isospin/internal/agent/feature/secgroup"
	"isospin/internal/change"
	"isospin/internal/dataplane/openflow"
	"isospin/internal/wire"
)

// Priorities of rules: those that need no second clause come first, since there is nothing to find out after one of them.
const (
	prioRule        = 100
	prioConjunction = 50
)

// laterFragment is ip_frag of all pieces of a datagram but the first.
const laterFragment = 3

// rule is what a rule was when it was looked at last.
type rule struct {
	group  string
	remote bool  // of addresses that members or an address group have
	err    error // why it allows nothing
}

// group is a group that a port of this host is in: the numbers of its conjunctions, one for each remote, by direction.
type group struct {
	ids map[bool]map[secgroup.Remote]uint32 // by egress
}

// user is a group that asks for the members of remotes in its rules of one direction.
type user struct {
	group  string
	egress bool
}

// asked matches packets about which a group's rules are being asked, of a family.
func asked(group string, v6 bool) openflow.Match {
	n := brint.Network(group)
	family := uint64(openflow.TypeIPv4)
	if v6 {
		family = openflow.TypeIPv6
	}
	return openflow.Any(brint.GroupHigh.Is(n>>32), brint.GroupLow.Is(n&0xffffffff), openflow.EthType.Is(family))
}

func rulesTable(egress bool) uint8 {
	if egress {
		return brint.EgressRules
	}
	return brint.IngressRules
}

func accept() []openflow.Action { return openflow.Do(brint.Verdict.Set(brint.Accepted)) }

// fits are matches of which one holds when a packet is what a rule says, its remote apart. A rule that Open vSwitch cannot hold fits nothing.
func fits(r secgroup.Rule) ([]openflow.Match, error) {
	base := asked(r.Group, r.V6)
	if r.Protocol == secgroup.AnyProtocol {
		return []openflow.Match{base}, nil
	}
	base = base.With(openflow.IPProto.Is(uint64(r.Protocol)))
	switch {
	case r.HasType():
		kind, code := openflow.ICMPType, openflow.ICMPCode
		if r.Protocol == secgroup.ICMPv6 {
			kind, code = openflow.ICMPv6Type, openflow.ICMPv6Code
		}
		if r.V6 != (r.Protocol == secgroup.ICMPv6) {
			return nil, fmt.Errorf("rule %s: types of ICMP for IPv4 and of ICMPv6 for IPv6 alone can be told apart", r.ID)
		}
		base = base.With(kind.Is(uint64(r.Low)))
		if r.High >= 0 {
			base = base.With(code.Is(uint64(r.High)))
		}
	case r.HasPorts() && (r.Low > 0 || r.High < 0xffff):
		ports, ok := map[int]openflow.IntField{secgroup.TCP: openflow.TCPDst, secgroup.UDP: openflow.UDPDst, secgroup.SCTP: openflow.SCTPDst}[r.Protocol]
		if !ok {
			return nil, fmt.Errorf("rule %s: Open vSwitch knows no ports of protocol %d, so the rule allows nothing on this host: leave out its ports", r.ID, r.Protocol)
		}
		var out []openflow.Match
		for _, t := range ports.Range(uint64(r.Low), uint64(r.High)) {
			out = append(out, base.With(t))
		}
		// The userspace datapath shows the later pieces of a datagram without ports. They come with the first one, which is judged by them, or are of no use.
		out = append(out, base.With(openflow.IPFrag.Is(laterFragment)))
		if r.Protocol == secgroup.SCTP { // what is known of its connections on the userspace datapath is who speaks: whoever was spoken to may answer
			out = append(out, base.With(ports.Is(0), openflow.CTState.Masked(openflow.CTReply|openflow.CTTracked, openflow.CTReply|openflow.CTTracked)))
		}
		return out, nil
	}
	return []openflow.Match{base}, nil
}

// from matches the far end of a packet.
func from(egress bool, p netip.Prefix) []openflow.Term {
	switch {
	case p.Bits() <= 0:
		return nil
	case p.Addr().Is4() && egress:
		return []openflow.Term{openflow.IPv4Dst.In(p)}
	case p.Addr().Is4():
		return []openflow.Term{openflow.IPv4Src.In(p)}
	case egress:
		return []openflow.Term{openflow.IPv6Dst.In(p)}
	}
	return []openflow.Term{openflow.IPv6Src.In(p)}
}

func needsMembers(r secgroup.Remote) bool { return r.Group != "" || r.AddressGroup != "" }

// read reads a rule's document; ok is false where there is none.
func read(v agent.View, id string) (r secgroup.Rule, ok bool, err error) {
	d, ok := get[*wire.SecurityGroupRule](v, wire.KindRule, id)
	if !ok {
		return secgroup.Rule{}, false, nil
	}
	r, err = secgroup.ReadRule(d)
	return r, true, err
}

// syncRule refills the flows of one rule, or notes that its group's conjunctions have to be looked at.
func (f *Feature) syncRule(v agent.View, w *work, id string) {
	before := f.rules[id]
	r, ok, err := read(v, id)
	now := rule{group: r.Group, remote: needsMembers(r.Remote)}
	for _, s := range []rule{before, now} {
		if s.remote && f.groups[s.group] != nil {
			w.conj[s.group] = true
		}
	}
	if !ok {
		delete(f.rules, id)
		if before.err != nil {
			w.tell(v, before.group)
		}
		w.res.Faults[change.Key{Kind: wire.KindRule, ID: id}] = nil
		f.want(ruleDoc(id), nil)
		return
	}
	var flows []openflow.Flow
	if err == nil {
		flows, err = ruleFlows(r)
	}
	now.err = err
	f.rules[id] = now
	if (before.err == nil) != (err == nil) {
		w.tell(v, r.Group)
	}
	w.res.Faults[change.Key{Kind: wire.KindRule, ID: id}] = err
	if f.groups[r.Group] == nil { // nobody here asks
		flows = nil
	}
	f.want(ruleDoc(id), flows)
}

// ruleFlows are the flows of a rule whose remote is everybody or a prefix; of another only the error.
func ruleFlows(r secgroup.Rule) ([]openflow.Flow, error) {
	ms, err := fits(r)
	if err != nil || needsMembers(r.Remote) {
		return nil, err
	}
	var flows []openflow.Flow
	for _, m := range ms {
		if r.Remote.Prefix.IsValid() {
			m = m.With(from(r.Egress, r.Remote.Prefix)...)
		}
		flows = append(flows, openflow.Flow{Table: rulesTable(r.Egress), Priority: prioRule, Match: m, Actions: accept()})
	}
	return flows, nil
}

// syncUse looks whether a port of this host that is filtered is in a group; a group that comes into use or goes out of it takes its rules along.
func (f *Feature) syncUse(v agent.View, w *work, id string) {
	used := false
	for _, m := range v.In(wire.KindPort, agent.ByGroup, id) {
		if p, ok := m.(*wire.Port); ok && !f.open(p) {
			used = true
			break
		}
	}
	if used == (f.groups[id] != nil) {
		return
	}
	w.conj[id] = true // also where it goes: its members' addresses do
	if used {
		f.groups[id] = &group{ids: map[bool]map[secgroup.Remote]uint32{}}
	} else {
		f.release(w, id)
	}
	for r := range v.In(wire.KindRule, agent.ByGroup, id) {
		f.syncRule(v, w, r)
	}
}

// release withdraws what a group that nobody is in any more wanted.
func (f *Feature) release(w *work, id string) {
	g := f.groups[id]
	delete(f.groups, id)
	for egress, ids := range g.ids {
		for r := range ids {
			f.unuse(w, user{id, egress}, r)
		}
	}
	f.want(groupDoc(id), nil)
}

// syncConjunctions refills the rules with remotes of one group: what packets they are about, and what fulfils a conjunction. Rules that are about the
// same packets are one flow, since Open vSwitch holds one. All of them are looked at, which costs as much as the group has rules.
func (f *Feature) syncConjunctions(v agent.View, w *work, id string) {
	g := f.groups[id]
	if g == nil {
		return
	}
	var rules []secgroup.Rule
	now := map[bool]map[secgroup.Remote]uint32{true: {}, false: {}}
	for rid := range v.In(wire.KindRule, agent.ByGroup, id) {
		if r, ok, err := read(v, rid); ok && err == nil && needsMembers(r.Remote) {
			rules = append(rules, r)
			now[r.Egress][r.Remote] = 0
		}
	}
	for egress, ids := range now {
		number(ids)
		for r := range g.ids[egress] {
			if _, still := ids[r]; !still {
				f.unuse(w, user{id, egress}, r)
			}
		}
		for r, n := range ids {
			if before, known := g.ids[egress][r]; !known || before != n {
				f.use(w, user{id, egress}, r)
			}
		}
	}
	g.ids = now
	f.want(groupDoc(id), conjunctions(rules, now))
}

// number gives each remote of a group's direction a number. It follows from the remote, so that it is the same after a restart; where two have the
// same one, from the order of their names.
func number(ids map[secgroup.Remote]uint32) {
	taken := map[uint32]bool{0: true}
	for _, r := range slices.SortedFunc(maps.Keys(ids), compareRemotes) {
		h := fnv.New32a()
		_, _ = h.Write([]byte(r.Group + "/" + r.AddressGroup)) // hash.Hash never fails
		n := h.Sum32()
		for taken[n] {
			n++
		}
		ids[r], taken[n] = n, true
	}
}

func compareRemotes(a, b secgroup.Remote) int {
	return slices.Compare([]string{a.Group, a.AddressGroup}, []string{b.Group, b.AddressGroup})
}

// The clauses of a conjunction.
const (
	clauseMember = 1
	clauseRule   = 2
	clauses      = 2
)

// conjunctions are the flows of a group's rules with remotes, but for the members' addresses.
func conjunctions(rules []secgroup.Rule, ids map[bool]map[secgroup.Remote]uint32) []openflow.Flow {
	type slot struct {
		egress bool
		match  string
	}
	about := map[slot]openflow.Match{}
	parts := map[slot]map[uint32]bool{}
	for _, r := range rules {
		ms, err := fits(r)
		if err != nil {
			continue // told for the rule
		}
		for _, m := range ms {
			s := slot{r.Egress, m.String()}
			if parts[s] == nil {
				about[s], parts[s] = m, map[uint32]bool{}
			}
			parts[s][ids[r.Egress][r.Remote]] = true
		}
	}
	var flows []openflow.Flow
	for s, m := range about {
		flows = append(flows, openflow.Flow{Table: rulesTable(s.egress), Priority: prioConjunction, Match: m, Actions: clause(parts[s], clauseRule)})
	}
	for egress, numbers := range ids {
		for _, n := range numbers {
			flows = append(flows, openflow.Flow{Table: rulesTable(egress), Priority: prioConjunction, Match: openflow.Any(openflow.ConjID.Is(uint64(n))), Actions: accept()})
		}
	}
	return flows
}

func clause(ids map[uint32]bool, which uint8) []openflow.Action {
	var out []openflow.Action
	for _, n := range slices.Sorted(maps.Keys(ids)) {
		out = append(out, openflow.Conjunction(n, which, clauses))
	}
	return out
}
