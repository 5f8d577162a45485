package qos

import (
	"slices"

	"isospin/internal/model"
)

// Driver says which rules a mechanism driver's hosts keep (neutron/services/qos/drivers).
type Driver struct {
	// Name is the mechanism driver's.
	Name string
	// VIFTypes are those of bound ports that it serves, VNICTypes those of ports that are not bound yet.
	VIFTypes, VNICTypes []string
	// Rules are the types of rules that it keeps, each with bounds for every parameter.
	Rules map[string][]Parameter
	// Physical are the types of rules that it keeps on networks alone whose first segment is of a physical network.
	Physical []string
}

// Keeper is the part of a mechanism driver from outside the tree that says which rules its hosts keep; asked for by assertion, once.
type Keeper interface {
	QoS() Driver
}

// Parameter is what a driver takes as a parameter of a rule: one of the choices, or without any a number up to Max.
type Parameter struct {
	Name    string
	Choices []any
	Max     int64
}

const most = 1<<31 - 1

func number(name string) Parameter { return Parameter{Name: name, Max: most} }

func direction(of ...string) Parameter {
	p := Parameter{Name: "direction"}
	for _, d := range of {
		p.Choices = append(p.Choices, d)
	}
	return p
}

func dscp() Parameter {
	p := Parameter{Name: "dscp_mark"}
	for _, mark := range []int64{0, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 44, 46, 48, 56} {
		p.Choices = append(p.Choices, mark)
	}
	return p
}

// OpenVSwitch keeps rules of all types; guarantees of bandwidth on physical networks alone.
func OpenVSwitch() Driver {
	both := direction(model.DirectionIngress, model.DirectionEgress)
	return Driver{
		Name: "openvswitch", VIFTypes: []string{model.VIFOVS, "vhostuser"}, VNICTypes: []string{model.VNICNormal, "direct"},
		Physical: []string{model.QoSMinimumBandwidth},
		Rules: map[string][]Parameter{
			model.QoSBandwidthLimit:    {number("max_kbps"), number("max_burst_kbps"), both},
			model.QoSPacketRateLimit:   {number("max_kpps"), number("max_burst_kpps"), both},
			model.QoSDSCPMarking:       {dscp()},
			model.QoSMinimumBandwidth:  {number("min_kbps"), both},
			model.QoSMinimumPacketRate: {number("min_kpps"), direction(model.DirectionAny, model.DirectionIngress, model.DirectionEgress)},
		},
	}
}

// LinuxBridge keeps limits of bandwidth and marks.
func LinuxBridge() Driver {
	return Driver{
		Name: "linuxbridge", VIFTypes: []string{model.VIFBridge, "tap"}, VNICTypes: []string{model.VNICNormal},
		Rules: map[string][]Parameter{
			model.QoSBandwidthLimit: {number("max_kbps"), number("max_burst_kbps"), direction(model.DirectionIngress, model.DirectionEgress)},
			model.QoSDSCPMarking:    {dscp()},
		},
	}
}

// SRIOV keeps limits of what ports send, and guarantees of bandwidth.
func SRIOV() Driver {
	return Driver{
		Name: "sriovnicswitch", VIFTypes: []string{"hw_veb"}, VNICTypes: []string{"direct", "macvtap", "direct-physical"},
		Rules: map[string][]Parameter{
			model.QoSBandwidthLimit:   {number("max_kbps"), number("max_burst_kbps"), direction(model.DirectionEgress)},
			model.QoSMinimumBandwidth: {number("min_kbps"), direction(model.DirectionIngress, model.DirectionEgress)},
		},
	}
}

// keeps tells whether the driver keeps a rule at all, on a network whose first segment is (not) of a physical network.
func (d *Driver) keeps(r *model.QoSRule, physical bool) bool {
	bounds, ok := d.Rules[r.Type]
	if !ok || !physical && slices.Contains(d.Physical, r.Type) {
		return false
	}
	return !slices.ContainsFunc(bounds, func(b Parameter) bool { return !b.takes(value(r, b.Name)) })
}

func (b Parameter) takes(v any) bool {
	if b.Choices != nil {
		return slices.Contains(b.Choices, v)
	}
	n, ok := v.(int64)
	return ok && n >= 0 && n <= b.Max
}

// serves tells whether ports of a kind are the driver's: by how they are bound, or before that by how they want to be.
func (d *Driver) serves(vif, vnic string) bool {
	switch vif {
	case "", model.VIFUnbound, model.VIFBindingFailed, "distributed":
		return slices.Contains(d.VNICTypes, vnic)
	}
	return slices.Contains(d.VIFTypes, vif)
}

// details is the bound as the API shows it.
func (b Parameter) details() parameter {
	if b.Choices != nil {
		return parameter{Name: b.Name, Type: "choices", Values: b.Choices}
	}
	return parameter{Name: b.Name, Type: "range", Values: bounds{0, b.Max}}
}

type parameter struct {
	Name   string `json:"parameter_name"`
	Type   string `json:"parameter_type"`
	Values any    `json:"parameter_values"`
}

type bounds struct {
	Start int64 `json:"start"`
	End   int64 `json:"end"`
}
