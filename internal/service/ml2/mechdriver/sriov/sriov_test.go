package sriov_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"isospin/internal/model"
	"isospin/internal/service/ml2"
	"isospin/internal/service/ml2/mechdriver/sriov"
)

// TestBind: which interfaces get which binding, and which are others' to bind.
func TestBind(t *testing.T) {
	flat, vlan, far := model.Segment{ID: "f", NetworkType: "flat", PhysicalNetwork: "p1"}, model.Segment{ID: "v", NetworkType: "vlan", PhysicalNetwork: "p1", SegmentationID: 7},
		model.Segment{ID: "x", NetworkType: "vlan", PhysicalNetwork: "p2", SegmentationID: 8}
	vxlan := model.Segment{ID: "t", NetworkType: "vxlan", SegmentationID: 9}
	card := []model.Agent{{AgentType: model.AgentNICSwitch, Configurations: map[string]any{"device_mappings": map[string]any{"p1": []any{"eth1"}}}}}
	details := func(vlan string) map[string]any {
		return map[string]any{"port_filter": false, "connectivity": "l2", "vlan": vlan}
	}
	offload := map[string]any{"pci_slot": "0000:01:10.1", "capabilities": []any{"switchdev"}}
	cases := []struct {
		name     string
		driver   sriov.Driver
		vnic     string
		profile  map[string]any
		agents   []model.Agent
		segments []model.Segment
		want     ml2.Binding // without a VIF type: none
	}{
		{name: "a function on a VLAN", vnic: "direct", agents: card, segments: []model.Segment{vxlan, far, vlan}, want: ml2.Binding{Segment: vlan, VIFType: "hw_veb", VIFDetails: details("7")}},
		{name: "on a flat network", vnic: "direct", agents: card, segments: []model.Segment{flat}, want: ml2.Binding{Segment: flat, VIFType: "hw_veb", VIFDetails: details("0")}},
		{name: "macvtap on a function", vnic: "macvtap", agents: card, segments: []model.Segment{vlan}, want: ml2.Binding{Segment: vlan, VIFType: "hw_veb", VIFDetails: details("7")}},
		{name: "an accelerator", vnic: "accelerator-direct", agents: card, segments: []model.Segment{vlan}, want: ml2.Binding{Segment: vlan, VIFType: "hw_veb", VIFDetails: details("7")}},
		{name: "a whole card, without any agent", vnic: "direct-physical", segments: []model.Segment{vxlan, far}, want: ml2.Binding{Segment: far, VIFType: "hostdev_physical", VIFDetails: details("8"), Status: "ACTIVE"}},
		{name: "a whole card on a tunnel", vnic: "direct-physical", segments: []model.Segment{vxlan}},
		{name: "no agent", vnic: "direct", segments: []model.Segment{vlan}},
		{name: "another physical network", vnic: "direct", agents: card, segments: []model.Segment{far}},
		{name: "a tunnel", vnic: "direct", agents: card, segments: []model.Segment{vxlan}},
		{name: "software", vnic: "normal", agents: card, segments: []model.Segment{vlan}},
		{name: "offloaded from a switch", vnic: "direct", profile: offload, agents: card, segments: []model.Segment{vlan}},
		{name: "prohibited", driver: sriov.Driver{Prohibited: []string{"direct"}}, vnic: "direct", agents: card, segments: []model.Segment{vlan}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, ok := c.driver.Bind(ml2.BindRequest{Port: model.Port{VNICType: c.vnic, Profile: c.profile}, Host: model.Host{Name: "h", Agents: c.agents}, Segments: c.segments})
			if d := cmp.Diff(c.want, got); d != "" || ok != (c.want.VIFType != "") {
				t.Errorf("bound %v: %s", ok, d)
			}
		})
	}
}
