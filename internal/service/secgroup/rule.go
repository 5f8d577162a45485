package secgroup

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"

	"isospin/internal/apidef/types"
	"isospin/internal/change"
	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/service/sharing"
	"isospin/internal/store"
	"isospin/internal/wire"
)

// rules is the controller of security group rules.
type rules struct{ *Plugin }

// belowGroup is the table of rules for requests: who writes a rule keeps its group first, as those do who remove a group
// with its rules. In the other order the two would wait for each other.
type belowGroup struct {
	*Rules
	groups *Groups
}

// GetForUpdate keeps group and rule.
func (t belowGroup) GetForUpdate(ctx context.Context, tx store.WriteTx, id string) (model.SecurityGroupRule, error) {
	r, err := t.Get(ctx, tx, id)
	if err != nil {
		return r, err
	}
	if _, err := t.groups.GetForUpdate(ctx, tx, r.SecurityGroupID); err != nil {
		return r, err // the group went, and the rule with it
	}
	return t.Rules.GetForUpdate(ctx, tx, id)
}

// Create adds a rule to its group.
func (p rules) Create(ctx context.Context, tx store.WriteTx, in rest.Input[model.SecurityGroupRule]) (model.SecurityGroupRule, error) {
	r := in.Value
	if err := normalize(&r); err != nil {
		return r, err
	}
	g, err := p.Groups.GetForUpdate(ctx, tx, r.SecurityGroupID)
	if store.IsNotFound(err) {
		err = fault.SecurityGroupNotFound(r.SecurityGroupID)
	}
	if err != nil {
		return r, err
	}
	if r.RemoteGroupID != nil && *r.RemoteGroupID != g.ID {
		if err := p.remoteGroup(ctx, tx, *r.RemoteGroupID); err != nil {
			return r, err
		}
	}
	if r.RemoteAddressGroupID != nil {
		if err := p.addressGroup(ctx, tx, *r.RemoteAddressGroupID); err != nil {
			return r, err
		}
	}
	p.stamp(&r.Standard, 0)
	err = p.Rules.Insert(ctx, tx, &r)
	if _, dup := store.AsDuplicate(err); dup {
		return r, p.exists(ctx, tx, &r)
	}
	if err != nil {
		return r, err
	}
	return r, p.touched(ctx, tx, &g, r.ID)
}

// remoteGroup keeps a group that a rule names until the commit; one that the caller cannot see does not exist.
func (p rules) remoteGroup(ctx context.Context, tx store.WriteTx, id string) error {
	g, err := p.Groups.GetForShare(ctx, tx, id)
	usable := err == nil
	if usable {
		usable, err = sharing.Usable(ctx, tx, g.ProjectID, id)
	}
	if store.IsNotFound(err) || err == nil && !usable {
		err = fault.SecurityGroupNotFound(id)
	}
	return err
}

// together judges the rules of one bulk create: one group, no two that are equal (behaviour.md, section 3).
func together(items []rest.Item) error {
	seen := map[string]bool{}
	group := ""
	for i, item := range items {
		var r model.SecurityGroupRule
		if err := item.Into(&r); err != nil {
			return fmt.Errorf("decode a rule: %w", err)
		}
		if err := normalize(&r); err != nil {
			return err
		}
		m := meaning(&r)
		switch {
		case i > 0 && r.SecurityGroupID != group:
			return fault.SecurityGroupNotSingleGroupRules()
		case seen[m]:
			return fault.DuplicateSecurityGroupRuleInPost()
		}
		group, seen[m] = r.SecurityGroupID, true
	}
	return nil
}

// exists names the rule that an equal one clashes with.
func (p rules) exists(ctx context.Context, tx store.Tx, r *model.SecurityGroupRule) error {
	id := ""
	err := store.Each(ctx, tx, store.Q("SELECT id FROM security_group_rules WHERE security_group_id = ? AND meaning = ?", r.SecurityGroupID, meaning(r)),
		func(scan func(...any) error) error { return scan(&id) })
	if err != nil {
		return err
	}
	return fault.SecurityGroupRuleExists(id)
}

