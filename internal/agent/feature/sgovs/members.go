package sgovs

import (
	"net/netip"
	"strings"

	"isospin/internal/agent"
	"isospin/internal/agent/feature/secgroup"
	"isospin/internal/change"
	"isospin/internal/dataplane/openflow"
	"isospin/internal/wire"
)

// address is one that a remote has.
type address = netip.Prefix

// remote is who a rule's remote is: the addresses of its documents, how many of these have each, and which groups ask.
type remote struct {
	docs    map[string][]address
	holders map[address]int
	users   map[user]bool
}

func (f *Feature) remote(r secgroup.Remote) *remote {
	m := f.remotes[r]
	if m == nil {
		m = &remote{docs: map[string][]address{}, holders: map[address]int{}, users: map[user]bool{}}
		f.remotes[r] = m
	}
	return m
}

// drop forgets a remote of which nothing is known and for which nobody asks.
func (f *Feature) drop(r secgroup.Remote) {
	if m := f.remotes[r]; m != nil && len(m.docs) == 0 && len(m.users) == 0 {
		delete(f.remotes, r)
	}
}

// learn takes what a document of a member, or of an address of an address group, says now.
func (f *Feature) learn(v agent.View, w *work, k change.Key) {
	name, _, _ := strings.Cut(k.ID, "/")
	r := secgroup.Remote{Group: name}
	var texts []string
	if k.Kind == wire.KindAddress {
		r = secgroup.Remote{AddressGroup: name}
		if d, ok := get[*wire.AddressGroupEntry](v, k.Kind, k.ID); ok {
			texts = []string{d.GetAddress()}
		}
	} else if d, ok := get[*wire.SecurityGroupMember](v, k.Kind, k.ID); ok {
		texts = d.GetIpAddresses()
	}
	w.res.Faults[k] = nil
	var now []address
	seen := map[address]bool{}
	for _, text := range texts {
		p, err := secgroup.Prefix(text)
		if err != nil {
			w.res.Faults[k] = err
			continue
		}
		for _, p := range halves(p) {
			if !seen[p] {
				seen[p] = true
				now = append(now, p)
			}
		}
	}
	m := f.remote(r)
	for _, p := range now {
		m.holders[p]++
		if m.holders[p] == 1 {
			m.touch(w, p)
		}
	}
	for _, p := range m.docs[k.ID] {
		m.holders[p]--
		if m.holders[p] == 0 {
			delete(m.holders, p)
			m.touch(w, p)
		}
	}
	m.docs[k.ID] = now
	if len(now) == 0 {
		delete(m.docs, k.ID)
	}
	f.drop(r)
}

// halves cuts the prefix of all addresses in two: a clause that says nothing would be in the place of a rule's that says nothing.
func halves(p address) []address {
	if p.Bits() > 0 {
		return []address{p}
	}
	high := p.Addr().AsSlice()
	high[0] = 0x80
	a, _ := netip.AddrFromSlice(high) // as long as it was
	return []address{netip.PrefixFrom(p.Addr(), 1), netip.PrefixFrom(a, 1)}
}

// touch notes an address for all that ask for the remote.
func (m *remote) touch(w *work, p address) {
	for u := range m.users {
		w.note(u, p)
	}
}

func (w *work) note(u user, p address) {
	if w.uses[u] == nil {
		w.uses[u] = map[address]bool{}
	}
	w.uses[u][p] = true
}

// use has a group ask for a remote's addresses, or know them by another number.
func (f *Feature) use(w *work, u user, r secgroup.Remote) {
	m := f.remote(r)
	m.users[u] = true
	for p := range m.holders {
		w.note(u, p)
	}
}

// unuse ends that.
func (f *Feature) unuse(w *work, u user, r secgroup.Remote) {
	m := f.remote(r)
	delete(m.users, u)
	for p := range m.holders {
		w.note(u, p)
	}
	f.drop(r)
}

// addressDoc is on whose behalf the flow of one address in the rules of one group is wanted.
func addressDoc(u user, p address) string {
	way := "/in/"
	if u.egress {
		way = "/out/"
	}
	return groupDoc(u.group) + way + p.String()
}

// syncAddress refills the flow of one address: which remotes of the group's rules have it.
func (f *Feature) syncAddress(u user, p address) {
	ids := map[uint32]bool{}
	if g := f.groups[u.group]; g != nil {
		for r, n := range g.ids[u.egress] {
			if m := f.remotes[r]; m != nil && m.holders[p] > 0 {
				ids[n] = true
			}
		}
	}
	var flows []openflow.Flow
	if len(ids) > 0 {
		flows = []openflow.Flow{{Table: rulesTable(u.egress), Priority: prioConjunction,
			Match: asked(u.group, p.Addr().Is6()).With(from(u.egress, p)...), Actions: clause(ids, clauseMember)}}
	}
	f.want(addressDoc(u, p), flows)
}
