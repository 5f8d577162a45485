// Package secgroup is the documents of security groups: the group, its rules, and its members, each apart, so that one
// more member is one small document. session renders groups for the hosts of their ports, and members for the hosts of
// ports whose rules name the group as remote.
package secgroup

import (
	"context"
	"strings"

	"isospin/internal/change"
	"isospin/internal/document"
	"isospin/internal/model"
	"isospin/internal/service/ml2"
	"isospin/internal/service/secgroup"
	"isospin/internal/store"
	"isospin/internal/wire"
)

// Group renders groups.
type Group struct{ groups *secgroup.Groups }

// NewGroup takes the table of groups.
func NewGroup(groups *secgroup.Groups) Group { return Group{groups: groups} }

// Name is the wire name.
func (Group) Name() string { return wire.KindGroup }

// Families: a group is in the set of its own.
func (Group) Families() []string { return []string{wire.FamilyGroup} }

// Members are the groups themselves.
func (Group) Members(_ context.Context, _ store.Tx, sets []change.Set) (map[change.Set][]string, error) {
	out := make(map[change.Set][]string, len(sets))
	for _, s := range sets {
		out[s] = []string{s.Name()}
	}
	return out, nil
}

// Render reads groups. One statement.
func (k Group) Render(ctx context.Context, tx store.Tx, ids []string) (map[string]document.Rendered, error) {
	rows, err := k.groups.Find(ctx, tx, store.List{Where: store.In("id", ids)})
	if err != nil {
		return nil, err
	}
	out := make(map[string]document.Rendered, len(rows))
	for i := range rows {
		g := &rows[i]
		out[g.ID] = document.Rendered{Sets: []change.Set{change.NewSet(wire.FamilyGroup, g.ID)},
			Body: &wire.SecurityGroup{Id: g.ID, Stateful: g.Stateful}}
	}
	return out, nil
}

// Rule renders rules.
type Rule struct{ rules *secgroup.Rules }

// NewRule takes the table of rules.
func NewRule(rules *secgroup.Rules) Rule { return Rule{rules: rules} }

// Name is the wire name.
func (Rule) Name() string { return wire.KindRule }

// Families: a rule is in its group's set.
func (Rule) Families() []string { return []string{wire.FamilyGroup} }

// Members are the rules of a group. One statement.
func (Rule) Members(ctx context.Context, tx store.Tx, sets []change.Set) (map[change.Set][]string, error) {
	return document.Where(ctx, tx, sets, "SELECT id, security_group_id FROM security_group_rules", "security_group_id")
}

// Render reads rules. One statement.
func (k Rule) Render(ctx context.Context, tx store.Tx, ids []string) (map[string]document.Rendered, error) {
	rows, err := k.rules.Find(ctx, tx, store.List{Where: store.In("id", ids)})
	if err != nil {
		return nil, err
	}
	out := make(map[string]document.Rendered, len(rows))
	for i := range rows {
		r := &rows[i]
		d := document.Rendered{Sets: []change.Set{change.NewSet(wire.FamilyGroup, r.SecurityGroupID)}, Body: rule(r)}
		if r.RemoteGroupID != nil {
			d.Refs = []change.Set{change.NewSet(wire.FamilyMembers, *r.RemoteGroupID)}
		}
		if r.RemoteAddressGroupID != nil {
			d.Refs = []change.Set{change.NewSet(wire.FamilyAddresses, *r.RemoteAddressGroupID)}
		}
		out[r.ID] = d
	}
	return out, nil
}

func rule(r *model.SecurityGroupRule) *wire.SecurityGroupRule {
	prefix := r.NormalizedCIDR
	if prefix == nil {
		prefix = r.RemoteIPPrefix
	}
	return &wire.SecurityGroupRule{Id: r.ID, SecurityGroupId: r.SecurityGroupID, Direction: r.Direction, Ethertype: r.Ethertype, Protocol: text(r.Protocol),
		PortRangeMin: number(r.PortRangeMin), PortRangeMax: number(r.PortRangeMax), RemoteIpPrefix: text(prefix), RemoteGroupId: text(r.RemoteGroupID),
		RemoteAddressGroupId: text(r.RemoteAddressGroupID)}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func number(n *int64) int32 {
	if n == nil {
		return -1
	}
	return int32(*n)
}

// Member renders who is in a group.
type Member struct{ ports *ml2.Ports }

// NewMember takes the table of ports.
func NewMember(ports *ml2.Ports) Member { return Member{ports: ports} }

// Name is the wire name.
func (Member) Name() string { return wire.KindMember }

// Families: a member is in the set of the group's members.
func (Member) Families() []string { return []string{wire.FamilyMembers} }

// Members are the ports of a group; ids are group/port. One statement.
func (Member) Members(ctx context.Context, tx store.Tx, sets []change.Set) (map[change.Set][]string, error) {
	names, _ := document.Names(sets)
	in := store.In("security_group_id", names)
	out := map[change.Set][]string{}
	err := store.Each(ctx, tx, store.Q("SELECT security_group_id, port_id FROM port_security_groups WHERE "+in.SQL, in.Args...), func(scan func(...any) error) error {
		var group, port string
		err := scan(&group, &port)
		s := change.NewSet(wire.FamilyMembers, group)
		out[s] = append(out[s], group+"/"+port)
		return err
	})
	return out, err
}

// Render reads ports: who is a member stands in them too. One statement.
func (k Member) Render(ctx context.Context, tx store.Tx, ids []string) (map[string]document.Rendered, error) {
	groups := map[string][]string{} // by port
	var ports []string
	for _, id := range ids {
		group, port, ok := strings.Cut(id, "/")
		if !ok {
			continue
		}
		if groups[port] == nil {
			ports = append(ports, port)
		}
		groups[port] = append(groups[port], group)
	}
	rows, err := k.ports.Find(ctx, tx, store.List{Where: store.In("id", ports)})
	if err != nil {
		return nil, err
	}
	out := make(map[string]document.Rendered, len(ids))
	for i := range rows {
		p := &rows[i]
		ips := make([]string, 0, len(p.FixedIPs)+len(p.AllowedAddressPairs))
		for _, f := range p.FixedIPs {
			ips = append(ips, f.IPAddress)
		}
		for _, a := range p.AllowedAddressPairs {
			ips = append(ips, a.IPAddress)
		}
		for _, g := range p.SecurityGroups {
			for _, asked := range groups[p.ID] {
				if asked == g {
					out[g+"/"+p.ID] = document.Rendered{Sets: []change.Set{change.NewSet(wire.FamilyMembers, g)},
						Body: &wire.SecurityGroupMember{SecurityGroupId: g, PortId: p.ID, MacAddress: p.MACAddress, IpAddresses: ips}}
				}
			}
		}
	}
	return out, nil
}

var (
	_ document.Kind = Group{}
	_ document.Kind = Rule{}
	_ document.Kind = Member{}
)