// touched bumps the group of a rule that came or went and says that hosts must know.
func (p rules) touched(ctx context.Context, tx store.WriteTx, g *model.SecurityGroup, rule string) error {
	p.bump(&g.Standard)
	if err := p.Groups.Update(ctx, tx, g, -1); err != nil {
		return err
	}
	tx.Changed(change.Key{Kind: wire.KindRule, ID: rule}, groupSet(g.ID))
	return nil
}

// Update is not served: the registry refuses it before.
func (p rules) Update(_ context.Context, _ store.WriteTx, cur model.SecurityGroupRule, _ rest.Input[model.SecurityGroupRule]) (model.SecurityGroupRule, error) {
	return cur, fault.BadRequest("security_group_rule", "a rule cannot be updated.")
}

// Delete removes a rule.
func (p rules) Delete(ctx context.Context, tx store.WriteTx, cur model.SecurityGroupRule) error {
	g, err := p.Groups.GetForUpdate(ctx, tx, cur.SecurityGroupID)
	if err != nil {
		return err
	}
	if err := p.Rules.Delete(ctx, tx, cur.ID); err != nil {
		return err
	}
	return p.touched(ctx, tx, &g, cur.ID)
}

// drop removes a rule whose group goes too, or which names a group that goes.
func (p rules) drop(ctx context.Context, tx store.WriteTx, r *model.SecurityGroupRule) error {
	if err := p.Rules.Delete(ctx, tx, r.ID); err != nil && !store.IsNotFound(err) { // somebody removed it at the same moment
		return err
	}
	tx.Changed(change.Key{Kind: wire.KindRule, ID: r.ID}, groupSet(r.SecurityGroupID))
	return nil
}

// ruleFacts tells of rules whether they belong to a default group, which a policy rule asks.
func (p *Plugin) ruleFacts(ctx context.Context, tx store.Tx, ids []string) (map[string]map[string]string, error) {
	out := make(map[string]map[string]string, len(ids))
	of, err := p.ofDefaults(ctx, tx, ids)
	for _, id := range ids {
		out[id] = map[string]string{"belongs_to_default_sg": "false"}
		if of[id] {
			out[id]["belongs_to_default_sg"] = "true"
		}
	}
	return out, err
}

// ofDefaults tells which of the rules belong to a default group. One statement.
func (p *Plugin) ofDefaults(ctx context.Context, tx store.Tx, ids []string) (map[string]bool, error) {
	where := store.Cond{SQL: "1 = 1"}
	if len(ids) <= 1000 {
		where = store.In("r.id", ids)
	}
	out := map[string]bool{}
	err := store.Each(ctx, tx, store.Q("SELECT r.id FROM security_group_rules r JOIN security_groups g ON g.id = r.security_group_id WHERE g.default_of IS NOT NULL AND "+where.SQL, where.Args...),
		func(scan func(...any) error) error {
			var id string
			err := scan(&id)
			out[id] = true
			return err
		})
	return out, err
}

// ofDefault filters rules by whether their group is a default one.
func ofDefault(_ context.Context, values []string) (store.Cond, error) {
	var any []store.Cond
	for _, v := range values {
		on, err := rest.Truth(v)
		if err != nil {
			return store.Cond{}, err
		}
		c := store.Expr("security_group_id IN (SELECT id FROM security_groups WHERE default_of IS NOT NULL)")
		if !on {
			c = store.Not(c)
		}
		any = append(any, c)
	}
	return store.Or(any...), nil
}

// Splice adds whether each rule belongs to a default group.
func (p rules) Splice(ctx context.Context, tx store.Tx, page *rest.Page) error {
	if !page.Wants("belongs_to_default_sg") {
		return nil
	}
	of, err := p.ofDefaults(ctx, tx, page.IDs())
	if err != nil {
		return err
	}
	for i, id := range page.IDs() {
		page.Splice(i, "belongs_to_default_sg", truth(of[id]))
	}
	return nil
}

