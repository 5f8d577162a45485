package qos

import (
	"encoding/json"
	"testing"

	"isospin/internal/model"
)

func n(v int64) *int64 { return &v }

// TestDrivers: which rules drivers keep, and for which ports.
func TestDrivers(t *testing.T) {
	limit := func(direction string) model.QoSRule {
		return model.QoSRule{Type: model.QoSBandwidthLimit, Direction: direction, MaxKbps: n(1), MaxBurstKbps: n(0)}
	}
	least := model.QoSRule{Type: model.QoSMinimumBandwidth, Direction: "egress", MinKbps: n(1)}
	packets := model.QoSRule{Type: model.QoSMinimumPacketRate, Direction: "any", MinKpps: n(1)}
	for _, c := range []struct {
		driver    Driver
		rule      model.QoSRule
		vif, vnic string
		physical  bool
		want      bool
	}{
		{OpenVSwitch(), limit("ingress"), "unbound", "normal", false, true},
		{OpenVSwitch(), limit("ingress"), "ovs", "anything", false, true},
		{OpenVSwitch(), limit("ingress"), "bridge", "normal", false, false},
		{OpenVSwitch(), limit("ingress"), "binding_failed", "macvtap", false, false},
		{OpenVSwitch(), limit("ingress"), "distributed", "normal", false, true},
		{OpenVSwitch(), least, "unbound", "direct", true, true},
		{OpenVSwitch(), least, "unbound", "direct", false, false},
		{OpenVSwitch(), packets, "", "normal", false, true},
		{OpenVSwitch(), model.QoSRule{Type: model.QoSDSCPMarking, DSCPMark: n(44)}, "ovs", "", false, true},
		{OpenVSwitch(), model.QoSRule{Type: model.QoSDSCPMarking, DSCPMark: n(45)}, "ovs", "", false, false},
		{OpenVSwitch(), model.QoSRule{Type: model.QoSPacketRateLimit, Direction: "egress", MaxKpps: n(most + 1), MaxBurstKpps: n(0)}, "ovs", "", false, false},
		{LinuxBridge(), limit("egress"), "bridge", "normal", false, true},
		{LinuxBridge(), least, "bridge", "normal", true, false},
		{SRIOV(), limit("egress"), "unbound", "direct-physical", false, true},
		{SRIOV(), limit("ingress"), "hw_veb", "direct", false, false},
		{SRIOV(), least, "hw_veb", "direct", false, true},
	} {
		p := New(Config{Drivers: []Driver{c.driver}})
		err := p.keptBy(c.rule, []carrier{{port: "p", vif: c.vif, vnic: c.vnic, physical: c.physical}})
		if (err == nil) != c.want {
			t.Errorf("%s, %s %s of %s/%s, physical %v: %v", c.driver.Name, c.rule.Direction, c.rule.Type, c.vif, c.vnic, c.physical, err)
		}
	}
	if New(Config{}).keptOn(&least, true) {
		t.Error("nobody keeps a rule")
	}
}

// TestRequest: identifiers are those of Python's uuid.uuid5 of the rules' identifiers, as neutron-lib makes them.
func TestRequest(t *testing.T) {
	const port = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
	rules := []model.QoSRule{
		{ID: "python.org", Type: model.QoSMinimumBandwidth, Direction: "ingress", MinKbps: n(7)},
		{ID: "a", Type: model.QoSMinimumPacketRate, Direction: "egress", MinKpps: n(3)},
		{ID: "b", Type: model.QoSMinimumPacketRate, Direction: "ingress", MinKpps: n(4)},
		{ID: "c", Type: model.QoSDSCPMarking, DSCPMark: n(8)},
	}
	for _, c := range []struct {
		physnet string
		rules   []model.QoSRule
		want    string
	}{
		{"phys net-1", rules[:1], `{"request_groups":[{"id":"886313e1-3b8a-5372-9b90-0c9aee199e5d","required":["CUSTOM_PHYSNET_PHYS_NET_1","CUSTOM_VNIC_TYPE_DIRECT_PHYSICAL"],` +
			`"resources":{"NET_BW_IGR_KILOBIT_PER_SEC":7}}],"same_subtree":["886313e1-3b8a-5372-9b90-0c9aee199e5d"]}`},
		{"", rules, `{"request_groups":[{"id":"c9d6b581-bfe3-5415-aff0-be1ededc9647","required":["CUSTOM_VNIC_TYPE_DIRECT_PHYSICAL"],` +
			`"resources":{"NET_PACKET_RATE_EGR_KILOPACKET_PER_SEC":3,"NET_PACKET_RATE_IGR_KILOPACKET_PER_SEC":4}}],"same_subtree":["c9d6b581-bfe3-5415-aff0-be1ededc9647"]}`},
		{"", rules[:1], `null`},
		{"p", rules[3:], `null`},
	} {
		r, err := request(port, "direct-physical", c.physnet, c.rules)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(r); err != nil || string(got) != c.want {
			t.Errorf("%s, %v\nwant %s", got, err, c.want)
		}
	}
	// What Neutron 21 answered for a port and a rule.
	r, err := request("54d706ae-3683-4671-9aee-bb708b63afec", "normal", "", []model.QoSRule{
		{ID: "d0809938-a609-4e27-bebc-da05d08c242f", Type: model.QoSMinimumPacketRate, Direction: "any", MinKpps: n(1)}})
	if err != nil || r.Groups[0].ID != "6941c5a7-7031-50d7-9a57-eaf86593b080" || r.Groups[0].Resources["NET_PACKET_RATE_KILOPACKET_PER_SEC"] != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := request("x", "normal", "p", rules); err == nil {
		t.Error("a port that is no UUID")
	}
}
