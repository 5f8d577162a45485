package qos

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"isospin/internal/agent"
	"isospin/internal/model"
	"isospin/internal/wire"
)

// Limit is a rate that is not exceeded for longer than a burst; the zero value is none. Kilobits a second and kilobits, or packets a second and packets.
type Limit struct{ Rate, Burst uint32 }

// Any tells whether there is a limit.
func (l Limit) Any() bool { return l.Rate != 0 }

// Direction is what holds for one direction of a port's traffic.
type Direction struct{ Bits, Packets Limit }

// Any tells whether something is limited.
func (d Direction) Any() bool { return d.Bits.Any() || d.Packets.Any() }

// Rules are a policy's rules as a host keeps them. Directions are the guest's: egress is what it sends.
type Rules struct {
	Egress, Ingress Direction
	// Mark is the DSCP of what the guest sends, if Marks.
	Mark  uint8
	Marks bool
	// Guaranteed is the bandwidth that the guest may count on for what it sends to physical networks, in kilobits a second.
	Guaranteed uint32
}

// Any tells whether a host has anything to keep.
func (r Rules) Any() bool { return r != Rules{} }

// Bursts of limits. A guest's TCP that loses all it has sent waits for 0.2 s before it sends again: a bucket that holds less than that time's
// traffic caps it at a part of the rate (measured: docs/design/qos.md), however small a burst was asked for.
const (
	defaultBurst = 0.8 // of a second's traffic, where a rule names none: DEFAULT_BURST_RATE in neutron-lib
	leastBurst   = 0.4
	leastBits    = 128 // kilobits: ten packets of Ethernet's size
	leastPackets = 10
)

// limit makes a limit of a rule's values, in units of the datapath's.
func limit(rate, burst, unit int64, least uint32) (Limit, error) {
	if rate < 0 || burst < 0 || rate > math.MaxUint32/unit {
		return Limit{}, fmt.Errorf("the rate %d with burst %d is none", rate, burst)
	}
	if rate == 0 {
		return Limit{}, nil // no limit, as for Neutron's agents
	}
	size := float64(burst * unit)
	if burst == 0 {
		size = defaultBurst * float64(rate*unit)
	}
	size = max(size, leastBurst*float64(rate*unit), float64(least))
	return Limit{Rate: uint32(rate * unit), Burst: uint32(min(size, math.MaxUint32))}, nil
}

// read reads a policy. Rules that cannot be kept are told, and stop no other.
func read(p *wire.QoSPolicy) (Rules, error) {
	var r Rules
	var bad []error
	for _, rule := range p.GetRules() {
		if err := r.take(rule); err != nil {
			bad = append(bad, fmt.Errorf("QoS policy %s: %s: %w", p.GetId(), rule.GetType(), err))
		}
	}
	return r, errors.Join(bad...)
}

func (r *Rules) take(rule *wire.QoSRule) (err error) {
	to := &r.Egress
	switch rule.GetDirection() {
	case model.DirectionIngress:
		to = &r.Ingress
	case model.DirectionEgress, model.DirectionAny, "":
	default:
		return fmt.Errorf("the direction %q is none", rule.GetDirection())
	}
	switch v := rule.GetValue(); rule.GetType() {
	case model.QoSBandwidthLimit:
		to.Bits, err = limit(v, rule.GetBurst(), 1, leastBits)
	case model.QoSPacketRateLimit:
		to.Packets, err = limit(v, rule.GetBurst(), 1000, leastPackets)
	case model.QoSDSCPMarking:
		if v < 0 || v > 63 {
			return fmt.Errorf("%d is no DSCP", v)
		}
		r.Mark, r.Marks = uint8(v), true
	case model.QoSMinimumBandwidth:
		if v < 0 || v > math.MaxUint32 {
			return fmt.Errorf("the rate %d is none", v)
		}
		if to == &r.Egress { // what comes to a guest is not in its host's hands
			r.Guaranteed = uint32(v)
		}
	case model.QoSMinimumPacketRate: // Placement's: nothing on a host keeps it, as in Neutron
	default:
		return errors.New("this host knows no such rule")
	}
	return err
}

// policyOf is the policy that is in force for a port; "" for none. A network's is not in force for what Neutron itself puts on a network, but for
// gateways of routers (should_apply_to_port in neutron/objects/qos/rule.py).
func policyOf(v agent.View, p *wire.Port) string {
	if own := p.GetQosPolicyId(); own != "" {
		return own
	}
	owner := p.GetDeviceOwner()
	if strings.HasPrefix(owner, "network:") || strings.HasPrefix(owner, "neutron:") {
		if owner != "network:router_gateway" && owner != "network:floatingip_agent_gateway" {
			return ""
		}
	}
	n, _ := get[*wire.Network](v, wire.KindNetwork, p.GetNetworkId())
	return n.GetQosPolicyId()
}

func get[T any](v agent.View, kind, id string) (t T, ok bool) {
	m, ok := v.Get(kind, id)
	if !ok {
		return t, false
	}
	t, ok = any(m).(T)
	return t, ok
}
