package macvtap_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"isospin/internal/model"
	"isospin/internal/service/ml2"
	"isospin/internal/service/ml2/mechdriver/macvtap"
)

// TestBind: the device that the guest's stands on, by network, and who may move where.
func TestBind(t *testing.T) {
	flat, vlan := model.Segment{ID: "f", NetworkType: "flat", PhysicalNetwork: "p1"}, model.Segment{ID: "v", NetworkType: "vlan", PhysicalNetwork: "p2", SegmentationID: 70}
	vxlan, far := model.Segment{ID: "t", NetworkType: "vxlan", SegmentationID: 9}, model.Segment{ID: "x", NetworkType: "flat", PhysicalNetwork: "p3"}
	agents := []model.Agent{{AgentType: model.AgentMacvtap, Configurations: map[string]any{"interface_mappings": map[string]any{"p1": "eth1", "p2": "enp129s0f1"}}}}
	long := []model.Agent{{AgentType: model.AgentMacvtap, Configurations: map[string]any{"interface_mappings": map[string]any{"p2": "enp129s0f1np1"}}}}
	details := func(device, source string, vlan int64) map[string]any {
		out := map[string]any{"port_filter": false, "connectivity": "l2", "physical_interface": device, "macvtap_source": source, "macvtap_mode": "bridge"}
		if vlan != 0 {
			out["vlan"] = vlan
		}
		return out
	}
	from := func(source string) *model.Port {
		return &model.Port{VIFType: "macvtap", VIFDetails: map[string]any{"macvtap_source": source}}
	}
	cases := []struct {
		name     string
		vnic     string
		agents   []model.Agent
		segments []model.Segment
		from     *model.Port
		want     ml2.Binding
	}{
		{name: "flat", agents: agents, segments: []model.Segment{vxlan, far, flat}, want: ml2.Binding{Segment: flat, VIFType: "macvtap", VIFDetails: details("eth1", "eth1", 0)}},
		{name: "VLAN", agents: agents, segments: []model.Segment{vlan}, want: ml2.Binding{Segment: vlan, VIFType: "macvtap", VIFDetails: details("enp129s0f1", "enp129s0f1.70", 70)}},
		{name: "a long name", agents: long, segments: []model.Segment{vlan}, want: ml2.Binding{Segment: vlan, VIFType: "macvtap", VIFDetails: details("enp129s0f1np1", "enp19cb088.70", 70)}},
		{name: "moves", agents: agents, segments: []model.Segment{flat}, from: from("eth1"), want: ml2.Binding{Segment: flat, VIFType: "macvtap", VIFDetails: details("eth1", "eth1", 0)}},
		{name: "moves to a device of another name", agents: agents, segments: []model.Segment{flat}, from: from("eth7")},
		{name: "moves from a switch", agents: agents, segments: []model.Segment{flat}, from: &model.Port{VIFType: "ovs"}, want: ml2.Binding{Segment: flat, VIFType: "macvtap", VIFDetails: details("eth1", "eth1", 0)}},
		{name: "no agent", segments: []model.Segment{flat}},
		{name: "a tunnel", agents: agents, segments: []model.Segment{vxlan, far}},
		{name: "a function of a card", vnic: "macvtap", agents: agents, segments: []model.Segment{flat}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.vnic == "" {
				c.vnic = model.VNICNormal
			}
			r := ml2.BindRequest{Port: model.Port{VNICType: c.vnic}, Host: model.Host{Name: "h", Agents: c.agents}, Segments: c.segments, From: c.from}
			got, ok := macvtap.Driver{}.Bind(r)
			if d := cmp.Diff(c.want, got); d != "" || ok != (c.want.VIFType != "") {
				t.Errorf("bound %v: %s", ok, d)
			}
		})
	}
}
