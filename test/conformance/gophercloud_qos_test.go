//go:build conformance

package conformance

import (
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/qos/policies"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/qos/rules"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/qos/ruletypes"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
)

func (g gopher) qos() {
	p := made(policies.Create(g.ctx, g.c, policies.CreateOpts{Name: "p", Description: "d", Shared: true}).Extract())(g)
	if !p.Shared || p.IsDefault || len(p.Rules) != 0 {
		g.t.Errorf("%+v", p)
	}
	rev := p.RevisionNumber
	p = made(policies.Update(g.ctx, g.c, p.ID, policies.UpdateOpts{Name: "p2", RevisionNumber: &rev}).Extract())(g)
	is(g, p.Name, "p2")
	shared := true
	is(g, one(g, policies.List(g.c, policies.ListOpts{Name: "p2", Shared: &shared}), policies.ExtractPolicies).ID, p.ID)
	limit := g.limits(p.ID)
	g.marks(p.ID)
	g.minimums(p.ID)
	is(g, len(made(policies.Get(g.ctx, g.c, p.ID).Extract())(g).Rules), 1)
	g.attached(p.ID)
	must(g.t, rules.DeleteBandwidthLimitRule(g.ctx, g.c, p.ID, limit).ExtractErr())
	must(g.t, policies.Delete(g.ctx, g.c, p.ID).ExtractErr())
	types := all(g, ruletypes.ListRuleTypes(g.c), ruletypes.ExtractRuleTypes)
	if len(types) < 2 {
		g.t.Errorf("%+v", types)
	}
	is(g, made(ruletypes.GetRuleType(g.ctx, g.c, "bandwidth_limit").Extract())(g).Type, "bandwidth_limit")
}

// limits makes, changes and reads rules that limit, and leaves one, whose id it gives.
func (g gopher) limits(p string) string {
	r := made(rules.CreateBandwidthLimitRule(g.ctx, g.c, p, rules.CreateBandwidthLimitRuleOpts{MaxKBps: 1000, MaxBurstKBps: 100, Direction: "ingress"}).ExtractBandwidthLimitRule())(g)
	is(g, r.Direction, "ingress")
	more := 2000
	is(g, made(rules.UpdateBandwidthLimitRule(g.ctx, g.c, p, r.ID, rules.UpdateBandwidthLimitRuleOpts{MaxKBps: &more}).ExtractBandwidthLimitRule())(g).MaxKBps, 2000)
	is(g, made(rules.GetBandwidthLimitRule(g.ctx, g.c, p, r.ID).ExtractBandwidthLimitRule())(g).MaxBurstKBps, 100)
	is(g, one(g, rules.ListBandwidthLimitRules(g.c, p, rules.BandwidthLimitRulesListOpts{MaxKBps: 2000}), rules.ExtractBandwidthLimitRules).ID, r.ID)
	five, six := 5, 6
	k := made(rules.CreatePacketRateLimitRule(g.ctx, g.c, p, rules.CreatePacketRateLimitRuleOpts{MaxKPps: &five, MaxBurstKPps: &six, Direction: "egress"}).ExtractPacketRateLimitRule())(g)
	is(g, k.MaxBurstKPps, 6)
	is(g, made(rules.UpdatePacketRateLimitRule(g.ctx, g.c, p, k.ID, rules.UpdatePacketRateLimitRuleOpts{MaxKPps: &six}).ExtractPacketRateLimitRule())(g).MaxKPps, 6)
	is(g, made(rules.GetPacketRateLimitRule(g.ctx, g.c, p, k.ID).ExtractPacketRateLimitRule())(g).Direction, "egress")
	is(g, one(g, rules.ListPacketRateLimitRules(g.c, p, rules.PacketRateLimitRulesListOpts{}), rules.ExtractPacketRateLimitRules).ID, k.ID)
	must(g.t, rules.DeletePacketRateLimitRule(g.ctx, g.c, p, k.ID).ExtractErr())
	return r.ID
}

func (g gopher) marks(p string) {
	r := made(rules.CreateDSCPMarkingRule(g.ctx, g.c, p, rules.CreateDSCPMarkingRuleOpts{DSCPMark: 26}).ExtractDSCPMarkingRule())(g)
	if _, err := rules.CreateDSCPMarkingRule(g.ctx, g.c, p, rules.CreateDSCPMarkingRuleOpts{DSCPMark: 28}).ExtractDSCPMarkingRule(); !gophercloud.ResponseCodeIs(err, 409) {
		g.t.Errorf("%v", err)
	}
	ten, wrong := 10, 9
	is(g, made(rules.UpdateDSCPMarkingRule(g.ctx, g.c, p, r.ID, rules.UpdateDSCPMarkingRuleOpts{DSCPMark: &ten}).ExtractDSCPMarkingRule())(g).DSCPMark, 10)
	if _, err := rules.UpdateDSCPMarkingRule(g.ctx, g.c, p, r.ID, rules.UpdateDSCPMarkingRuleOpts{DSCPMark: &wrong}).ExtractDSCPMarkingRule(); !gophercloud.ResponseCodeIs(err, 400) {
		g.t.Errorf("%v", err)
	}
	is(g, made(rules.GetDSCPMarkingRule(g.ctx, g.c, p, r.ID).ExtractDSCPMarkingRule())(g).DSCPMark, 10)
	is(g, one(g, rules.ListDSCPMarkingRules(g.c, p, rules.DSCPMarkingRulesListOpts{DSCPMark: 10}), rules.ExtractDSCPMarkingRules).ID, r.ID)
	must(g.t, rules.DeleteDSCPMarkingRule(g.ctx, g.c, p, r.ID).ExtractErr())
}

