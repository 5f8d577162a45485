// Package agentbased is the mechanism driver of software switches that an agent on the host runs, one value a switch:
// Open vSwitch and Linux bridge. It binds a port when a live agent of the right type on the port's host can carry
// one of the network's segments. It never talks to the agent: that it binds is what makes the agent act.
package agentbased

import (
	"slices"

	"isospin/internal/model"
	"isospin/internal/service/ml2"
)

// Driver is the mechanism driver.
type Driver struct {
	name      string
	agentType string
	vifType   string
	mappings  []string // the configurations in which the agent says which physical networks it reaches
	details   func(conf map[string]any) map[string]any
	off       bool // it binds nothing: an operator leaves software ports to others
}

// OpenVSwitch binds to the Open vSwitch agent.
func OpenVSwitch() Driver {
	return Driver{name: "openvswitch", agentType: model.AgentOVS, vifType: model.VIFOVS, mappings: []string{"bridge_mappings"},
		details: func(conf map[string]any) map[string]any {
			bridge, ok := conf["integration_bridge"].(string)
			if !ok {
				bridge = "br-int"
			}
			datapath, ok := conf["datapath_type"].(string)
			if !ok {
				datapath = "system"
			}
			return map[string]any{"port_filter": true, "connectivity": "l2", "ovs_hybrid_plug": false,
				"datapath_type": datapath, "bridge_name": bridge}
		}}
}

// LinuxBridge binds to the Linux bridge agent.
func LinuxBridge() Driver {
	return Driver{name: "linuxbridge", agentType: model.AgentLinuxBridge, vifType: model.VIFBridge, mappings: []string{"interface_mappings", "bridge_mappings"},
		details: func(map[string]any) map[string]any {
			return map[string]any{"port_filter": true, "connectivity": "l2"}
		}}
}

// Prohibit leaves kinds of interfaces to other drivers.
func (d Driver) Prohibit(vnics []string) Driver {
	d.off = slices.Contains(vnics, model.VNICNormal)
	return d
}

// Tell adds a fact to the VIF's details.
func (d Driver) Tell(name string, value any) Driver {
	before := d.details
	d.details = func(conf map[string]any) map[string]any {
		out := before(conf)
		out[name] = value
		return out
	}
	return d
}

// Name is the name in `mechanism_drivers`.
func (d Driver) Name() string { return d.name }

// Bind takes the first segment that the host's agent carries.
func (d Driver) Bind(r ml2.BindRequest) (ml2.Binding, bool) {
	agent, alive := r.Host.Agent(d.agentType)
	if !alive || d.off || r.Port.VNICType != model.VNICNormal {
		return ml2.Binding{}, false
	}
	for _, s := range r.Segments {
		if d.carries(agent.Configurations, s) {
			return ml2.Binding{Segment: s, VIFType: d.vifType, VIFDetails: d.details(agent.Configurations)}, true
		}
	}
	return ml2.Binding{}, false
}

// Reaches tells whether the host's agent carries the segment.
func (d Driver) Reaches(h model.Host, s model.Segment) bool {
	agent, alive := h.Agent(d.agentType)
	return alive && d.carries(agent.Configurations, s)
}

func (d Driver) carries(conf map[string]any, s model.Segment) bool {
	switch s.NetworkType {
	case model.TypeLocal:
		return true
	case model.TypeFlat, model.TypeVLAN:
		return slices.ContainsFunc(d.mappings, func(name string) bool {
			_, mapped := object(conf, name)[s.PhysicalNetwork]
			return mapped
		})
	}
	ip, ok := conf["tunneling_ip"].(string)
	return ok && ip != "" && slices.Contains(texts(conf, "tunnel_types"), s.NetworkType)
}

func object(conf map[string]any, name string) map[string]any {
	m, ok := conf[name].(map[string]any)
	if !ok {
		return nil
	}
	return m
}

func texts(conf map[string]any, name string) []string {
	list, ok := conf[name].([]any)
	if !ok {
		return nil
	}
	var out []string
	for _, v := range list {
		if t, ok := v.(string); ok {
			out = append(out, t)
		}
	}
	return out
}

// CarriesTags is true of both, but on flat networks: there a guest's tag would be that of another network's segment.
func (d Driver) CarriesTags(n model.Network) bool {
	flat := func(a model.ProviderAttributes) bool { return a.NetworkType != nil && *a.NetworkType == model.TypeFlat }
	return !slices.ContainsFunc(n.Segments, flat) && (n.ProviderAttributes == nil || !flat(*n.ProviderAttributes))
}

// CarriesQinQ is true of neither.
func (d Driver) CarriesQinQ(model.Network) bool { return false }

var (
	_ ml2.MechanismDriver = Driver{}
	_ ml2.TagCarrier      = Driver{}
	_ ml2.HostFilter      = Driver{}
)
