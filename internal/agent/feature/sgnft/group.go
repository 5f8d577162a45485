package sgnft

import (
	"maps"
	"slices"

	"isospin/internal/agent"
	"isospin/internal/agent/feature/secgroup"
	"isospin/internal/change"
	"isospin/internal/dataplane/nft"
	"isospin/internal/wire"
)

// group is a group that a filtered port of this host is in: whom its rules name.
type group struct{ remotes map[secgroup.Remote]bool }

// The chains of a group.
func groupChain(id string, egress, v6 bool) string {
	name := "in"
	if egress {
		name = "out"
	}
	if v6 {
		return name + "6-" + id
	}
	return name + "4-" + id
}

// ruleChanged notes the group that a rule is of, and the one that it was of.
func (f *Feature) ruleChanged(v agent.View, w *work, id string) {
	w.res.Faults[change.Key{Kind: wire.KindRule, ID: id}] = nil
	if g, known := f.groupOf[id]; known {
		w.groups[g] = true
		delete(f.groupOf, id)
	}
	if d, ok := get[*wire.SecurityGroupRule](v, wire.KindRule, id); ok {
		f.groupOf[id] = d.GetSecurityGroupId()
		w.groups[d.GetSecurityGroupId()] = true
		if _, err := secgroup.ReadRule(d); err != nil {
			w.res.Faults[change.Key{Kind: wire.KindRule, ID: id}] = err
		}
	}
}

// syncUse looks whether a port of this host that is filtered is in a group whose document is there.
func (f *Feature) syncUse(v agent.View, w *work, id string) {
	_, used := v.Get(wire.KindGroup, id)
	if used {
		used = false
		for _, m := range v.In(wire.KindPort, agent.ByGroup, id) {
			if p, ok := m.(*wire.Port); ok && !f.open(p) {
				used = true
				break
			}
		}
	}
	g := f.groups[id]
	switch {
	case used && g == nil:
		f.groups[id] = &group{remotes: map[secgroup.Remote]bool{}}
		w.groups[id] = true
	case !used && g != nil:
		delete(f.groups, id)
		for r := range g.remotes {
			f.unuse(w, id, r)
		}
		f.want(groupDoc(id), nil)
	}
}

// syncGroup writes a group's chains anew. The driver writes of them what differs.
func (f *Feature) syncGroup(v agent.View, w *work, id string) {
	g := f.groups[id]
	d, ok := get[*wire.SecurityGroup](v, wire.KindGroup, id)
	if g == nil || !ok {
		return
	}
	var rules []secgroup.Rule
	now := map[secgroup.Remote]bool{}
	for _, m := range v.In(wire.KindRule, agent.ByGroup, id) {
		doc, ok := m.(*wire.SecurityGroupRule)
		if !ok {
			continue
		}
		r, err := secgroup.ReadRule(doc)
		if err != nil {
			continue // told for the rule
		}
		rules = append(rules, r)
		if needsMembers(r.Remote) {
			now[r.Remote] = true
		}
	}
	for r := range g.remotes {
		if !now[r] {
			f.unuse(w, id, r)
		}
	}
	for r := range now {
		if !g.remotes[r] {
			f.use(w, id, r)
		}
	}
	g.remotes = now
	want := f.chains(id, d.GetStateful(), rules)
	for r := range now {
		maps.Copy(want, f.sets(r))
	}
	f.want(groupDoc(id), want)
}

// chains are a group's, rules in the order of their ids so that one more is one more.
func (f *Feature) chains(id string, stateful bool, rules []secgroup.Rule) map[nft.Key]nft.Object {
	slices.SortFunc(rules, func(a, b secgroup.Rule) int {
		switch {
		case a.ID < b.ID:
			return -1
		case a.ID > b.ID:
			return 1
		}
		return 0
	})
	out := map[nft.Key]nft.Object{}
	for _, egress := range []bool{false, true} {
		for _, v6 := range []bool{false, true} {
			var in []nft.Rule
			for _, r := range rules {
				if r.Egress == egress && r.V6 == v6 && (!stateful || f.cfg.Tracks) {
					in = append(in, f.rule(r, stateful)...)
				}
			}
			out[nft.ChainKey(groupChain(id, egress, v6))] = nft.Object{Rules: in}
		}
	}
	return out
}

// far is the field of the other end's address: of what began the connection, or of the packet.
func far(r secgroup.Rule, stateful bool) nft.Field {
	switch {
	case stateful && r.Egress && r.V6:
		return nft.ForIP6()
	case stateful && r.Egress:
		return nft.ForIP()
	case stateful && r.V6:
		return nft.BeganIP6()
	case stateful:
		return nft.BeganIP()
	case r.Egress && r.V6:
		return nft.IP6Target()
	case r.Egress:
		return nft.IPTarget()
	case r.V6:
		return nft.IP6Source()
	}
	return nft.IPSource()
}

// rule is what accepts packets that a rule is about: one for each set that its remote has.
func (f *Feature) rule(r secgroup.Rule, stateful bool) []nft.Rule {
	about := f.about(r, stateful)
	other := far(r, stateful)
	accept := func(terms ...nft.Term) nft.Rule {
		return nft.Do(nft.Accept(), append(terms, about...)...).For(r.ID)
	}
	switch {
	case r.Remote.Everybody():
		return []nft.Rule{accept()}
	case r.Remote.Prefix.IsValid():
		return []nft.Rule{accept(other.Within(r.Remote.Prefix))}
	}
	out := []nft.Rule{accept(nft.In(hostSet(r.Remote, r.V6), other))}
	if m := f.remotes[r.Remote]; m != nil && m.hasPrefixes(r.V6) {
		out = append(out, accept(nft.In(prefixSet(r.Remote, r.V6), other)))
	}
	return out
}

// about are a rule's protocol and ports.
func (f *Feature) about(r secgroup.Rule, stateful bool) []nft.Term {
	if r.Protocol == secgroup.AnyProtocol {
		return nil
	}
	protocol, ports := nft.L4Protocol(), nft.TargetPort()
	if stateful {
		protocol, ports = nft.ForProtocol(), nft.ForPort()
	}
	out := []nft.Term{protocol.Is(nft.Num1(r.Protocol))}
	switch {
	case r.HasPorts() && r.Low == r.High:
		out = append(out, ports.Is(nft.Num2(r.Low)))
	case r.HasPorts() && (r.Low > 0 || r.High < 0xffff):
		out = append(out, ports.Between(nft.Num2(r.Low), nft.Num2(r.High)))
	case r.HasType() && stateful && r.High < 0: // a connection of ICMP has type and code where others have a port
		out = append(out, ports.Bits([]byte{0xff, 0}, []byte{byte(r.Low), 0}))
	case r.HasType() && stateful:
		out = append(out, ports.Is([]byte{byte(r.Low), byte(r.High)}))
	case r.HasType():
		out = append(out, nft.ICMPType().Is(nft.Num1(r.Low)))
		if r.High >= 0 {
			out = append(out, nft.ICMPCode().Is(nft.Num1(r.High)))
		}
	}
	return out
}

func needsMembers(r secgroup.Remote) bool { return r.Group != "" || r.AddressGroup != "" }