func (g gopher) minimums(p string) {
	more := 600
	r := made(rules.CreateMinimumBandwidthRule(g.ctx, g.c, p, rules.CreateMinimumBandwidthRuleOpts{MinKBps: 500, Direction: "ingress"}).ExtractMinimumBandwidthRule())(g)
	is(g, made(rules.UpdateMinimumBandwidthRule(g.ctx, g.c, p, r.ID, rules.UpdateMinimumBandwidthRuleOpts{MinKBps: &more}).ExtractMinimumBandwidthRule())(g).MinKBps, 600)
	is(g, made(rules.GetMinimumBandwidthRule(g.ctx, g.c, p, r.ID).ExtractMinimumBandwidthRule())(g).Direction, "ingress")
	is(g, one(g, rules.ListMinimumBandwidthRules(g.c, p, rules.MinimumBandwidthRulesListOpts{Direction: "ingress"}), rules.ExtractMinimumBandwidthRules).ID, r.ID)
	must(g.t, rules.DeleteMinimumBandwidthRule(g.ctx, g.c, p, r.ID).ExtractErr())
	k := made(rules.CreateMinimumPacketRateRule(g.ctx, g.c, p, rules.CreateMinimumPacketRateRuleOpts{MinKPps: &more, Direction: "any"}).ExtractMinimumPacketRateRule())(g)
	if _, err := rules.CreateMinimumPacketRateRule(g.ctx, g.c, p, rules.CreateMinimumPacketRateRuleOpts{MinKPps: &more, Direction: "egress"}).ExtractMinimumPacketRateRule(); !gophercloud.ResponseCodeIs(err, 409) {
		g.t.Errorf("%v", err)
	}
	less := 100
	is(g, made(rules.UpdateMinimumPacketRateRule(g.ctx, g.c, p, k.ID, rules.UpdateMinimumPacketRateRuleOpts{MinKPps: &less}).ExtractMinimumPacketRateRule())(g).MinKPps, 100)
	is(g, made(rules.GetMinimumPacketRateRule(g.ctx, g.c, p, k.ID).ExtractMinimumPacketRateRule())(g).Direction, "any")
	is(g, one(g, rules.ListMinimumPacketRateRules(g.c, p, rules.MinimumPacketRateRulesListOpts{}), rules.ExtractMinimumPacketRateRules).ID, k.ID)
	must(g.t, rules.DeleteMinimumPacketRateRule(g.ctx, g.c, p, k.ID).ExtractErr())
}

// attached puts the policy on a network and a port; it cannot go meanwhile.
func (g gopher) attached(p string) {
	var n struct {
		networks.Network
		policies.QoSPolicyExt
	}
	must(g.t, networks.Create(g.ctx, g.c, policies.NetworkCreateOptsExt{CreateOptsBuilder: networks.CreateOpts{Name: "limited"}, QoSPolicyID: p}).ExtractInto(&n))
	is(g, n.QoSPolicyID, p)
	var x struct {
		ports.Port
		policies.QoSPolicyExt
	}
	must(g.t, ports.Create(g.ctx, g.c, policies.PortCreateOptsExt{CreateOptsBuilder: ports.CreateOpts{NetworkID: n.ID}, QoSPolicyID: p}).ExtractInto(&x))
	is(g, x.QoSPolicyID, p)
	if err := policies.Delete(g.ctx, g.c, p).ExtractErr(); !gophercloud.ResponseCodeIs(err, 409) {
		g.t.Errorf("%v", err)
	}
	none := ""
	var bare policies.QoSPolicyExt
	must(g.t, ports.Update(g.ctx, g.c, x.ID, policies.PortUpdateOptsExt{UpdateOptsBuilder: ports.UpdateOpts{}, QoSPolicyID: &none}).ExtractInto(&bare))
	is(g, bare.QoSPolicyID, "")
	must(g.t, networks.Update(g.ctx, g.c, n.ID, policies.NetworkUpdateOptsExt{UpdateOptsBuilder: networks.UpdateOpts{}, QoSPolicyID: &none}).ExtractInto(&bare))
	is(g, bare.QoSPolicyID, "")
	must(g.t, ports.Delete(g.ctx, g.c, x.ID).ExtractErr())
	g.drop(n.ID)
}
