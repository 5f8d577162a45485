package sgnft

import (
	"net/netip"
	"slices"
	"strings"

	"isospin/internal/agent"
	"isospin/internal/agent/feature/secgroup"
	"isospin/internal/change"
	"isospin/internal/dataplane/nft"
	"isospin/internal/wire"
)

// remote is who a rule's remote is: the addresses of its documents, how many of these have each prefix, and which groups ask.
type remote struct {
	docs     map[change.Key][]netip.Prefix
	prefixes map[netip.Prefix]int
	users    map[string]bool
}

// hasPrefixes tells whether somebody has more than single addresses.
func (m *remote) hasPrefixes(v6 bool) bool {
	for p := range m.prefixes {
		if p.Addr().Is6() == v6 {
			return true
		}
	}
	return false
}

func (f *Feature) remote(r secgroup.Remote) *remote {
	m := f.remotes[r]
	if m == nil {
		m = &remote{docs: map[change.Key][]netip.Prefix{}, prefixes: map[netip.Prefix]int{}, users: map[string]bool{}}
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

// remoteOf is whom a document is about.
func remoteOf(k change.Key) secgroup.Remote {
	name, _, _ := strings.Cut(k.ID, "/")
	if k.Kind == wire.KindAddress {
		return secgroup.Remote{AddressGroup: name}
	}
	return secgroup.Remote{Group: name}
}

// learn takes what a document of a member, or of an address of an address group, says now.
func (f *Feature) learn(v agent.View, w *work, k change.Key) {
	var texts []string
	if d, ok := get[*wire.AddressGroupEntry](v, k.Kind, k.ID); ok {
		texts = []string{d.GetAddress()}
	}
	if d, ok := get[*wire.SecurityGroupMember](v, k.Kind, k.ID); ok {
		texts = d.GetIpAddresses()
	}
	w.res.Faults[k] = nil
	var now []netip.Prefix
	for _, text := range texts {
		p, err := secgroup.Prefix(text)
		if err != nil {
			w.res.Faults[k] = err
			continue
		}
		if !slices.Contains(now, p) {
			now = append(now, p)
		}
	}
	r := remoteOf(k)
	m := f.remote(r)
	count := func(ps []netip.Prefix, by int) {
		for _, p := range ps {
			if p.IsSingleIP() {
				continue
			}
			w.prefixes[r] = true
			if m.prefixes[p] += by; m.prefixes[p] == 0 {
				delete(m.prefixes, p)
			}
		}
	}
	count(now, 1)
	count(m.docs[k], -1)
	m.docs[k] = now
	if len(now) == 0 {
		delete(m.docs, k)
	}
	w.docs[k] = true
	f.drop(r)
}

// use has a group ask for a remote's addresses; unuse ends that.
func (f *Feature) use(w *work, group string, r secgroup.Remote) {
	m := f.remote(r)
	m.users[group] = true
	if len(m.users) == 1 {
		for k := range m.docs {
			w.docs[k] = true
		}
		f.wantPrefixes(r)
	}
}

func (f *Feature) unuse(w *work, group string, r secgroup.Remote) {
	m := f.remote(r)
	delete(m.users, group)
	if len(m.users) == 0 {
		for k := range m.docs {
			w.docs[k] = true
		}
		f.wantPrefixes(r)
	}
	f.drop(r)
}

// The sets of a remote: single addresses, and prefixes.
func hostSet(r secgroup.Remote, v6 bool) string   { return setName("", r, v6) }
func prefixSet(r secgroup.Remote, v6 bool) string { return setName("net-", r, v6) }

func setName(what string, r secgroup.Remote, v6 bool) string {
	name := "group-" + what + r.Group
	if r.AddressGroup != "" {
		name = "addresses-" + what + r.AddressGroup
	}
	if v6 {
		return name + "-v6"
	}
	return name + "-v4"
}

func addresses(v6 bool) nft.Layout {
	if v6 {
		return nft.LayoutOf(nft.IP6Source())
	}
	return nft.LayoutOf(nft.IPSource())
}

// sets are those of a remote that groups in use name.
func (f *Feature) sets(r secgroup.Remote) map[nft.Key]nft.Object {
	out := map[nft.Key]nft.Object{}
	for _, v6 := range []bool{false, true} {
		out[nft.SetKey(hostSet(r, v6))] = nft.Object{Layout: addresses(v6)}
		if f.remotes[r].hasPrefixes(v6) {
			out[nft.SetKey(prefixSet(r, v6))] = nft.Object{Layout: addresses(v6).Ranges()}
		}
	}
	return out
}

func memberDoc(k change.Key) string { return "filter/" + k.Kind + "/" + k.ID }

// syncMember refills the single addresses of one document, if somebody asks for them.
func (f *Feature) syncMember(k change.Key) {
	r := remoteOf(k)
	m := f.remotes[r]
	want := map[nft.Key]nft.Object{}
	if m != nil && len(m.users) > 0 {
		for _, p := range m.docs[k] {
			if p.IsSingleIP() {
				v6 := p.Addr().Is6()
				key, o := addresses(v6).Element(hostSet(r, v6), p.Addr().AsSlice())
				want[key] = o
			}
		}
	}
	f.want(memberDoc(k), want)
}

// syncPrefixes refills a remote's prefixes, and has the groups that ask for it written anew: whether there are any says which sets they name.
func (f *Feature) syncPrefixes(w *work, r secgroup.Remote) {
	f.wantPrefixes(r)
	if m := f.remotes[r]; m != nil {
		for g := range m.users {
			w.groups[g] = true
		}
	}
}

func (f *Feature) wantPrefixes(r secgroup.Remote) {
	want := map[nft.Key]nft.Object{}
	if m := f.remotes[r]; m != nil && len(m.users) > 0 {
		var all []netip.Prefix
		for p := range m.prefixes {
			all = append(all, p)
		}
		for _, p := range outermost(all) {
			v6 := p.Addr().Is6()
			k, o := addresses(v6).Ranges().Prefix(prefixSet(r, v6), p)
			want[k] = o
		}
	}
	f.want("filter/prefixes/"+setName("", r, false), want)
}

// outermost leaves out prefixes that others contain: sets of ranges take no overlap.
func outermost(ps []netip.Prefix) []netip.Prefix {
	slices.SortFunc(ps, func(a, b netip.Prefix) int {
		if c := a.Addr().Compare(b.Addr()); c != 0 {
			return c
		}
		return a.Bits() - b.Bits()
	})
	var out []netip.Prefix
	for _, p := range ps {
		if n := len(out); n > 0 && out[n-1].Contains(p.Addr()) {
			continue // begins within, and is no larger
		}
		out = append(out, p)
	}
	return out
}
