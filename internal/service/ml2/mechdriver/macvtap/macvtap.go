// Package macvtap is the mechanism driver of guests whose device stands on a device of the host, `macvtap`. assemble makes it, the manager of ml2
// asks it. It makes no device: libvirt does, on the source that the VIF's details name.
package macvtap

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"

	"isospin/internal/model"
	"isospin/internal/service/ml2"
)

// Driver is the mechanism driver (neutron/plugins/ml2/drivers/macvtap/mech_driver/mech_macvtap.py).
type Driver struct{}

// Name is the name in `mechanism_drivers`.
func (Driver) Name() string { return "macvtap" }

// Bind takes the first flat or VLAN segment that a device of the host is on. A guest that moves while it runs keeps the name of the device that it
// stands on: libvirt takes it along.
func (d Driver) Bind(r ml2.BindRequest) (ml2.Binding, bool) {
	agent, alive := r.Host.Agent(model.AgentMacvtap)
	if !alive || r.Port.VNICType != model.VNICNormal {
		return ml2.Binding{}, false
	}
	for _, s := range r.Segments {
		device, ok := mapped(agent, s)
		if !ok {
			continue
		}
		details := map[string]any{"port_filter": false, "connectivity": "l2", "physical_interface": device, "macvtap_source": device, "macvtap_mode": "bridge"}
		if s.NetworkType == model.TypeVLAN {
			details["vlan"], details["macvtap_source"] = s.SegmentationID, vlanDevice(device, s.SegmentationID)
		}
		if from := r.From; from != nil && from.VIFType == model.VIFMacvtap && from.VIFDetails["macvtap_source"] != details["macvtap_source"] {
			continue
		}
		return ml2.Binding{Segment: s, VIFType: model.VIFMacvtap, VIFDetails: details}, true
	}
	return ml2.Binding{}, false
}

// Reaches tells whether a device of the host is on the segment.
func (Driver) Reaches(h model.Host, s model.Segment) bool {
	agent, alive := h.Agent(model.AgentMacvtap)
	if !alive {
		return false
	}
	_, ok := mapped(agent, s)
	return ok
}

// mapped is the device of a segment's physical network.
func mapped(agent model.Agent, s model.Segment) (device string, ok bool) {
	if s.NetworkType != model.TypeFlat && s.NetworkType != model.TypeVLAN {
		return "", false
	}
	mappings, _ := agent.Configurations["interface_mappings"].(map[string]any)
	device, ok = mappings[s.PhysicalNetwork].(string)
	return device, ok
}

// vlanDevice names the device of a VLAN as Neutron's agent makes it: the name of a device has 15 characters, five of which are for the tag,
// so a longer one is cut and told from others by a hash (get_interface_name in neutron_lib/plugins/utils.py).
func vlanDevice(device string, vlan int64) string {
	const most, hash = 10, 6
	if len(device) > most {
		sum := sha1.Sum([]byte(device))
		device = device[:most-hash] + hex.EncodeToString(sum[:])[:hash]
	}
	return fmt.Sprintf("%s.%d", device, vlan)
}

// CarriesTags is false: the devices of VLANs are made by their tag.
func (Driver) CarriesTags(model.Network) bool { return false }

// CarriesQinQ is false.
func (Driver) CarriesQinQ(model.Network) bool { return false }

var (
	_ ml2.MechanismDriver = Driver{}
	_ ml2.HostFilter      = Driver{}
	_ ml2.TagCarrier      = Driver{}
)