// normalize checks a rule and fills what follows from it (behaviour.md, section 12).
func normalize(r *model.SecurityGroupRule) error {
	remotes := 0
	for _, s := range []*string{r.RemoteIPPrefix, r.RemoteGroupID, r.RemoteAddressGroupID} {
		if s != nil {
			remotes++
		}
	}
	if remotes > 1 {
		return fault.SecurityGroupMultipleRemoteEntites()
	}
	if r.RemoteIPPrefix != nil {
		pre, err := netip.ParsePrefix(*r.RemoteIPPrefix)
		if err != nil {
			return fault.BadInput("remote_ip_prefix '%s' is not a prefix.", *r.RemoteIPPrefix)
		}
		if pre.Addr().Is4() != (r.Ethertype == model.IPv4) {
			return fault.SecurityGroupRuleParameterConflict(*r.RemoteIPPrefix, r.Ethertype)
		}
		text := pre.Masked().String()
		r.NormalizedCIDR = &text
	}
	if err := normalizeProtocol(r); err != nil {
		return err
	}
	return checkPorts(r)
}

// normalizeProtocol settles the names of ICMP in IPv6, and refuses protocols of the other family.
func normalizeProtocol(r *model.SecurityGroupRule) error {
	if r.Protocol == nil {
		return nil
	}
	n, _ := types.ProtocolNumber(*r.Protocol)
	if r.Ethertype == model.IPv6 && (*r.Protocol == "icmp" || *r.Protocol == "icmpv6") {
		name := "ipv6-icmp"
		r.Protocol = &name
		return nil
	}
	if r.Ethertype == model.IPv4 {
		switch n {
		case 41, 43, 44, 58, 59, 60: // the protocols that neutron-lib names ipv6-*
			return fault.SecurityGroupEthertypeConflictWithProtocol(*r.Protocol, r.Ethertype)
		}
	}
	return nil
}

// checkPorts judges port ranges, and ICMP types and codes, which stand in the same attributes.
func checkPorts(r *model.SecurityGroupRule) error {
	low, high := r.PortRangeMin, r.PortRangeMax
	if low == nil && high == nil {
		return nil
	}
	if r.Protocol == nil {
		return fault.SecurityGroupProtocolRequiredWithPorts()
	}
	n, _ := types.ProtocolNumber(*r.Protocol)
	switch n {
	case 1, 58:
		if low != nil && (*low < 0 || *low > 255) {
			return fault.SecurityGroupInvalidIcmpValue("type (port_range_min)", *low)
		}
		if high != nil && (*high < 0 || *high > 255) {
			return fault.SecurityGroupInvalidIcmpValue("code (port_range_max)", *high)
		}
		if low == nil {
			return fault.SecurityGroupMissingIcmpType(*high)
		}
		return nil
	case 6, 17, 33, 132, 136:
		if low == nil || high == nil || *low > *high {
			return fault.SecurityGroupInvalidPortRange()
		}
		if *low == 0 {
			return fault.SecurityGroupInvalidPortValue(0)
		}
		return nil
	}
	return fault.SecurityGroupInvalidProtocolForPort(*r.Protocol, "tcp, udp, dccp, sctp, udplite, icmp")
}

// meaning is a rule as text: two rules of a group with the same are equal. Protocols count by number, prefixes as given.
func meaning(r *model.SecurityGroupRule) string {
	protocol := ""
	if r.Protocol != nil {
		protocol = *r.Protocol
		if n, ok := types.ProtocolNumber(protocol); ok {
			if r.Ethertype == model.IPv6 && n == 1 {
				n = 58 // icmp in IPv6 is ipv6-icmp
			}
			protocol = strconv.Itoa(n)
		}
	}
	num := func(v *int64) string {
		if v == nil {
			return ""
		}
		return strconv.FormatInt(*v, 10)
	}
	text := func(v *string) string {
		if v == nil {
			return ""
		}
		return *v
	}
	return fmt.Sprintf("%s/%s/%s/%s/%s/%s/%s/%s", r.Direction, r.Ethertype, protocol, num(r.PortRangeMin), num(r.PortRangeMax),
		text(r.RemoteIPPrefix), text(r.RemoteGroupID), text(r.RemoteAddressGroupID))
}
