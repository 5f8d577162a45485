// Package sriov is the mechanism driver of network cards that switch between virtual functions, `sriovnicswitch`. Nova gives a guest the function
// itself, by its PCI address in binding:profile. assemble makes it, the manager of ml2 asks it. It programs no card.
package sriov

import (
	"slices"
	"strconv"

	"isospin/internal/model"
	"isospin/internal/service/ml2"
)

// Driver is the mechanism driver (neutron/plugins/ml2/drivers/mech_sriov/mech_driver/mech_driver.py).
type Driver struct {
	// Prohibited are kinds of interfaces that it leaves to others.
	Prohibited []string
}

// Name is the name in `mechanism_drivers`.
func (Driver) Name() string { return "sriovnicswitch" }

// Bind takes the first flat or VLAN segment that a card of the host is on. A whole card, a physical function, needs no agent: nobody has to act.
func (d Driver) Bind(r ml2.BindRequest) (ml2.Binding, bool) {
	vnic := r.Port.VNICType
	if !d.serves(vnic) || vnic == model.VNICDirect && switchdev(r.Port.Profile) {
		return ml2.Binding{}, false
	}
	physical := vnic == model.VNICDirectPhysical
	for _, s := range r.Segments {
		if !carried(s) || !physical && !d.Reaches(r.Host, s) {
			continue
		}
		b := ml2.Binding{Segment: s, VIFType: model.VIFHardwareVEB, VIFDetails: map[string]any{"port_filter": false, "connectivity": "l2",
			"vlan": strconv.FormatInt(s.SegmentationID, 10)}}
		if physical {
			b.VIFType, b.Status = model.VIFHostdevPhysical, model.StatusActive
		}
		return b, true
	}
	return ml2.Binding{}, false
}

func (d Driver) serves(vnic string) bool {
	return slices.Contains([]string{model.VNICDirect, model.VNICMacvtap, model.VNICDirectPhysical, model.VNICAcceleratorDirect}, vnic) &&
		!slices.Contains(d.Prohibited, vnic)
}

// carried tells whether cards carry segments of a type; a flat one is VLAN 0 to them.
func carried(s model.Segment) bool {
	return s.NetworkType == model.TypeFlat || s.NetworkType == model.TypeVLAN
}

// switchdev tells whether the guest wants a function whose traffic a switch of software offloads: that switch's driver binds it.
func switchdev(profile map[string]any) bool {
	list, ok := profile["capabilities"].([]any)
	return ok && slices.Contains(list, any("switchdev"))
}

// Reaches tells whether a card of the host is on the segment.
func (Driver) Reaches(h model.Host, s model.Segment) bool {
	agent, alive := h.Agent(model.AgentNICSwitch)
	if !alive || !carried(s) {
		return false
	}
	mappings, _ := agent.Configurations["device_mappings"].(map[string]any)
	_, mapped := mappings[s.PhysicalNetwork]
	return mapped
}

// CarriesTags is true: cards look at no tags of guests.
func (Driver) CarriesTags(model.Network) bool { return true }

// CarriesQinQ is false.
func (Driver) CarriesQinQ(model.Network) bool { return false }

var (
	_ ml2.MechanismDriver = Driver{}
	_ ml2.HostFilter      = Driver{}
	_ ml2.TagCarrier      = Driver{}
)
